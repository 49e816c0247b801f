#define _GNU_SOURCE
#include "sampler/capture/live_capture.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/capture/metadata.h"
#include "sampler/capture/writer.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/sink.h"

/* Runs on their way to the file, and what became of their window. */
struct chunk {
    struct chunk *next;
    size_t count;
    bool seals;
    uint64_t end_ns, period_ns;
    struct quality quality;
    uint64_t lost; /* samples, up to here */
    struct run runs[RECORDER_CHUNK_RUNS];
};

struct recorder {
    struct sink sink;
    int fd;
    struct profile *profile;
    void (*failed)(void *context, const struct err *err);
    void *context;

    /* Only the sampling thread touches these, and others after the end. */
    struct chunk *filling; /* NULL: none */
    size_t made;           /* chunks */
    uint64_t lost;         /* samples, as there was no chunk for them */
    uint64_t taken;        /* samples in all, the lost ones too */

    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    struct chunk *first, *last; /* full ones, in order */
    struct chunk *free;
    bool is_ending;

    /* Only the recorder's thread touches these, and others after the end. */
    struct writer writer;
    struct quality quality; /* as last told */
    uint64_t told_lost;
    uint64_t dropped; /* samples that had no room in a block */
    bool is_regular;
    off_t start; /* where in the file we began */
    struct err err;
};

static struct chunk *take_free(struct recorder *recorder)
{
    pthread_mutex_lock(&recorder->lock);
    struct chunk *chunk = recorder->free;
    if (chunk)
        recorder->free = chunk->next;
    pthread_mutex_unlock(&recorder->lock);
    if (!chunk && recorder->made < RECORDER_MAX_CHUNKS) {
        chunk = malloc(sizeof *chunk);
        recorder->made += chunk != NULL;
    }
    if (chunk) {
        chunk->next = NULL;
        chunk->count = 0;
        chunk->seals = false;
    }
    return chunk;
}

static void hand_over(struct recorder *recorder)
{
    struct chunk *const chunk = recorder->filling;
    recorder->filling = NULL;
    chunk->lost = recorder->lost;
    pthread_mutex_lock(&recorder->lock);
    if (recorder->last)
        recorder->last->next = chunk;
    else
        recorder->first = chunk;
    recorder->last = chunk;
    pthread_cond_signal(&recorder->changed);
    pthread_mutex_unlock(&recorder->lock);
}

static bool has_room(struct recorder *recorder)
{
    if (!recorder->filling)
        recorder->filling = take_free(recorder);
    return recorder->filling != NULL;
}

static void count(void *context, const struct run *run)
{
    struct recorder *const recorder = context;
    recorder->taken += run->count;
    if (!has_room(recorder)) {
        recorder->lost += run->count;
        return;
    }
    struct chunk *const chunk = recorder->filling;
    chunk->runs[chunk->count++] = *run;
    if (chunk->count == RECORDER_CHUNK_RUNS)
        hand_over(recorder);
}

/* Without room for it the window is closed together with the next. */
static void seal(void *context, uint64_t end_ns, uint64_t period_ns,
                 const struct quality *quality)
{
    struct recorder *const recorder = context;
    if (!has_room(recorder))
        return;
    struct chunk *const chunk = recorder->filling;
    chunk->seals = true;
    chunk->end_ns = end_ns;
    chunk->period_ns = period_ns;
    chunk->quality = *quality;
    hand_over(recorder);
}

enum err_code recorder_create(struct recorder **out, struct err *err)
{
    struct recorder *const recorder = calloc(1, sizeof *recorder);
    if (!recorder)
        return err_set(err, ERR_NOMEM, "no memory to record a capture");
    recorder->sink = (struct sink){ .context = recorder, .count = count, .seal = seal };
    pthread_mutex_init(&recorder->lock, NULL);
    pthread_cond_init(&recorder->changed, NULL);
    *out = recorder;
    return ERR_OK;
}

const struct sink *recorder_sink(const struct recorder *recorder)
{
    return &recorder->sink;
}

static enum err_code put(void *to, const void *data, size_t bytes, struct err *err)
{
    struct recorder *const recorder = to;
    const char *at = data;
    while (bytes > 0) {
        const ssize_t n = write(recorder->fd, at, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            err_sys(err, errno, "cannot write the capture");
            return ERR_SYS;
        }
        at += n;
        bytes -= (size_t)n;
    }
    return ERR_OK;
}

/* What the runs so far name was published before they were handed over. */
static enum err_code flush(struct recorder *recorder, struct err *err)
{
    struct profile_snapshot snapshot;
    enum err_code rc = profile_snapshot(recorder->profile, &snapshot, err);
    if (rc)
        return rc;
    rc = writer_flush(&recorder->writer, &snapshot, &recorder->quality, recorder->told_lost,
                      err);
    profile_snapshot_release(&snapshot);
    return rc;
}

static void drop(struct recorder *recorder, const struct chunk *chunk)
{
    for (size_t i = 0; i < chunk->count; i++)
        recorder->dropped += chunk->runs[i].count;
}

static enum err_code take_runs(struct recorder *recorder, const struct chunk *chunk,
                               struct err *err)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < chunk->count && !rc; i++)
        rc = writer_run(&recorder->writer, &chunk->runs[i], err);
    return rc;
}

/* Rows are published when their window is sealed, so a block is only made then. */
static enum err_code take_chunk(struct recorder *recorder, const struct chunk *chunk,
                                struct err *err)
{
    struct writer *const writer = &recorder->writer;
    enum err_code rc = ERR_OK;
    if (writer->windows.run_count < RECORDER_MAX_OPEN_RUNS)
        rc = take_runs(recorder, chunk, err);
    else
        drop(recorder, chunk);
    if (rc || !chunk->seals)
        return rc;
    recorder->quality = chunk->quality;
    recorder->told_lost = chunk->lost + recorder->dropped;
    rc = writer_seal(writer, chunk->end_ns, chunk->period_ns, err);
    return !rc && writer_is_due(writer) ? flush(recorder, err) : rc;
}

