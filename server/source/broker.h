/*
 * broker - the main loop of the helper process: forks a reader for each request, and does nothing else.
 *
 * The helper forks because the program itself has threads.  It keeps CAP_SETUID and CAP_SETGID to become
 * the owner of a process, CAP_SYS_PTRACE to see its root, and CAP_KILL to end a reader that the owner
 * stops.  Without them, as for an ordinary user, it reads only files of processes of its own user.  It
 * ends when the program has ended: it ignores the signals that end the program.
 *
 * Private to the folder.
 *
 * Limits: BROKER_MAX_READERS at a time, BROKER_MAX_OF_USER of them for one user, SOURCE_DEADLINE_MS
 * for each.
 */
#ifndef SERVER_SOURCE_BROKER_H
#define SERVER_SOURCE_BROKER_H

#include <stdnoreturn.h>

enum { BROKER_MAX_READERS = 16, BROKER_MAX_OF_USER = 4 };

struct pulse;

/* pulse: that requests are taken; NULL: none. */
noreturn void broker_run(int socket, struct pulse *pulse);

#endif /* SERVER_SOURCE_BROKER_H */
