/*
 * syscall_filter - the system calls that a command makes once it is running, and no others.
 *
 * One table in syscall_filter.c says which group of calls may be made with which arguments; a
 * command is a set of groups.  In none of them: starting programs or processes, executable memory,
 * listening or binding a socket, sockets of the network, changing identity, capabilities,
 * namespaces or mounts, writing into other processes, BPF, keys, modules, io_uring.
 *
 * A call that is not in the list fails with EPERM.  It does not end the program: a library that is
 * newer than the table may try a call and do without, and to whoever watches a session its end is
 * worse than a line that says "not permitted".  clone3 fails with ENOSYS, as its flags lie in
 * memory that cannot be looked at: the C library falls back to clone, which may make threads only.
 * With PYROMETER_DENIED_CALL=kill in the environment such a call ends the program by SIGSYS: all
 * system tests run so, and prove that ordinary use makes none.
 *
 * Not there in builds with a sanitizer, which makes calls of its own (ptrace, personality, clone):
 * syscall_filter_is_built tells.
 *
 * Threads: all of the process get it.
 * Depends on: err, libseccomp (the only place that sees it).
 */
#ifndef SERVER_COMMAND_PROCESS_SYSCALL_FILTER_H
#define SERVER_COMMAND_PROCESS_SYSCALL_FILTER_H

#include <stdbool.h>

#include "sampler/base/err.h"

enum syscall_group {
    SYSCALLS_ANY = 1 << 0,      /* memory, time, threads, files */
    SYSCALLS_SERVE = 1 << 1,    /* accept and answer */
    SYSCALLS_READ = 1 << 2,     /* other processes */
    SYSCALLS_STOP = 1 << 3,     /* stop their threads, and let them go */
    SYSCALLS_CHILD = 1 << 4,    /* signal and collect what we have started */
    SYSCALLS_TERMINAL = 1 << 5, /* modes of a terminal, and stopping ourselves (Ctrl-Z) */
};

bool syscall_filter_is_built(void);

/* groups: of enum syscall_group.  no_new_privs has been set.  ERR_UNSUPPORTED: the kernel has no
 * filters. */
MUST_CHECK enum err_code syscall_filter_install(unsigned groups, struct err *err);

#endif /* SERVER_COMMAND_PROCESS_SYSCALL_FILTER_H */
