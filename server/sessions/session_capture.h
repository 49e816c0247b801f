/*
 * taping - the capture of a session that a dashboard started.
 *
 *     taping_open     before the sampler: its sink is for the sampler's options
 *     taping_begin    once there is a sampler
 *     taping_close    once sampling has ended, or has not begun
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

struct recorder;
struct sampler;
struct session;
struct sink;

/* The session's id, and a sentence. */
typedef void (*taping_say)(void *context, const char *session, const char *fault);

struct taping {
    struct captures *captures; /* NULL: nothing is recorded */
    struct session *session;   /* NULL: not begun */
    taping_say say;            /* NULL: nobody */
    void *context;
    struct recorder *recorder;
    int fd;
    bool has_begun;
    char name[CAPTURES_NAME_BYTES];
};

void taping_open(struct taping *taping, struct captures *captures, taping_say say,
                 void *context);
/* NULL: none. */
const struct sink *taping_sink(const struct taping *taping);
/* Names the capture to the session, and what the session is called to the capture. */
void taping_begin(struct taping *taping, struct sampler *sampler, struct session *session);
/* Sees whether the file is still there; to be asked now and then. */
void taping_check(struct taping *taping);
/* sampler: NULL: it did not start. */
void taping_close(struct taping *taping, struct sampler *sampler);

#endif /* SERVER_SESSIONS_SESSION_CAPTURE_H */
