#include "server/http/response_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/http/request.h"

void answers_init(struct answers *answers)
{
    memset(answers, 0, sizeof *answers);
    pthread_mutex_init(&answers->lock, NULL);
}

static void drop(struct answers *answers, struct answer *answer)
{
    answers->bytes -= answer->bytes;
    free(answer->path);
    free(answer->data);
    memset(answer, 0, sizeof *answer);
}

void answers_deinit(struct answers *answers)
{
    for (size_t i = 0; i < ANSWERS_MAX; i++)
        if (answers->items[i].path)
            drop(answers, &answers->items[i]);
    pthread_mutex_destroy(&answers->lock);
}

static struct answer *find(struct answers *answers, const char *path, const char *tag)
{
    for (size_t i = 0; i < ANSWERS_MAX; i++) {
        struct answer *const answer = &answers->items[i];
        if (answer->path && strcmp(answer->tag, tag) == 0 && strcmp(answer->path, path) == 0)
            return answer;
    }
    return NULL;
}

static void give(const struct answer *answer, struct response *response, void *copy)
{
    memcpy(copy, answer->data, answer->bytes);
    response_own_body(response, answer->mime, copy, answer->bytes);
    response->is_encoded = true;
    if (*answer->coding)
        response_set_header(response, "Content-Encoding", "%s", answer->coding);
}

bool answers_take(struct answers *answers, const struct request *request,
                  struct response *response)
{
    char tag[RESPONSE_MAX_TAG + 16];
    response_full_tag(response, request, tag);
    pthread_mutex_lock(&answers->lock);
    struct answer *const answer = find(answers, request->path, tag);
    void *const copy = answer ? malloc(answer->bytes) : NULL;
    if (copy) {
        answer->used = ++answers->clock;
        give(answer, response, copy);
    }
    pthread_mutex_unlock(&answers->lock);
    return copy != NULL;
}

/* A free place; where there is none, that of the one that was not used for longest. */
static struct answer *make_room(struct answers *answers, size_t bytes)
{
    for (;;) {
        struct answer *oldest = NULL, *place = NULL;
        for (size_t i = 0; i < ANSWERS_MAX; i++) {
            struct answer *const answer = &answers->items[i];
            if (!answer->path)
                place = answer;
            else if (!oldest || answer->used < oldest->used)
                oldest = answer;
        }
        if (place && answers->bytes + bytes <= ANSWERS_MAX_BYTES)
            return place;
        if (!oldest)
            return NULL;
        drop(answers, oldest);
    }
}

static void keep(struct answers *answers, const struct request *request,
                 const struct response *response, const char *tag)
{
    const char *const coding = response_header(response, "Content-Encoding");
    struct answer *const place = make_room(answers, response->body_bytes);
    char *const path = strdup(request->path);
    void *const data = malloc(response->body_bytes);
    if (!place || !path || !data) {
        free(path);
        free(data);
        return;
    }
    memcpy(data, response->body, response->body_bytes);
    *place = (struct answer){ .path = path,
                              .mime = response->mime,
                              .data = data,
                              .bytes = response->body_bytes,
                              .used = ++answers->clock };
    snprintf(place->tag, sizeof place->tag, "%s", tag);
    snprintf(place->coding, sizeof place->coding, "%s", coding ? coding : "");
    answers->bytes += place->bytes;
}

void answers_keep(struct answers *answers, const struct request *request,
                  const struct response *response)
{
    char tag[RESPONSE_MAX_TAG + 16];
    if (response->status != 200 || response->body_bytes == 0 || response->file_fd >= 0 ||
        response->body_bytes > ANSWERS_MAX_BYTES / 8)
        return;
    response_full_tag(response, request, tag);
    pthread_mutex_lock(&answers->lock);
    if (!find(answers, request->path, tag))
        keep(answers, request, response, tag);
    pthread_mutex_unlock(&answers->lock);
}
