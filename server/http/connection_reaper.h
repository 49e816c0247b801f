/*
 * connection_reaper - shuts down connections that are late, half closed or too many (connections.h says which).
 *
 * The HTTP library reads and closes sockets, but restarts its time limit with each byte, and does not
 * always notice that a client has closed its side.  A thread of ours watches the same sockets for both
 * and shuts them down, which the library notices.  The thread never closes a socket.
 *
 * Ownership: connection_reaper_start makes, connection_reaper_stop frees (NULL is fine).  Sockets are borrowed from
 * connection_reaper_open to connection_reaper_close, which must come before the socket is closed.
 * Threads: any; start and stop from one, stop when no connection is left.
 * Limits: those of connections.h.
 */
#ifndef SERVER_HTTP_CONNECTION_REAPER_H
#define SERVER_HTTP_CONNECTION_REAPER_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "server/http/connections.h"

struct connection_reaper;
struct sockaddr;

MUST_CHECK enum err_code connection_reaper_start(struct connection_reaper **out,
                                                 struct err *err);
void connection_reaper_stop(struct connection_reaper *reaper);

/* True if there is a place for one more. */
bool connection_reaper_has_room(struct connection_reaper *reaper);
/* The place of the connection; CONNECTIONS_NONE: there is none, and the socket was shut down. */
size_t connection_reaper_open(struct connection_reaper *reaper, const struct sockaddr *address,
                              int fd);

/* These take a place from connection_reaper_open, and do nothing for CONNECTIONS_NONE. */
void connection_reaper_close(struct connection_reaper *reaper, size_t at);
void connection_reaper_know(struct connection_reaper *reaper, size_t at,
                            enum client_standing standing);
void connection_reaper_enter(struct connection_reaper *reaper, size_t at,
                             enum connection_phase phase);
void connection_reaper_begin(struct connection_reaper *reaper, size_t at);
void connection_reaper_finish(struct connection_reaper *reaper, size_t at);
void connection_reaper_receive(struct connection_reaper *reaper, size_t at, size_t bytes);

#endif /* SERVER_HTTP_CONNECTION_REAPER_H */
