#include <stdlib.h>
#include <string.h>

#include "sampler/session.h"

static void *copy_of(const void *from, size_t count, size_t bytes)
{
    void *const to = malloc((count + 1) * bytes);
    if (to && count)
        memcpy(to, from, count * bytes);
    return to;
}

enum err_code session_locks_copy(const struct session_locks *from, struct session_locks *out,
                                 struct err *err)
{
    struct session_locks copy = *from;
    copy.threads = copy_of(from->threads, from->thread_count, sizeof *copy.threads);
    copy.uses = copy_of(from->uses, from->use_count, sizeof *copy.uses);
    copy.items = copy_of(from->items, from->count, sizeof *copy.items);
    if (!copy.threads || !copy.uses || !copy.items) {
        session_locks_deinit(&copy);
        return err_nomem(err);
    }
    *out = copy;
    return ERR_OK;
}

enum err_code session_locals_copy(const struct session_locals *from, struct session_locals *out,
                                  struct err *err)
{
    struct session_locals copy = *from;
    copy.threads = copy_of(from->threads, from->count, sizeof *copy.threads);
    copy.frames = copy_of(from->frames, from->frame_bytes, 1);
    if (!copy.threads || !copy.frames) {
        session_locals_deinit(&copy);
        return err_nomem(err);
    }
    *out = copy;
    return ERR_OK;
}

void session_locals_deinit(struct session_locals *locals)
{
    free(locals->threads);
    free(locals->frames);
    *locals = (struct session_locals){ .threads = NULL };
}

void session_locks_deinit(struct session_locks *locks)
{
    free(locks->threads);
    free(locks->uses);
    free(locks->items);
    *locks = (struct session_locks){ .threads = NULL };
}
