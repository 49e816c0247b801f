/*
 * privilege - a server of a host keeps the rights that looking needs, and no others.
 *
 * Kept, if held: CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, to read processes; CAP_CHECKPOINT_RESTORE,
 * to open what a process has mapped, also where that file is gone; CAP_SETUID and CAP_SETGID, to
 * read source files with no more rights than the process has.  All others go, also from what a
 * program that we start could have, and no_new_privs is set.
 *
 * Rights belong to threads: threads that are there already keep theirs.
 *
 * Threads: the main one, before others start.
 * Depends on: err.
 */
#ifndef SERVER_COMMAND_PRIVILEGE_H
#define SERVER_COMMAND_PRIVILEGE_H

#include <stdbool.h>

#include "sampler/base/err.h"

MUST_CHECK enum err_code privilege_drop(bool reads_source, struct err *err);

#endif /* SERVER_COMMAND_PRIVILEGE_H */
