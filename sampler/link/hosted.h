/*
 * hosted - a session that the sampling process runs for the HTTP process.
 *
 * It begins with a request.  Once it has ended, its tables and the processes that its functions come from are held, so
 * that source files can be read, until the HTTP process closes the pipe or later sessions need the room.
 *
 * Threads: any, except where stated.
 * Limits: as many that sample as the settings say; of those that have ended READER_MAX_ENDED, which hold no more
 * processes and memory together than one session may.
 */
#ifndef SAMPLER_LINK_HOSTED_H
#define SAMPLER_LINK_HOSTED_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"
#include "sampler/reader_process.h"

struct link_request;
struct sampler;

enum { HOSTED_WATCHED = 1 + READER_MAX_ENDED };

/* Comes before the other calls. */
MUST_CHECK enum err_code hosted_open(struct err *err);
/* Starts a thread that answers and runs the session; takes the pipe. */
void hosted_start(const struct reader_process *settings, const struct link_request *request,
                  int pipe_fd);
/* ERR_PERM: the process may not be read. */
MUST_CHECK enum err_code hosted_admits(const struct reader_process *settings, pid_t pid,
                                       struct err *err);
/* Cancels sessions that are starting, of which the pipe was closed.  true: some are starting. */
bool hosted_check_starting(void);

/* The descriptors that the thread which takes requests polls too, and the call that it then makes: it releases sessions that
 * have ended and whose pipe was closed. */
size_t hosted_watch(struct pollfd out[HOSTED_WATCHED]);
void hosted_let_go(void);

/* The sampler of a session, until hosted_release; NULL: there is none. */
struct hosted *hosted_find(uint64_t session);
struct sampler *hosted_sampler(const struct hosted *hosted);
void hosted_release(struct hosted *hosted);
/* Sets the CPU budget as sampler_set_max_cpu does, within what the settings permit to all sessions together. */
void hosted_set_cpu(struct hosted *hosted, double percent);

#endif /* SAMPLER_LINK_HOSTED_H */
