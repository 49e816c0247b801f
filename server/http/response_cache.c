#include "server/http/response_cache.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/memory_limit.h"
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

static void drop_answer(struct response_cache *cache, struct answer *answer)
{
    cache->bytes -= answer->bytes;
    free(answer->key);
    let_go(answer->body);
    memset(answer, 0, sizeof *answer);
}

void response_cache_deinit(struct response_cache *cache)
{
    for (size_t i = 0; i < RESPONSE_CACHE_MAX; i++)
        if (cache->items[i].key)
            drop_answer(cache, &cache->items[i]);
    pthread_mutex_destroy(&cache->lock);
}

/* at: in the key, where the text must be; moves behind it. */
static bool skip_text(const struct answer *answer, const char *text, size_t *at)
{
    if (*at >= answer->key_bytes || strcmp(answer->key + *at, text) != 0)
        return false;
    *at += strlen(text) + 1;
    return true;
}

static struct answer *find_answer(struct response_cache *cache, const struct request *request,
                                  const char *tag)
{
    for (size_t i = 0; i < RESPONSE_CACHE_MAX; i++) {
        struct answer *const answer = &cache->items[i];
        if (!answer->key || strcmp(answer->tag, tag) != 0)
            continue;
        size_t at = 0;
        bool is_same = skip_text(answer, request->path, &at);
        for (size_t k = 0; k < request->query_count && is_same; k++)
            is_same = skip_text(answer, request->query[k].name, &at) &&
                      skip_text(answer, request->query[k].value, &at);
        if (is_same && at == answer->key_bytes)
            return answer;
    }
    return NULL;
}

bool response_cache_take(struct response_cache *cache, const struct request *request,
                         struct response *response)
{
    char tag[RESPONSE_MAX_TAG + 16];
    response_full_tag(response, request, tag);
    pthread_mutex_lock(&cache->lock);
    struct answer *const answer = find_answer(cache, request, tag);
    if (answer) {
        answer->used = ++cache->clock;
        answer->is_viewers &= response->is_viewers;

        atomic_fetch_add_explicit(&answer->body->holds, 1, memory_order_relaxed);
        response_hold_body(response, answer->mime, answer->body->data, answer->bytes,
                           answer->body, let_go);
        response->is_encoded = true;
        if (*answer->coding)
            response_set_header(response, "Content-Encoding", "%s", answer->coding);
    }
    pthread_mutex_unlock(&cache->lock);
    return answer != NULL;
}

/* A free place.  Where there is none, those who have more than half lose what they have not used for
 * longest. */
static struct answer *make_room(struct response_cache *cache, size_t bytes, bool is_viewer)
{
    const size_t most_bytes = memory_limit_scale(RESPONSE_CACHE_MAX_BYTES);
    for (;;) {
        struct answer *oldest[2] = { NULL, NULL }, *place = NULL;
        size_t count = is_viewer, viewers_bytes = is_viewer ? bytes : 0;
        for (size_t i = 0; i < RESPONSE_CACHE_MAX; i++) {
            struct answer *const answer = &cache->items[i];
            struct answer **const last = &oldest[answer->is_viewers];
            if (!answer->key)
                place = answer;
            else if (!*last || answer->used < (*last)->used)
                *last = answer;
            count += answer->is_viewers;
            viewers_bytes += answer->is_viewers ? answer->bytes : 0;
        }
        if (place && cache->bytes + bytes <= most_bytes)
            return place;
        const bool are_viewers =
            place ? viewers_bytes > most_bytes / 2 : count > RESPONSE_CACHE_MAX / 2;
        struct answer *const goes =
            oldest[are_viewers] ? oldest[are_viewers] : oldest[!are_viewers];
        if (!goes)
            return NULL;
        drop_answer(cache, goes);
    }
}

static char *make_key(const struct request *request, size_t *bytes_out)
{
    struct buffer key = { 0 };
    buffer_append(&key, request->path, strlen(request->path) + 1);
    for (size_t i = 0; i < request->query_count; i++) {
        const struct request_pair *const pair = &request->query[i];
        buffer_append(&key, pair->name, strlen(pair->name) + 1);
        buffer_append(&key, pair->value, strlen(pair->value) + 1);
    }
    if (!key.failed)
        return buffer_take(&key, bytes_out);
    buffer_deinit(&key);
    return NULL;
}

static void keep_answer(struct response_cache *cache, const struct request *request,
                        struct response *response, const char *tag)
{
    const char *const coding = response_header(response, "Content-Encoding");
    struct answer *const place = make_room(cache, response->body_bytes, response->is_viewers);
    size_t key_bytes = 0;
    char *const key = make_key(request, &key_bytes);
    struct shared_body *const body = place && key ? malloc(sizeof *body) : NULL;
    if (!body) {
        free(key);
        return;
    }
    /* The response and the cache share the body, which holds what the response had. */
    *body = (struct shared_body){ .data = response->body,
                                  .owner = response->owner,
                                  .release = response->release };
    atomic_init(&body->holds, 2);
    response->owner = body;
    response->release = let_go;
    *place = (struct answer){ .key = key,
                              .key_bytes = key_bytes,
                              .is_viewers = response->is_viewers,
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
        response->body_bytes > memory_limit_scale(RESPONSE_CACHE_MAX_BYTES) / 8)
        return;
    response_full_tag(response, request, tag);
    pthread_mutex_lock(&cache->lock);
    if (!find_answer(cache, request, tag))
        keep_answer(cache, request, response, tag);
    pthread_mutex_unlock(&cache->lock);
}
