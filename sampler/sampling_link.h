/*
 * sampling_link - the HTTP process's side of the sampling process.
 *
 * After sampling_link_use, the functions of session.h and processes.h ask the sampling process: sessions run there, and
 * this process holds their profiles, which grow by what the sampling process sends.  A session whose sampling process
 * ends has failed and keeps what came before; the next request is for the process that takes its place.
 *
 * Ownership: the socket is the link's, for the life of this process.
 * Threads: sampling_link_use before others start; the others any.
 * Limits: LINK_WAIT_MS (link/link.h) for an answer, but any time to start a session, which can be cancelled.  While it waits it asks
 * once a second whether requests are still taken: if none is for LINK_TAKE_MS, it waits no longer.
 */
#ifndef SAMPLER_SAMPLING_LINK_H
#define SAMPLER_SAMPLING_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"
#include "sampler/base/usage.h"

struct buffer;
struct pulse;
struct session;

/* pulse: of the sampling process; NULL: none. */
void sampling_link_use(int socket, struct pulse *pulse);
bool sampling_link_is_used(void);

/* ERR_PERM: the sampling process may not read this process. */
MUST_CHECK enum err_code sampling_link_admits(pid_t pid, struct err *err);

/* Reads the source file of functions of the session.  The request and the answer are of the server's source/.
 * Readable cancel_fd ends it; -1: none. */
MUST_CHECK enum err_code sampling_link_read(struct session *session, const void *source,
                                            size_t source_bytes, int cancel_fd,
                                            struct buffer *answer, struct err *err);

/* CPU that sampling processes have used so far, which never falls; memory of the present one, 0: not known. */
void sampling_link_usage(struct process_usage *out);

#endif /* SAMPLER_SAMPLING_LINK_H */
