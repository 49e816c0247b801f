/*
 * recording - what every command that samples does beside its own: the line every second
 * (--realtime-stats), the last words, the file that says how well it went (--quality), and the
 * lines of the audit log (--audit).
 *
 *     recording_open     before anything is sampled or started
 *     recording_begin    once there is a session
 *     recording_wait     in place of signals_wait
 *     recording_finish   once sampling has ended
 *
 * Ownership: the caller's storage; recording_close removes a file that was not finished.
 * Threads: the main one.
 * Depends on: audit, capturing, options, output, signals, stats, summary, sessions, wire/quality.
 */
#ifndef SERVER_COMMAND_OUTPUT_RUN_SUMMARY_H
#define SERVER_COMMAND_OUTPUT_RUN_SUMMARY_H

#include <stdbool.h>

#include "sampler/base/err.h"
#include "server/access/audit.h"
#include "server/command/output/output.h"
#include "server/command/output/stats.h"
#include "server/command/process/signals.h"

struct capturing;
struct options;
struct profile_snapshot;
struct session;
struct session_facts;

struct recording {
    const struct options *options;
    struct session *session; /* NULL: not begun */
    struct output quality;
    struct stats stats;
    bool is_finished;
    struct audit audit;
    char id[12];     /* of the session, which may go before us */
    bool is_audited; /* its start is; the end is still to come */
};

#define RECORDING_NONE                   \
    {                                    \
        .quality.fd = -1, .audit.fd = -1 \
    }

MUST_CHECK enum err_code recording_open(struct recording *recording,
                                        const struct options *options, struct err *err);
void recording_begin(struct recording *recording, struct session *session);
void recording_close(struct recording *recording);

/* Waits for a signal or for the descriptor (-1: none); the line is written meanwhile. */
enum signals_event recording_wait(struct recording *recording, struct signals *signals, int fd);

/* Ends sampling and waits until it has.  IMPATIENT: the user did not want to wait.  HANGS: a target
 * keeps the sampling thread in the kernel; what it has sampled so far is there, and nothing of the
 * session may be freed. */
enum recording_end { RECORDING_ENDED, RECORDING_IMPATIENT, RECORDING_HANGS };
enum recording_end recording_stop(struct recording *recording, struct signals *signals);

/* Says how sampling went, finishes the capture, and writes the file of --quality.  After the first
 * call there is nothing left to do.  capturing: NULL: the capture is left as it is. */
MUST_CHECK enum err_code recording_finish(struct recording *recording,
                                          struct capturing *capturing, struct err *err);

#endif /* SERVER_COMMAND_OUTPUT_RUN_SUMMARY_H */
