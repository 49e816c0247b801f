/*
 * trusted_path - opens a file by a name of ours where others may own folders of the path.
 *
 * The owner of a folder can put a symbolic link, a hard link or a pipe into it, and so have root read or write a
 * file that the owner may not.  So a process that root has started follows a link only if root has made it.  A file
 * that it writes in place must be root's, or in a folder of another user that user's, and must have no second
 * name; in a folder that only root can write to, everything is as root left it.  Every component is
 * opened once, so nothing changes between the check and the use.
 *
 * The process of another user has no rights that the owner of a folder lacks: there the kernel alone decides,
 * as in open(2).
 *
 * Ownership: descriptors are the caller's.
 * Threads: any.
 * Limits: TRUSTED_PATH_MAX_LINKS links, PATH_MAX bytes of path.
 * Errors: the message is only the reason, err->sys is what open(2) would say; EPERM: not trusted.
 */
#ifndef SAMPLER_BASE_TRUSTED_PATH_H
#define SAMPLER_BASE_TRUSTED_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "sampler/base/err.h"

enum { TRUSTED_PATH_MAX_LINKS = 40 };

/* The place of a path's last component once all links have been followed, itself included. */
struct trusted_path {
    int folder_fd; /* O_PATH */
    char name[NAME_MAX + 1];
    bool is_opened; /* a link of /proc to a file that some process has open: follow it */
};

/* Succeeds for a name that is not there yet, in a folder that is. */
MUST_CHECK enum err_code trusted_path_find(const char *path, struct trusted_path *out,
                                           struct err *err);
/* flags: as of openat(2); O_NOFOLLOW and O_CLOEXEC are added.  *fd_out is -1 on failure. */
MUST_CHECK enum err_code trusted_path_open_at(const struct trusted_path *at, int flags,
                                              mode_t mode, int *fd_out, struct err *err);
MUST_CHECK enum err_code trusted_path_open(const char *path, int flags, mode_t mode,
                                           int *fd_out, struct err *err);
/* Refuses a file that root's program must not write in place, or believe: another user may have put it there. */
MUST_CHECK enum err_code trusted_path_check(const struct trusted_path *at, int fd,
                                            struct err *err);
/* mkdir(2) of the last component. */
enum err_code trusted_path_make_folder(const char *path, mode_t mode, struct err *err);

#endif /* SAMPLER_BASE_TRUSTED_PATH_H */
