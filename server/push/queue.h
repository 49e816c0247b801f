/*
 * queue - bodies of requests that wait to be sent, in order: in memory, and in a file without a name once
 * they take more than QUEUE_MEMORY_BYTES.
 *
 * A queue that is full loses its oldest bodies and counts them: new samples are worth more than old ones.  The
 * file is used in a circle, so it never grows beyond the limit; it disappears with the program.  Where it cannot
 * be written, such as on a full disk, bodies in memory make room, and those in the file stay.
 *
 * Ownership: queue_create makes, queue_destroy frees.
 * Threads: any.
 * Limits: QUEUE_MAX_BODIES, QUEUE_MEMORY_BYTES, and the bytes of the file.
 */
#ifndef SERVER_PUSH_QUEUE_H
#define SERVER_PUSH_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

enum { QUEUE_MAX_BODIES = 16384, QUEUE_MEMORY_BYTES = 4 << 20 };

struct queue;

struct queue_counts {
    uint64_t bodies, bytes; /* that wait */
    uint64_t file_bytes;    /* of these in the file */
    uint64_t lost;          /* bodies, so far */
    int sys;                /* errno: why the file takes no more; 0: it does */
};

/* file_bytes: 0: no file. */
MUST_CHECK enum err_code queue_create(uint64_t file_bytes, struct queue **out, struct err *err);
/* NULL is fine. */
void queue_destroy(struct queue *queue);

/* Copies the body; false: it was lost itself. */
bool queue_add(struct queue *queue, const void *body, size_t bytes);
/* Takes the oldest body; the caller frees it.  It counts as one that waits until queue_done.
 * NULL: none came until that time (clock_now_ns), or queue_close was called and none is left. */
void *queue_take(struct queue *queue, uint64_t until_ns, size_t *bytes_out);
void queue_done(struct queue *queue);
/* Nothing is added from now on. */
void queue_close(struct queue *queue);

void queue_count(struct queue *queue, struct queue_counts *out);

#endif /* SERVER_PUSH_QUEUE_H */
