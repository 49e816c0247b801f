#include "sampler/foreign/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/trusted_path.h"
#include "sampler/capture/format.h"
#include "sampler/capture/reader.h"
#include "sampler/foreign/formats.h"
#include "sampler/foreign/gather.h"
#include "sampler/foreign/input.h"
#include "sampler/foreign/scratch.h"

/* Formats that few bytes tell come first. */
static const struct {
    const char *name;
    foreign_begins *begins;
    foreign_read *read;
} formats[] = {
    { "binary", tachyon_begins, tachyon_read },
    { "MOJO", mojo_begins, mojo_read },
    { "pstats", pstats_begins, pstats_read },
    { "pprof", pprof_begins, pprof_read },
    { "speedscope", speedscope_begins, speedscope_read },
    { "V8 cpuprofile", cpuprofile_begins, cpuprofile_read },
    { "Firefox Profiler", gecko_begins, gecko_read },
    { "Chrome trace", chrome_trace_begins, chrome_trace_read },
    { "collapsed stacks", collapsed_begins, collapsed_read },
};

/* Bytes that tell which format a file has. */
enum { HEAD_BYTES = 1 << 16 };

/* The number of a format; -1: none. */
static enum err_code find_format(int fd, int *out, struct err *err)
{
    struct input input;
    *out = -1;
    enum err_code rc = input_open(&input, fd, err);
    if (!rc) {
        const bool is_long = input_ready(&input, HEAD_BYTES);
        const size_t bytes = is_long ? HEAD_BYTES : input.end - input.at;
        for (size_t i = 0; i < sizeof formats / sizeof *formats && *out < 0; i++)
            if (formats[i].begins(input.data + input.at, bytes))
                *out = (int)i;
        rc = input_check(&input, err);
    }
    input_close(&input);
    return rc;
}

static enum err_code read_format(int format, int fd, size_t memory_bytes,
                                 struct scratch *scratch, struct err *err)
{
    struct gather gather;
    enum err_code rc = gather_init(&gather, memory_bytes, err);
    gather.format = formats[format].name;
    if (!rc) {
        rc = formats[format].read(&gather, fd, err);
        if (rc == ERR_CORRUPT)
            err_wrap(err, rc, "damaged %s", formats[format].name);
    }
    if (!rc)
        rc = scratch_open(scratch, err);
    if (!rc)
        rc = gather_write(&gather, scratch, err);
    gather_deinit(&gather);
    return rc;
}

enum err_code foreign_convert(int fd, size_t memory_bytes, int *fd_out, struct err *err)
{
    char magic[sizeof CAPTURE_MAGIC - 1] = { 0 };
    struct scratch scratch = { .fd = -1 };
    struct stat st;
    int format;
    if (fstat(fd, &st) != 0)
        return err_sys(err, errno, "cannot read");
    const ssize_t n = S_ISREG(st.st_mode) ? pread(fd, magic, sizeof magic, 0) : 0;
    /* The reader of captures says what is wrong with what is no file, and with an empty one. */
    if (n <= 0 || memcmp(magic, CAPTURE_MAGIC, (size_t)n) == 0) {
        *fd_out = fd;
        return ERR_OK;
    }
    enum err_code rc = find_format(fd, &format, err);
    if (!rc && format < 0)
        rc = err_set(err, ERR_UNSUPPORTED,
                     "not a Pyrometer capture (.pyro), nor a profile of a known format");
    if (!rc)
        rc = read_format(format, fd, memory_bytes, &scratch, err);
    if (rc)
        scratch_close(&scratch);
    else
        *fd_out = scratch.fd;
    return rc;
}

enum err_code foreign_open(const char *path, size_t memory_bytes, struct reader **out,
                           struct err *err)
{
    int fd, capture_fd = -1;
    /* O_NONBLOCK: does not wait for the other end of a pipe. */
    enum err_code rc = trusted_path_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0, &fd, err);
    if (rc)
        return err_wrap(err, ERR_SYS, "cannot read '%.200s'", path);
    rc = foreign_convert(fd, memory_bytes, &capture_fd, err);
    if (!rc)
        rc = reader_open_fd(capture_fd, out, err);
    if (capture_fd >= 0 && capture_fd != fd)
        close(capture_fd);
    close(fd);
    return rc ? err_wrap(err, rc, "cannot read '%.200s'", path) : ERR_OK;
}
