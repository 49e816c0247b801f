/*
 * traffic - how many requests came, by route and status, and how many are in the fair queue.
 *
 * Ownership: plain data, zeroed at first.
 * Threads: any.
 * Limits: a status that is not in the table counts as 500.
 */
#ifndef SERVER_HTTP_TRAFFIC_H
#define SERVER_HTTP_TRAFFIC_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "server/http/client.h"

enum { TRAFFIC_STATUSES = 26, TRAFFIC_ROUTES = 65 };

/* Requests that wait for their turn, and those that have it (fair_queue.h). */
enum traffic_turn { TRAFFIC_WAITS, TRAFFIC_RUNS, TRAFFIC_TURNS };

struct traffic {
    atomic_uint_fast64_t counts[TRAFFIC_ROUTES][TRAFFIC_STATUSES];
    atomic_size_t turns[CLIENT_OPERATOR + 1][TRAFFIC_TURNS];
};

/* route: its index in the table of routes; TRAFFIC_ROUTES - 1: no route. */
void traffic_count(struct traffic *traffic, size_t route, int status);

/* The status number `index`; 0: there are fewer. */
int traffic_status(size_t index);
uint64_t traffic_read(const struct traffic *traffic, size_t route, size_t status_index);

#endif /* SERVER_HTTP_TRAFFIC_H */
