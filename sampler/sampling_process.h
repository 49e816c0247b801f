/*
 * sampling_process - the sampling process: runs the sessions that the HTTP process asks for, and answers what it asks of other
 * processes (link/request.h).
 *
 * It trusts no request.  Its settings decide how often processes are read, by how many sessions and with how much memory,
 * and permission.h decides which ones.
 *
 * Ownership: borrows the settings.
 * Threads: the main one calls sampling_process_serve; a session has a thread besides those of its session until it has
 * ended, a request that may take long has one too.
 * Limits: READER_MAX_SESSIONS sessions, of them READER_MAX_ENDED that have ended: the oldest make room for others;
 * READER_MAX_REQUESTS requests at a time.
 */
#ifndef SAMPLER_SAMPLING_PROCESS_H
#define SAMPLER_SAMPLING_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"

struct buffer;
struct kernel_engine_pool;
struct pulse;
struct session;
struct session_options;

enum { READER_MAX_SESSIONS = 640, READER_MAX_ENDED = 32, READER_MAX_REQUESTS = 64 };

struct sampling_process {
    int socket;                         /* SOCK_SEQPACKET, to the HTTP process */
    struct pulse *pulse;                /* that requests are taken; NULL: none */
    struct kernel_engine_pool *engines; /* NULL: the remote engine only */
    double max_rate_hz;
    size_t max_running;     /* sessions that sample */
    size_t memory_bytes;    /* of a session; 0: no bound */
    double max_cpu_percent; /* of a session, and twice that of all together; 0: no bound */
    /* The part of its time for which a session may stop a thread; 0: no bound, and sessions may stop all at each tick. */
    double max_stop_percent;
    bool hides_arguments;
    bool allows_locals; /* sessions may read variables */
    pid_t launcher; /* only its descendants may be read, and it adopts them; 0: there is none */
    /* The only session that is wanted: no process may be read but its own, and what sessions sample already, and none are
     * listed.  NULL: any session is. */
    const struct session_options *only;
    /* Reads the source file of functions of the session; NULL: none is read. */
    enum err_code (*read)(void *context, struct session *session, const void *request,
                          size_t request_bytes, struct buffer *answer, struct err *err);
    void *context;
};

/* Returns when the HTTP process has ended; the caller ends this process then, because its sessions go on. */
MUST_CHECK enum err_code sampling_process_serve(const struct sampling_process *settings,
                                                struct err *err);

#endif /* SAMPLER_SAMPLING_PROCESS_H */
