/*
 * capture_folder - the folder of captures, and the names of its files.
 *
 * Ownership: the caller's storage.
 */
#ifndef SERVER_SESSIONS_CAPTURE_FOLDER_H
#define SERVER_SESSIONS_CAPTURE_FOLDER_H

#include <limits.h>
#include <stdbool.h>

#include "sampler/base/err.h"
#include "server/files/files.h"
#include "server/sessions/capture_entry.h"

/* Root's default folder. */
#define CAPTURES_HOST_FOLDER "/var/lib/pyrometer"

enum { CAPTURES_FILE_BYTES = CAPTURES_NAME_BYTES + 8 };

/* "NAME.pyro"; false: the name is invalid, such as one with a '/'. */
bool captures_file_of(const char *name, char out[CAPTURES_FILE_BYTES]);
/* NAME of "NAME.pyro"; false: another file. */
bool captures_name_of(const char *file, char out[CAPTURES_NAME_BYTES]);

/* The folder, and what is needed to create it again without following a path. */
struct captures_folder {
    char path[PATH_MAX];       /* as its user knows it */
    int fd;                    /* -1: not open, nothing to close */
    struct files_folder files; /* the same one, for files in it */
    int above_fd;              /* the folder that it is in */
    char name[NAME_MAX + 1];
};

/* Creates the folder and its parents, unless they exist.  wanted NULL: the default folder. */
MUST_CHECK enum err_code captures_folder_make(const char *wanted, char path_out[PATH_MAX],
                                              struct err *err);
/* Creates the folder as above, opens it, and checks that it is writable. */
MUST_CHECK enum err_code captures_folder_open(struct captures_folder *folder,
                                              const char *wanted, struct err *err);
void captures_folder_close(struct captures_folder *folder);
/* Creates the folder again if it was removed.  Fails if something else is in its place, such as a link
 * or a folder of another user. */
MUST_CHECK enum err_code captures_folder_renew(struct captures_folder *folder, struct err *err);

#endif /* SERVER_SESSIONS_CAPTURE_FOLDER_H */
