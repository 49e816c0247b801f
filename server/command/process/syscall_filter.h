/*
 * syscall_filter - limits a command to the system calls that it needs once it is running.
 *
 * One table in syscall_filter.c lists the calls of each group, and the arguments they may have.  A
 * command has a set of groups.  No group contains: starting programs or processes, executable
 * memory, listening on a socket, changing identity, capabilities,
 * namespaces or mounts, writing into other processes, loading BPF, keys, modules, io_uring.
 *
 * A call that is not listed fails with EPERM.  It does not end the program, because a library that is
 * newer than the table may try a call and have a fallback.  clone3 fails with ENOSYS, because a filter
 * cannot see its flags in memory: the C library falls back to clone, which may create threads only.
 * With PYROMETER_DENIED_CALL=kill in the environment such a call ends the program by SIGSYS.  All
 * system tests run that way, and prove that ordinary use makes no such call.
 *
 * Builds with a sanitizer have no filter, because the sanitizer makes calls of its own (ptrace,
 * personality, clone): see syscall_filter_is_built.
 *
 * Threads: applies to all threads of the process.
 */
#ifndef SERVER_COMMAND_PROCESS_SYSCALL_FILTER_H
#define SERVER_COMMAND_PROCESS_SYSCALL_FILTER_H

#include <stdbool.h>

#include "sampler/base/err.h"

enum syscall_group {
    SYSCALLS_ANY = 1 << 0,   /* memory, time, threads, files */
    SYSCALLS_SERVE = 1 << 1, /* accept and answer */
    SYSCALLS_READ = 1 << 2,  /* read other processes */
    SYSCALLS_STOP = 1 << 3,  /* stop and resume their threads */
    SYSCALLS_TERMINAL =
        1 << 4, /* change modes of a terminal, and stop pyrometer itself (Ctrl-Z) */
    SYSCALLS_KERNEL = 1 << 5, /* tell the kernel engine of threads, once it is loaded */
    SYSCALLS_PUSH = 1 << 6,   /* connect to other hosts */
    SYSCALLS_FILES = 1 << 7,  /* become another user, for files only */
};

bool syscall_filter_is_built(void);

/* For a process that starts others which still need most calls: it and they start no programs, have no network and no
 * part in mounts, namespaces, modules and keys, and write into no other process.  As syscall_filter_install. */
MUST_CHECK enum err_code syscall_filter_install_wide(struct err *err);

/* groups: bits of enum syscall_group.  no_new_privs must be set.  ERR_UNSUPPORTED: the kernel
 * has no filters. */
MUST_CHECK enum err_code syscall_filter_install(unsigned groups, struct err *err);

#endif /* SERVER_COMMAND_PROCESS_SYSCALL_FILTER_H */
