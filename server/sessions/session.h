/*
 * session - a profiling session that this server shows.
 *
 * The epoch is a random name for one run of one session: a client that sees another epoch drops all its data.  It
 * changes when more is known of the packages of files, as epoch_pace says.
 *
 * A session is live and has a sampler, or was loaded from a capture and has ended.  Before that it is
 * starting and has neither, until session_become or session_fail.
 *
 * Ownership: a session owns its sampler or capture; session_destroy frees them, and accepts NULL.
 * Threads: any.
 */
#ifndef SERVER_SESSIONS_SESSION_H
#define SERVER_SESSIONS_SESSION_H

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

/* The rules for all sessions of a table. */
struct session_rules {
    bool hides_source; /* no session shows the text of source files */
    bool omits_texts;  /* they are not fetched in advance */
};

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
    const struct session_rules *rules;
    struct sessions *owner; /* the table that it is in */
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

/* rules: borrowed.  filters: copied; NULL: none. */
MUST_CHECK enum err_code session_create(enum session_source source,
                                        const struct session_rules *rules,
                                        const struct frame_filters *filters,
                                        struct session **out, struct err *err);
void session_destroy(struct session *session);

/* Reads the text of source files for the sampler's functions, where it can be had. */
void session_open_files(struct session *session, struct sampler *sampler);
/* Takes the sampler or the capture; stops it at once if session_stop was called. */
void session_become(struct session *session, struct sampler *sampler,
                    struct open_capture *opened);
void session_fail(struct session *session, const struct err *err);

/* The session ends soon, even if it is still starting. */
void session_stop(struct session *session);
/* True if session_stop was called, perhaps before the session started. */
bool session_is_stopping(struct session *session);

struct profile *session_profile(const struct session *session);
/* NULL: no text of source files. */
const struct source_reader *session_files(const struct session *session);
/* The state of the session's source text: whether a capture holds it, or why not
 * (capture/source_texts.h). */
const char *session_source_text(const struct session *session);
enum sampler_state session_state(struct session *session);
/* True if it has ended or failed. */
bool session_is_over(struct session *session);

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

#endif /* SERVER_SESSIONS_SESSION_H */
