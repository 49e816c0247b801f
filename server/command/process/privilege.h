/*
 * privilege - reduces a command to the rights that its work needs.
 *
 * Call privilege_drop once everything is open that needs more: the listening socket, output files,
 * the terminal, the data folder, the child of `run`, helpers with rights of their own.  It sets
 * no_new_privs and installs the command's list of system calls (syscall_filter.h).
 *
 * It keeps these capabilities, if they were held:
 *
 *     reads other processes        CAP_SYS_PTRACE, and CAP_DAC_READ_SEARCH (mem, syscall,
 *                                  map_files, files that only their owner reads) and
 *                                  CAP_CHECKPOINT_RESTORE (opening what map_files lists)
 *     run                          CAP_KILL too, as its child may change its user
 *     replay, diff, merge          CAP_DAC_READ_SEARCH, to read the captures that were named
 *
 * Without CAP_SYS_PTRACE the kernel compares our capabilities with those of the target, and refuses
 * a reader that has fewer.  A command that reads processes then keeps all of them, and its
 * identity; the list of system calls leaves those capabilities nothing to act on.
 *
 * A command started as root becomes, where the identity may change (groups change with it):
 *
 *     writes nothing by name any more          nobody (65534)
 *     writes into folders of one owner         that owner
 *     writes into folders of several owners    root, and needs CAP_DAC_OVERRIDE
 *     was made setuid                          the user who started it
 *
 * Written by name later: reports and the quality file (renamed into their folder at the end), a
 * capture and a Unix socket (removed), shares, the data folder.
 *
 * Rights belong to threads: existing threads keep theirs.
 *
 * Threads: the main one, before others start; privilege_is_held: any.
 * Depends on: access/capabilities, options, syscall_filter, sessions/capture_folder, err.
 */
#ifndef SERVER_COMMAND_PROCESS_PRIVILEGE_H
#define SERVER_COMMAND_PROCESS_PRIVILEGE_H

#include <stdbool.h>

#include "sampler/base/err.h"

struct options;

MUST_CHECK enum err_code privilege_drop(const struct options *options, struct err *err);

/* Do we have rights that the user who started us lacks?  Then only the owner may read what we
 * write. */
bool privilege_is_held(void);

#endif /* SERVER_COMMAND_PROCESS_PRIVILEGE_H */
