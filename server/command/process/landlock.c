#include "server/command/process/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/base/scoped.h"

/* Rights of later versions than the headers that this is built with. */
enum { REFER = 1 << 13, TRUNCATE = 1 << 14 };

/* Rights that the first version knows; files of devices are never made. */
enum {
    FIRST = (1 << 13) - 1,
    READS = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
    FILES = READS | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
            LANDLOCK_ACCESS_FS_MAKE_REG | TRUNCATE,
    WRITES = FILES | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_DIR |
             LANDLOCK_ACCESS_FS_MAKE_SOCK | REFER,
    OF_FILES = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE,
};

enum err_code landlock_limit(const struct landlock_folder *folders, size_t count,
                             struct err *err)
{
    const long version =
        syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1)
        return err_set(err, ERR_UNSUPPORTED, "this kernel has no Landlock");
    const struct landlock_ruleset_attr attributes = {
        .handled_access_fs = (uint64_t)FIRST | (version >= 2 ? (uint64_t)REFER : 0) |
                             (version >= 3 ? (uint64_t)TRUNCATE : 0)
    };
    SCOPED_FD int rules = (int)syscall(SYS_landlock_create_ruleset, &attributes,
                                       sizeof attributes.handled_access_fs, 0);
    if (rules < 0)
        return err_sys(err, errno, "cannot limit the files of this process");
    for (size_t i = 0; i < count; i++) {
        const struct landlock_folder *const folder = &folders[i];
        static const uint64_t uses[] = {
            [LANDLOCK_READ] = READS, [LANDLOCK_FILES] = FILES, [LANDLOCK_WRITE] = WRITES
        };
        struct stat status;
        SCOPED_FD int fd = open(folder->path, O_PATH | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &status) != 0)
            continue;
        uint64_t allowed = uses[folder->use] & attributes.handled_access_fs;
        if (!S_ISDIR(status.st_mode))
            allowed &= OF_FILES;
        const struct landlock_path_beneath_attr rule = { .allowed_access = allowed,
                                                         .parent_fd = fd };
        if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
            return err_sys(err, errno, "cannot limit the files of this process");
    }
    if (syscall(SYS_landlock_restrict_self, rules, 0) != 0)
        return err_sys(err, errno, "cannot limit the files of this process");
    return ERR_OK;
}
