/*
 * peer - who is at the other end of a connection, as text.
 *
 * Depends on: request (the bound).
 */
#ifndef SERVER_HTTP_PEER_H
#define SERVER_HTTP_PEER_H

#include <sys/socket.h>

#include "server/http/request.h"

/* An address, or "unix:uid=N".  at: NULL for a Unix socket; fd: the socket.  Leaves `out` as it is if
 * the peer is unknown. */
void peer_name(const struct sockaddr *at, int fd, char out[REQUEST_PEER_BYTES]);

#endif /* SERVER_HTTP_PEER_H */
