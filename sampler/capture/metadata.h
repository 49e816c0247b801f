/*
 * metadata - what a capture says about itself: its processes, how it was recorded, how it ended.
 *
 * Metadata are stored as pairs of a key and a number, a text, or a list of texts.  A reader skips
 * keys that it does not know; missing ones are 0 or "".  So keys can be added without a new version.
 *
 * Ownership: the encoder borrows the texts; decoded texts point into the bytes they came from.
 * metadata_deinit frees the lists and accepts a zeroed struct.
 * Limits: CAPTURE_MAX_TEXTS texts in a list.
 */
#ifndef SAMPLER_CAPTURE_METADATA_H
#define SAMPLER_CAPTURE_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct buffer;
struct byte_reader;

struct capture_texts {
    size_t count;
    const char **items; /* followed by NULL */
};

/* X(name): member and key are the same. */
#define CAPTURE_NUMBERS(X)                                                            \
    X(pid)                                                                            \
    X(validated)     /* the version of Python was known */                            \
    X(started_at_ns) /* since 1970 */                                                 \
    X(rate_uhz)      /* requested, in millionths of a hertz */                        \
    X(duration_ns)   /* requested; 0: none */                                         \
    X(memory_bytes)                                                                   \
    X(max_cpu_ppm) /* millionths of a core; 0: no budget */                           \
    X(all_threads)                                                                    \
    X(native) /* 0: off, 1: leaf, 2: full */                                          \
    X(kernel_frames)                                                                  \
    X(no_gc)                                                                          \
    X(opcodes)                                                                        \
    X(blocking) /* of captures without `stop`: always */                              \
    X(max_stop_ppm)                                                                   \
    X(hides_arguments) /* only the first word of each command line */                 \
    X(unit_ns)         /* of sample times */                                          \
    X(merged)          /* number of captures that were merged; 0: recorded */         \
    X(ended_at_ns)     /* since 1970; this and what follows only in the last block */ \
    X(elapsed_ns)                                                                     \
    X(has_failed)                                                                     \
    X(lost) /* samples that could not be written in time */

#define CAPTURE_TEXTS(X)                                                                      \
    X(executable)                                                                             \
    X(python)                                                                                 \
    X(host)                                                                                   \
    X(user)                                                                                   \
    X(mode)                                                                                   \
    X(async)                                                                                  \
    X(engine)                                                                                 \
    X(engine_reason) /* why not the other one */                                              \
    X(kernel_reason) /* why there are no kernel frames */                                     \
    X(stop)                                                                                   \
    X(pyrometer) /* the version that recorded it */                                           \
    X(foreign)   /* the format and tool of the profile it was made of, and what that lacks */ \
    X(reason)    /* why it ended */                                                           \
    X(source_text) /* kept, or why none is; in the last block */

/* counters and states name the numbers in other blocks.  targets, in the last block only,
 * are the processes of the session (target_record.h); captures before 4.3 have processes and services instead.  package_paths and package_names, in the last
 * block too, are the rows of profile/packages.h.  focus to show_from are patterns
 * of filters (recorded_filters.h). */
#define CAPTURE_LISTS(X) \
    X(argv)              \
    X(counters)          \
    X(states)            \
    X(targets)           \
    X(processes)         \
    X(services)          \
    X(package_paths)     \
    X(package_names)     \
    X(focus)             \
    X(ignore)            \
    X(hide)              \
    X(show)              \
    X(show_from)

struct capture_metadata {
#define X(name) uint64_t name;
    CAPTURE_NUMBERS(X)
#undef X
#define X(name) const char *name;
    CAPTURE_TEXTS(X)
#undef X
#define X(name) struct capture_texts name;
    CAPTURE_LISTS(X)
#undef X
};

/* Leaves out what is 0 or empty. */
void metadata_encode(const struct capture_metadata *metadata, struct buffer *out);
/* Adds to the metadata that are there already. */
MUST_CHECK enum err_code metadata_decode(struct capture_metadata *metadata,
                                         struct byte_reader *in, struct err *err);
void metadata_deinit(struct capture_metadata *metadata);

#endif /* SAMPLER_CAPTURE_METADATA_H */
