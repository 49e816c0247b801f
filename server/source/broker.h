/*
 * broker - the helper process itself: forks a reader for each request, and nothing else.
 *
 * Only it forks, since the program itself has threads.  It keeps SETUID and SETGID to become the
 * owner of a process, SYS_PTRACE to see its root, KILL to end a reader that its owner holds up;
 * without them, as for an ordinary user, it reads what is its user's own.  It ends when the program
 * has ended, and not before: signals that end the program are not for it.
 *
 * Private to the folder.
 *
 * Limits: BROKER_MAX_READERS at a time, BROKER_MAX_OF_USER of them of one user, SOURCE_DEADLINE_MS
 * for each.
 * Depends on: reader, request, rights.
 */
#ifndef SERVER_SOURCE_BROKER_H
#define SERVER_SOURCE_BROKER_H

#include <stdnoreturn.h>

enum { BROKER_MAX_READERS = 16, BROKER_MAX_OF_USER = 4 };

noreturn void broker_run(int socket);

#endif /* SERVER_SOURCE_BROKER_H */
