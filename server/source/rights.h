/*
 * rights - drops the rights of the processes that read source files.
 *
 * Threads: only for processes with one thread.
 */
#ifndef SERVER_SOURCE_RIGHTS_H
#define SERVER_SOURCE_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

struct owner;

/* If root has started us: becomes a user that nobody else is, and keeps the capabilities. */
bool rights_become_own(void);

/* Keeps these capabilities (bits), if held, and gives up all others for good; sets no_new_privs, and hides
 * the process's memory from its user.  From now on the process ends with its parent, also while it is stopped. */
bool rights_keep(uint64_t capabilities);

/* Becomes that user with those groups for good, without any capability.  False: it has not, and the
 * process must end. */
bool rights_become(const struct owner *owner);

#endif /* SERVER_SOURCE_RIGHTS_H */
