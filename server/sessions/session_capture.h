/*
 * taping - the capture of a session that a dashboard started.
 *
 *     session_capture_open     before the sampler: its sink is for the sampler's options
 *     session_capture_begin    once there is a sampler
 *     session_capture_close    once sampling has ended, or has not begun
 *
 * Nothing here fails: a session whose capture cannot be written goes on without, and says so
 * (session_set_fault), once; `say` is told as well, on any thread.
 *
 * Ownership: the caller's storage; borrows the captures.
 * Threads: one at a time.
 * Depends on: captures, sessions, loaded, told, capture/recorder.
 */
#ifndef SERVER_SESSIONS_SESSION_CAPTURE_H
#define SERVER_SESSIONS_SESSION_CAPTURE_H

#include "server/sessions/capture_store.h"

struct live_capture;
struct sampler;
struct session;
struct sink;

/* The session's id, and a sentence. */
typedef void (*session_capture_say)(void *context, const char *session, const char *fault);

struct session_capture {
    struct captures *captures; /* NULL: nothing is recorded */
    struct session *session;   /* NULL: not begun */
    session_capture_say say;   /* NULL: nobody */
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
/* Names the capture to the session, and what the session is called to the capture. */
void session_capture_begin(struct session_capture *capture, struct sampler *sampler,
                           struct session *session);
/* Sees whether the file is still there; to be asked now and then. */
void session_capture_check(struct session_capture *capture);
/* sampler: NULL: it did not start. */
void session_capture_close(struct session_capture *capture, struct sampler *sampler);

#endif /* SERVER_SESSIONS_SESSION_CAPTURE_H */
