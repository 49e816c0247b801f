/*
 * session - the Session document of openapi.json.
 */
#ifndef SERVER_WIRE_SESSION_H
#define SERVER_WIRE_SESSION_H

#include "server/wire/session_info.h"

struct json;
struct profile_snapshot;
struct state_sums;

/* The members engine and engine_reason, of an object that is open. */
void session_info_write_engine(struct json *json, const struct session_info *info);

void session_info_write(struct json *json, const struct session_info *info);

/* Copies process number `index` of the session, in the order in which they were attached; false:
 * there are no more, or none is known. */
bool session_info_target_at(const struct session_info *info, size_t index,
                            struct session_target *out);

/* Does its first process have a GIL?  One without has the GIL in no sample of these. */
bool session_info_has_gil(const struct session_info *info, const struct state_sums *sums);

/* The measures that the session was started for, or that its capture has. */
measure_set session_info_measures(const struct session_info *info);

/* The requested rate. */
double session_info_requested_hz(const struct session_info *info);

/* Ticks per second over the whole session. */
double session_info_achieved_hz(const struct profile_snapshot *snapshot);

#endif /* SERVER_WIRE_SESSION_H */
