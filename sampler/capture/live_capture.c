#define _GNU_SOURCE
#include "sampler/capture/live_capture.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/channel.h"
#include "sampler/base/thread.h"
#include "sampler/capture/metadata.h"
#include "sampler/capture/writer.h"
#include "sampler/profile/memory_log.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/sink.h"

/* Runs on their way to the file; if their window is closed with them, its end and counters. */
struct chunk {
    struct chunk *next;
    size_t count;
    bool seals;
    uint64_t end_ns, period_ns;
    struct quality quality;
    uint64_t lost; /* samples lost so far */
    struct memory_step memory;
    struct memory_use *uses; /* of the step; NULL: there is none */
    struct run runs[LIVE_CAPTURE_CHUNK_RUNS];
};

struct live_capture {
    struct sink sink;
    int fd;
    struct profile *profile;
    void (*failed)(void *context, const struct err *err);
    live_capture_put *put; /* NULL: a file */
    void *context;

    /* Used by the sampling thread only; by others after it has ended. */
    struct chunk *filling; /* NULL: none */
    size_t made;           /* chunks */
    uint64_t lost;         /* samples for which there was no chunk */
    uint64_t taken;        /* samples in all, the lost ones too */

    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    struct chunk *first, *last; /* full ones, in order */
    struct chunk *free;
    bool is_ending;

    /* Used by the capture's thread only; by others after it has ended. */
    struct writer writer;
    struct live_capture_seal sealed; /* the last closed window; lost with the dropped ones */
    uint64_t dropped;                /* samples that had no room in a block */
    bool is_regular;
    off_t start; /* offset of the capture in the file */
    struct err err;
};

static void hand_over(struct live_capture *capture)
{
    struct chunk *const chunk = capture->filling;
    capture->filling = NULL;
    chunk->lost = capture->lost;
    pthread_mutex_lock(&capture->lock);
    if (capture->last)
        capture->last->next = chunk;
    else
        capture->first = chunk;
    capture->last = chunk;
    pthread_cond_signal(&capture->changed);
    pthread_mutex_unlock(&capture->lock);
}

static bool has_room(struct live_capture *capture)
{
    if (!capture->filling) {
        pthread_mutex_lock(&capture->lock);
        struct chunk *chunk = capture->free;
        if (chunk)
            capture->free = chunk->next;
        pthread_mutex_unlock(&capture->lock);
        if (!chunk && capture->made < LIVE_CAPTURE_MAX_CHUNKS) {
            chunk = malloc(sizeof *chunk);
            capture->made += chunk != NULL;
        }
        if (chunk) {
            chunk->next = NULL;
            chunk->count = 0;
            chunk->seals = false;
            chunk->uses = NULL;
        }
        capture->filling = chunk;
    }
    return capture->filling != NULL;
}

static void count_run(void *context, const struct run *run)
{
    struct live_capture *const capture = context;
    capture->taken += run->count;
    if (!has_room(capture)) {
        capture->lost += run->count;
        return;
    }
    struct chunk *const chunk = capture->filling;
    chunk->runs[chunk->count++] = *run;
    if (chunk->count == LIVE_CAPTURE_CHUNK_RUNS)
        hand_over(capture);
}

/* A step for which there is no memory is left out. */
static void take_memory(void *context, const struct memory_step *step,
                        const struct memory_use *uses)
{
    struct live_capture *const capture = context;
    const size_t bytes = step->count * sizeof *uses;
    if (!has_room(capture) || capture->filling->uses ||
        !(capture->filling->uses = malloc(bytes)))
        return;
    memcpy(capture->filling->uses, uses, bytes);
    capture->filling->memory = *step;
}

/* If there is no chunk, the next seal closes this window too. */
static void seal_window(void *context, uint64_t end_ns, uint64_t period_ns,
                        const struct quality *quality)
{
    struct live_capture *const capture = context;
    if (!has_room(capture))
        return;
    struct chunk *const chunk = capture->filling;
    chunk->seals = true;
    chunk->end_ns = end_ns;
    chunk->period_ns = period_ns;
    chunk->quality = *quality;
    hand_over(capture);
}

enum err_code live_capture_create(struct live_capture **out, struct err *err)
{
    struct live_capture *const capture = calloc(1, sizeof *capture);
    if (!capture)
        return err_nomem(err);
    capture->sink = (struct sink){
        .context = capture, .count = count_run, .memory = take_memory, .seal = seal_window
    };
    pthread_mutex_init(&capture->lock, NULL);
    pthread_cond_init(&capture->changed, NULL);
    *out = capture;
    return ERR_OK;
}

