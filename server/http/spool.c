#include "server/http/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "sampler/base/channel.h"
#include "sampler/base/hash.h"
#include "sampler/base/memory_limit.h"
#include "sampler/base/scoped.h"
#include "server/files/files.h"
#include "server/http/response.h"

/* Not all file systems have files without a name. */
static int open_in(const struct files_folder *folder)
{
    char name[] = "pyrometer.XXXXXX";
    const int fd = files_open(folder, NULL, FILES_UNNAMED);
    if (fd >= 0)
        return fd;
    const int named = files_create(folder, name);
    if (named >= 0)
        (void)files_remove(folder, name);
    return named;
}

static const struct files_folder *only_folder; /* NULL: any */

void spool_use(const struct files_folder *folder)
{
    only_folder = folder;
}

int spool_open_file(void)
{
    if (only_folder)
        return open_in(only_folder);
    const char *const wanted = getenv("TMPDIR");
    const char *const folders[] = { wanted && *wanted ? wanted : "/var/tmp", "/var/tmp",
                                    "/tmp" };
    int fd = -1;
    for (size_t i = 0; fd < 0 && i < sizeof folders / sizeof *folders; i++) {
        SCOPED_FD int folder = open((folders[i]), O_PATH | O_DIRECTORY | O_CLOEXEC);
        fd = folder < 0 ? -1 : open_in(&(struct files_folder){ folder, -1 });
    }
    return fd;
}

/* A file system that knows no limit has no blocks. */
bool spool_has_room(int fd, size_t bytes, size_t least_free)
{
    struct statvfs disk;
    if (fstatvfs(fd, &disk) != 0 || disk.f_blocks == 0)
        return true;
    const uint64_t part = (uint64_t)disk.f_blocks * disk.f_frsize / 16;
    const uint64_t wanted = bytes + (part < SPOOL_RESERVE ? part : SPOOL_RESERVE);
    if ((uint64_t)disk.f_bavail * disk.f_frsize >= (wanted > least_free ? wanted : least_free))
        return true;
    errno = ENOSPC;
    return false;
}

/* Writes the last bytes of the answer so far.  The file takes no more of the disk than it leaves free: others write at
 * the same time. */
static bool put_bytes(struct spool *spool, const char *data, size_t bytes)
{
    if (spool_has_room(spool->fd, bytes, spool->bytes) && channel_write(spool->fd, data, bytes))
        return true;
    spool->sys = errno;
    return false;
}

static bool drain_spool(void *to, const char *data, size_t bytes)
{
    struct spool *const spool = to;
    spool->bytes += bytes;
    spool->hash = hash_bytes(data, bytes, spool->hash);
    if (spool->bytes > SPOOL_MAX_BYTES)
        return false;
    if (spool->fd < 0 && spool->bytes <= memory_limit_scale(SPOOL_MEMORY_BYTES)) {
        buffer_append(&spool->held, data, bytes);
        return !spool->held.failed;
    }
    if (spool->fd < 0) {
        spool->fd = spool_open_file();
        if (spool->fd < 0) {
            spool->sys = errno;
            return false;
        }
        const bool is_there = put_bytes(spool, spool->held.data, spool->held.length);
        buffer_deinit(&spool->held);
        if (!is_there)
            return false;
    }
    return put_bytes(spool, data, bytes);
}

void spool_begin(struct spool *spool, struct buffer *out)
{
    *spool = (struct spool){ .fd = -1, .hash = HASH_SEED };
    buffer_init_draining(out, drain_spool, spool);
}

enum err_code spool_end(struct spool *spool, struct buffer *out, enum err_code rc,
                        const char *mime, struct response *response, struct err *err)
{
    buffer_flush(out);
    if (!rc)
        rc = buffer_check(out, err);
    if (rc && spool->sys) {
        /* The writer does not know about the file. */
        err_sys(err, spool->sys, "an answer of more than %zu KiB does not fit on the disk",
                memory_limit_scale(SPOOL_MEMORY_BYTES) >> 10);
        rc = ERR_SYS;
    } else if (rc && spool->bytes > SPOOL_MAX_BYTES) {
        rc = err_set(err, ERR_LIMIT, "the answer has more than %zu GiB: use pyrometer replay",
                     SPOOL_MAX_BYTES >> 30);
    } else if (!rc && spool->fd < 0) {
        rc = response_take_buffer(response, mime, &spool->held, err);
    } else if (!rc) {
        response_own_file(response, mime, spool->fd, spool->bytes);
        spool->fd = -1;
        snprintf(response->tag, sizeof response->tag, "%016" PRIx64, spool->hash);
    }
    buffer_deinit(out);
    buffer_deinit(&spool->held);
    if (spool->fd >= 0)
        close(spool->fd);
    spool->fd = -1;
    return rc;
}
