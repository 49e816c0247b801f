/*
 * chrome_profile - the processor profiles of V8 within Chrome's trace events: "Profile" begins one, and each "ProfileChunk" has nodes of its
 * tree, the node of each sample, and the microseconds between one sample and the next.
 *
 *     chrome_profile_read     the data of an event, as far as its name is not known yet
 *     chrome_profile_take     once the event is whole
 *
 * A sample lasts until the next one, the last one until the end.  A profile is a thread of its own, as several may be of one thread.
 *
 * Ownership: the caller's storage; chrome_profiles_deinit accepts a zeroed one.
 * Threads: one.
 * Limits: CHROME_PROFILE_MAX_NODES in all profiles, CHROME_PROFILE_MAX profiles; then ERR_LIMIT.
 */
#ifndef SAMPLER_FOREIGN_CHROME_PROFILE_H
#define SAMPLER_FOREIGN_CHROME_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/foreign/gather.h"

struct json_reader;

enum { CHROME_PROFILE_MAX_NODES = 1 << 23, CHROME_PROFILE_MAX = 1 << 12 };

struct chrome_profiles {
    struct gather *gather;
    struct chrome_profile *profiles;
    struct chrome_node *nodes; /* of all profiles */
    size_t count, room, node_count, node_room;
    struct idmap index; /* of nodes, by profile and number */

    /* The data of the event. */
    struct chrome_chunk_node *chunk;
    size_t chunk_count, chunk_room;
    int64_t *samples, *deltas_ns;
    size_t sample_count, sample_room, delta_count, delta_room;
    int64_t start_ns, end_ns; /* -1: it has none */
};

void chrome_profiles_init(struct chrome_profiles *profiles, struct gather *gather);
void chrome_profiles_deinit(struct chrome_profiles *profiles);
/* Forgets the data of the event before. */
void chrome_profile_begin(struct chrome_profiles *profiles);
/* Reads the value of the member "data". */
MUST_CHECK enum err_code chrome_profile_read(struct chrome_profiles *profiles,
                                             struct json_reader *json, struct err *err);
/* id: of the profile in its process.  is_start: it is a "Profile", and pid and tid are those of its thread. */
MUST_CHECK enum err_code chrome_profile_take(struct chrome_profiles *profiles, bool is_start,
                                             int64_t pid, int64_t tid, uint64_t id,
                                             int64_t at_ns, struct err *err);
#endif /* SAMPLER_FOREIGN_CHROME_PROFILE_H */
