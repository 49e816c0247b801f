/*
 * session_entry - a profiling session that this server shows.
 *
 * The epoch is a random name for one run of one session: a client that sees another epoch drops all its data.  It
 * changes when more is known of the packages of files, as epoch_pace says.
 *
 * It is live and has a session (sampler/session.h), or was loaded from a capture and has ended.  Before that it is
 * starting and has neither, until session_entry_become or session_entry_fail.
 *
 * Ownership: an entry owns its session or capture; session_entry_destroy frees them, and accepts NULL.
 * Threads: any.
 */
#ifndef SERVER_SESSIONS_SESSION_ENTRY_H
#define SERVER_SESSIONS_SESSION_ENTRY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/session.h"
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

struct session_entry {
    char id[12];
    char
        epoch[SESSION_EPOCH_BYTES]; /* of a profile without packages: see session_entry_epoch */
    enum session_source source;
    struct session_options options;        /* as requested; only of a live session */
    struct frame_filters filters;          /* of a live one */
    char *patterns;                        /* of the filters */
    _Atomic(struct session *) session;     /* NULL: not live, or not yet */
    _Atomic(struct open_capture *) opened; /* NULL: not of a capture, or not yet */
    struct source *texts;                  /* NULL: no text of source files */
    struct source_reader files;            /* ask session_entry_files */
    struct profile
        *blank; /* stands in until there is a running session or capture; then NULL */
    struct session_target target; /* until then */
    atomic_bool is_cancelled;     /* before it has a running session */
    const struct session_rules *rules;
    struct sessions *owner; /* the table that it is in */
    struct session_entry *next_removed;
    size_t references;    /* of those that found it; guarded by the table */
    bool is_removed;      /* so is this */
    pthread_mutex_t lock; /* guards what follows */
    struct session_words words;
    struct range_notes notes;
    struct epoch_pace pace;
    struct session_status status; /* until there is a running session or a capture */
    bool is_stopping;
};

/* rules: borrowed.  filters: copied; NULL: none. */
MUST_CHECK enum err_code session_entry_create(enum session_source source,
                                              const struct session_rules *rules,
                                              const struct frame_filters *filters,
                                              struct session_entry **out, struct err *err);
void session_entry_destroy(struct session_entry *entry);

/* Reads the text of source files for the running session's functions, where it can be had. */
void session_entry_open_files(struct session_entry *entry, struct session *session);
/* Takes the running session or the capture; stops it at once if session_entry_stop was called. */
void session_entry_become(struct session_entry *entry, struct session *session,
                          struct open_capture *opened);
void session_entry_fail(struct session_entry *entry, const struct err *err);

/* The session ends soon, even if it is still starting. */
void session_entry_stop(struct session_entry *entry);
/* True if session_entry_stop was called, perhaps before the session started. */
bool session_entry_is_stopping(struct session_entry *entry);

struct profile *session_entry_profile(const struct session_entry *entry);
/* NULL: no text of source files. */
const struct source_reader *session_entry_files(const struct session_entry *entry);
/* The state of the session's source text: whether a capture holds it, or why not
 * (capture/source_texts.h). */
const char *session_entry_source_text(const struct session_entry *entry);
enum session_state session_entry_state(struct session_entry *entry);
/* True if it has ended or failed. */
bool session_entry_is_over(struct session_entry *entry);

/* session_entry_words copies the words; session_entry_rename changes those that are not NULL. */
void session_entry_words(struct session_entry *entry, struct session_words *out);
void session_entry_rename(struct session_entry *entry, const char *name, const char *note);
/* Notes about ranges of time; as range_notes_add and range_notes_remove. */
void session_entry_notes(struct session_entry *entry, struct range_notes *out);
void session_entry_set_notes(struct session_entry *entry, const struct range_notes *notes);
MUST_CHECK enum err_code session_entry_add_note(struct session_entry *entry, double from_s,
                                                double to_s, const char *text,
                                                struct range_note *out, struct err *err);
bool session_entry_remove_note(struct session_entry *entry, uint32_t id);
/* Sets the capture that the session is recorded into from now on. */
void session_entry_set_capture(struct session_entry *entry, const char *capture);
/* Sets why the session is not recorded, or no longer.  Only the first fault counts; true: this is
 * the first. */
bool session_entry_set_fault(struct session_entry *entry, const char *fault);

/* The epoch of what viewers of the profile know now. */
void session_entry_epoch(struct session_entry *entry, struct profile *profile,
                         char out[SESSION_EPOCH_BYTES]);
/* Describes the current session; borrows from both. */
void session_entry_describe(struct session_entry *entry,
                            const struct profile_snapshot *snapshot, struct session_info *out);

#endif /* SERVER_SESSIONS_SESSION_ENTRY_H */
