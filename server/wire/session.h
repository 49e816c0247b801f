/*
 * session - the SESSION document of the wire contract (server/README.md).
 *
 * Depends on: sampler.h, profile, json.
 */
#ifndef SERVER_WIRE_SESSION_H
#define SERVER_WIRE_SESSION_H

#include "sampler/sampler.h"

struct json;
struct profile_snapshot;
struct told;

struct session_facts {
    const char *id;
    const char *epoch;
    struct sampler_status status;
    const struct sampler_target *target; /* the first */
    const struct sampler *sampler;       /* tells the others; NULL: see told */
    const struct told *told;             /* of a capture; NULL: there are none */
    const struct sampler_options *options;
    const char *host;                        /* where it was recorded; NULL: here */
    const struct profile_snapshot *snapshot; /* generation and quality */
};

void session_write(struct json *json, const struct session_facts *facts);

/* A member that is an instant, RFC 3339 in UTC; 0: null. */
void session_put_time(struct json *json, const char *key, uint64_t wall_ns);

/* Ticks per second really reached. */
double session_rate_hz(const struct profile_snapshot *snapshot);

#endif /* SERVER_WIRE_SESSION_H */
