/*
 * merge - makes one capture of several: merges their tables; samples keep their time.
 *
 * The merged session begins when the first of them, or of their ranges, began.  Metadata are those of the first
 * capture; quality counters are added up.  Filters are kept if all captures have the same ones.  Processes of
 * another host than the first one's are named NAME@HOST.  Windows are in the order of their ends: where captures
 * overlap in time, a window starts at the end of the one before and may hold samples from before that.  A range of
 * the time of each capture may be chosen, by whole windows: samples keep their time of day.  Counters are known by
 * block (reader.h); of a block that the range cuts they are taken in proportion to its windows.  Texts of source files
 * are joined (source_texts.h), whatever the range.
 *
 * Ownership: borrows the readers, whose profiles are loaded.
 * Threads: one.
 * Limits: those of a profile.
 */
#ifndef SAMPLER_CAPTURE_MERGE_H
#define SAMPLER_CAPTURE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/capture/writer.h"

struct reader;

/* Windows that start at or after from_ns and before to_ns; to_ns 0: no end. */
struct merge_range {
    uint64_t from_ns, to_ns;
};

struct merge_result {
    uint64_t samples;
    size_t source_texts;
    bool drops_filters; /* the captures were recorded with different ones */
};

struct merge_options {
    const struct merge_range *ranges; /* one for each reader; NULL: everything */
    size_t memory_bytes;              /* for each capture, as --memory */
    bool omits_source;                /* leaves out the texts of source files */
};

MUST_CHECK enum err_code merge_captures(struct reader *const *readers, size_t count,
                                        const struct merge_options *options, writer_take take,
                                        void *to, struct merge_result *out, struct err *err);

#endif /* SAMPLER_CAPTURE_MERGE_H */
