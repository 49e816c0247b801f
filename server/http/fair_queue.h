/*
 * fair_queue - the order of requests that may take long or cost much.  Only the policy: no threads, no
 * clock of its own.
 *
 * Operators go before viewers, and viewers never have all places.  Clients (client.h: a shared link, a
 * login) take turns, and so do the networks that use the same one: a client that asks for much delays only
 * its own requests.  A client, and a viewers' network, has a bounded number of requests running, fewer of
 * them long ones, and a bounded number waiting.
 *
 * Ownership: a turn is the caller's storage, from fair_queue_enter to fair_queue_leave.
 * Threads: the caller locks.
 * Limits: the enum below.
 * Units: nanoseconds of any clock that only goes forward.
 */
#ifndef SERVER_HTTP_FAIR_QUEUE_H
#define SERVER_HTTP_FAIR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/http/client.h"

enum {
    FAIR_QUEUE_RUNNING = 16,
    FAIR_QUEUE_RUNNING_OF_VIEWERS = 6,
    FAIR_QUEUE_RUNNING_OF_NETWORK = 4, /* of viewers, whatever link they use */
    FAIR_QUEUE_RUNNING_OF_VIEWER = 2,
    FAIR_QUEUE_LONG_OF_VIEWER = 1,
    FAIR_QUEUE_RUNNING_OF_OPERATOR = 8,
    FAIR_QUEUE_LONG_OF_OPERATOR = 6, /* more than profiles that are taken at once */
    FAIR_QUEUE_WAITING = 512,        /* of operators, and as many of viewers */
    FAIR_QUEUE_WAITING_OF_CLIENT = 256,
    FAIR_QUEUE_DEADLINE_S = 15, /* clients give up, too */
};

struct fair_turn {
    struct client client;
    bool is_long;
    void *request;                      /* the caller's */
    uint64_t since_ns;                  /* when it came */
    uint64_t client_turn, network_turn; /* when the client had its last turn, and its network */
    struct fair_turn *next;
};

/* A queue is zeroed at first. */
struct fair_queue {
    struct fair_turn *waiting, *running; /* in the order in which they came */
    size_t waits[CLIENT_OPERATOR + 1], runs[CLIENT_OPERATOR + 1]; /* how many, by standing */
    uint64_t turns;                                               /* so far */
};

enum fair_answer { FAIR_WAITS, FAIR_CLIENT_IS_FULL, FAIR_QUEUE_IS_FULL };

/* Adds a turn, unless too many wait.  client, is_long, request and since_ns must be set. */
enum fair_answer fair_queue_enter(struct fair_queue *queue, struct fair_turn *turn);
/* Takes the turn that runs from now on; NULL: none may. */
struct fair_turn *fair_queue_next(struct fair_queue *queue);
/* A turn that runs has ended. */
void fair_queue_leave(struct fair_queue *queue, struct fair_turn *turn);

/* A turn is late once it has waited so long that its client has given up. */
bool fair_turn_is_late(const struct fair_turn *turn, uint64_t now_ns);

#endif /* SERVER_HTTP_FAIR_QUEUE_H */
