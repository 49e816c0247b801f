#include "server/http/response_cache.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/http/request.h"

/* Bytes that the cache and several responses hold. */
struct shared_body {
    atomic_uint holds;
    const void *data;
    void *owner; /* of the data */
    void (*release)(void *owner);
};

static void let_go(void *shared)
{
    struct shared_body *const body = shared;
    if (atomic_fetch_sub_explicit(&body->holds, 1, memory_order_acq_rel) != 1)
        return;
    body->release(body->owner);
    free(body);
}

void response_cache_init(struct response_cache *cache)
{
    memset(cache, 0, sizeof *cache);
    pthread_mutex_init(&cache->lock, NULL);
}

static void drop(struct response_cache *cache, struct answer *answer)
{
    cache->bytes -= answer->bytes;
    free(answer->path);
    let_go(answer->body);
    memset(answer, 0, sizeof *answer);
}

void response_cache_deinit(struct response_cache *cache)
{
    for (size_t i = 0; i < RESPONSE_CACHE_MAX; i++)
        if (cache->items[i].path)
            drop(cache, &cache->items[i]);
    pthread_mutex_destroy(&cache->lock);
}

static struct answer *find(struct response_cache *cache, const char *path, const char *tag)
{
    for (size_t i = 0; i < RESPONSE_CACHE_MAX; i++) {
        struct answer *const answer = &cache->items[i];
        if (answer->path && strcmp(answer->tag, tag) == 0 && strcmp(answer->path, path) == 0)
            return answer;
    }
    return NULL;
}

static void give(const struct answer *answer, struct response *response)
{
    atomic_fetch_add_explicit(&answer->body->holds, 1, memory_order_relaxed);
    response_hold_body(response, answer->mime, answer->body->data, answer->bytes, answer->body,
                       let_go);
    response->is_encoded = true;
    if (*answer->coding)
        response_set_header(response, "Content-Encoding", "%s", answer->coding);
}

bool response_cache_take(struct response_cache *cache, const struct request *request,
                         struct response *response)
{
    char tag[RESPONSE_MAX_TAG + 16];
    response_full_tag(response, request, tag);
    pthread_mutex_lock(&cache->lock);
    struct answer *const answer = find(cache, request->path, tag);
    if (answer) {
        answer->used = ++cache->clock;
        give(answer, response);
    }
    pthread_mutex_unlock(&cache->lock);
    return answer != NULL;
}

/* A free place; where there is none, that of the one that was not used for longest. */
static struct answer *make_room(struct response_cache *cache, size_t bytes)
{
    for (;;) {
        struct answer *oldest = NULL, *place = NULL;
        for (size_t i = 0; i < RESPONSE_CACHE_MAX; i++) {
            struct answer *const answer = &cache->items[i];
            if (!answer->path)
                place = answer;
            else if (!oldest || answer->used < oldest->used)
                oldest = answer;
        }
        if (place && cache->bytes + bytes <= RESPONSE_CACHE_MAX_BYTES)
            return place;
        if (!oldest)
            return NULL;
        drop(cache, oldest);
    }
}

/* Takes the body from the response and lets it hold what it had. */
static struct shared_body *share(struct response *response)
{
    struct shared_body *const body = malloc(sizeof *body);
    if (!body)
        return NULL;
    *body = (struct shared_body){ .data = response->body,
                                  .owner = response->owner,
                                  .release = response->release };
    atomic_init(&body->holds, 1);
    response->owner = body;
    response->release = let_go;
    return body;
}

static void keep(struct response_cache *cache, const struct request *request,
                 struct response *response, const char *tag)
{
    const char *const coding = response_header(response, "Content-Encoding");
    struct answer *const place = make_room(cache, response->body_bytes);
    char *const path = strdup(request->path);
    struct shared_body *const body = place && path ? share(response) : NULL;
    if (!body) {
        free(path);
        return;
    }
    atomic_fetch_add_explicit(&body->holds, 1, memory_order_relaxed);
    *place = (struct answer){ .path = path,
                              .mime = response->mime,
                              .body = body,
                              .bytes = response->body_bytes,
                              .used = ++cache->clock };
    snprintf(place->tag, sizeof place->tag, "%s", tag);
    snprintf(place->coding, sizeof place->coding, "%s", coding ? coding : "");
    cache->bytes += place->bytes;
}

void response_cache_keep(struct response_cache *cache, const struct request *request,
                         struct response *response)
{
    char tag[RESPONSE_MAX_TAG + 16];
    if (response->status != 200 || response->body_bytes == 0 || !response->owner ||
        response->body_bytes > RESPONSE_CACHE_MAX_BYTES / 8)
        return;
    response_full_tag(response, request, tag);
    pthread_mutex_lock(&cache->lock);
    if (!find(cache, request->path, tag))
        keep(cache, request, response, tag);
    pthread_mutex_unlock(&cache->lock);
}
