/*
 * file_request - requests to the file process, its answers, and the system calls that both stand for.
 *
 * A request is one message with the socket for its answer, and for FILE_LINK the file behind that.  The answer is one message;
 * an opened file comes with it.
 *
 * Private to the folder.
 */
#ifndef SERVER_FILES_FILE_REQUEST_H
#define SERVER_FILES_FILE_REQUEST_H

#include <limits.h>
#include <stdint.h>

#include "server/files/file_status.h"

struct buffer;

enum file_kind {
    FILE_OPEN = 1, /* use, name; a file */
    FILE_LINK,     /* name, and a file */
    FILE_RENAME,   /* name, to */
    FILE_REMOVE,   /* name */
    FILE_STATUS,   /* name; status */
    FILE_LIST,     /* a file with the list */
    FILE_KINDS
};

struct file_request {
    uint32_t kind, folder, use;
    char name[NAME_MAX + 1], to[NAME_MAX + 1]; /* each ends with a NUL */
};

struct file_answer {
    int32_t sys; /* an errno; 0: it is done */
    struct files_status status;
};

/* A file of the list, and behind it its name with a NUL. */
struct file_row {
    struct files_status status;
    uint32_t name_bytes; /* with the NUL, and up to a multiple of 8 */
};

/* Do what the system calls do; -1 and errno. */
int file_call_open(int folder_fd, const char *name, enum files_use use);
int file_call_link(int folder_fd, int fd, const char *name);
int file_call_status(int folder_fd, const char *name, struct files_status *out);
/* All files as rows. */
int file_call_list(int folder_fd, struct buffer *out);

#endif /* SERVER_FILES_FILE_REQUEST_H */
