/*
 * last_activity - what the processes of the host did in the last minutes, as JSON, made at most once a second
 * for all who ask (server/openapi.json: Activity).
 *
 * The numbers are those of the continuous session.
 *
 * Ownership: last_activity_create makes, last_activity_destroy frees; NULL is fine.
 * Threads: any; one makes the document while the others wait for it.
 * Limits: LAST_ACTIVITY_MAX_PROCESSES processes, the most active ones.
 */
#ifndef SERVER_SESSIONS_LAST_ACTIVITY_H
#define SERVER_SESSIONS_LAST_ACTIVITY_H

#include <stdint.h>

#include "sampler/base/err.h"

#define LAST_ACTIVITY_RANGE_NS 300000000000ull

enum { LAST_ACTIVITY_SLOTS = 60, LAST_ACTIVITY_MAX_PROCESSES = 1024 };

struct buffer;
struct last_activity;
struct sessions;

MUST_CHECK enum err_code last_activity_create(struct last_activity **out, struct err *err);
void last_activity_destroy(struct last_activity *last);

/* Appends the newest document to `out`; its number changes whenever the document does.  off: why there is no continuous
 * session; "": there should be one. */
MUST_CHECK enum err_code last_activity_get(struct last_activity *last,
                                           struct sessions *sessions, const char *off,
                                           struct buffer *out, uint32_t *number,
                                           struct err *err);

#endif /* SERVER_SESSIONS_LAST_ACTIVITY_H */
