/*
 * delivery - sends a large answer to a client that may read slowly, or not at all.
 *
 * An answer that its client has not read yet takes memory or disk, and a file has a descriptor.  All of
 * them together take at most DELIVERY_MAX_MEMORY, DELIVERY_MAX_DISK and DELIVERY_MAX_FILES; those of all viewers
 * at most half of that, those of one operator too, and those of one viewer (client.h) a quarter.  Then the next
 * answer is refused.  A client that reads less than DELIVERY_SLOWEST bytes in DELIVERY_WINDOW_NS is disconnected,
 * and a client that reads nothing after HTTP_IDLE_TIMEOUT_S.
 *
 * Ownership: a delivery owns the body that it took from a response.
 * Threads: all threads share a pool; a delivery belongs to one connection.
 * Units: bytes, nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef SERVER_HTTP_DELIVERY_H
#define SERVER_HTTP_DELIVERY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/clock.h"
#include "sampler/base/err.h"

struct client;
struct response;

/* A smaller body is mostly in the kernel's buffers at once, and needs no delivery. */
enum { DELIVERY_LEAST = 1 << 18, DELIVERY_SLOWEST = 1 << 19, DELIVERY_MAX_FILES = 192 };
#define DELIVERY_MAX_MEMORY ((size_t)256 << 20)
#define DELIVERY_MAX_DISK   ((size_t)16 << 30)
#define DELIVERY_WINDOW_NS  (30 * NS_PER_S)

/* The cost of deliveries: bytes of memory and of files without a name, and descriptors. */
struct delivery_cost {
    size_t memory, disk, files;
};

/* Zeroed but for the lock. */
struct delivery_pool {
    pthread_mutex_t lock;
    struct delivery *first;    /* NULL: none */
    struct delivery_cost cost; /* of all */
};

/* Start of the current measurement of how fast a client reads: the time, and the position. */
struct delivery_pace {
    uint64_t since_ns, since_at;
};

/* false: too slow.  at: the bytes that were taken so far. */
bool delivery_keeps_pace(struct delivery_pace *pace, uint64_t at, uint64_t now_ns);

struct delivery;

/* Takes the body of the response.  ERR_LIMIT: the pool is full, or the client's part of it. */
MUST_CHECK enum err_code delivery_create(struct delivery_pool *pool,
                                         const struct client *client, struct response *response,
                                         struct delivery **out, struct err *err);
/* NULL is fine. */
void delivery_destroy(struct delivery *delivery);
/* The bytes from `at` on; 0: there are no more, -1: it cannot be read, or the client is too slow. */
ssize_t delivery_read(struct delivery *delivery, uint64_t at, char *out, size_t room);

#endif /* SERVER_HTTP_DELIVERY_H */
