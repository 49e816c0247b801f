/*
 * states - samples by thread state, as members of a JSON object.
 */
#ifndef SERVER_WIRE_STATES_H
#define SERVER_WIRE_STATES_H

#include <stddef.h>

struct json;
struct state_sums;
struct states;

/* {"samples": N, "on_cpu": {"yes": N, "unknown": N}, ..., "parts": {"running": N, ...}} */
void states_write_sums(struct json *json, const struct state_sums *sums);

/* Writes sums as columns, one row for each thread, and a column of thread ids. */
void states_write_threads(struct json *json, const struct states *states);

#endif /* SERVER_WIRE_STATES_H */
