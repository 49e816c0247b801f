/*
 * merge - one capture of several: their tables become one, their samples keep their time.
 *
 * The session begins when the first of them began.  Facts are those of the first; counters of
 * quality are added up.  Processes of another host than the first's are named NAME@HOST.
 * Windows follow each other by their ends: where captures overlap in time, a window reaches back
 * to the end of the one before, and may hold samples from before that.  Of each capture a range of
 * its own time may be taken, by windows: what is left stands where it stood, and counters are those
 * of all of it, as nobody counted them by range.
 *
 * Ownership: borrows the readers, whose profiles are loaded.
 * Threads: one.
 * Limits: those of a profile.
 * Depends on: reader, writer.
 */
#ifndef SAMPLER_CAPTURE_MERGE_H
#define SAMPLER_CAPTURE_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/capture/writer.h"

struct reader;

/* Windows that start at or after from_ns and before to_ns; to_ns 0: no end. */
struct merge_range {
    uint64_t from_ns, to_ns;
};

/* ranges: one each, NULL: all of all. */
MUST_CHECK enum err_code merge_captures(struct reader *const *readers,
                                        const struct merge_range *ranges, size_t count,
                                        size_t memory_bytes, writer_take take, void *to,
                                        uint64_t *samples_out, struct err *err);

#endif /* SAMPLER_CAPTURE_MERGE_H */
