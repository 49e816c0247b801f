#include <stdlib.h>
#include <string.h>

#include "sampler/sampler.h"

static void *copy_of(const void *from, size_t count, size_t bytes)
{
    void *const to = malloc((count + 1) * bytes);
    if (to && count)
        memcpy(to, from, count * bytes);
    return to;
}

enum err_code sampler_locks_copy(const struct sampler_locks *from, struct sampler_locks *out,
                                 struct err *err)
{
    struct sampler_locks copy = *from;
    copy.threads = copy_of(from->threads, from->thread_count, sizeof *copy.threads);
    copy.uses = copy_of(from->uses, from->use_count, sizeof *copy.uses);
    copy.items = copy_of(from->items, from->count, sizeof *copy.items);
    if (!copy.threads || !copy.uses || !copy.items) {
        sampler_locks_deinit(&copy);
        return err_nomem(err);
    }
    *out = copy;
    return ERR_OK;
}

void sampler_locks_deinit(struct sampler_locks *locks)
{
    free(locks->threads);
    free(locks->uses);
    free(locks->items);
    *locks = (struct sampler_locks){ .threads = NULL };
}
