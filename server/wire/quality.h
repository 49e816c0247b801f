/*
 * quality - the QUALITY document of the wire contract (server/README.md): every counter with its
 * sentence, what was reached, what it cost, what the threads were doing.
 *
 * Depends on: wire/session, profile/states, usage, json.
 */
#ifndef SERVER_WIRE_QUALITY_H
#define SERVER_WIRE_QUALITY_H

#include <stdint.h>

struct json;
struct quality;
struct session_info;
struct state_sums;
struct usage;

/* The capture that was written of the session: its samples and those lost are all there were. */
struct quality_capture {
    uint64_t samples, lost, bytes;
};

/* sums: of all samples.  usage: what this program cost; NULL: left out, so that what is written
 * only changes with the session.  capture: NULL: left out. */
void quality_write(struct json *json, const struct session_info *info,
                   const struct state_sums *sums, const struct usage *usage,
                   const struct quality_capture *capture);

/* Threads that could not be read, for whatever reason. */
uint64_t quality_failed(const struct quality *quality);
/* 0 of nothing is 0. */
double quality_percent(uint64_t part, uint64_t whole);

#endif /* SERVER_WIRE_QUALITY_H */
