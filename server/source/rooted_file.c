#include "server/source/rooted_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sampler/base/file_name.h"

#ifndef CONFIGFS_MAGIC
#define CONFIGFS_MAGIC 0x62656570
#endif
#ifndef FUSE_CTL_SUPER_MAGIC
#define FUSE_CTL_SUPER_MAGIC 0x65735543
#endif
#ifndef MQUEUE_MAGIC
#define MQUEUE_MAGIC 0x19800202
#endif

enum source_outcome rooted_file_outcome(int sys)
{
    switch (sys) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP: return SOURCE_MISSING;
    case EACCES:
    case EPERM: return SOURCE_DENIED;
    case EAGAIN: return SOURCE_BUSY;
    default: return SOURCE_FAILED;
    }
}

/* Files of the kernel seem regular and are not: reading them reveals or does things. */
static bool is_ordinary(int fd)
{
    static const long kernel_made[] = {
        PROC_SUPER_MAGIC,    SYSFS_MAGIC,        DEBUGFS_MAGIC,        TRACEFS_MAGIC,
        SECURITYFS_MAGIC,    CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,  BPF_FS_MAGIC,
        PSTOREFS_MAGIC,      EFIVARFS_MAGIC,     BINFMTFS_MAGIC,       SELINUX_MAGIC,
        SMACK_MAGIC,         CONFIGFS_MAGIC,     FUSE_CTL_SUPER_MAGIC, MQUEUE_MAGIC,
        RDTGROUP_SUPER_MAGIC
    };
    struct statfs system;
    if (fstatfs(fd, &system) != 0)
        return false;
    for (size_t i = 0; i < sizeof kernel_made / sizeof *kernel_made; i++)
        if ((long)system.f_type == kernel_made[i])
            return false;
    return true;
}

/* Examined before it is opened, since opening a device may already do something. */
static enum source_outcome open_named(int root, const char *path, mode_t kind, int *out)
{
    const struct open_how how = { .flags = O_PATH | O_CLOEXEC,
                                  .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
    char again[48];
    struct stat status;
    enum source_outcome outcome = SOURCE_DONE;
    const int handle = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
    if (handle < 0)
        return rooted_file_outcome(errno);
    if (fstat(handle, &status) != 0 || (status.st_mode & S_IFMT) != kind ||
        !is_ordinary(handle)) {
        outcome = SOURCE_NOT_REGULAR;
    } else {
        snprintf(again, sizeof again, "/proc/self/fd/%d", handle);
        *out = open(again, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        outcome = *out < 0 ? rooted_file_outcome(errno) : SOURCE_DONE;
    }
    close(handle);
    return outcome;
}

/* The target has decoded the name; only trying shows how. */
static enum source_outcome open_kind(int root, const char *path, mode_t kind, int *out)
{
    char name[PATH_MAX];
    enum source_outcome outcome = SOURCE_MISSING;
    for (enum file_name_encoding encoding = FILE_NAME_TEXT;
         encoding < FILE_NAME_ENCODINGS && outcome == SOURCE_MISSING; encoding++)
        if (file_name_encode(path, encoding, name, sizeof name))
            outcome = open_named(root, name, kind, out);
    return outcome;
}

enum source_outcome rooted_file_open(int root, const char *path, int *out)
{
    return open_kind(root, path, S_IFREG, out);
}

enum source_outcome rooted_file_open_folder(int root, const char *path, int *out)
{
    return open_kind(root, path, S_IFDIR, out);
}
