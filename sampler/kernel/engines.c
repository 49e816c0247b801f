#include "sampler/kernel/engines.h"

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

struct engines {
    struct kallsyms *kallsyms;
    struct kernel *items[ENGINES_MAX];
    size_t count;
    pthread_mutex_t lock;
    /* Guarded by the lock. */
    bool is_taken[ENGINES_MAX];
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

enum err_code engines_open(size_t wanted, struct engines **out, struct err *err)
{
    struct engines *const engines = calloc(1, sizeof *engines);
    if (!engines)
        return err_nomem(err);
    pthread_mutex_init(&engines->lock, NULL);
    const size_t most = wanted < ENGINES_MAX ? wanted : ENGINES_MAX;
    for (size_t before = 0; engines->count < most; engines->count++) {
        if (engines->count > 0 && !may_open_more(before))
            break;
        before = next_descriptor();
        if (kernel_open(engines->items[0], &engines->items[engines->count], &engines->why))
            break;
        if (engines->count > 0 ||
            !open_files_check(LEAVE_FILES, "the kernel engine", &engines->why))
            continue;
        engines->why.code = ERR_UNSUPPORTED;
        kernel_close(engines->items[0]);
        break;
    }
    const enum err_code rc =
        engines->count ? kallsyms_create("/proc/kallsyms", &engines->kallsyms, err) : ERR_OK;
    if (rc)
        engines_close(engines);
    else
        *out = engines;
    return rc;
}

void engines_close(struct engines *engines)
{
    if (!engines)
        return;
    for (size_t i = engines->count; i-- > 0;)
        kernel_close(engines->items[i]);
    kallsyms_destroy(engines->kallsyms);
    pthread_mutex_destroy(&engines->lock);
    free(engines);
}

/* Called with the lock.  ERR_OK: *index_out is that of an idle engine. */
static enum err_code find_idle(const struct engines *engines, size_t *index_out,
                               struct err *err)
{
    size_t i = 0;
    if (engines->count == engines->given_up)
        return err_set(err, engines->why.code, "%s", engines->why.message);
    while (i < engines->count && engines->is_taken[i])
        i++;
    *index_out = i;
    if (i < engines->count)
        return ERR_OK;
    return engines->count - engines->given_up == 1
               ? err_set(err, ERR_LIMIT, "another session uses the kernel engine")
               : err_set(err, ERR_LIMIT, "other sessions use all %zu kernel engines",
                         engines->count - engines->given_up);
}

enum err_code engines_check(struct engines *engines, struct err *err)
{
    size_t index;
    pthread_mutex_lock(&engines->lock);
    const enum err_code rc = find_idle(engines, &index, err);
    pthread_mutex_unlock(&engines->lock);
    return rc;
}

struct kallsyms *engines_kallsyms(const struct engines *engines)
{
    return engines->kallsyms;
}

static void set_idle(struct engines *engines, size_t index)
{
    pthread_mutex_lock(&engines->lock);
    engines->is_taken[index] = false;
    pthread_mutex_unlock(&engines->lock);
}

enum err_code engines_take(struct engines *engines, double rate_hz, unsigned events,
                           struct kernel **out, struct err *err)
{
    size_t index = 0;
    pthread_mutex_lock(&engines->lock);
    enum err_code rc = find_idle(engines, &index, err);
    if (!rc)
        engines->is_taken[index] = true;
    pthread_mutex_unlock(&engines->lock);
    if (rc)
        return rc;
    rc = kernel_start(engines->items[index], rate_hz, events, err);
    if (rc)
        set_idle(engines, index);
    else
        *out = engines->items[index];
    return rc;
}

void engines_give_back(struct engines *engines, struct kernel *kernel)
{
    if (!kernel)
        return;
    kernel_stop(kernel);
    for (size_t i = 0; i < engines->count; i++)
        if (engines->items[i] == kernel)
            set_idle(engines, i);
}

void engines_give_up(struct engines *engines, struct kernel *kernel, const char *why)
{
    kernel_stop(kernel);
    pthread_mutex_lock(&engines->lock);
    for (size_t i = 0; i < engines->count; i++)
        if (engines->items[i] == kernel)
            engines->items[i] = NULL;
    engines->given_up++;
    err_set(&engines->why, ERR_UNSUPPORTED, "%s", why);
    pthread_mutex_unlock(&engines->lock);
    kernel_close(kernel);
}
