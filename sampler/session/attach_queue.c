#include "sampler/session/attach_queue.h"

#include "sampler/session/target.h"

void attach_queue_init(struct attach_queue *queue)
{
    pthread_mutex_init(&queue->mutex, NULL);
    queue->count = 0;
    queue->is_closed = false;
    atomic_init(&queue->waiting, 0);
}

void attach_queue_close(struct attach_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    while (queue->count > 0)
        target_close(queue->items[--queue->count]);
    queue->is_closed = true;
    pthread_mutex_unlock(&queue->mutex);
}

void attach_queue_deinit(struct attach_queue *queue)
{
    attach_queue_close(queue);
    pthread_mutex_destroy(&queue->mutex);
}

enum err_code attach_queue_put(struct attach_queue *queue, struct target *target,
                               struct err *err)
{
    enum err_code rc = ERR_OK;
    pthread_mutex_lock(&queue->mutex);
    if (queue->is_closed)
        rc = err_set(err, ERR_GONE, "the session has ended");
    else if (queue->count == ATTACH_QUEUE_MAX)
        rc = err_set(err, ERR_LIMIT, "the attach queue is full (%d processes)",
                     ATTACH_QUEUE_MAX);
    else
        queue->items[queue->count++] = target;
    atomic_store(&queue->waiting, queue->count);
    pthread_mutex_unlock(&queue->mutex);
    return rc;
}

struct target *attach_queue_take(struct attach_queue *queue)
{
    struct target *target = NULL;
    if (atomic_load_explicit(&queue->waiting, memory_order_relaxed) == 0)
        return NULL;
    pthread_mutex_lock(&queue->mutex);
    if (queue->count > 0)
        target = queue->items[--queue->count];
    atomic_store(&queue->waiting, queue->count);
    pthread_mutex_unlock(&queue->mutex);
    return target;
}
