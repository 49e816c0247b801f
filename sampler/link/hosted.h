/*
 * hosted - a session that the reader process runs for the HTTP process.
 *
 * It begins with a request and ends when the HTTP process closes the pipe: until then the processes that its functions
 * come from are held, so that source files can be read.
 *
 * Threads: any, except where stated.
 * Limits: READER_MAX_SESSIONS, and as many that sample as the settings say.
 * Depends on: sampler.h, live_capture, request, state.
 */
#ifndef SAMPLER_LINK_HOSTED_H
#define SAMPLER_LINK_HOSTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"

struct link_request;
struct reader_process;
struct sampler;

/* Starts a thread that answers and runs the session; takes the pipe. */
void hosted_start(const struct reader_process *settings, const struct link_request *request,
                  int pipe_fd);
/* ERR_PERM: the process may not be read. */
MUST_CHECK enum err_code hosted_admits(const struct reader_process *settings, pid_t pid,
                                       struct err *err);
/* Cancels sessions that are starting, of which the pipe was closed.  true: some are starting. */
bool hosted_check_starting(void);

/* The sampler of a session, until hosted_release; NULL: there is none. */
struct hosted *hosted_find(uint64_t session);
struct sampler *hosted_sampler(const struct hosted *hosted);
void hosted_release(struct hosted *hosted);

#endif /* SAMPLER_LINK_HOSTED_H */
