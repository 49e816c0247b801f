/*
 * quality - the QUALITY document of the wire contract (server/README.md): every counter with its
 * sentence, what was reached, what it cost, what the threads were doing.
 *
 * Depends on: wire/session, profile/states, usage, json.
 */
#ifndef SERVER_WIRE_QUALITY_H
#define SERVER_WIRE_QUALITY_H

struct json;
struct session_facts;
struct state_sums;
struct usage;

/* sums: of all samples.  usage: what this program cost; NULL: left out, so that what is written
 * only changes with the session. */
void quality_write(struct json *json, const struct session_facts *facts,
                   const struct state_sums *sums, const struct usage *usage);

#endif /* SERVER_WIRE_QUALITY_H */
