/*
 * answers - answers that were made, for all who ask the same: of one path, for one query, of one
 * generation of one session, in one coding.  What names an answer is its validator.
 *
 * Ownership: the caller's storage; answers own copies, and give copies.
 * Threads: any, between init and deinit.
 * Limits: ANSWERS_MAX of them, ANSWERS_MAX_BYTES together and an eighth of it each; the one that
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

enum { ANSWERS_MAX = 64, ANSWERS_MAX_BYTES = 32 << 20 };

struct request;

struct answers {
    pthread_mutex_t lock;
    struct answer {
        char *path; /* NULL: free */
        char tag[RESPONSE_MAX_TAG + 16];
        const char *mime;
        char coding[8]; /* "": none */
        void *data;
        size_t bytes;
        uint64_t used; /* the larger, the later */
    } items[ANSWERS_MAX];
    size_t bytes;
    uint64_t clock;
};

void answers_init(struct answers *answers);
void answers_deinit(struct answers *answers);

/* true: the response, whose tag is set, has the body that was kept. */
bool answers_take(struct answers *answers, const struct request *request,
                  struct response *response);
/* Keeps a finished response; where that cannot be, nothing happens. */
void answers_keep(struct answers *answers, const struct request *request,
                  const struct response *response);

#endif /* SERVER_HTTP_RESPONSE_CACHE_H */
