/*
 * reader - a capture being read: its facts, its samples in the order of time, its profile.
 *
 *     reader_open            looks at the start and the end
 *     reader_load            a profile as a live session has it, for views and every format
 *     reader_load_part       the same of a part of its time
 *     reader_watch           who is told how far it is
 *     reader_next_window     or: one window after the other
 *     reader_rewind          starts again
 *
 * Ids in runs are rows of the reader's profile: all that a window names are in it when the window
 * has been given.  To look at rows while windows are read, call reader_load first and
 * reader_rewind then; its snapshot has them all.
 *
 * A capture that was cut opens up to its last whole block, and reader_missing says what is not
 * there.  What does not make sense is ERR_CORRUPT with the place; what is no capture, or a later
 * major version, is ERR_UNSUPPORTED.
 *
 * Order in time: runs of a window start within it, but for captures made by merging, where a
 * run may start up to a window's length before.
 *
 * Ownership: the reader owns the file, the facts and the profile, and what it gives lives until
 * the next call.
 * Threads: one at a time; the loaded profile may be read by any.
 * Limits: see format.h; a block at a time is in memory, and the profile takes at most twice
 * memory_bytes.
 * Units: nanoseconds since the session began.
 * Depends on: profile, facts, windows, rows, block.
 */
#ifndef SAMPLER_CAPTURE_READER_H
#define SAMPLER_CAPTURE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/capture/metadata.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/sink.h"

struct reader;

/* path: a regular file. */
MUST_CHECK enum err_code reader_open(const char *path, struct reader **out, struct err *err);
/* NULL is fine.  Snapshots of its profile must have been released. */
void reader_close(struct reader *reader);

/* Those of the start; those of the end once it was seen, which is at once where there is an
 * index. */
const struct capture_metadata *reader_metadata(const struct reader *reader);
/* It was ended as it should be, by the index.  Known at once. */
bool reader_has_end(const struct reader *reader);
/* A sentence about what is not there; NULL: all of it is.  Known once all was read. */
const char *reader_missing(const struct reader *reader);

struct profile *reader_profile(struct reader *reader);

/* Reads all of it into the profile.  memory_bytes: the --memory of a live session that has as
 * much, 0: no bound; old windows are merged as there.  ERR_LIMIT: the tables need more. */
MUST_CHECK enum err_code reader_load(struct reader *reader, size_t memory_bytes,
                                     struct err *err);

/* Called for each block with the bytes behind us and all there are; false: reading stops here, which
 * is an error.  A small file may unpack to very much. */
typedef bool reader_watcher(void *context, uint64_t done, uint64_t bytes);
void reader_watch(struct reader *reader, reader_watcher *watch, void *context);

struct reader_part {
    size_t memory_bytes;
    uint64_t from_ns, to_ns; /* windows that start at or after, and before; to_ns 0: no end */
    reader_watcher *watch;   /* NULL: nobody asks */
    void *context;
};

/* The same of a part of its time.  Where there is an index, samples of other times are not
 * unpacked; tables, the length of the session and its counters are those of all of it.  Windows
 * get coarser by the length of the part, not of the capture.  Once, of a reader that was just
 * opened. */
MUST_CHECK enum err_code reader_load_part(struct reader *reader, const struct reader_part *part,
                                          struct err *err);

struct reader_window {
    uint64_t start_ns, end_ns;
    uint64_t period_ns; /* what a sample stands for; 0: unknown */
    bool is_open;       /* more of it follows */
    struct quality quality;
    const struct run *runs; /* by thread, then time */
    size_t run_count;
};

/* ERR_NOT_FOUND: that was the last. */
MUST_CHECK enum err_code reader_next_window(struct reader *reader, struct reader_window *out,
                                            struct err *err);
/* Back to the first window. */
void reader_rewind(struct reader *reader);

#endif /* SAMPLER_CAPTURE_READER_H */
