/*
 * files - opens, renames and removes files by name, in the folders that the program writes into.
 *
 * A program that root has started becomes a user who may write into none of these folders.  Then the file process
 * (file_server.h) does this with the rights of the folder's owner, and hands files over as descriptors.  Otherwise these are
 * the plain system calls.
 *
 * A name has no '/'.  Links are not followed.  New files can be read by their owner only.
 *
 * Threads: files_use: the main one, before others start; the others: any.
 * Limits: FILES_WAIT_MS for an answer, then ETIMEDOUT; FILES_MAX_LISTED files of a folder are listed.
 * Errors: -1 and errno; EIO: the file process has ended.
 */
#ifndef SERVER_FILES_FILES_H
#define SERVER_FILES_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "server/files/file_status.h"

enum { FILES_WAIT_MS = 10000 };

struct files_folder {
    int fd;     /* borrowed */
    int number; /* of the file process; -1: plain system calls */
};

/* Has the file process at the other end of the socket (SOCK_SEQPACKET) open files from now on. */
void files_use(int socket);
bool files_is_used(void);

/* The folder of an open descriptor. */
struct files_folder files_in(int folder_fd);
/* The folder that a path leads to; *name_out: the name in it, part of the path.  If it is none of the program's folders, the
 * path itself is the name, for system calls. */
struct files_folder files_of(const char *path, const char **name_out);

/* name NULL: FILES_UNNAMED. */
int files_open(const struct files_folder *folder, const char *name, enum files_use use);
/* Creates a file; as mkostemp, the last six characters of the name are 'X' and become others. */
int files_create(const struct files_folder *folder, char *name);
/* Gives a name to a file without one; EEXIST: another file has it. */
int files_link(const struct files_folder *folder, int fd, const char *name);
int files_rename(const struct files_folder *folder, const char *from, const char *to);
int files_remove(const struct files_folder *folder, const char *name);
int files_status(const struct files_folder *folder, const char *name, struct files_status *out);

/* false: end the list. */
typedef bool files_visitor(void *context, const char *name, const struct files_status *status);
/* The regular files of the folder, in no order. */
int files_list(const struct files_folder *folder, files_visitor *visit, void *context);

#endif /* SERVER_FILES_FILES_H */
