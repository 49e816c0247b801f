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

enum err_code sampler_tasks_copy(const struct sampler_tasks *from, struct sampler_tasks *out,
                                 struct err *err)
{
    struct sampler_tasks copy = *from;
    copy.items = copy_of(from->items, from->count, sizeof *copy.items);
    copy.awaiters = copy_of(from->awaiters, from->awaiter_count, sizeof *copy.awaiters);
    if (!copy.items || !copy.awaiters) {
        sampler_tasks_deinit(&copy);
        return err_nomem(err);
    }
    *out = copy;
    return ERR_OK;
}

void sampler_tasks_deinit(struct sampler_tasks *tasks)
{
    free(tasks->items);
    free(tasks->awaiters);
    *tasks = (struct sampler_tasks){ 0 };
}
