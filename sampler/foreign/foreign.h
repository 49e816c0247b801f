/*
 * foreign - opens profiles that other tools have written, as captures.
 *
 * The contents say which format a file has, never its name.  It is read once from start to end (some formats: more than once),
 * and becomes a capture without a name, on disk or in memory; whatever shows captures shows that.  What the format lacks is
 * unknown there: states of threads always are, and the reason of the end says what else is.
 *
 * Ownership: descriptors are the caller's.
 * Threads: any.
 * Limits: see gather.h, input.h and scratch.h.
 * Errors: ERR_CORRUPT: it is of a known format, and damaged.  ERR_UNSUPPORTED: of none.
 */
#ifndef SAMPLER_FOREIGN_FOREIGN_H
#define SAMPLER_FOREIGN_FOREIGN_H

#include <stddef.h>

#include "sampler/base/err.h"

struct reader;

/* Opens a capture, or a file of another tool.  memory_bytes: as of reader_part. */
MUST_CHECK enum err_code foreign_open(const char *path, size_t memory_bytes,
                                      struct reader **out, struct err *err);
/* Makes a capture of an open file; *fd_out is fd if it is one.  The message of a failure names no file. */
MUST_CHECK enum err_code foreign_convert(int fd, size_t memory_bytes, int *fd_out,
                                         struct err *err);

#endif /* SAMPLER_FOREIGN_FOREIGN_H */
