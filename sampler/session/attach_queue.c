#include "sampler/session/attach_queue.h"

#include "sampler/session/target.h"

void joining_init(struct joining *joining)
{
    pthread_mutex_init(&joining->mutex, NULL);
    joining->count = 0;
    atomic_init(&joining->waiting, 0);
}

void joining_deinit(struct joining *joining)
{
    for (size_t i = 0; i < joining->count; i++)
        member_close(joining->items[i]);
    joining->count = 0;
    pthread_mutex_destroy(&joining->mutex);
}

enum err_code joining_put(struct joining *joining, struct member *member, struct err *err)
{
    enum err_code rc = ERR_OK;
    pthread_mutex_lock(&joining->mutex);
    if (joining->count == JOINING_MAX)
        rc = err_set(err, ERR_LIMIT, "%d processes wait to join already", JOINING_MAX);
    else
        joining->items[joining->count++] = member;
    atomic_store(&joining->waiting, joining->count);
    pthread_mutex_unlock(&joining->mutex);
    return rc;
}

struct member *joining_take(struct joining *joining)
{
    struct member *member = NULL;
    if (atomic_load_explicit(&joining->waiting, memory_order_relaxed) == 0)
        return NULL;
    pthread_mutex_lock(&joining->mutex);
    if (joining->count > 0)
        member = joining->items[--joining->count];
    atomic_store(&joining->waiting, joining->count);
    pthread_mutex_unlock(&joining->mutex);
    return member;
}
