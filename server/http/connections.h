/*
 * connections - who may hold a connection, for how long, and which one is closed if there are too many.
 * Only the policy: no sockets, no threads, no clock of its own.
 *
 * A connection becomes known, for good, when a request on it carries a valid token, cookie or share;
 * before that it is a stranger's.  Strangers are counted by network.  Over a limit the stranger that has
 * waited longest is closed, not the newcomer, so that somebody who holds many connections open keeps
 * nobody out.  Some places are reserved for known connections, and of these some for operators: a viewer
 * whose connections are all busy keeps no operator out.
 *
 * Ownership: plain data in the caller's storage.
 * Threads: the caller locks.
 * Limits: the enum below.
 * Units: nanoseconds of any clock that only goes forward.
 */
#ifndef SERVER_HTTP_CONNECTIONS_H
#define SERVER_HTTP_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/http/client.h"

enum {
    CONNECTIONS_MAX = 800,
    CONNECTIONS_MAX_STRANGERS = 384, /* the rest is reserved for known ones */
    CONNECTIONS_MAX_STRANGERS_OF_NETWORK = 96,
    CONNECTIONS_MAX_STRANGERS_OF_LOOPBACK =
        256, /* a proxy on this host stands for all its clients */
    CONNECTIONS_MAX_KNOWN_OF_NETWORK = 400,
    CONNECTIONS_MAX_VIEWERS_OF_NETWORK = 300, /* the rest is reserved for operators */
    CONNECTIONS_MAX_VIEWERS = 600,
    CONNECTIONS_ROOM = CONNECTIONS_MAX + 128, /* with those that are ending */
    CONNECTIONS_HEADER_S =
        10, /* from the start, or a stranger's last answer, to the header's end */
    CONNECTIONS_IDLE_S = 30, /* of a known one, between an answer and the next request line */
    CONNECTIONS_STRANGER_S = 10, /* for a stranger to take the answer */
    CONNECTIONS_BODY_S = 10,     /* for a body, plus a second for each: */
    CONNECTIONS_BODY_BYTES = 1024,
    CONNECTIONS_HALF_MS = 50, /* to read what the client sent before it closed its side */
};

#define CONNECTIONS_NONE SIZE_MAX

enum connection_phase {
    CONNECTION_FREE,
    CONNECTION_IDLE,   /* a known one, after an answer */
    CONNECTION_HEADER, /* a request is awaited, or its header comes in */
    CONNECTION_BODY,
    CONNECTION_ANSWER, /* it is being answered */
    CONNECTION_ENDING  /* it is ending, and no longer counts */
};

enum connection_fate {
    CONNECTION_STAYS,
    CONNECTION_IS_LATE,
    CONNECTION_IS_HALF /* it ends unless bytes of it are still unread */
};

struct connection {
    struct network network;
    enum connection_phase phase;
    enum client_standing standing; /* the highest that a request on it showed */
    bool is_half;                  /* the client has closed its side */
    int fd;
    uint32_t serial;   /* distinguishes the uses of one place */
    uint64_t since_ns; /* when the phase began */
    uint64_t half_ns;
    uint64_t body_bytes;
};

struct connections {
    size_t
        most; /* instead of CONNECTIONS_MAX, and the other limits by the same ratio; 0: as above */
    size_t used; /* places that are not free */
    struct connection items[CONNECTIONS_ROOM];
};

/* The place of a new connection; NONE: there is none, close it.  *goes_out: the connection that is
 * ENDING now to make room, perhaps the new one itself; NONE: none. */
size_t connections_open(struct connections *all, const struct network *network, int fd,
                        uint64_t now_ns, size_t *goes_out);
void connections_close(struct connections *all, size_t at);
/* The connection becomes known.  Returns which one is ENDING now to make room, as above. */
size_t connections_know(struct connections *all, size_t at, enum client_standing standing);
void connections_enter(struct connections *all, size_t at, enum connection_phase phase,
                       uint64_t now_ns);
/* The first line of a request has come. */
void connections_begin(struct connections *all, size_t at, uint64_t now_ns);
/* The answer was sent. */
void connections_finish(struct connections *all, size_t at, uint64_t now_ns);
void connections_receive(struct connections *all, size_t at, size_t bytes);
/* The client has shut its side. */
void connections_halve(struct connections *all, size_t at, uint64_t now_ns);

/* The fate of the connection now. Lowers *again_ns to the time of the next call. */
enum connection_fate connections_judge(const struct connection *connection, uint64_t now_ns,
                                       uint64_t *again_ns);

#endif /* SERVER_HTTP_CONNECTIONS_H */
