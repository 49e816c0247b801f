/*
 * stack_process - the process that reads what threads do in the kernel for `dump --kernel` (sessions/kernel_stacks.h).
 *
 * The kernel shows that to CAP_SYS_ADMIN alone.  So that the process which reads the memory of hostile programs never has that right,
 * this one has it: it reads nothing that a program has written.  It has a user of its own, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and
 * the list of system calls that every command has, and ends when nobody is left to ask it.
 */
#ifndef SERVER_COMMAND_PROCESS_STACK_PROCESS_H
#define SERVER_COMMAND_PROCESS_STACK_PROCESS_H

#include "sampler/base/err.h"

/* Starts it if it has a right that this process will drop.  Comes after privilege_prepare, before threads and privilege_drop. */
MUST_CHECK enum err_code stack_process_start(struct err *err);

#endif /* SERVER_COMMAND_PROCESS_STACK_PROCESS_H */
