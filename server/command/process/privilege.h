/*
 * privilege - reduces a command to the rights that its work needs.
 *
 * Call privilege_prepare first, and privilege_drop once everything that needs more rights is open: the listening socket,
 * output files, the terminal, the data folder, the child of `run`, helper processes.  It sets no_new_privs and installs the
 * command's list of system calls (syscall_filter.h).
 *
 * It retains these capabilities, if they were held:
 *
 *     serves HTTP                  none: its sampling process reads
 *     reads other processes        CAP_SYS_PTRACE, and CAP_DAC_READ_SEARCH (mem, syscall,
 *                                  map_files, files that only their owner reads) and
 *                                  CAP_CHECKPOINT_RESTORE (opening what map_files lists)
 *     dump --kernel                the same; a process beside it (stack_process.h) has CAP_SYS_ADMIN
 *     replay, diff, merge          CAP_DAC_READ_SEARCH, to read the captures on the command line
 *
 * Without CAP_SYS_PTRACE the kernel compares our capabilities with those of the target, and refuses a
 * reader that has fewer.  A command that reads processes then retains all its capabilities and its
 * identity.  They have little effect, because the list of system calls remains.
 *
 * A command that root starts becomes a user that nobody else is (access/identity.h), a setuid program the user who started it.
 * The folders that it writes into by name are opened before that; if root has started it, the file process opens files there
 * (file_process.h): reports and the quality file (renamed into their folder at the end), a capture and a Unix socket
 * (removed), shares, the data folder.
 *
 * A command that serves HTTP is limited to few folders where the kernel has Landlock (landlock.h), and can then not trace any
 * other process.
 *
 * Rights belong to threads: existing threads keep theirs.
 *
 * Threads: the main one, before others start; privilege_is_held: any.
 */
#ifndef SERVER_COMMAND_PROCESS_PRIVILEGE_H
#define SERVER_COMMAND_PROCESS_PRIVILEGE_H

#include <stdbool.h>

#include "sampler/base/err.h"

struct options;

/* Chooses the users that the processes of this program become, makes the data folder, and opens the folders that the program
 * writes into.  Comes before anything else. */
MUST_CHECK enum err_code privilege_prepare(const struct options *options, struct err *err);

MUST_CHECK enum err_code privilege_drop(const struct options *options, struct err *err);

/* Drops the rights of the sampling process of such a command, which has rights that the command
 * lacks. */
MUST_CHECK enum err_code privilege_drop_reader(const struct options *options, struct err *err);
/* Keeps what a sampling process, its source helper and its kernel engines need to begin with. */
bool privilege_keep_reader(void);
/* Keeps what it takes to end a program of any user. */
bool privilege_keep_launcher(void);

/* True if the program has rights that the user who started it lacks.  Files that it writes are then
 * readable by their owner only. */
bool privilege_is_held(void);

#endif /* SERVER_COMMAND_PROCESS_PRIVILEGE_H */
