/*
 * writer - writes a capture: the metadata, then blocks of rows and samples, then the end.
 *
 *     writer_init      the preamble and the metadata
 *     writer_run ...   samples of the open window
 *     writer_seal      closes the window
 *     writer_flush     when writer_is_due, and before the end: makes blocks of the runs so far
 *     writer_finish    the last block
 *
 * Bytes go to `take` block by block, in order, and never change afterwards, so `take` may write to a
 * pipe.
 *
 * Ownership: the caller's storage; writer_deinit accepts a zeroed one.
 * Threads: one at a time.  writer_flush reads rows below the snapshot's sizes, which must cover
 * every row that the runs so far refer to.
 * Limits: an index has up to CAPTURE_MAX_INDEX blocks, the first one of each stream; a capture with more
 * streams has no index.
 * Errors: the error of `take`; nothing more is written then.
 */
#ifndef SAMPLER_CAPTURE_WRITER_H
#define SAMPLER_CAPTURE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/buffer.h"
#include "sampler/base/err.h"
#include "sampler/capture/block.h"
#include "sampler/capture/windows.h"
#include "sampler/profile/memory_log.h"
#include "sampler/profile/profile.h"

struct capture_metadata;

/* A block is written once the start of its oldest window is this long ago.  With windows of a quarter of
 * a second each sample is written within a second. */
#define WRITER_PATIENCE_NS 700000000ull
/* The memory of processes is written once that of so much time waits: alone, a second of it would be larger than its samples. */
#define WRITER_MEMORY_NS 8000000000ull

typedef enum err_code (*writer_take)(void *to, const void *data, size_t bytes, struct err *err);

struct writer {
    writer_take take;
    void *to;
    bool is_live; /* for a process that waits for it: blocks are neither late nor compressed */
    struct windows_encoder windows;                 /* of time */
    struct windows_encoder measured[MEASURE_COUNT]; /* of other measures */
    struct block_chain chain;                       /* of blocks of samples of time */
    struct memory_log memory;                       /* not written yet */
    struct profile_sizes done;                      /* rows written */
    struct buffer raw;                              /* a block before compression */
    struct buffer out;                              /* whole blocks not written yet */
    struct buffer index;
    size_t index_count;
    uint64_t at;      /* bytes written */
    uint64_t samples; /* written */
    uint64_t now_ns;  /* of the last seal */
};

/* The unit of time for a sampling rate: about its period, so that the times of evenly spaced samples
 * take no bytes, and at most a millisecond. */
uint64_t writer_unit_ns(double rate_hz);

/* metadata->unit_ns must be set; names are added. */
MUST_CHECK enum err_code writer_init(struct writer *writer,
                                     const struct capture_metadata *metadata, writer_take take,
                                     void *to, struct err *err);
/* Starts a writer for a process that waits for the capture: each window is a block of its own,
 * not compressed; runs say whether they lack native frames; there is no index. */
MUST_CHECK enum err_code writer_init_live(struct writer *writer,
                                          const struct capture_metadata *metadata,
                                          writer_take take, void *to, struct err *err);
void writer_deinit(struct writer *writer);

MUST_CHECK enum err_code writer_run(struct writer *writer, const struct run *run,
                                    struct err *err);
/* Adds the memory of processes, whose rows the next snapshot has. */
MUST_CHECK enum err_code writer_memory(struct writer *writer, const struct memory_step *step,
                                       const struct memory_use *uses, struct err *err);
/* The runs of the next blocks. */
size_t writer_run_count(const struct writer *writer);
/* Closes the window of time. */
MUST_CHECK enum err_code writer_seal(struct writer *writer, uint64_t end_ns, uint64_t period_ns,
                                     struct err *err);
/* Closes the window of another measure, whose samples stand for `period`.  Call it before writer_seal. */
MUST_CHECK enum err_code writer_seal_measured(struct writer *writer, enum measure measure,
                                              uint64_t end_ns, uint64_t period,
                                              struct err *err);
/* A block is full, or old enough to be written.  A block and the rows that it needs go to `take` in
 * one call (more calls if the rows are many), each with whole blocks, so that a killed writer leaves
 * whole blocks. */
bool writer_is_due(const struct writer *writer);
MUST_CHECK enum err_code writer_flush(struct writer *writer,
                                      const struct profile_snapshot *snapshot,
                                      const struct quality *quality, uint64_t lost,
                                      struct err *err);
/* Adds a CAPTURE_STATE block, with the bytes that `put` appends. */
typedef void writer_put(void *context, struct buffer *out);
MUST_CHECK enum err_code writer_state(struct writer *writer, writer_put *put, void *context,
                                      struct err *err);
/* Adds a block of source texts (source_texts.h), after the last samples. */
MUST_CHECK enum err_code writer_source(struct writer *writer, const struct buffer *texts,
                                       struct err *err);
/* end: metadata of the end. */
MUST_CHECK enum err_code writer_finish(struct writer *writer,
                                       const struct capture_metadata *end, struct err *err);

#endif /* SAMPLER_CAPTURE_WRITER_H */
