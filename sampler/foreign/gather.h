/*
 * gather - what the reader of a foreign format has found: frames, threads and samples, in any order, which become a capture.
 *
 *     gather_frame, gather_child, gather_thread   ids of what a sample names
 *     gather_sample ...                           samples
 *     gather_write                                the capture
 *
 * The values of all samples are added up as whole numbers: of nanoseconds where they are time, else of what the file
 * counts.  A sample of the capture stands for the greatest time that divides all of them: that of a sample where the
 * profiler took one at even intervals.  So sums are those of the file.  What a file counts beside that are other measures (measure.h).
 *
 * Ownership: the caller's storage; gather_deinit accepts a zeroed one.
 * Threads: one.
 * Limits: tables take memory_bytes / 4 * 3 as in reader.h, then ERR_LIMIT; samples go to a temporary file (sorter.h).
 * GATHER_MAX_DEPTH frames in a stack.
 */
#ifndef SAMPLER_FOREIGN_GATHER_H
#define SAMPLER_FOREIGN_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/foreign/sorter.h"
#include "sampler/profile/profile_rows.h"
#include "sampler/profile/state.h"

struct scratch;

enum { GATHER_MAX_DEPTH = 1 << 20, GATHER_TEXT_BYTES = 128, GATHER_FOREIGN_BYTES = 512 };

struct gather {
    struct profile *profile;
    struct sorter samples;
    size_t table_bytes;
    /* By measure; MEASURE_TIME is what samples are of, time or not. */
    uint64_t divisors[MEASURE_COUNT]; /* the greatest that all values have in common */
    uint64_t totals[MEASURE_COUNT];   /* of all values */
    uint64_t first_ns, last_ns;       /* of the instants of samples */
    uint64_t most;                    /* of all values of one thread */
    uint64_t sample_count;            /* 0: the file does not say how many samples it has */
    uint64_t *thread_totals;
    size_t thread_room;

    /* Set by the reader of the format. */
    const char *format;              /* "speedscope" */
    char tool[GATHER_TEXT_BYTES];    /* "py-spy 0.4.1"; "": unknown */
    char command[GATHER_TEXT_BYTES]; /* "": unknown */
    char python[16];                 /* "": unknown */
    char lacks[GATHER_TEXT_BYTES];   /* what the format does not say: "lines, threads" */
    char counts
        [GATHER_TEXT_BYTES]; /* what is counted, where it is not time: "bytes (inuse_space)" */
    bool is_time;            /* values are nanoseconds; else samples, or `counts` */
    bool has_instants;       /* it is known when each sample was taken */
    uint64_t started_at_ns;  /* since 1970; 0: unknown */
    uint64_t interval_ns;    /* at which the profiler took samples; 0: unknown */
    int32_t pid;             /* 0: unknown */
};

MUST_CHECK enum err_code gather_init(struct gather *gather, size_t memory_bytes,
                                     struct err *err);
void gather_deinit(struct gather *gather);

/* A text that is not NUL-terminated. */
struct gather_text {
    const char *text;
    size_t bytes;
};

static inline bool gather_text_is(struct gather_text text, const char *word)
{
    size_t i = 0;
    while (i < text.bytes && word[i] && word[i] == text.text[i])
        i++;
    return i == text.bytes && !word[i];
}

/* Copies a text as it is, cut to its room. */
void gather_copy(char *out, size_t room, struct gather_text text);
/* Keeps a text, cut to its room, without what a terminal obeys. */
void gather_keep(char out[GATHER_TEXT_BYTES], struct gather_text text);

/* file of no bytes: unknown, and "~": the name is a mark, such as <GC>.  Lines: 0: unknown. */
MUST_CHECK enum err_code gather_frame(struct gather *gather, struct gather_text name,
                                      struct gather_text file, int64_t first_line, int64_t line,
                                      frame_id *out, struct err *err);
/* parent 0: the frame is the outermost. */
MUST_CHECK enum err_code gather_child(struct gather *gather, node_id parent, frame_id frame,
                                      node_id *out, struct err *err);
/* tid, ident 0: unknown. */
MUST_CHECK enum err_code gather_thread(struct gather *gather, int64_t pid,
                                       struct gather_text process, int64_t tid, uint64_t ident,
                                       struct gather_text name, thread_id *out,
                                       struct err *err);

/* value: as is_time says.  at_ns: 0 where instants are unknown. */
MUST_CHECK enum err_code gather_sample(struct gather *gather, thread_id thread,
                                       state_bits state, node_id node, uint64_t value,
                                       uint64_t at_ns, struct err *err);

/* The measure of that name and unit in pprof's words.  ERR_LIMIT: there are too many. */
MUST_CHECK enum err_code gather_measure(struct gather *gather, struct gather_text type,
                                        struct gather_text unit, enum measure *out,
                                        struct err *err);
/* Counts a value of another measure than time, without an instant. */
MUST_CHECK enum err_code gather_measured(struct gather *gather, enum measure measure,
                                         thread_id thread, node_id node, uint64_t value,
                                         struct err *err);

/* Once everything was found.  ERR_CORRUPT: there is no sample. */
MUST_CHECK enum err_code gather_write(struct gather *gather, struct scratch *out,
                                      struct err *err);

#endif /* SAMPLER_FOREIGN_GATHER_H */
