/*
 * served - a session that the sampling process runs for the HTTP process.
 *
 * It begins with a request.  Once it has ended, its tables and the processes that its functions come from are held, so
 * that source files can be read, until the HTTP process closes the pipe or later sessions need the room.
 *
 * Threads: any, except where stated.
 * Limits: as many that sample as the settings say; of those that have ended READER_MAX_ENDED, which hold no more
 * processes and memory together than one session may.
 */
#ifndef SAMPLER_LINK_SERVED_SESSION_H
#define SAMPLER_LINK_SERVED_SESSION_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"
#include "sampler/sampling_process.h"

struct link_request;
struct session;

enum { HOSTED_WATCHED = 1 + READER_MAX_ENDED };

/* Comes before the other calls. */
MUST_CHECK enum err_code served_session_open(struct err *err);
/* Starts a thread that answers and runs the session; takes the pipe. */
void served_session_start(const struct sampling_process *settings,
                          const struct link_request *request, int pipe_fd);
/* ERR_PERM: the process may not be read. */
MUST_CHECK enum err_code served_session_admits(const struct sampling_process *settings,
                                               pid_t pid, struct err *err);
/* Cancels sessions that are starting, of which the pipe was closed.  true: some are starting. */
bool served_session_check_starting(void);

/* The descriptors that the thread which takes requests polls too, and the call that it then makes: it releases sessions that
 * have ended and whose pipe was closed. */
size_t served_session_watch(struct pollfd out[HOSTED_WATCHED]);
void served_session_let_go(void);

/* The session of a session, until served_session_release; NULL: there is none. */
struct served_session *served_session_find(uint64_t session);
struct session *served_session_sampler(const struct served_session *served);
void served_session_release(struct served_session *served);
/* Sets the CPU budget as session_set_max_cpu does, within what the settings permit to all sessions together. */
void served_session_set_cpu(struct served_session *served, double percent);

#endif /* SAMPLER_LINK_SERVED_SESSION_H */
