#include "server/command/limits.h"

#include <stdbool.h>
#include <sys/resource.h>

static struct rlimit given;
static bool is_raised;

void limits_raise(void)
{
    if (is_raised || getrlimit(RLIMIT_NOFILE, &given))
        return;
    const struct rlimit most = { .rlim_cur = given.rlim_max, .rlim_max = given.rlim_max };
    is_raised = given.rlim_cur < given.rlim_max && setrlimit(RLIMIT_NOFILE, &most) == 0;
}

void limits_restore(void)
{
    if (is_raised)
        (void)setrlimit(RLIMIT_NOFILE, &given);
}
