/*
 * push - sends what sessions sample to servers that keep profiles, batch by batch.
 *
 *     push_open      reads headers, starts libcurl, while all rights are held
 *     push_begin     starts the threads, once rights are dropped
 *     push_end       ends the session that is pushed, sends its last batch
 *     push_check     says what did not arrive
 *     push_close
 *
 * A thread takes a snapshot of the session's profile at the end of each batch and encodes what is new for
 * each endpoint.  Each endpoint has a queue and a sender.  None of them ever holds what the sampling
 * thread needs: it seals windows as without them.
 *
 * One session is pushed at a time: the first that runs of those of the source.  Where another one takes its place
 * (continuous sampling), what the one before has left is pushed first, and then the samples of the new one from there
 * on.
 *
 * Ownership: push_open makes, push_close frees; borrows the sessions, which must outlive push_end.
 * Threads: one for batches, one for each endpoint; the functions: the main one.
 */
#ifndef SERVER_PUSH_PUSH_H
#define SERVER_PUSH_PUSH_H

#include <stdint.h>

#include "sampler/base/err.h"
#include "server/push/sender.h"
#include "server/push/settings.h"
#include "server/wire/session.h"

struct push;
struct push_counters;
struct sessions;

/* The time for the last batch, and of that the time until the session has ended. */
enum { PUSH_END_MS = 5000, PUSH_STOP_MS = 600 };

/* headers: of each endpoint, NULL where it has none. */
MUST_CHECK enum err_code push_open(const struct push_settings *settings,
                                   char *const headers[PUSH_MAX_ENDPOINTS], push_say *say,
                                   void *say_context, struct push **out, struct err *err);
/* NULL is fine, and so for push_end. */
void push_close(struct push *push);
const struct push_counters *push_counters(const struct push *push);

MUST_CHECK enum err_code push_begin(struct push *push, struct sessions *sessions,
                                    enum session_source source, struct err *err);
/* Waits at most PUSH_END_MS, and no longer once hurries() says that somebody does not want to wait.  A second call
 * does nothing. */
void push_end(struct push *push, bool (*hurries)(void));
/* Says whether all requests were taken, after push_end.  ERR_SYS: no; the message says what became of them.  NULL is fine. */
MUST_CHECK enum err_code push_check(const struct push *push, struct err *err);

/* Without threads: sends a session that has ended, batch by batch.  samples_out: how many were sent. */
MUST_CHECK enum err_code push_whole(struct push *push, const struct session_info *info,
                                    uint64_t *samples_out, struct err *err);

#endif /* SERVER_PUSH_PUSH_H */
