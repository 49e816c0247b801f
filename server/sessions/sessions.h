/*
 * sessions - the profiling sessions that this server shows.
 *
 * Ids count from 1 and are never used again.  The epoch is a random name for one run of one
 * session: a client that sees another epoch drops all its data.  It changes when more is known of the packages of files,
 * as epoch_pace says.
 *
 * A session is live and has a sampler, or was loaded from a capture and has ended.  Before that it is
 * starting and has neither, until session_become or session_fail.
 *
 * Ownership: the table owns its sessions; a session owns its sampler or capture.  A session that was
 * found stays valid until session_release, even if it is removed meanwhile.  sessions_destroy frees
 * also what is still held.
 * Threads: any; create and destroy from one.
 * Limits: SESSIONS_MAX sessions: for another one the oldest leaves that has ended and is not held (its capture stays).  If
 * there is none, or as many run as sessions_limit sets, ERR_LIMIT.
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
#include "server/sessions/epoch_pace.h"
#include "server/source/source.h"
#include "server/wire/range_notes.h"
#include "server/wire/session.h"

struct open_capture;
struct profile;
struct profile_snapshot;
struct sessions;

enum { SESSIONS_MAX = 1024 };

struct session {
    char id[12];
    char epoch[SESSION_EPOCH_BYTES]; /* of a profile without packages: see session_epoch */
    enum session_source source;
    struct sampler_options options;        /* as requested; only of a live session */
    struct frame_filters filters;          /* of a live one */
    char *patterns;                        /* of the filters */
    _Atomic(struct sampler *) sampler;     /* NULL: not live, or not yet */
    _Atomic(struct open_capture *) opened; /* NULL: not of a capture, or not yet */
    struct source *texts;                  /* NULL: no text of source files */
    struct source_reader files;            /* ask session_files */
    struct profile *blank;        /* stands in until there is a sampler or capture; then NULL */
    struct sampler_target target; /* until then */
    atomic_bool is_cancelled;     /* before it has a sampler */
    struct sessions *owner;
    struct session *next_removed;
    size_t references;    /* of those that found it; guarded by the table */
    bool is_removed;      /* so is this */
    pthread_mutex_t lock; /* guards what follows */
    struct session_words words;
    struct range_notes notes;
    struct epoch_pace pace;
    struct sampler_status status; /* until there is a sampler or a capture */
    bool is_stopping;
};

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

/* Takes the sampler; if it fails, the caller keeps it.  filters: copied; NULL: none.  Held until the end, as is the
 * next one. */
MUST_CHECK enum err_code sessions_add(struct sessions *sessions, struct sampler *sampler,
                                      const struct frame_filters *filters, struct session **out,
                                      struct err *err);
/* Takes the capture; if it fails, the caller keeps it. */
MUST_CHECK enum err_code sessions_add_loaded(struct sessions *sessions,
                                             struct open_capture *opened, struct session **out,
                                             struct err *err);
/* A session that is starting, held by the caller.  options and filters: NULL for a capture; both
 * are copied.  ERR_LIMIT: the maximum number of sessions is running. */
MUST_CHECK enum err_code sessions_begin(struct sessions *sessions, enum session_source source,
                                        const struct sampler_options *options,
                                        const struct frame_filters *filters,
                                        const struct session_words *words, struct session **out,
                                        struct err *err);
/* Takes the sampler or the capture; stops it at once if session_stop was called. */
void session_become(struct session *session, struct sampler *sampler,
                    struct open_capture *opened);
void session_fail(struct session *session, const struct err *err);

/* A thread works for a session between these two calls; sessions_destroy waits for it. */
void sessions_work_begin(struct sessions *sessions);
void sessions_work_end(struct sessions *sessions);

/* NULL: no session has that id. */
struct session *sessions_find(struct sessions *sessions, const char *id);
/* NULL: fewer than index + 1.  Removing a session lowers the index of those after it. */
struct session *sessions_at(struct sessions *sessions, size_t index);
/* The session that shows or records this capture; NULL: none. */
struct session *sessions_of_capture(struct sessions *sessions, const char *capture);
/* NULL is fine. */
void session_release(struct session *session);
/* Stops the session and removes it from the table. */
void sessions_remove(struct sessions *sessions, struct session *session);
/* The session ends soon, even if it is still starting. */
void session_stop(struct session *session);
/* Whether session_stop was called, perhaps before the session started. */
bool session_is_stopping(struct session *session);
/* Gives every running session its part of the CPU limit; call it when their number has changed. */
void sessions_share(struct sessions *sessions);

struct profile *session_profile(const struct session *session);
/* NULL: no text of source files. */
const struct source_reader *session_files(const struct session *session);
/* Whether a capture of the session holds source text, or why not (capture/source_texts.h). */
const char *session_source_text(const struct session *session);
enum sampler_state session_state(struct session *session);

/* session_words copies the words; session_rename changes those that are not NULL. */
void session_words(struct session *session, struct session_words *out);
void session_rename(struct session *session, const char *name, const char *note);
/* Notes about ranges of time; as range_notes_add and range_notes_remove. */
void session_notes(struct session *session, struct range_notes *out);
void session_set_notes(struct session *session, const struct range_notes *notes);
MUST_CHECK enum err_code session_add_note(struct session *session, double from_s, double to_s,
                                          const char *text, struct range_note *out,
                                          struct err *err);
bool session_remove_note(struct session *session, uint32_t id);
/* Sets the capture that the session is recorded into from now on. */
void session_set_capture(struct session *session, const char *capture);
/* Sets why the session is not recorded, or no longer.  Only the first fault counts; true: this is
 * the first. */
bool session_set_fault(struct session *session, const char *fault);

/* The epoch of what viewers of the profile know now. */
void session_epoch(struct session *session, struct profile *profile,
                   char out[SESSION_EPOCH_BYTES]);
/* Describes the current session; borrows from both. */
void session_describe(struct session *session, const struct profile_snapshot *snapshot,
                      struct session_info *out);

#endif /* SERVER_SESSIONS_SESSIONS_H */
