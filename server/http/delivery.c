#include "server/http/delivery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/http/response.h"

struct delivery {
    atomic_size_t *place; /* what it takes room of; NULL: of nothing */
    int fd;               /* -1: the body is in memory */
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

/* What the answer takes room of; NULL: of nothing, as it is a file that is there anyway. */
static atomic_size_t *place_of(struct delivery_pool *pool, int fd)
{
    struct stat st;
    if (fd < 0)
        return &pool->memory;
    return fstat(fd, &st) == 0 && st.st_nlink > 0 ? NULL : &pool->disk;
}

static bool reserve(atomic_size_t *place, size_t most, size_t bytes)
{
    if (!place || atomic_fetch_add(place, bytes) + bytes <= most)
        return true;
    atomic_fetch_sub(place, bytes);
    return false;
}

enum err_code delivery_create(struct delivery_pool *pool, struct response *response,
                              struct delivery **out, struct err *err)
{
    const int fd = response->file_fd;
    atomic_size_t *const place = place_of(pool, fd);
    struct delivery *const delivery = calloc(1, sizeof *delivery);
    if (!delivery)
        return err_nomem(err);
    if (!reserve(place, fd < 0 ? DELIVERY_MAX_MEMORY : DELIVERY_MAX_DISK,
                 response->body_bytes)) {
        free(delivery);
        return err_set(err, ERR_LIMIT, "too many answers are waiting to be read: retry later");
    }
    *delivery = (struct delivery){ .place = place,
                                   .fd = fd,
                                   .data = response->body,
                                   .bytes = response->body_bytes,
                                   .owner = response->owner,
                                   .release = response->release,
                                   .pace = { .since_ns = clock_now_ns() } };
    response->file_fd = -1;
    response->owner = NULL;
    *out = delivery;
    return ERR_OK;
}

void delivery_destroy(struct delivery *delivery)
{
    if (!delivery)
        return;
    if (delivery->place)
        atomic_fetch_sub(delivery->place, delivery->bytes);
    if (delivery->fd >= 0)
        close(delivery->fd);
    if (delivery->owner)
        delivery->release(delivery->owner);
    free(delivery);
}

static ssize_t read_file(int fd, uint64_t at, char *out, size_t room)
{
    ssize_t bytes = -1;
    do
        bytes = pread(fd, out, room, (off_t)at);
    while (bytes < 0 && errno == EINTR);
    /* It has become shorter than was announced. */
    return bytes > 0 ? bytes : -1;
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
    if (delivery->fd >= 0)
        return read_file(delivery->fd, at, out, room);
    memcpy(out, delivery->data + at, room);
    return (ssize_t)room;
}