const struct sink *live_capture_sink(const struct live_capture *capture)
{
    return &capture->sink;
}

static enum err_code write_out(void *to, const void *data, size_t bytes, struct err *err)
{
    const struct live_capture *const capture = to;
    if (channel_write(capture->fd, data, bytes))
        return ERR_OK;
    err_sys(err, errno, "cannot write the capture");
    return ERR_SYS;
}

static void put_state(void *context, struct buffer *out)
{
    struct live_capture *const capture = context;
    capture->sealed.rows = capture->writer.done;
    capture->put(capture->context, &capture->sealed, out);
}

/* Every row that the runs refer to was published before they were handed over. */
static enum err_code flush_chunk(struct live_capture *capture, struct err *err)
{
    struct profile_snapshot snapshot;
    enum err_code rc = profile_snapshot(capture->profile, &snapshot, err);
    if (rc)
        return rc;
    rc = writer_flush(&capture->writer, &snapshot, &capture->sealed.quality,
                      capture->sealed.lost, err);
    profile_snapshot_release(&snapshot);
    return !rc && capture->put ? writer_state(&capture->writer, put_state, capture, err) : rc;
}

/* Rows are published when their window is sealed, so a block is only made then. */
static enum err_code take_chunk(struct live_capture *capture, const struct chunk *chunk,
                                struct err *err)
{
    struct writer *const writer = &capture->writer;
    enum err_code rc = ERR_OK;
    if (writer_run_count(writer) < LIVE_CAPTURE_MAX_OPEN_RUNS) {
        for (size_t i = 0; i < chunk->count && !rc; i++)
            rc = writer_run(&capture->writer, &chunk->runs[i], err);
    } else {
        for (size_t i = 0; i < chunk->count; i++)
            capture->dropped += chunk->runs[i].count;
    }
    if (!rc && chunk->uses)
        rc = writer_memory(writer, &chunk->memory, chunk->uses, err);
    if (rc || !chunk->seals)
        return rc;
    capture->sealed = (struct live_capture_seal){ .end_ns = chunk->end_ns,
                                                  .quality = chunk->quality,
                                                  .lost = chunk->lost + capture->dropped };
    for (enum measure i = MEASURE_TIME + 1; i < MEASURE_COUNT && !rc; i++)
        rc = writer_seal_measured(writer, i, chunk->end_ns, measure_period(i), err);
    if (!rc)
        rc = writer_seal(writer, chunk->end_ns, chunk->period_ns, err);
    return !rc && writer_is_due(writer) ? flush_chunk(capture, err) : rc;
}

/* Removes a partly written block: then there may be room for the end. */
static void drop_rest(struct live_capture *capture)
{
    const off_t end = capture->start + (off_t)capture->writer.at;
    if (capture->is_regular && ftruncate(capture->fd, end) == 0)
        (void)!lseek(capture->fd, end, SEEK_SET);
}

/* NULL: the capture ends, and no chunk is left. */
static struct chunk *wait_for_chunk(struct live_capture *capture)
{
    pthread_mutex_lock(&capture->lock);
    while (!capture->first && !capture->is_ending)
        pthread_cond_wait(&capture->changed, &capture->lock);
    struct chunk *const chunk = capture->first;
    if (chunk)
        capture->first = chunk->next;
    if (!capture->first)
        capture->last = NULL;
    pthread_mutex_unlock(&capture->lock);
    return chunk;
}

static void *capture_main(void *context)
{
    struct live_capture *const capture = context;
    struct chunk *chunk;
    pthread_setname_np(pthread_self(), "capture");
    while ((chunk = wait_for_chunk(capture))) {
        /* After a failure chunks are not written. */
        if (!capture->err.code && take_chunk(capture, chunk, &capture->err)) {
            drop_rest(capture);
            if (capture->failed)
                capture->failed(capture->context, &capture->err);
        }
        free(chunk->uses);
        chunk->uses = NULL;
        pthread_mutex_lock(&capture->lock);
        chunk->next = capture->free;
        capture->free = chunk;
        pthread_mutex_unlock(&capture->lock);
    }
    return NULL;
}

/* SIGXFSZ would end the program; without it, write fails.  thread_start blocks it for our thread, and
 * this for writes of the calling thread. */
