/*
 * links - the calls (caller's code, callee's code) that were seen for certain, and from where.
 *
 * A set that only grows.  A stack put together from two readings is believed where its links are
 * in here.
 *
 * Limits: CALL_EDGES_MAX; then nothing is added and doubtful links stay doubtful.
 * Depends on: err, idmap, code.
 */
#ifndef SAMPLER_CPYTHON_STACK_CALL_EDGES_H
#define SAMPLER_CPYTHON_STACK_CALL_EDGES_H

#include <stdbool.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/base/pool.h"
#include "sampler/cpython/objects/code.h"

enum {
    CALL_EDGES_MAX = 1 << 22,
    /* A link that was only suspected is believed when it was so often, and is one in so many of
     * those that were suspected of the callee. */
    CALL_EDGES_ENOUGH = 4,
    CALL_EDGES_ONE_IN = 50,
};

struct call_edge {
    code_id caller, callee; /* caller CODE_NONE: the bottom of the stack */
    remote_addr site;       /* the caller's instruction when it was last seen, 0: not yet */
    uint32_t suspected;
    bool is_certain;
};

struct call_edges {
    struct pool items; /* of struct link */
    struct idmap index;
};

void call_edges_init(struct call_edges *links);
void call_edges_deinit(struct call_edges *links);
/* Decline silently when full. */
void call_edges_add(struct call_edges *links, code_id caller, code_id callee);
void call_edges_suspect(struct call_edges *links, code_id caller, code_id callee);
/* Certain, or suspected often enough. */
bool call_edges_has(const struct call_edges *links, code_id caller, code_id callee);

/* Notes the instruction that a known call is made from. */
void call_edges_note_site(struct call_edges *links, code_id caller, code_id callee,
                          remote_addr site);
/* The instruction that a call was last seen to be made from, 0: none. */
remote_addr call_edges_site(const struct call_edges *links, code_id caller, code_id callee);

#endif /* SAMPLER_CPYTHON_STACK_CALL_EDGES_H */
