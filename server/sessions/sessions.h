/*
 * sessions - the profiling sessions that this server shows.
 *
 * Ids count from 1 and are never used again.
 *
 * Ownership: the table owns its sessions.  A session that was
 * found stays valid until session_release, even if it is removed meanwhile.  sessions_destroy frees
 * also what is still held.
 * Threads: any; create and destroy from one.
 * Limits: SESSIONS_MAX sessions: for another one the oldest leaves that has ended and is not held (its capture stays).  If
 * there is none, or as many run as sessions_limit sets, ERR_LIMIT.
 */
#ifndef SERVER_SESSIONS_SESSIONS_H
#define SERVER_SESSIONS_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "server/sessions/session_entry.h"

struct sessions;

enum { SESSIONS_MAX = 1024 };

MUST_CHECK enum err_code sessions_create(struct sessions **out, struct err *err);
/* Stops running sessions and waits for sessions_work_end. */
void sessions_destroy(struct sessions *sessions);
/* No session shows the text of source files. */
void sessions_hide_source(struct sessions *sessions);
/* Texts of source files are not fetched in advance. */
void sessions_omit_texts(struct sessions *sessions);
/* The maximum number of concurrent sessions, and the CPU limit of all of them together in percent of one
 * core (0: none), which they share equally. */
void sessions_limit(struct sessions *sessions, size_t running, double max_cpu_percent);

/* Takes the running session; if it fails, the caller keeps it.  filters: copied; NULL: none.  Held until the end, as is the
 * next one. */
MUST_CHECK enum err_code sessions_add(struct sessions *sessions, struct session *session,
                                      const struct frame_filters *filters,
                                      struct session_entry **out, struct err *err);
/* Takes the capture; if it fails, the caller keeps it. */
MUST_CHECK enum err_code sessions_add_loaded(struct sessions *sessions,
                                             struct open_capture *opened,
                                             struct session_entry **out, struct err *err);
/* A session that is starting, held by the caller.  options and filters: NULL for a capture; both
 * are copied.  ERR_LIMIT: the maximum number of sessions is running. */
MUST_CHECK enum err_code sessions_begin(struct sessions *sessions, enum session_source source,
                                        const struct session_options *options,
                                        const struct frame_filters *filters,
                                        const struct session_words *words,
                                        struct session_entry **out, struct err *err);

/* A thread works for a session between these two calls; sessions_destroy waits for it. */
void sessions_work_begin(struct sessions *sessions);
void sessions_work_end(struct sessions *sessions);

/* NULL: no session has that id. */
struct session_entry *sessions_find(struct sessions *sessions, const char *id);
/* NULL: fewer than index + 1.  Removing a session lowers the index of those after it. */
struct session_entry *sessions_at(struct sessions *sessions, size_t index);
/* The session that shows or records this capture; NULL: none. */
struct session_entry *sessions_of_capture(struct sessions *sessions, const char *capture);
/* NULL is fine. */
void session_release(struct session_entry *entry);
/* Stops the session and removes it from the table. */
void sessions_remove(struct sessions *sessions, struct session_entry *entry);
/* Gives every running session its part of the CPU limit; call it when their number has changed. */
void sessions_share(struct sessions *sessions);

#endif /* SERVER_SESSIONS_SESSIONS_H */
