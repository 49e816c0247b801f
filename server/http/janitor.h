/*
 * janitor - shuts down connections that are late, half gone or too many (connections.h says which).
 *
 * The HTTP library reads and closes sockets; it restarts its time limit with each byte, and does
 * not always see that a client has shut its side.  A thread of ours watches the same sockets for
 * that and for their deadlines, and shuts them down, which the library sees.  It never closes one.
 *
 * Ownership: janitor_start makes, janitor_stop frees (NULL is fine).  Sockets are borrowed from
 * janitor_open to janitor_close, which must come before the socket is closed.
 * Threads: any; start and stop from one, stop when no connection is left.
 * Limits: those of connections.h.
 * Depends on: connections, err.
 */
#ifndef SERVER_HTTP_JANITOR_H
#define SERVER_HTTP_JANITOR_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "server/http/connections.h"

struct janitor;
struct sockaddr;

MUST_CHECK enum err_code janitor_start(struct janitor **out, struct err *err);
void janitor_stop(struct janitor *janitor);

/* There is a place for one more. */
bool janitor_has_room(struct janitor *janitor);
/* Its place, CONNECTIONS_NONE: there is none left, and the socket is shut down. */
size_t janitor_open(struct janitor *janitor, const struct sockaddr *address, int fd);

/* What follows takes such a place; of CONNECTIONS_NONE nothing is done. */
void janitor_close(struct janitor *janitor, size_t at);
void janitor_know(struct janitor *janitor, size_t at);
void janitor_enter(struct janitor *janitor, size_t at, enum connection_phase phase);
void janitor_begin(struct janitor *janitor, size_t at);
void janitor_finish(struct janitor *janitor, size_t at);
void janitor_receive(struct janitor *janitor, size_t at, size_t bytes);

#endif /* SERVER_HTTP_JANITOR_H */
