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

enum err_code session_tasks_copy(const struct session_tasks *from, struct session_tasks *out,
                                 struct err *err)
{
    struct session_tasks copy = *from;
    copy.items = copy_of(from->items, from->count, sizeof *copy.items);
    copy.awaiters = copy_of(from->awaiters, from->awaiter_count, sizeof *copy.awaiters);
    if (!copy.items || !copy.awaiters) {
        session_tasks_deinit(&copy);
        return err_nomem(err);
    }
    *out = copy;
    return ERR_OK;
}

void session_tasks_deinit(struct session_tasks *tasks)
{
    free(tasks->items);
    free(tasks->awaiters);
    *tasks = (struct session_tasks){ 0 };
}
