#include <stdlib.h>
#include <string.h>

#include "sampler/sampler.h"

enum err_code sampler_locks_copy(const struct sampler_locks *from, struct sampler_locks *out,
                                 struct err *err)
{
    struct sampler_locks copy = *from;
    copy.threads = malloc((from->thread_count + 1) * sizeof *copy.threads);
    copy.uses = malloc((from->use_count + 1) * sizeof *copy.uses);
    if (!copy.threads || !copy.uses) {
        sampler_locks_deinit(&copy);
        return err_nomem(err);
    }
    if (from->thread_count)
        memcpy(copy.threads, from->threads, from->thread_count * sizeof *copy.threads);
    if (from->use_count)
        memcpy(copy.uses, from->uses, from->use_count * sizeof *copy.uses);
    *out = copy;
    return ERR_OK;
}

void sampler_locks_deinit(struct sampler_locks *locks)
{
    free(locks->threads);
    free(locks->uses);
    *locks = (struct sampler_locks){ .threads = NULL };
}
