/*
 * client - the client at the other end of a connection: its address as text, its network, and the link or
 * login that its requests count for.
 *
 * A network is a range of addresses that one owner can use at will: an IPv4 /24, an IPv6 /64, the whole
 * loopback, or the user at the other end of a Unix socket.
 */
#ifndef SERVER_HTTP_CLIENT_H
#define SERVER_HTTP_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "server/http/request.h"

enum network_kind { NETWORK_OTHER, NETWORK_LOOPBACK, NETWORK_IPV4, NETWORK_IPV6, NETWORK_USER };

/* Networks are compared as bytes. */
struct network {
    unsigned char kind;
    unsigned char bytes[8];
};

/* Standings in ascending order: requests of a later one go before those of an earlier one. */
enum client_standing { CLIENT_STRANGER, CLIENT_VIEWER, CLIENT_OPERATOR };

struct client {
    enum client_standing standing;
    uint32_t id; /* of the shared link, or of the operator's login; 0: there is none */
    struct network network;
};

bool network_equals(const struct network *a, const struct network *b);
void network_of(const struct sockaddr *address, struct network *out);
void network_of_user(uid_t uid, struct network *out);

/* Clients are equal if they use the same link or login, or without one the same network. */
bool client_equals(const struct client *a, const struct client *b);

/* at: NULL for a Unix socket; fd: the socket. */
void client_network(const struct sockaddr *at, int fd, struct network *out);
/* An address, or "unix:uid=N".  Leaves `out` as it is if the client is unknown. */
void client_name(const struct sockaddr *at, int fd, char out[REQUEST_PEER_BYTES]);

#endif /* SERVER_HTTP_CLIENT_H */
