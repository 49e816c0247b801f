/*
 * captures_folder - where captures lie, and what their files are called.
 *
 * Ownership: the caller's storage.
 * Depends on: err, captures (limits).
 */
#ifndef SERVER_SESSIONS_CAPTURE_FOLDER_H
#define SERVER_SESSIONS_CAPTURE_FOLDER_H

#include <limits.h>
#include <stdbool.h>

#include "sampler/base/err.h"
#include "server/sessions/capture_store.h"

enum { CAPTURES_FILE_BYTES = CAPTURES_NAME_BYTES + 8 };

/* "NAME.pyro"; false: it is no name, such as one that leads anywhere else. */
bool captures_file_of(const char *name, char out[CAPTURES_FILE_BYTES]);
/* NAME of "NAME.pyro"; false: another file. */
bool captures_name_of(const char *file, char out[CAPTURES_NAME_BYTES]);

/* The folder, and what it takes to make it again without following a path. */
struct captures_folder {
    char path[PATH_MAX]; /* as its user knows it */
    int fd;              /* -1: not open, nothing to close */
    int above_fd;        /* the folder that it is in */
    char name[NAME_MAX + 1];
};

/* wanted NULL: the usual one. */
MUST_CHECK enum err_code captures_folder_path(const char *wanted, char path_out[PATH_MAX],
                                              struct err *err);
/* It is made, with all above it, and can be written into. */
MUST_CHECK enum err_code captures_folder_open(struct captures_folder *folder,
                                              const char *wanted, struct err *err);
void captures_folder_close(struct captures_folder *folder);
/* It may have been removed: then a new one is made where it was, unless something else is there by
 * now, such as a link or another user's folder. */
MUST_CHECK enum err_code captures_folder_renew(struct captures_folder *folder, struct err *err);

#endif /* SERVER_SESSIONS_CAPTURE_FOLDER_H */
