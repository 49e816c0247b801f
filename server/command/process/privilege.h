/*
 * privilege - a command keeps the rights that its work needs, and no others.
 *
 * privilege_drop comes once all is open that takes more: the listening socket, output files,
 * the terminal, the data folder, the child of `run`, helpers that need rights of their own.
 * It sets no_new_privs and installs the command's list of system calls (syscall_filter.h).
 *
 * Capabilities that stay, of those that were held:
 *
 *     reads other processes        CAP_SYS_PTRACE, and CAP_DAC_READ_SEARCH (mem, syscall,
 *                                  map_files, files that only their owner reads) and
 *                                  CAP_CHECKPOINT_RESTORE (opening what map_files lists)
 *     run                          CAP_KILL too, as its child may change its user
 *     replay, diff, merge          CAP_DAC_READ_SEARCH, to read the captures that were named
 *
 * Without CAP_SYS_PTRACE the kernel compares our capabilities with the target's and refuses
 * whoever has fewer: then a command that reads processes keeps all, and its identity.  The list
 * of system calls leaves those capabilities nothing to act on.
 *
 * Identity, where it may be changed: see identity.h.  Groups go with it.
 *
 * Rights belong to threads: threads that are there already keep theirs.
 *
 * Threads: the main one, before others start; privilege_is_held: any.
 * Depends on: options, identity, syscall_filter, err.
 */
#ifndef SERVER_COMMAND_PROCESS_PRIVILEGE_H
#define SERVER_COMMAND_PROCESS_PRIVILEGE_H

#include <stdbool.h>

#include "sampler/base/err.h"

struct options;

MUST_CHECK enum err_code privilege_drop(const struct options *options, struct err *err);

/* We may do what the user who started us may not: what is written may be read by its owner only. */
bool privilege_is_held(void);

#endif /* SERVER_COMMAND_PROCESS_PRIVILEGE_H */
