#include "sampler/owner.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sampler/base/scoped.h"
#include "sampler/process/procfs.h"

/* The numbers of a line "\nUid:\t0\t0\t0\t0"; the kernel escapes newlines in names.  -1: there
 * is no such line, or it has more numbers than there is room for. */
static int numbers_of(const char *status, const char *line, uint32_t *out, int room)
{
    const char *at = strstr(status, line);
    int count = 0;
    if (!at)
        return -1;
    at += strlen(line);
    while (*at != '\n' && *at != '\0') {
        char *end;
        const unsigned long number = strtoul(at, &end, 10);
        if (end == at)
            break;
        if (count == room)
            return -1;
        out[count++] = (uint32_t)number;
        at = end;
        while (*at == ' ' || *at == '\t')
            at++;
    }
    return count;
}

static enum err_code read_id(const char *status, const char *line, uint32_t *out,
                             struct err *err)
{
    uint32_t ids[4];
    if (numbers_of(status, line, ids, 4) != 4)
        return err_set(err, ERR_CORRUPT, "/proc does not show the owner of the process");
    for (int i = 1; i < 4; i++)
        if (ids[i] != ids[0])
            return err_set(err, ERR_PERM, "the process has the rights of several users");
    *out = ids[0];
    return ERR_OK;
}

static enum err_code see_owner(int pid, const char *name, struct stat *out, struct err *err)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    if (stat(path, out) == 0)
        return ERR_OK;
    return errno == ENOENT || errno == ESRCH ? err_set(err, ERR_GONE, "no process %d", pid)
                                             : err_sys(err, errno, "cannot read %s", path);
}

enum err_code owner_read(int pid, struct owner *out, struct err *err)
{
    SCOPED_FREE char *status = NULL;
    size_t bytes;
    struct stat root = { 0 }, mounts = { 0 };
    struct owner owner = { 0 };
    enum err_code rc = procfs_read(pid, "status", &status, &bytes, err);
    if (!rc)
        rc = read_id(status, "\nUid:\t", &owner.uid, err);
    if (!rc)
        rc = read_id(status, "\nGid:\t", &owner.gid, err);
    if (rc)
        return rc;
    const int groups = numbers_of(status, "\nGroups:\t", owner.groups, OWNER_MAX_GROUPS);
    if (groups < 0)
        return err_set(err, ERR_LIMIT, "process %d is in more than %d groups", pid,
                       OWNER_MAX_GROUPS);
    owner.group_count = (uint32_t)groups;
    rc = see_owner(pid, "root", &root, err);
    if (!rc)
        rc = see_owner(pid, "ns/mnt", &mounts, err);
    if (rc)
        return rc;
    owner.root_device = root.st_dev;
    owner.root_inode = root.st_ino;
    owner.mounts = mounts.st_ino;
    *out = owner;
    return ERR_OK;
}

bool owner_same_identity(const struct owner *a, const struct owner *b)
{
    return a->uid == b->uid && a->gid == b->gid && a->group_count == b->group_count &&
           memcmp(a->groups, b->groups, a->group_count * sizeof *a->groups) == 0;
}

bool owner_same(const struct owner *a, const struct owner *b)
{
    return owner_same_identity(a, b) && a->root_device == b->root_device &&
           a->root_inode == b->root_inode && a->mounts == b->mounts;
}
