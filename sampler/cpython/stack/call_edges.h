/*
 * call_edges - the call edges (caller's code, callee's code) that were seen for certain, with their call
 * sites.
 *
 * The set only grows.  If the readings of a stack differ, an edge of it is accepted only if it is in
 * this set.
 *
 * Limits: CALL_EDGES_MAX; beyond it no edge is added.
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
    /* A suspected edge is accepted after CALL_EDGES_ENOUGH suspicions, if they are at least one in
     * CALL_EDGES_ONE_IN of all suspicions about its callee. */
    CALL_EDGES_ENOUGH = 4,
    CALL_EDGES_ONE_IN = 50,
};

struct call_edge {
    code_id caller, callee; /* caller CODE_NONE: the bottom of the stack */
    remote_addr site;       /* the last call site seen, an instruction of the caller; 0: none */
    uint32_t suspected;
    bool is_certain;
};

struct call_edges {
    struct pool items; /* of struct call_edge */
    struct idmap index;
};

void call_edges_init(struct call_edges *edges);
void call_edges_deinit(struct call_edges *edges);
/* Both do nothing when the set is full. */
void call_edges_add(struct call_edges *edges, code_id caller, code_id callee);
void call_edges_suspect(struct call_edges *edges, code_id caller, code_id callee);
/* Is the edge certain, or suspected often enough? */
bool call_edges_has(const struct call_edges *edges, code_id caller, code_id callee);

/* Stores the call site of a known edge. */
void call_edges_note_site(struct call_edges *edges, code_id caller, code_id callee,
                          remote_addr site);
/* The last call site of an edge; 0: none. */
remote_addr call_edges_site(const struct call_edges *edges, code_id caller, code_id callee);

#endif /* SAMPLER_CPYTHON_STACK_CALL_EDGES_H */
