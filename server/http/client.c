#include "server/http/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum { IPV4_PREFIX_BYTES = 3, IPV6_PREFIX_BYTES = 8, IPV4_LOOPBACK = 127 };

bool network_equals(const struct network *a, const struct network *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static void set_ipv4(const unsigned char address[4], struct network *out)
{
    if (address[0] == IPV4_LOOPBACK) {
        out->kind = NETWORK_LOOPBACK;
        return;
    }
    out->kind = NETWORK_IPV4;
    memcpy(out->bytes, address, IPV4_PREFIX_BYTES);
}

void network_of(const struct sockaddr *address, struct network *out)
{
    memset(out, 0, sizeof *out);
    if (!address)
        return;
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *const at = (const void *)address;
        set_ipv4((const unsigned char *)&at->sin_addr, out);
    } else if (address->sa_family == AF_INET6) {
        const struct in6_addr *const at =
            &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
        if (IN6_IS_ADDR_V4MAPPED(at)) {
            set_ipv4(at->s6_addr + 12, out);
        } else if (IN6_IS_ADDR_LOOPBACK(at)) {
            out->kind = NETWORK_LOOPBACK;
        } else {
            out->kind = NETWORK_IPV6;
            memcpy(out->bytes, at->s6_addr, IPV6_PREFIX_BYTES);
        }
    }
}

void network_of_user(uid_t uid, struct network *out)
{
    memset(out, 0, sizeof *out);
    out->kind = NETWORK_USER;
    memcpy(out->bytes, &uid, sizeof uid);
}

void client_network(const struct sockaddr *at, int fd, struct network *out)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    if ((!at || at->sa_family == AF_UNIX || at->sa_family == AF_UNSPEC) &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0)
        network_of_user(peer.uid, out);
    else
        network_of(at, out);
}

bool client_equals(const struct client *a, const struct client *b)
{
    return a->standing == b->standing && a->id == b->id &&
           (a->id != 0 || network_equals(&a->network, &b->network));
}

void client_name(const struct sockaddr *at, int fd, char out[REQUEST_PEER_BYTES])
{
    if (at && at->sa_family == AF_INET) {
        inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)at)->sin_addr, out,
                  REQUEST_PEER_BYTES);
    } else if (at && at->sa_family == AF_INET6) {
        const struct in6_addr *const address =
            &((const struct sockaddr_in6 *)(const void *)at)->sin6_addr;
        if (IN6_IS_ADDR_V4MAPPED(address))
            inet_ntop(AF_INET, address->s6_addr + 12, out, REQUEST_PEER_BYTES);
        else
            inet_ntop(AF_INET6, address, out, REQUEST_PEER_BYTES);
    } else {
        struct ucred peer;
        socklen_t length = sizeof peer;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0)
            snprintf(out, REQUEST_PEER_BYTES, "unix:uid=%u", (unsigned)peer.uid);
    }
}
