/*
 * dashboard - what a server of a whole host has beside its sessions: the processes there are, and
 * the means to start sessions.
 *
 * Starting takes its time (interpreters are searched for, captures are read), so each is done on a
 * thread of its own, which stays with the session until it has ended.
 *
 * Sessions that are started are recorded into the folder of captures, if there is one; where that
 * fails they go on without.
 *
 * Ownership: the dashboard owns the list of processes and the captures, and borrows the sessions, whose
 * sessions_destroy must come before dashboard_close.
 * Threads: any, once opened.
 * Depends on: sessions, captures, session_capture, sampler/processes.
 */
#ifndef SERVER_SESSIONS_DASHBOARD_H
#define SERVER_SESSIONS_DASHBOARD_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "server/wire/session.h"

struct captures;
struct frame_filters;
struct processes;
struct sampler_options;
struct session;
struct sessions;

enum { DASHBOARD_MAX_SESSIONS = 50 };
#define DASHBOARD_MAX_RATE_HZ     10000.0
#define DASHBOARD_MAX_DURATION_NS (7ull * 24 * 3600 * 1000000000)

/* Receives events of sessions: an id and a sentence; on any thread. */
typedef void (*dashboard_say)(void *context, const char *session, const char *what);

struct dashboard {
    struct processes *processes;
    struct captures *captures; /* NULL: nothing is kept */
    struct sessions *sessions;
    bool hides_arguments;
    double max_rate_hz;
    size_t memory_bytes; /* for what is kept of a session */
    dashboard_say say;   /* NULL: events are dropped */
    void *say_context;
};

/* The rest is set by the caller.  dashboard_close accepts a zeroed one. */
MUST_CHECK enum err_code dashboard_open(struct dashboard *dashboard, struct sessions *sessions,
                                        struct err *err);
/* Of command lines only the first word is kept; before anything is read. */
void dashboard_hide_arguments(struct dashboard *dashboard);
void dashboard_close(struct dashboard *dashboard);
/* Begins to scan processes, before the first request.  Threads have what privileges there are then. */
void dashboard_begin(struct dashboard *dashboard);

/* A session that is starting, held by the caller (session_release).  filters: copied.  ERR_LIMIT: as many run as
 * may; ERR_INVALID: options that no session may have. */
MUST_CHECK enum err_code dashboard_launch(struct dashboard *dashboard,
                                          const struct sampler_options *options,
                                          const struct frame_filters *filters,
                                          const struct session_words *words,
                                          struct session **out, struct err *err);

/* The same for a session of all processes, which no limit on numbers counts. */
MUST_CHECK enum err_code dashboard_launch_continuous(struct dashboard *dashboard,
                                                     const struct sampler_options *options,
                                                     const struct session_words *words,
                                                     struct session **out, struct err *err);
/* The same for a capture; ERR_NOT_FOUND. */
MUST_CHECK enum err_code dashboard_launch_capture(struct dashboard *dashboard, const char *name,
                                                  struct session **out, struct err *err);

/* What a session has that was not asked for otherwise. */
void dashboard_defaults(const struct dashboard *dashboard, struct sampler_options *out);

#endif /* SERVER_SESSIONS_DASHBOARD_H */
