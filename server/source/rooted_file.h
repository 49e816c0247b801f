/*
 * rooted_file - opens a file beneath the root of a process, without side effects of opening.
 *
 * Follows links, also absolute ones, beneath that root.  Only regular files of ordinary file systems are opened:
 * a device, or a file that the kernel makes, may do something when it is opened or read.
 *
 * Private to the folder.
 */
#ifndef SERVER_SOURCE_ROOTED_FILE_H
#define SERVER_SOURCE_ROOTED_FILE_H

#include "server/source/request.h"

/* The outcome that an errno of opening or reading a file means. */
enum source_outcome rooted_file_outcome(int sys);

enum source_outcome rooted_file_open(int root, const char *path, int *out);
/* Opens a folder, whose entries may be read. */
enum source_outcome rooted_file_open_folder(int root, const char *path, int *out);

#endif /* SERVER_SOURCE_ROOTED_FILE_H */
