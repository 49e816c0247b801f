/*
 * reader_process - the reader process: runs the sessions that the HTTP process asks for, and answers what it asks of other
 * processes (link/request.h).
 *
 * It trusts nothing it is sent.  Which processes may be read, how often, by how many sessions, and with how much
 * memory is what its settings say, whatever a request asks for.
 *
 * Ownership: borrows the settings.
 * Threads: the main one calls reader_process_serve; a session has a thread besides those of its sampler, a request
 * that may take long has one too.
 * Limits: READER_MAX_SESSIONS sessions, ended ones too; READER_MAX_REQUESTS requests at a time.
 * Depends on: sampler.h, processes.h, link, live_capture, pulse.
 */
#ifndef SAMPLER_READER_PROCESS_H
#define SAMPLER_READER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct bytes;
struct engines;
struct pulse;
struct sampler;

enum { READER_MAX_SESSIONS = 1280, READER_MAX_REQUESTS = 64 };

struct reader_process {
    int socket;              /* SOCK_SEQPACKET, to the HTTP process */
    struct pulse *pulse;     /* that requests are taken; NULL: none */
    struct engines *engines; /* NULL: the remote engine only */
    double max_rate_hz;
    size_t max_running;     /* sessions that sample */
    size_t memory_bytes;    /* of a session; 0: no bound */
    double max_cpu_percent; /* of a session; 0: no bound */
    bool hides_arguments;
    pid_t launcher; /* only its descendants may be read, and it adopts them; 0: there is none */
    bool admits_all; /* otherwise no session is of all processes */
    /* ERR_PERM: the process may not be read. */
    enum err_code (*admit)(void *context, pid_t pid, struct err *err);
    /* Reads a source file for a function of this origin; NULL: none is read. */
    enum err_code (*read)(void *context, struct sampler *sampler, profile_origin origin,
                          const void *wish, size_t wish_bytes, struct bytes *answer,
                          struct err *err);
    void *context;
};

/* Returns when the HTTP process has ended; the caller ends this process then, because its sessions go on. */
MUST_CHECK enum err_code reader_process_serve(const struct reader_process *settings,
                                              struct err *err);

#endif /* SAMPLER_READER_PROCESS_H */
