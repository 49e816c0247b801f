#include "sampler/base/open_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

/* Descriptors above this are not counted: below, enough are free. */
enum { MAX_DESCRIPTORS = 1 << 20 };

static size_t file_limit(void)
{
    struct rlimit limit = { .rlim_cur = MAX_DESCRIPTORS };
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur < MAX_DESCRIPTORS ? (size_t)limit.rlim_cur : MAX_DESCRIPTORS;
}

/* The highest ones are the last to be used. */
bool open_files_are_left(size_t wanted)
{
    size_t found = 0;
    for (size_t fd = file_limit(); fd > 0 && found < wanted; fd--)
        found += fcntl((int)fd - 1, F_GETFD) < 0;
    return found == wanted;
}

enum err_code open_files_check(size_t wanted, const char *what, struct err *err)
{
    if (open_files_are_left(wanted))
        return ERR_OK;
    err_set(err, ERR_SYS,
            "only %zu files may be open, too few for %s: raise the limit (ulimit -n)",
            file_limit(), what);
    if (err)
        err->sys = EMFILE;
    return ERR_SYS;
}

bool open_files_are_short(const struct err *err)
{
    return err->sys == EMFILE || err->sys == ENFILE;
}
