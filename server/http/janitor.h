/*
 * janitor - shuts down connections that are late, half closed or too many (connections.h says which).
 *
 * The HTTP library reads and closes sockets, but restarts its time limit with each byte, and does not
 * always notice that a client has closed its side.  A thread of ours watches the same sockets for both
 * and shuts them down, which the library notices.  The thread never closes a socket.
 *
 * Ownership: janitor_start makes, janitor_stop frees (NULL is fine).  Sockets are borrowed from
 * janitor_open to janitor_close, which must come before the socket is closed.
 * Threads: any; start and stop from one, stop when no connection is left.
 * Limits: those of connections.h.
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

/* True if there is a place for one more. */
bool janitor_has_room(struct janitor *janitor);
/* The place of the connection; CONNECTIONS_NONE: there is none, and the socket was shut down. */
size_t janitor_open(struct janitor *janitor, const struct sockaddr *address, int fd);

/* These take a place from janitor_open, and do nothing for CONNECTIONS_NONE. */
void janitor_close(struct janitor *janitor, size_t at);
void janitor_know(struct janitor *janitor, size_t at, enum client_standing standing);
void janitor_enter(struct janitor *janitor, size_t at, enum connection_phase phase);
void janitor_begin(struct janitor *janitor, size_t at);
void janitor_finish(struct janitor *janitor, size_t at);
void janitor_receive(struct janitor *janitor, size_t at, size_t bytes);

#endif /* SERVER_HTTP_JANITOR_H */
