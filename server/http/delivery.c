#include "server/http/delivery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/memory_limit.h"
#include "server/http/client.h"
#include "server/http/response.h"

struct delivery {
    struct delivery_pool *pool;
    struct delivery *next, **link; /* in the pool; link: what points here */
    struct client client;
    struct delivery_cost cost;
    int fd; /* -1: the body is in memory */
    const char *data;
    size_t bytes;
    void *owner; /* of the data; NULL: there is none */
    void (*release)(void *owner);
    struct delivery_pace pace;
};

bool delivery_keeps_pace(struct delivery_pace *pace, uint64_t at, uint64_t now_ns)
{
    if (now_ns - pace->since_ns < DELIVERY_WINDOW_NS)
        return true;
    const bool is_fast = at - pace->since_at >= DELIVERY_SLOWEST;
    *pace = (struct delivery_pace){ now_ns, at };
    return is_fast;
}

static void add_cost(struct delivery_cost *sum, const struct delivery_cost *cost)
{
    sum->memory += cost->memory;
    sum->disk += cost->disk;
    sum->files += cost->files;
}

/* Is the cost within that part of the whole? */
static bool fits_part(const struct delivery_cost *cost, size_t part)
{
    return cost->memory <= memory_limit_scale(DELIVERY_MAX_MEMORY) / part &&
           cost->disk <= DELIVERY_MAX_DISK / part && cost->files <= DELIVERY_MAX_FILES / part;
}

/* The lock is held. */
static bool has_room(const struct delivery_pool *pool, const struct client *client,
                     const struct delivery_cost *cost)
{
    const bool is_operator = client->standing == CLIENT_OPERATOR;
    struct delivery_cost all = *cost, of_viewers = *cost, of_client = *cost;
    add_cost(&all, &pool->cost);
    for (const struct delivery *one = pool->first; one; one = one->next) {
        if (one->client.standing != CLIENT_OPERATOR)
            add_cost(&of_viewers, &one->cost);
        if (client_equals(&one->client, client))
            add_cost(&of_client, &one->cost);
    }
    return fits_part(&all, 1) && fits_part(&of_client, is_operator ? 2 : 4) &&
           (is_operator || fits_part(&of_viewers, 2));
}

enum err_code delivery_create(struct delivery_pool *pool, const struct client *client,
                              struct response *response, struct delivery **out, struct err *err)
{
    struct delivery *const delivery = calloc(1, sizeof *delivery);
    if (!delivery)
        return err_nomem(err);
    /* A file that has a name is there anyway. */
    struct stat st;
    struct delivery_cost cost = { .memory = response->body_bytes };
    if (response->file_fd >= 0) {
        const bool has_name = fstat(response->file_fd, &st) == 0 && st.st_nlink > 0;
        cost =
            (struct delivery_cost){ .disk = has_name ? 0 : response->body_bytes, .files = 1 };
    }
    *delivery = (struct delivery){ .client = *client,
                                   .cost = cost,
                                   .fd = response->file_fd,
                                   .data = response->body,
                                   .bytes = response->body_bytes,
                                   .owner = response->owner,
                                   .release = response->release,
                                   .pace = { .since_ns = clock_now_ns() } };

    pthread_mutex_lock(&pool->lock);
    const bool enters = has_room(pool, &delivery->client, &delivery->cost);
    if (enters) {
        add_cost(&pool->cost, &delivery->cost);
        delivery->pool = pool;
        delivery->next = pool->first;
        delivery->link = &pool->first;
        if (delivery->next)
            delivery->next->link = &delivery->next;
        pool->first = delivery;
    }
    pthread_mutex_unlock(&pool->lock);
    if (!enters) {
        free(delivery);
        return err_set(err, ERR_LIMIT, "too many answers are waiting to be read: retry later");
    }
    response->file_fd = -1;
    response->owner = NULL;
    *out = delivery;
    return ERR_OK;
}

void delivery_destroy(struct delivery *delivery)
{
    if (!delivery)
        return;
    struct delivery_pool *const pool = delivery->pool;
    pthread_mutex_lock(&pool->lock);
    pool->cost.memory -= delivery->cost.memory;
    pool->cost.disk -= delivery->cost.disk;
    pool->cost.files -= delivery->cost.files;
    *delivery->link = delivery->next;
    if (delivery->next)
        delivery->next->link = delivery->link;
    pthread_mutex_unlock(&pool->lock);
    if (delivery->fd >= 0)
        close(delivery->fd);
    if (delivery->owner)
        delivery->release(delivery->owner);
    free(delivery);
}

ssize_t delivery_read(struct delivery *delivery, uint64_t at, char *out, size_t room)
{
    const size_t left = at < delivery->bytes ? delivery->bytes - (size_t)at : 0;
    if (room > left)
        room = left;
    if (room == 0)
        return 0;
    if (!delivery_keeps_pace(&delivery->pace, at, clock_now_ns()))
        return -1;
    if (delivery->fd >= 0) {
        const int fd = delivery->fd;
        ssize_t bytes = -1;
        do
            bytes = pread(fd, out, room, (off_t)at);
        while (bytes < 0 && errno == EINTR);
        /* It has become shorter than was announced. */
        return bytes > 0 ? bytes : -1;
    }
    memcpy(out, delivery->data + at, room);
    return (ssize_t)room;
}
