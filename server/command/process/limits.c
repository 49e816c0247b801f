#include "server/command/process/limits.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>

static struct rlimit given;
static bool is_raised, is_signalled;

void limits_raise(void)
{
    /* A file that must not grow is an error, which says so, as a full disk is. */
    is_signalled = signal(SIGXFSZ, SIG_IGN) == SIG_DFL;
    if (is_raised || getrlimit(RLIMIT_NOFILE, &given))
        return;
    const struct rlimit most = { .rlim_cur = given.rlim_max, .rlim_max = given.rlim_max };
    is_raised = given.rlim_cur < given.rlim_max && setrlimit(RLIMIT_NOFILE, &most) == 0;
}

enum err_code limits_check_serving(struct err *err)
{
    struct rlimit now;
    if (getrlimit(RLIMIT_NOFILE, &now) || now.rlim_cur >= LIMITS_LEAST_SERVING)
        return ERR_OK;
    return err_set(err, ERR_LIMIT,
                   "only %llu files may be open, and a server needs %d: raise the limit "
                   "(ulimit -n)",
                   (unsigned long long)now.rlim_cur, LIMITS_LEAST_SERVING);
}

void limits_restore(void)
{
    if (is_signalled)
        (void)signal(SIGXFSZ, SIG_DFL);
    if (is_raised)
        (void)setrlimit(RLIMIT_NOFILE, &given);
}
