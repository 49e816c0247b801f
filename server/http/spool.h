/*
 * spool - collects an answer that may be too large for memory: beyond SPOOL_MEMORY_BYTES all of it goes
 * to a file without a name.
 *
 *     struct spool spool;
 *     struct buffer out;
 *     spool_begin(&spool, &out);
 *     enum err_code rc = format->write(source, &out, err);
 *     return spool_end(&spool, &out, rc, mime, response, err);
 *
 * The file is in $TMPDIR, /var/tmp or /tmp, or where spool_use says, and disappears with the answer, also after a crash.
 *
 * Ownership: the caller's storage, which must not move; spool_end gives all to the response.
 * Threads: one.
 * Limits: SPOOL_MAX_BYTES, then ERR_LIMIT.  A file never takes more than it leaves free: captures grow on
 * the same disk.
 */
#ifndef SERVER_HTTP_SPOOL_H
#define SERVER_HTTP_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/buffer.h"
#include "sampler/base/err.h"

struct files_folder;
struct response;

enum { SPOOL_MEMORY_BYTES = 16 << 20 };
#define SPOOL_MAX_BYTES ((size_t)4 << 30)
#define SPOOL_RESERVE   ((size_t)64 << 20)

struct spool {
    struct buffer held; /* what has no file yet */
    int fd;             /* -1: none yet */
    size_t bytes;
    uint64_t hash;
    int sys; /* errno of what went wrong with the file, 0: nothing */
};

/* Files are made in this folder only; borrowed.  Before other threads start. */
void spool_use(const struct files_folder *folder);

void spool_begin(struct spool *spool, struct buffer *out);
/* rc: the result of the writer.  Sets the body, its type and its tag, or the error. */
MUST_CHECK enum err_code spool_end(struct spool *spool, struct buffer *out, enum err_code rc,
                                   const char *mime, struct response *response,
                                   struct err *err);
/* A file without a name, in one of these folders; -1: errno says why there is none. */
int spool_open_file(void);
/* Has the disk room for so many bytes that somebody asks for or sends?  A part of it, up to SPOOL_RESERVE, stays free for
 * captures that are being written, and before the bytes are written at least least_free is.  false: errno is ENOSPC. */
bool spool_has_room(int fd, size_t bytes, size_t least_free);

#endif /* SERVER_HTTP_SPOOL_H */
