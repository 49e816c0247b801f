#include "server/push/queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "server/http/spool.h"

struct body {
    void *data; /* NULL: in the file, at its start plus `at` */
    uint64_t at;
    size_t bytes;
};

struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct body *bodies; /* a circle of QUEUE_MAX_BODIES */
    size_t first, count;
    size_t memory_bytes;
    size_t taken_bytes; /* of the body that was taken */
    bool has_taken;
    int fd; /* -1: none yet */
    uint64_t room, head, used;
    int sys; /* errno of the last write into the file, 0: it was written */
    bool is_closed;
    struct queue_counts counts;
};

enum err_code queue_create(uint64_t file_bytes, struct queue **out, struct err *err)
{
    pthread_condattr_t monotonic;
    struct queue *const queue = calloc(1, sizeof *queue);
    if (!queue)
        return err_nomem(err);
    queue->bodies = calloc(QUEUE_MAX_BODIES, sizeof *queue->bodies);
    if (!queue->bodies) {
        free(queue);
        return err_nomem(err);
    }
    queue->fd = -1;
    queue->room = file_bytes;
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&queue->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    *out = queue;
    return ERR_OK;
}

void queue_destroy(struct queue *queue)
{
    if (!queue)
        return;
    for (size_t i = 0; i < queue->count; i++)
        free(queue->bodies[(queue->first + i) % QUEUE_MAX_BODIES].data);
    if (queue->fd >= 0)
        close(queue->fd);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->mutex);
    free(queue->bodies);
    free(queue);
}

/* One piece of the file, which may go over its end and on at its start. */
static bool move_bytes(struct queue *queue, uint64_t at, char *data, size_t bytes, bool writes)
{
    while (bytes > 0) {
        const uint64_t offset = at % queue->room;
        const uint64_t left = queue->room - offset;
        const size_t part = bytes < left ? bytes : (size_t)left;
        const ssize_t done = writes ? pwrite(queue->fd, data, part, (off_t)offset)
                                    : pread(queue->fd, data, part, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        data += done;
        at += (uint64_t)done;
        bytes -= (size_t)done;
    }
    return true;
}

/* The oldest one; its bytes of the file are free from now on. */
static struct body remove_first(struct queue *queue)
{
    const struct body body = queue->bodies[queue->first];
    queue->first = (queue->first + 1) % QUEUE_MAX_BODIES;
    queue->count--;
    if (body.data) {
        queue->memory_bytes -= body.bytes;
    } else {
        queue->head = body.at + body.bytes;
        queue->used -= body.bytes;
    }
    return body;
}

static void lose_first(struct queue *queue)
{
    free(remove_first(queue).data);
    queue->counts.lost++;
}

static bool put_into_file(struct queue *queue, struct body *body, const void *data)
{
    queue->sys = 0;
    if (queue->used + body->bytes > queue->room)
        return false;
    if (queue->fd < 0)
        queue->fd = spool_open_file();
    body->at = queue->head + queue->used;
    if (queue->fd < 0 ||
        !move_bytes(queue, body->at, (char *)(uintptr_t)data, body->bytes, true)) {
        queue->sys = errno;
        return false;
    }
    queue->used += body->bytes;
    return true;
}

/* A full disk has no more room without the bodies in the file. */
static bool make_room(struct queue *queue)
{
    if (queue->sys) {
        /* Loses the oldest body in memory, and keeps those in the file.  false: memory has none. */
        size_t i = 0;
        while (i < queue->count && !queue->bodies[(queue->first + i) % QUEUE_MAX_BODIES].data)
            i++;
        if (i == queue->count)
            return false;
        const struct body lost = queue->bodies[(queue->first + i) % QUEUE_MAX_BODIES];
        for (; i > 0; i--)
            queue->bodies[(queue->first + i) % QUEUE_MAX_BODIES] =
                queue->bodies[(queue->first + i - 1) % QUEUE_MAX_BODIES];
        queue->bodies[queue->first] = lost;
        lose_first(queue);
        return true;
    }
    if (queue->count == 0)
        return false;
    lose_first(queue);
    return true;
}

static bool add_body(struct queue *queue, const void *data, size_t bytes)
{
    struct body body = { .bytes = bytes };
    if (queue->count == QUEUE_MAX_BODIES)
        lose_first(queue);
    for (;;) {
        body.data = queue->memory_bytes + bytes <= QUEUE_MEMORY_BYTES
                        ? malloc(bytes ? bytes : 1)
                        : NULL;
        if (body.data) {
            memcpy(body.data, data, bytes);
            queue->memory_bytes += bytes;
        }
        if (body.data || put_into_file(queue, &body, data))
            break;
        if (!make_room(queue)) {
            queue->counts.lost++;
            return false;
        }
    }
    queue->bodies[(queue->first + queue->count++) % QUEUE_MAX_BODIES] = body;
    return true;
}

bool queue_add(struct queue *queue, const void *body, size_t bytes)
{
    pthread_mutex_lock(&queue->mutex);
    const bool is_added = !queue->is_closed && add_body(queue, body, bytes);
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
    return is_added;
}

void *queue_take(struct queue *queue, uint64_t until_ns, size_t *bytes_out)
{
    const struct timespec until = clock_timespec(until_ns);
    void *body = NULL;
    int rc = 0;
    pthread_mutex_lock(&queue->mutex);
    while (!body && (queue->count > 0 || (rc == 0 && !queue->is_closed))) {
        if (queue->count == 0) {
            rc = pthread_cond_timedwait(&queue->changed, &queue->mutex, &until);
            continue;
        }
        const struct body first = queue->bodies[queue->first];
        *bytes_out = first.bytes;
        body = first.data ? first.data : malloc(first.bytes ? first.bytes : 1);
        if (first.data || (body && move_bytes(queue, first.at, body, first.bytes, false))) {
            (void)remove_first(queue);
        } else {
            /* The bytes cannot be read back. */
            free(body);
            body = NULL;
            lose_first(queue);
        }
    }
    queue->has_taken = body != NULL;
    queue->taken_bytes = body ? *bytes_out : 0;
    pthread_mutex_unlock(&queue->mutex);
    return body;
}

void queue_done(struct queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->has_taken = false;
    queue->taken_bytes = 0;
    pthread_mutex_unlock(&queue->mutex);
}

void queue_close(struct queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->is_closed = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
}

void queue_count(struct queue *queue, struct queue_counts *out)
{
    pthread_mutex_lock(&queue->mutex);
    *out = queue->counts;
    out->bodies = queue->count + queue->has_taken;
    out->sys = queue->sys;
    out->file_bytes = queue->used;
    out->bytes = queue->memory_bytes + queue->used + queue->taken_bytes;
    pthread_mutex_unlock(&queue->mutex);
}
