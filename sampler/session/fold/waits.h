/*
 * waits - why threads wait: from the system call that a thread waits in, the descriptor that it waits for
 * and the Python code that made the call.
 *
 * Ownership: waits_destroy accepts NULL.
 * Threads: the profile's writer.
 * Limits: WAITS_MAX causes with different peers; further peers are "other peers".
 */
#ifndef SAMPLER_SESSION_FOLD_WAITS_H
#define SAMPLER_SESSION_FOLD_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/process/descriptors.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/wait.h"

struct memory;
struct system_call;
struct wait_site;

enum { WAITS_MAX = 256, WAITS_MAX_DETAIL = 80 };

/* 0: the cause is unknown. */
typedef uint32_t wait_id;

struct waits;

/* names_peers: else only causes are kept. */
MUST_CHECK enum err_code waits_create(struct profile *profile, bool names_peers,
                                      struct waits **out, struct err *err);
void waits_destroy(struct waits *waits);

/* Thread `tid` of process `pid`, whose memory it is (NULL: it cannot be read), waits in a call. */
wait_id waits_find(struct waits *waits, int pid, int tid, struct memory *memory,
                   const struct system_call *call, const struct wait_site *site,
                   uint64_t now_ns);

/* The cause alone; 0: there is no room for its mark. */
wait_id waits_plain(struct waits *waits, enum wait_cause cause);

enum wait_cause waits_cause_of(const struct waits *waits, wait_id wait);

/* Is the peer of this cause not known yet? */
bool waits_lacks_peer(const struct waits *waits, wait_id wait);

/* The node below `node` that samples with this cause count at; `node` itself where there is none. */
node_id waits_node(struct waits *waits, wait_id wait, node_id node);

/* The cause alone; kind and peer: of the descriptor that the call names. */
struct wait_descriptor {
    enum descriptor_kind kind;
    const char *peer;
};
enum wait_cause waits_cause(const struct system_call *call, const struct wait_site *site,
                            const struct wait_descriptor *descriptor);

#endif /* SAMPLER_SESSION_FOLD_WAITS_H */
