/*
 * file_process - the process that opens files for a program that root has started (files/file_server.h).
 *
 * It has a user of its own, CAP_SETUID and CAP_SETGID.  The list of system calls allows it to use these only to become the
 * owner of a folder for files.  Where the kernel has Landlock, it can open nothing but the program's folders.
 */
#ifndef SERVER_COMMAND_PROCESS_FILE_PROCESS_H
#define SERVER_COMMAND_PROCESS_FILE_PROCESS_H

#include <stdbool.h>
#include <stdnoreturn.h>

#include "sampler/base/err.h"

struct pulse;

/* Has root started the program, and does it write files by name? */
bool file_process_is_needed(void);

/* Serves files in a process of its own, which holds this socket and the folders (folders.h) and ends when nobody is left to ask
 * it.  pulse: beats for each request; NULL: none. */
noreturn void file_process_run(int socket, struct pulse *pulse);

/* Starts one for this process, before it has threads or drops rights. */
MUST_CHECK enum err_code file_process_start(struct err *err);

#endif /* SERVER_COMMAND_PROCESS_FILE_PROCESS_H */
