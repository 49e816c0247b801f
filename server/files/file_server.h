/*
 * file_server - the file process: opens, renames and removes files in the program's folders (folders.h), with the rights of
 * the owner of each folder, for a process that lacks them (files.h).
 *
 * It trusts no message.  A name is that of a file in such a folder, never a path.  It opens regular files only, and a file
 * that it makes can be read by its owner only.
 *
 * It becomes the owner for files only (setfsuid), so the owner's processes cannot signal it.
 *
 * Threads: for a process with one thread.
 */
#ifndef SERVER_FILES_FILE_SERVER_H
#define SERVER_FILES_FILE_SERVER_H

#include <stdbool.h>

/* Answers a request that has come.  false: nobody is left to ask. */
bool file_server_answer(int socket);

#endif /* SERVER_FILES_FILE_SERVER_H */
