#define _GNU_SOURCE
#include "sampler/foreign/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

enum err_code scratch_open(struct scratch *scratch, struct err *err)
{
    int fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    const bool is_on_disk = fd >= 0;
    if (!is_on_disk)
        fd = memfd_create("profile", MFD_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "cannot create a temporary file");
    *scratch =
        (struct scratch){ .fd = fd,
                          .most = is_on_disk ? SCRATCH_DISK_BYTES : SCRATCH_MEMORY_BYTES };
    return ERR_OK;
}

void scratch_close(struct scratch *scratch)
{
    if (scratch->most)
        close(scratch->fd);
    *scratch = (struct scratch){ .fd = -1 };
}

enum err_code scratch_write(struct scratch *scratch, const void *data, size_t bytes,
                            struct err *err)
{
    const char *const from = data;
    if (bytes > scratch->most - scratch->bytes)
        return err_set(err, ERR_LIMIT, "it needs more than %d MiB of temporary files",
                       (int)(scratch->most >> 20));
    for (size_t done = 0; done < bytes;) {
        const ssize_t n =
            pwrite(scratch->fd, from + done, bytes - done, (off_t)(scratch->bytes + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_sys(err, n < 0 ? errno : ENOSPC, "cannot write a temporary file");
        done += (size_t)n;
    }
    scratch->bytes += bytes;
    return ERR_OK;
}

enum err_code scratch_read(const struct scratch *scratch, uint64_t at, void *out, size_t bytes,
                           struct err *err)
{
    char *const to = out;
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = pread(scratch->fd, to + done, bytes - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_sys(err, n < 0 ? errno : EIO, "cannot read a temporary file");
        done += (size_t)n;
    }
    return ERR_OK;
}
