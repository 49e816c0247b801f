/*
 * sessions - the profiling sessions this server shows.
 *
 * Ids count from 1 and are never used again.  The epoch is a random name for one run of one
 * session: a client that finds another one drops all it has.
 *
 * A session is live and has a sampler, or was loaded from a capture and has ended; before, it is
 * starting, and has neither: session_become or session_fail end that.
 *
 * Ownership: the table owns its sessions, a session owns what is behind it.  Who finds a session
 * holds it until session_release, also when it is removed meanwhile; what is still held at
 * sessions_destroy is freed there.
 * Threads: any; create and destroy from one.
 * Limits: SESSIONS_MAX, and sessions_limit running ones, then ERR_LIMIT.
 * Depends on: sampler.h, err, loaded, source, wire/session.
 */
#ifndef SERVER_SESSIONS_SESSIONS_H
#define SERVER_SESSIONS_SESSIONS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/sampler.h"
#include "server/source/source.h"
#include "server/wire/session.h"

struct open_capture;
struct profile;
struct profile_snapshot;
struct sessions;

enum { SESSIONS_MAX = 1024 };

struct session {
    char id[12];
    char epoch[17];
    enum session_source source;
    struct sampler_options options;        /* as asked for, of a live one */
    struct frame_filters filters;          /* of a live one */
    char *patterns;                        /* of the filters */
    _Atomic(struct sampler *) sampler;     /* NULL: not live, or not yet */
    _Atomic(struct open_capture *) opened; /* NULL: not of a capture, or not yet */
    struct source *texts;                  /* NULL: of no source files */
    struct source_reader files;            /* ask session_files */
    struct profile *blank;                 /* until there is another one; NULL: there is */
    struct sampler_target target;          /* until then */
    atomic_bool is_cancelled;              /* before it has a sampler */
    struct sessions *owner;
    struct session *next_removed;
    size_t references;    /* of those that found it; guarded by the table */
    bool is_removed;      /* so is this */
    pthread_mutex_t lock; /* guards what follows */
    struct session_words words;
    struct sampler_status status; /* until there is a sampler or a capture */
    bool is_stopping;
};

MUST_CHECK enum err_code sessions_create(struct sessions **out, struct err *err);
/* Stops what runs and waits for sessions_work_end. */
void sessions_destroy(struct sessions *sessions);
/* Sessions added from now on have no text of source files to show. */
void sessions_hide_source(struct sessions *sessions);
/* How many may run at a time, and what all of them may use of one core together (0: no limit):
 * each gets an equal part. */
void sessions_limit(struct sessions *sessions, size_t running, double max_cpu_percent);

/* Takes the sampler; on failure it stays the caller's.  filters: copied; NULL: none. */
MUST_CHECK enum err_code sessions_add(struct sessions *sessions, struct sampler *sampler,
                                      const struct frame_filters *filters, struct session **out,
                                      struct err *err);
/* Takes the capture; on failure it stays the caller's. */
MUST_CHECK enum err_code sessions_add_loaded(struct sessions *sessions,
                                             struct open_capture *opened, struct session **out,
                                             struct err *err);
/* A session that is starting, held by the caller.  options and filters: NULL for a capture; both
 * are copied.  ERR_LIMIT: as many run as may. */
MUST_CHECK enum err_code sessions_begin(struct sessions *sessions, enum session_source source,
                                        const struct sampler_options *options,
                                        const struct frame_filters *filters,
                                        const struct session_words *words, struct session **out,
                                        struct err *err);
/* Takes the sampler, or the capture; stops it at once if that was asked for. */
void session_become(struct session *session, struct sampler *sampler,
                    struct open_capture *opened);
void session_fail(struct session *session, const struct err *err);

/* Somebody works for a session, on a thread of its own. */
void sessions_work_begin(struct sessions *sessions);
void sessions_work_end(struct sessions *sessions);

/* NULL: none of that id. */
struct session *sessions_find(struct sessions *sessions, const char *id);
/* NULL: fewer than index + 1.  Those behind one that is removed move up. */
struct session *sessions_at(struct sessions *sessions, size_t index);
/* The session that shows or records this capture; NULL: none. */
struct session *sessions_of_capture(struct sessions *sessions, const char *capture);
/* NULL is fine. */
void session_release(struct session *session);
/* Stops it and hides it. */
void sessions_remove(struct sessions *sessions, struct session *session);
/* Its sampler ends soon, also one that is starting. */
void session_stop(struct session *session);
/* It was asked to stop, perhaps before it began. */
bool session_is_stopping(struct session *session);
/* Gives every running session its part of the CPU budget; to be called when their number changed. */
void sessions_share(struct sessions *sessions);

struct profile *session_profile(const struct session *session);
/* NULL: no text of source files. */
const struct source_reader *session_files(const struct session *session);
enum sampler_state session_state(struct session *session);

/* Copies them out; and changes them, those that are not NULL. */
void session_words(struct session *session, struct session_words *out);
void session_rename(struct session *session, const char *name, const char *note);
/* The capture it is recorded into from now on. */
void session_set_capture(struct session *session, const char *capture);
/* Why it is not recorded, or no longer; true: that is news. */
bool session_set_fault(struct session *session, const char *fault);

/* What the session is right now; borrows from both. */
void session_describe(struct session *session, const struct profile_snapshot *snapshot,
                      struct session_info *out);

#endif /* SERVER_SESSIONS_SESSIONS_H */
