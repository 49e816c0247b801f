/*
 * owner - whose a process is: its user, its groups, and the files that it sees.
 *
 * Read from /proc/PID/status and not from the owner of /proc/PID, which is root for a process that
 * changed its user.
 *
 * Threads: any.
 * Limits: OWNER_MAX_GROUPS supplementary groups, then ERR_LIMIT.
 */
#ifndef SAMPLER_OWNER_H
#define SAMPLER_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"

enum { OWNER_MAX_GROUPS = 256 };

struct owner {
    uid_t uid; /* real, effective, saved and file system user: all the same */
    gid_t gid; /* likewise */
    uint32_t group_count;
    gid_t groups[OWNER_MAX_GROUPS]; /* ascending */
    uint64_t root_device, root_inode;
    uint64_t mounts; /* the number of its mount namespace */
};

/* ERR_GONE; ERR_PERM: its four user ids differ, or its group ids do, or /proc refuses. */
MUST_CHECK enum err_code owner_read(int pid, struct owner *out, struct err *err);

bool owner_same_identity(const struct owner *a, const struct owner *b);
/* Identity, root directory and mount namespace. */
bool owner_same(const struct owner *a, const struct owner *b);

#endif /* SAMPLER_OWNER_H */