/* A piece of a block is of no use, and without it there may be room for the end. */
static void drop_rest(struct recorder *recorder)
{
    if (recorder->is_regular)
        (void)!ftruncate(recorder->fd, recorder->start + (off_t)recorder->writer.at);
}

static void fail(struct recorder *recorder)
{
    drop_rest(recorder);
    if (recorder->failed)
        recorder->failed(recorder->context, &recorder->err);
}

/* After a failure chunks come to nothing. */
static void process(struct recorder *recorder, struct chunk *chunk)
{
    if (!recorder->err.code && take_chunk(recorder, chunk, &recorder->err))
        fail(recorder);
    pthread_mutex_lock(&recorder->lock);
    chunk->next = recorder->free;
    recorder->free = chunk;
    pthread_mutex_unlock(&recorder->lock);
}

/* NULL: nothing more will come. */
static struct chunk *wait_for_chunk(struct recorder *recorder)
{
    pthread_mutex_lock(&recorder->lock);
    while (!recorder->first && !recorder->is_ending)
        pthread_cond_wait(&recorder->changed, &recorder->lock);
    struct chunk *const chunk = recorder->first;
    if (chunk)
        recorder->first = chunk->next;
    if (!recorder->first)
        recorder->last = NULL;
    pthread_mutex_unlock(&recorder->lock);
    return chunk;
}

static void *main_of_thread(void *context)
{
    struct recorder *const recorder = context;
    struct chunk *chunk;
    pthread_setname_np(pthread_self(), "recorder");
    while ((chunk = wait_for_chunk(recorder)))
        process(recorder, chunk);
    return NULL;
}

/* Signals are the main thread's business, and SIGXFSZ would end us where an error will do. */
static int start_thread(struct recorder *recorder)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int rc = pthread_create(&recorder->thread, NULL, main_of_thread, recorder);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* Likewise for what this thread itself writes. */
static sigset_t block_limit_signal(void)
{
    sigset_t limit, before;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    sigaddset(&limit, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    return before;
}

static void unblock(const sigset_t *before)
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

enum err_code recorder_begin(struct recorder *recorder, int fd, struct profile *profile,
                             const struct capture_facts *facts,
                             void (*failed)(void *context, const struct err *err),
                             void *context, struct err *err)
{
    struct capture_facts own = *facts;
    struct stat status;
    recorder->fd = fd;
    recorder->profile = profile;
    recorder->failed = failed;
    recorder->context = context;
    recorder->is_regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    recorder->start = recorder->is_regular ? lseek(fd, 0, SEEK_CUR) : 0;
    own.unit_ns = writer_unit_ns((double)facts->rate_uhz / 1e6);
    const sigset_t before = block_limit_signal();
    enum err_code rc = writer_init(&recorder->writer, &own, put, recorder, err);
    unblock(&before);
    if (rc)
        return rc;
    const int sys = start_thread(recorder);
    if (sys)
        return err_sys(err, sys, "cannot start a thread to write the capture");
    recorder->has_thread = true;
    return ERR_OK;
}

static void join(struct recorder *recorder)
{
    if (!recorder->has_thread)
        return;
    pthread_mutex_lock(&recorder->lock);
    recorder->is_ending = true;
    pthread_cond_signal(&recorder->changed);
    pthread_mutex_unlock(&recorder->lock);
    pthread_join(recorder->thread, NULL);
    recorder->has_thread = false;
}

static enum err_code write_end(struct recorder *recorder, const struct capture_facts *end,
                               struct err *err)
{
    struct capture_facts own = *end;
    recorder->told_lost = recorder->lost + recorder->dropped;
    if (!recorder->err.code && flush(recorder, &recorder->err))
        drop_rest(recorder);
    if (recorder->err.code) {
        /* There may be room for the end, as it is short. */
        own.has_failed = true;
        own.reason = recorder->err.message;
    }
    own.lost = recorder_lost(recorder);
    const enum err_code rc = writer_finish(&recorder->writer, &own, err);
    if (rc)
        drop_rest(recorder);
    return rc;
}

enum err_code recorder_finish(struct recorder *recorder, const struct capture_facts *end,
                              struct err *err)
{
    if (recorder->filling && recorder->filling->count)
        hand_over(recorder);
    join(recorder);
    const sigset_t before = block_limit_signal();
    const enum err_code rc = write_end(recorder, end, err);
    unblock(&before);
    if (!recorder->err.code)
        return rc;
    if (err)
        *err = recorder->err;
    return recorder->err.code;
}

static void free_chunks(struct chunk *chunk)
{
    while (chunk) {
        struct chunk *const next = chunk->next;
        free(chunk);
        chunk = next;
    }
}

void recorder_destroy(struct recorder *recorder)
{
    if (!recorder)
        return;
    join(recorder);
    writer_deinit(&recorder->writer);
    free_chunks(recorder->first);
    free_chunks(recorder->free);
    free(recorder->filling);
    pthread_cond_destroy(&recorder->changed);
    pthread_mutex_destroy(&recorder->lock);
    free(recorder);
}

uint64_t recorder_bytes(const struct recorder *recorder)
{
    return recorder->writer.at;
}

uint64_t recorder_samples(const struct recorder *recorder)
{
    return recorder->writer.samples;
}

uint64_t recorder_lost(const struct recorder *recorder)
{
    return recorder->taken - recorder->writer.samples;
}
