/*
 * session_capture - the capture of a live session: its metadata, and the whole capture of a session
 * that a dashboard started.
 *
 *     session_capture_open     before the session; its sink is for the options of the session
 *     session_capture_begin    once sampling has started
 *     session_capture_close    once sampling has ended, or has not started
 *
 * These never fail: a session whose capture cannot be written goes on without it and says so once,
 * through session_entry_set_fault and `say` (on any thread).
 *
 * Ownership: the caller's storage; borrows the capture store.
 * Threads: one at a time.
 */
#ifndef SERVER_SESSIONS_SESSION_CAPTURE_H
#define SERVER_SESSIONS_SESSION_CAPTURE_H

#include "server/sessions/capture_store.h"

struct frame_filters;
struct live_capture;
struct session;
struct session_entry;
struct sink;

/* On the thread of the live capture, once. */
typedef void (*session_capture_failed)(void *context, const struct err *err);

/* Writes the metadata that is known at the start, then samples as they come.  The session was
 * started with the sink of `live`. */
MUST_CHECK enum err_code session_capture_write_start(struct live_capture *live, int fd,
                                                     struct session *session,
                                                     const struct frame_filters *filters,
                                                     session_capture_failed failed,
                                                     void *context, struct err *err);
/* Sampling has ended: writes the rest, the text of source files (kept_texts.h), the processes and how it ended.  Completes
 * the file also if it fails.  texts_out: files with text. */
MUST_CHECK enum err_code session_capture_write_end(struct live_capture *live,
                                                   const struct session_entry *entry,
                                                   size_t *texts_out, struct err *err);

/* The session's id, and a sentence. */
typedef void (*session_capture_say)(void *context, const char *session, const char *fault);

struct session_capture {
    struct captures *captures;   /* NULL: no capture */
    struct session_entry *entry; /* NULL: not begun */
    session_capture_say say;     /* NULL: nobody */
    void *context;
    struct live_capture *live;
    int fd;
    bool has_begun;
    char name[CAPTURES_NAME_BYTES];
};

void session_capture_open(struct session_capture *capture, struct captures *captures,
                          session_capture_say say, void *context);
/* NULL: none. */
const struct sink *session_capture_sink(const struct session_capture *capture);
/* Links session and capture: each gets the name of the other. */
void session_capture_begin(struct session_capture *capture, struct session *session,
                           struct session_entry *entry);
/* Checks that the file still exists; call now and then. */
void session_capture_check(struct session_capture *capture);
/* session: NULL: it did not start. */
void session_capture_close(struct session_capture *capture, struct session *session);

#endif /* SERVER_SESSIONS_SESSION_CAPTURE_H */
