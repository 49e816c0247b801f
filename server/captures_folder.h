/*
 * captures_folder - where captures lie, and what their files are called.
 *
 * Ownership: the caller's storage; a descriptor that is given is the caller's.
 * Depends on: err, captures (limits).
 */
#ifndef SERVER_CAPTURES_FOLDER_H
#define SERVER_CAPTURES_FOLDER_H

#include <limits.h>
#include <stdbool.h>

#include "sampler/base/err.h"
#include "server/captures.h"

enum { CAPTURES_FILE_BYTES = CAPTURES_NAME_BYTES + 8 };

/* "NAME.pyro"; false: it is no name, such as one that leads anywhere else. */
bool captures_file_of(const char *name, char out[CAPTURES_FILE_BYTES]);
/* NAME of "NAME.pyro"; false: another file. */
bool captures_name_of(const char *file, char out[CAPTURES_NAME_BYTES]);

/* wanted NULL: the usual one.  It is made, with all above it, and can be written into. */
MUST_CHECK enum err_code captures_folder_open(const char *wanted, char path_out[PATH_MAX],
                                              int *fd_out, struct err *err);
/* It may have been removed: then the descriptor becomes that of a new one, if that can be. */
void captures_folder_renew(char path[PATH_MAX], int fd);

#endif /* SERVER_CAPTURES_FOLDER_H */
