/*
 * landlock - limits this process to some folders, for ever.  It cannot open files elsewhere, and cannot trace
 * processes that are not limited as it is.
 *
 * Threads: the main one, before others start.
 * Depends on: err.
 */
#ifndef SERVER_COMMAND_PROCESS_LANDLOCK_H
#define SERVER_COMMAND_PROCESS_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

struct landlock_folder {
    const char *path; /* one that does not exist is left out */
    bool is_written;  /* files may be made, changed and removed there */
};

/* no_new_privs must be set.  ERR_UNSUPPORTED: this kernel cannot do it. */
MUST_CHECK enum err_code landlock_limit(const struct landlock_folder *folders, size_t count,
                                        struct err *err);

#endif /* SERVER_COMMAND_PROCESS_LANDLOCK_H */
