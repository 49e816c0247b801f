/*
 * quality - the Quality document of openapi.json: every counter with its description, achieved
 * rates, costs, and shares of thread states.
 */
#ifndef SERVER_WIRE_QUALITY_H
#define SERVER_WIRE_QUALITY_H

#include <stdint.h>

struct json;
struct session_info;
struct state_sums;
struct usage;

/* The capture that was written; `samples` and `lost` add up to the samples of the session. */
struct quality_capture {
    uint64_t samples, lost, bytes;
};

/* sums: of all samples.  usage: costs of this program; NULL: left out, so that the same
 * session gives the same document.  capture: NULL: left out. */
void quality_write(struct json *json, const struct session_info *info,
                   const struct state_sums *sums, const struct usage *usage,
                   const struct quality_capture *capture);

#endif /* SERVER_WIRE_QUALITY_H */
