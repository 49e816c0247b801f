/*
 * landlock - limits this process to some folders, for ever.  It cannot open files elsewhere, and cannot trace
 * processes that are not limited as it is.
 *
 * Threads: the main one, before others start.
 */
#ifndef SERVER_COMMAND_PROCESS_LANDLOCK_H
#define SERVER_COMMAND_PROCESS_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

enum landlock_use {
    LANDLOCK_READ,
    LANDLOCK_FILES, /* and files may be made, changed and removed */
    LANDLOCK_WRITE, /* and folders and sockets too */
};

struct landlock_folder {
    const char *path; /* of a folder or a file; one that does not exist is left out */
    enum landlock_use use;
};

/* no_new_privs must be set.  ERR_UNSUPPORTED: this kernel cannot do it. */
MUST_CHECK enum err_code landlock_limit(const struct landlock_folder *folders, size_t count,
                                        struct err *err);

#endif /* SERVER_COMMAND_PROCESS_LANDLOCK_H */
