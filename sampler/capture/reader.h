/*
 * reader - reads a capture: its metadata, its samples in the order of time, its profile.
 *
 *     reader_open            reads the start and the end
 *     reader_load            makes a profile as of a live session, for views and every format
 *     reader_load_part       the same for a part of its time
 *     reader_watch           reports how far reading is
 *     reader_next_window     or: reads window by window
 *     reader_rewind          starts again
 *
 * Ids in runs are rows of the reader's profile.  When reader_next_window returns, the profile has all
 * rows that the window refers to.  To read rows through a snapshot while reading windows, call
 * reader_load first, then reader_rewind.
 *
 * A capture that was cut opens up to its last whole block; reader_missing says what is missing.
 * Invalid contents are ERR_CORRUPT with their offset.  A file that is not a capture, or of a later
 * major version, is ERR_UNSUPPORTED.
 *
 * Order in time: runs of a window start within it, except in merged captures, where a run may start up
 * to a window's length earlier.
 *
 * Ownership: the reader owns the file, the metadata and the profile; results live until the next call.
 * Threads: one at a time; any thread may read the loaded profile.
 * Limits: see format.h and source_texts.h; one block at a time is in memory, and the texts of source files; the profile takes at most twice memory_bytes.
 * Units: nanoseconds since the session began.
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
struct source_texts;

/* path: a regular file. */
MUST_CHECK enum err_code reader_open(const char *path, struct reader **out, struct err *err);
/* Reads a file that is open and stays the caller's.  The message of a failure names no file. */
MUST_CHECK enum err_code reader_open_fd(int fd, struct reader **out, struct err *err);
/* NULL is fine.  Snapshots of its profile must have been released. */
void reader_close(struct reader *reader);

/* Metadata of the start; those of the end too once the end was read: at once if there is an index. */
const struct capture_metadata *reader_metadata(const struct reader *reader);
/* Does the capture have its end block?  Known at once. */
bool reader_has_end(const struct reader *reader);
/* A sentence about what is missing; NULL: nothing.  Known once everything was read. */
const char *reader_missing(const struct reader *reader);

/* The texts of source files, and SOURCE_TEXT_KEPT or why there is none ("": an older program recorded it).  Known once
 * everything was read. */
const struct source_texts *reader_source(const struct reader *reader);
const char *reader_source_text(const struct reader *reader);

struct profile *reader_profile(struct reader *reader);

/* Reads everything into the profile.  memory_bytes: as --memory of a live session, with old windows
 * merged as there; 0: no bound.  ERR_LIMIT: the tables need more. */
MUST_CHECK enum err_code reader_load(struct reader *reader, size_t memory_bytes,
                                     struct err *err);

/* Called for each block with the bytes read so far and those of the file; false: stop reading, with an
 * error.  A small file may unpack to very many bytes. */
typedef bool reader_watcher(void *context, uint64_t done, uint64_t bytes);
void reader_watch(struct reader *reader, reader_watcher *watch, void *context);

struct reader_part {
    size_t memory_bytes;
    uint64_t from_ns, to_ns; /* windows that start at or after, and before; to_ns 0: no end */
    reader_watcher *watch;   /* NULL: none */
    void *context;
};

/* Loads a part of the capture's time. If there is an index, samples of other times are not
 * unpacked. Tables, length and counters are those of the whole session. The length of the part,
 * not of the capture, decides which windows are merged. Call once, on a reader that was just
 * opened. */
MUST_CHECK enum err_code reader_load_part(struct reader *reader, const struct reader_part *part,
                                          struct err *err);

struct reader_window {
    uint64_t start_ns, end_ns;
    uint64_t period_ns; /* what a sample stands for; 0: unknown */
    bool is_open;       /* it continues in the next one */
    struct quality quality;
    const struct run *runs; /* by thread, then time */
    size_t run_count;
};

/* ERR_NOT_FOUND: no window is left. */
MUST_CHECK enum err_code reader_next_window(struct reader *reader, struct reader_window *out,
                                            struct err *err);
/* Back to the first window. */
void reader_rewind(struct reader *reader);

#endif /* SAMPLER_CAPTURE_READER_H */
