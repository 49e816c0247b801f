#define _GNU_SOURCE
#include "sampler/process/core_unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sampler/base/compress.h"
#include "sampler/base/scoped.h"

/* Programs that compress cores, by the first bytes of their files; the first is read here. */
static const struct {
    const char *name, *first;
    size_t bytes;
} programs[] = {
    { "zstd", "\x28\xb5\x2f\xfd", 4 },
    { "lz4", "\x04\x22\x4d\x18", 4 },
    { "xz",
      "\xfd"
      "7zXZ",
      5 },
    { "gzip", "\x1f\x8b", 2 },
};

/* How often it is asked what is left of the file system. */
enum { ASK_EVERY_BYTES = 16 << 20, BLOCK_BYTES = 4096 };

struct unpacking {
    int fd;
    const char *name;
    uint64_t bytes, max_bytes, asked_bytes;
    struct err *err;
    enum err_code failure;
};

static enum err_code check_room(struct unpacking *to)
{
    struct statfs fs;
    if (to->bytes > to->max_bytes)
        return err_set(to->err, ERR_LIMIT,
                       "%s unpacks to more than %" PRIu64
                       " GiB: unpack it with zstd -d, and dump the result",
                       to->name, to->max_bytes >> 30);
    if (to->bytes < to->asked_bytes)
        return ERR_OK;
    to->asked_bytes = to->bytes + ASK_EVERY_BYTES;
    if (fstatfs(to->fd, &fs) == 0 &&
        (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize < CORE_UNPACK_LEFT_BYTES)
        return err_set(to->err, ERR_LIMIT,
                       "no room to unpack %s: set TMPDIR to a folder on a larger file system",
                       to->name);
    return ERR_OK;
}

/* Zeros are left out: they are holes. */
static bool take_piece(void *context, const char *data, size_t bytes)
{
    struct unpacking *const to = context;
    for (size_t done = 0; done < bytes && !to->failure;) {
        const size_t left = bytes - done, most = left < BLOCK_BYTES ? left : BLOCK_BYTES;
        const char *const piece = data + done;
        ssize_t n = (ssize_t)most;
        to->failure = check_room(to);
        if (!to->failure && (*piece || memcmp(piece, piece + 1, most - 1) != 0))
            n = pwrite(to->fd, piece, most, (off_t)to->bytes);
        if (n <= 0)
            to->failure = err_sys(to->err, errno, "cannot unpack %s", to->name);
        else if (!to->failure) {
            done += (size_t)n;
            to->bytes += (size_t)n;
        }
    }
    return !to->failure;
}

enum err_code core_unpack(int fd, const char *name, uint64_t max_bytes, int *fd_out,
                          struct err *err)
{
    enum { FIRST_BYTES = 8 };
    char first[FIRST_BYTES] = "";
    size_t program = 0;
    if (pread(fd, first, sizeof first, 0) < 0)
        return err_sys(err, errno, "cannot read %s", name);
    while (program < sizeof programs / sizeof *programs &&
           memcmp(first, programs[program].first, programs[program].bytes) != 0)
        program++;
    if (program == sizeof programs / sizeof *programs)
        return ERR_OK;
    if (program > 0)
        return err_set(err, ERR_INVALID,
                       "%s is compressed: unpack it with %s -d, and dump the result", name,
                       programs[program].name);
    const char *const folders[] = { secure_getenv("TMPDIR"), "/var/tmp", "/tmp" };
    SCOPED_FD int plain_fd = -1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && plain_fd < 0; i++)
        if (folders[i])
            plain_fd = open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (plain_fd < 0)
        return err_sys(err, errno, "cannot make a file to unpack %s into: set TMPDIR", name);
    struct unpacking to = { .fd = plain_fd, .name = name, .max_bytes = max_bytes, .err = err };
    enum err_code rc = compress_unzstd_file(fd, take_piece, &to, err);
    if (to.failure)
        return to.failure;
    /* A file that was cut unpacks to a core that was cut. */
    if (rc && !(rc == ERR_CORRUPT && to.bytes))
        return err_wrap(err, rc, "%s", name);
    if (ftruncate(plain_fd, (off_t)to.bytes) != 0)
        return err_sys(err, errno, "cannot unpack %s", name);
    *fd_out = scoped_take_fd(&plain_fd);
    return ERR_OK;
}
