/*
 * dashboard - what a server of a whole host has besides its sessions: the list of processes, and
 * functions that start sessions.
 *
 * Starting a session is slow, because the interpreter is searched for or a capture is read.  So each
 * session has a thread of its own, from start to end.
 *
 * New sessions are recorded into the folder of captures, if there is one.  If that fails, sampling
 * continues.
 *
 * Ownership: the dashboard owns the list of processes, the captures, the kernel engines and the activity, and borrows
 * the sessions, whose sessions_destroy must come before dashboard_close.
 * Threads: any, once opened.
 */
#ifndef SERVER_SESSIONS_DASHBOARD_H
#define SERVER_SESSIONS_DASHBOARD_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/session.h"
#include "server/wire/session.h"

struct captures;
struct kernel_engine_pool;
struct frame_filters;
struct last_activity;
struct processes;
struct session_entry;
struct sessions;

enum { DASHBOARD_MAX_SESSIONS = 50 };
/* For the continuous session, the one that takes its turn, and two others.  Each costs the kernel 6 MiB. */
enum { DASHBOARD_ENGINES = 4 };
#define DASHBOARD_MAX_RATE_HZ     10000.0
#define DASHBOARD_MAX_DURATION_NS (7ull * 24 * 3600 * 1000000000)

/* Receives events of sessions: an id and a sentence; on any thread. */
typedef void (*dashboard_say)(void *context, const char *session, const char *what);

struct dashboard {
    struct processes *processes;
    struct captures *captures; /* NULL: no folder of captures */
    struct sessions *sessions;
    bool hides_arguments;
    bool allows_locals; /* dumps may show variables */
    double max_rate_hz;
    double max_stop_percent;            /* 0: no limit */
    size_t memory_bytes;                /* maximum size of the profile of a session */
    enum session_engine engine;         /* of sessions that do not choose */
    char context[CONTEXT_MAX_VARIABLE]; /* the same, not of the continuous one; "": none */
    measure_set measures;               /* likewise; 0: time */
    struct kernel_engine_pool *engines; /* NULL: the remote engine samples */
    char not_continuous[256];           /* why there is no continuous session; "": there is */
    struct last_activity *activity;
    dashboard_say say; /* NULL: events are dropped */
    void *say_context;
};

/* The rest is set by the caller.  dashboard_close accepts a zeroed one. */
MUST_CHECK enum err_code dashboard_open(struct dashboard *dashboard, struct sessions *sessions,
                                        struct err *err);
/* Reduces command lines to their first word.  Call it before anything is read. */
void dashboard_hide_arguments(struct dashboard *dashboard);
void dashboard_close(struct dashboard *dashboard);
/* Starts to scan processes; call it before the first request.  Its threads have the privileges of that
 * moment. */
void dashboard_begin(struct dashboard *dashboard);

/* A session that is starting, held by the caller (session_release).  filters: copied.  ERR_LIMIT: the
 * maximum number of sessions is running, or there is no kernel engine for one that needs it; ERR_INVALID:
 * the options are not permitted. */
MUST_CHECK enum err_code dashboard_launch(struct dashboard *dashboard,
                                          const struct session_options *options,
                                          const struct frame_filters *filters,
                                          const struct session_words *words,
                                          struct session_entry **out, struct err *err);

/* Launches a session of all processes, which does not count towards the limit. */
MUST_CHECK enum err_code dashboard_launch_continuous(struct dashboard *dashboard,
                                                     const struct session_options *options,
                                                     const struct session_words *words,
                                                     struct session_entry **out,
                                                     struct err *err);
/* Launches a session of a capture. ERR_NOT_FOUND: there is none. */
MUST_CHECK enum err_code dashboard_launch_capture(struct dashboard *dashboard, const char *name,
                                                  struct session_entry **out, struct err *err);

/* The default options of a session. */
void dashboard_defaults(const struct dashboard *dashboard, struct session_options *out);

#endif /* SERVER_SESSIONS_DASHBOARD_H */
