/*
 * named_file - reads a small file or pipe that is named on the command line, whole.
 *
 * A pipe may have no writer yet: it is waited for, until a signal asks us to stop.  What is neither
 * a file nor a pipe is not read, so that no device acts and none goes on for ever.
 *
 * Ownership: the caller's storage.
 * Limits: what the caller has room for.
 * Depends on: err, signals.
 */
#ifndef SERVER_COMMAND_PROCESS_NAMED_FILE_H
#define SERVER_COMMAND_PROCESS_NAMED_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "sampler/base/err.h"

/* Up to `bytes`; `mode_out` is whose file it is to read, as of stat.  `what` is "the token file" or
 * the like.  ERR_SYS: it cannot be read. */
MUST_CHECK enum err_code named_file_read(const char *path, const char *what, char *out,
                                         size_t bytes, size_t *length_out, mode_t *mode_out,
                                         struct err *err);

#endif /* SERVER_COMMAND_PROCESS_NAMED_FILE_H */
