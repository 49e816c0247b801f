/*
 * answers - answers that were made, for all who ask the same: of one path, for one query, of one
 * generation of one session, in one coding.  What names an answer is its validator.
 *
 * Ownership: the caller's storage; answers own copies, and give copies.
 * Threads: any, between init and deinit.
 * Limits: RESPONSE_CACHE_MAX of them, RESPONSE_CACHE_MAX_BYTES together and an eighth of it each; the one that
 * was not used for longest goes.
 * Depends on: request, response.
 */
#ifndef SERVER_HTTP_RESPONSE_CACHE_H
#define SERVER_HTTP_RESPONSE_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/http/response.h"

enum { RESPONSE_CACHE_MAX = 64, RESPONSE_CACHE_MAX_BYTES = 32 << 20 };

struct request;

struct response_cache {
    pthread_mutex_t lock;
    struct answer {
        char *path; /* NULL: free */
        char tag[RESPONSE_MAX_TAG + 16];
        const char *mime;
        char coding[8]; /* "": none */
        void *data;
        size_t bytes;
        uint64_t used; /* the larger, the later */
    } items[RESPONSE_CACHE_MAX];
    size_t bytes;
    uint64_t clock;
};

void response_cache_init(struct response_cache *cache);
void response_cache_deinit(struct response_cache *cache);

/* true: the response, whose tag is set, has the body that was kept. */
bool response_cache_take(struct response_cache *cache, const struct request *request,
                         struct response *response);
/* Keeps a finished response; where that cannot be, nothing happens. */
void response_cache_keep(struct response_cache *cache, const struct request *request,
                         const struct response *response);

#endif /* SERVER_HTTP_RESPONSE_CACHE_H */
