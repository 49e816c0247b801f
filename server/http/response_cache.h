/*
 * response_cache - finished answers, for other clients that ask the same.  An answer is found by path,
 * query, coding and validator, which names the generation of the session.  The validator has a hash of the
 * query, too, but two queries with one hash are easily made.
 *
 * Ownership: the caller's storage; the cache and the responses that have a body hold it together.
 * Threads: any, between init and deinit.
 * Limits: RESPONSE_CACHE_MAX answers, RESPONSE_CACHE_MAX_BYTES in all and an eighth of that for each;
 * the least recently used one is dropped.  Viewers cannot have more than half dropped of what operators
 * use, nor the other way round.
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
        char *key; /* path, and names and values of the query, each with its NUL; NULL: free */
        size_t key_bytes;
        bool is_viewers; /* no operator has used it */
        char tag[RESPONSE_MAX_TAG + 16];
        const char *mime;
        char coding[8]; /* "": none */
        struct shared_body *body;
        size_t bytes;
        uint64_t used; /* the larger, the later */
    } items[RESPONSE_CACHE_MAX];
    size_t bytes;
    uint64_t clock;
};

void response_cache_init(struct response_cache *cache);
void response_cache_deinit(struct response_cache *cache);

/* The tag of the response must be set.  true: it has the cached body now. */
bool response_cache_take(struct response_cache *cache, const struct request *request,
                         struct response *response);
/* Keeps the body of a finished response if it fits. */
void response_cache_keep(struct response_cache *cache, const struct request *request,
                         struct response *response);

#endif /* SERVER_HTTP_RESPONSE_CACHE_H */
