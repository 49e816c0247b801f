/*
 * forked_process - a process beside this one, of the same program and with fewer rights: how it begins.
 *
 * Threads: the main one, before others start.
 */
#ifndef SERVER_COMMAND_PROCESS_FORKED_PROCESS_H
#define SERVER_COMMAND_PROCESS_FORKED_PROCESS_H

#include <stdint.h>

#include "sampler/base/err.h"
#include "server/access/identity.h"

/* Forks a process that runs this with one end of a socket; *socket_out is the other one.  It never returns.  what: "the file
 * process". */
MUST_CHECK enum err_code forked_process_start(void (*run)(int socket), const char *what,
                                              int *socket_out, struct err *err);

/* The calling process becomes this user and keeps these capabilities and groups of system calls, for good. */
MUST_CHECK enum err_code forked_process_drop_rights(enum identity_role role,
                                                    uint64_t capabilities, unsigned calls,
                                                    struct err *err);

#endif /* SERVER_COMMAND_PROCESS_FORKED_PROCESS_H */
