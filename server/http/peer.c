#include "server/http/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

static void name_unix_peer(int fd, char out[REQUEST_PEER_BYTES])
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0)
        snprintf(out, REQUEST_PEER_BYTES, "unix:uid=%u", (unsigned)peer.uid);
}

void peer_name(const struct sockaddr *at, int fd, char out[REQUEST_PEER_BYTES])
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
        name_unix_peer(fd, out);
    }
}
