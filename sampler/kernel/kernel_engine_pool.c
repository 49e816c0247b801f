#include "sampler/kernel/kernel_engine_pool.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sampler/base/open_files.h"
#include "sampler/kernel/engine.h"
#include "sampler/kernel/kallsyms.h"

/* The files that a session with few processes needs besides its engine. */
enum { LEAVE_FILES = 24 };

struct kernel_engine_pool {
    struct kallsyms *kallsyms;
    struct kernel *items[KERNEL_ENGINE_POOL_MAX];
    size_t count;
    pthread_mutex_t lock;
    /* Guarded by the lock. */
    bool is_taken[KERNEL_ENGINE_POOL_MAX];
    size_t given_up;
    struct err why; /* there is none, or none any longer */
};

/* The number of the next descriptor that is opened. */
static size_t next_descriptor(void)
{
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? SIZE_MAX / 2 : (size_t)fd;
}

/* An engine has a descriptor for each clock of each processor, and for its page faults.  Half of all are for others. */
static bool may_open_more(size_t before)
{
    struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
    const size_t next = next_descriptor();
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return next + (next - before) <= limit.rlim_cur / 2;
}

enum err_code kernel_engine_pool_open(size_t wanted, struct kernel_engine_pool **out,
                                      struct err *err)
{
    struct kernel_engine_pool *const pool = calloc(1, sizeof *pool);
    if (!pool)
        return err_nomem(err);
    pthread_mutex_init(&pool->lock, NULL);
    const size_t most = wanted < KERNEL_ENGINE_POOL_MAX ? wanted : KERNEL_ENGINE_POOL_MAX;
    for (size_t before = 0; pool->count < most; pool->count++) {
        if (pool->count > 0 && !may_open_more(before))
            break;
        before = next_descriptor();
        if (kernel_open(pool->items[0], &pool->items[pool->count], &pool->why))
            break;
        if (pool->count > 0 || !open_files_check(LEAVE_FILES, "the kernel engine", &pool->why))
            continue;
        pool->why.code = ERR_UNSUPPORTED;
        kernel_close(pool->items[0]);
        break;
    }
    const enum err_code rc =
        pool->count ? kallsyms_create("/proc/kallsyms", &pool->kallsyms, err) : ERR_OK;
    if (rc)
        kernel_engine_pool_close(pool);
    else
        *out = pool;
    return rc;
}

void kernel_engine_pool_close(struct kernel_engine_pool *pool)
{
    if (!pool)
        return;
    for (size_t i = pool->count; i-- > 0;)
        kernel_close(pool->items[i]);
    kallsyms_destroy(pool->kallsyms);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* Called with the lock.  ERR_OK: *index_out is that of an idle engine. */
static enum err_code find_idle(const struct kernel_engine_pool *pool, size_t *index_out,
                               struct err *err)
{
    size_t i = 0;
    if (pool->count == pool->given_up)
        return err_set(err, pool->why.code, "%s", pool->why.message);
    while (i < pool->count && pool->is_taken[i])
        i++;
    *index_out = i;
    if (i < pool->count)
        return ERR_OK;
    return pool->count - pool->given_up == 1
               ? err_set(err, ERR_LIMIT, "another session uses the kernel engine")
               : err_set(err, ERR_LIMIT, "other sessions use all %zu kernel engines",
                         pool->count - pool->given_up);
}

enum err_code kernel_engine_pool_check(struct kernel_engine_pool *pool, struct err *err)
{
    size_t index;
    pthread_mutex_lock(&pool->lock);
    const enum err_code rc = find_idle(pool, &index, err);
    pthread_mutex_unlock(&pool->lock);
    return rc;
}

struct kallsyms *kernel_engine_pool_kallsyms(const struct kernel_engine_pool *pool)
{
    return pool->kallsyms;
}

static void set_idle(struct kernel_engine_pool *pool, size_t index)
{
    pthread_mutex_lock(&pool->lock);
    pool->is_taken[index] = false;
    pthread_mutex_unlock(&pool->lock);
}

enum err_code kernel_engine_pool_take(struct kernel_engine_pool *pool, double rate_hz,
                                      unsigned events, struct kernel **out, struct err *err)
{
    size_t index = 0;
    pthread_mutex_lock(&pool->lock);
    enum err_code rc = find_idle(pool, &index, err);
    if (!rc)
        pool->is_taken[index] = true;
    pthread_mutex_unlock(&pool->lock);
    if (rc)
        return rc;
    rc = kernel_start(pool->items[index], rate_hz, events, err);
    if (rc)
        set_idle(pool, index);
    else
        *out = pool->items[index];
    return rc;
}

void kernel_engine_pool_give_back(struct kernel_engine_pool *pool, struct kernel *kernel)
{
    if (!kernel)
        return;
    kernel_stop(kernel);
    for (size_t i = 0; i < pool->count; i++)
        if (pool->items[i] == kernel)
            set_idle(pool, i);
}

void kernel_engine_pool_give_up(struct kernel_engine_pool *pool, struct kernel *kernel,
                                const char *why)
{
    kernel_stop(kernel);
    pthread_mutex_lock(&pool->lock);
    for (size_t i = 0; i < pool->count; i++)
        if (pool->items[i] == kernel)
            pool->items[i] = NULL;
    pool->given_up++;
    err_set(&pool->why, ERR_UNSUPPORTED, "%s", why);
    pthread_mutex_unlock(&pool->lock);
    kernel_close(kernel);
}
