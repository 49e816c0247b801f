/*
 * source - the text of source files, read where the program that was sampled has them.
 *
 * A path comes from the target and is hostile.  It is opened beneath the root that the target
 * sees, links included; only regular files of ordinary file systems are read, up to
 * SOURCE_MAX_BYTES, with the rights of the target's owner and never with more: where those
 * cannot be taken, nothing is read.
 *
 * Ownership: the caller's storage; source_close accepts SOURCE_NONE.  What was read is in the
 * caller's buffer.
 * Threads: any; rights are taken by the calling thread alone and given back.
 * Depends on: buffer, err; Linux 5.6 (openat2).
 */
#ifndef SERVER_SOURCE_H
#define SERVER_SOURCE_H

#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"

struct buffer;

enum { SOURCE_MAX_BYTES = 4 << 20 };

struct source_root {
    int fd; /* -1: none */
    uid_t uid;
    gid_t gid;
};

#define SOURCE_NONE \
    {               \
        .fd = -1    \
    }

/* While the process lives; the files stay readable when it has ended. */
MUST_CHECK enum err_code source_open(struct source_root *root, pid_t pid, struct err *err);
void source_close(struct source_root *root);

/* Replaces what is in `out`.  changed_ns_out: when the file was last written, since 1970.
 * ERR_NOT_FOUND no such file, ERR_PERM, ERR_LIMIT too large, ERR_INVALID not an absolute path or
 * no ordinary file. */
MUST_CHECK enum err_code source_read(const struct source_root *root, const char *path,
                                     size_t length, struct buffer *out,
                                     uint64_t *changed_ns_out, struct err *err);

#endif /* SERVER_SOURCE_H */