static sigset_t block_limit_signal(void)
{
    sigset_t limit, before;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    sigaddset(&limit, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    return before;
}

static void unblock_signals(const sigset_t *before)
{
    const struct timespec now = { 0 };
    sigset_t limit;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    sigaddset(&limit, SIGPIPE);
    while (sigtimedwait(&limit, NULL, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static enum err_code start_thread(struct live_capture *capture, struct err *err)
{
    const int sys = thread_start(&capture->thread, capture_main, capture);
    if (sys)
        return err_sys(err, sys, "cannot start a thread to write the capture");
    capture->has_thread = true;
    return ERR_OK;
}

/* Precise to a microsecond, because no file grows by it. */
enum { LIVE_UNIT_NS = 1000 };

enum err_code live_capture_begin_live(struct live_capture *capture, int fd,
                                      struct profile *profile,
                                      const struct capture_metadata *metadata,
                                      live_capture_put *put,
                                      void (*failed)(void *context, const struct err *err),
                                      void *context, struct err *err)
{
    struct capture_metadata written = *metadata;
    capture->fd = fd;
    capture->profile = profile;
    capture->put = put;
    capture->failed = failed;
    capture->context = context;
    written.unit_ns = LIVE_UNIT_NS;
    const sigset_t before = block_limit_signal();
    enum err_code rc = writer_init_live(&capture->writer, &written, write_out, capture, err);
    if (!rc)
        rc = flush_chunk(capture, err);
    unblock_signals(&before);
    return rc ? rc : start_thread(capture, err);
}

enum err_code live_capture_begin(struct live_capture *capture, int fd, struct profile *profile,
                                 const struct capture_metadata *metadata,
                                 void (*failed)(void *context, const struct err *err),
                                 void *context, struct err *err)
{
    struct capture_metadata written = *metadata;
    struct stat status;
    capture->fd = fd;
    capture->profile = profile;
    capture->failed = failed;
    capture->context = context;
    capture->is_regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    capture->start = capture->is_regular ? lseek(fd, 0, SEEK_CUR) : 0;
    written.unit_ns = writer_unit_ns((double)metadata->rate_uhz / 1e6);
    const sigset_t before = block_limit_signal();
    const enum err_code rc = writer_init(&capture->writer, &written, write_out, capture, err);
    unblock_signals(&before);
    return rc ? rc : start_thread(capture, err);
}

static void join_thread(struct live_capture *capture)
{
    if (!capture->has_thread)
        return;
    pthread_mutex_lock(&capture->lock);
    capture->is_ending = true;
    pthread_cond_signal(&capture->changed);
    pthread_mutex_unlock(&capture->lock);
    pthread_join(capture->thread, NULL);
    capture->has_thread = false;
}

enum err_code live_capture_finish(struct live_capture *capture,
                                  const struct capture_metadata *end,
                                  const struct buffer *texts, struct err *err)
{
    if (capture->filling && capture->filling->count)
        hand_over(capture);
    join_thread(capture);
    const sigset_t before = block_limit_signal();

    struct capture_metadata written = *end;
    capture->sealed.lost = capture->lost + capture->dropped;
    if (!capture->err.code &&
        (flush_chunk(capture, &capture->err) ||
         (texts && texts->length && writer_source(&capture->writer, texts, &capture->err))))
        drop_rest(capture);
    if (capture->err.code) {
        /* The end is short: there may be room for it. */
        memory_log_clear(&capture->writer.memory);
        written.has_failed = true;
        written.reason = capture->err.message;
    }
    written.lost = live_capture_lost(capture);
    const enum err_code rc = writer_finish(&capture->writer, &written, err);
    if (rc)
        drop_rest(capture);

    unblock_signals(&before);
    if (!capture->err.code)
        return rc;
    if (err)
        *err = capture->err;
    return capture->err.code;
}

static void free_chunks(struct chunk *chunk)
{
    while (chunk) {
        struct chunk *const next = chunk->next;
        free(chunk->uses);
        free(chunk);
        chunk = next;
    }
}

void live_capture_destroy(struct live_capture *capture)
{
    if (!capture)
        return;
    join_thread(capture);
    writer_deinit(&capture->writer);
    free_chunks(capture->first);
    free_chunks(capture->free);
    if (capture->filling)
        free(capture->filling->uses);
    free(capture->filling);
    pthread_cond_destroy(&capture->changed);
    pthread_mutex_destroy(&capture->lock);
    free(capture);
}

uint64_t live_capture_bytes(const struct live_capture *capture)
{
    return capture->writer.at;
}

uint64_t live_capture_samples(const struct live_capture *capture)
{
    return capture->writer.samples;
}

uint64_t live_capture_lost(const struct live_capture *capture)
{
    return capture->taken - capture->writer.samples;
}
