/*
 * recording - what every command that samples does beside its own: the line every second
 * (--realtime-stats), the last words, the file that says how well it went (--quality), and the
 * lines of the audit log (--audit).
 *
 *     run_summary_open     before anything is sampled or started
 *     run_summary_begin    once there is a session
 *     run_summary_wait     in place of signals_wait
 *     run_summary_finish   once sampling has ended
 *
 * Ownership: the caller's storage; run_summary_close removes a file that was not finished.
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

struct capture_output;
struct options;
struct profile_snapshot;
struct session;
struct session_info;

struct run_summary {
    const struct options *options;
    struct session *session; /* NULL: not begun */
    struct output quality;
    struct stats stats;
    bool is_finished;
    struct audit audit;
    char id[12];     /* of the session, which may go before us */
    bool is_audited; /* its start is; the end is still to come */
};

#define RUN_SUMMARY_NONE                 \
    {                                    \
        .quality.fd = -1, .audit.fd = -1 \
    }

MUST_CHECK enum err_code run_summary_open(struct run_summary *summary,
                                          const struct options *options, struct err *err);
void run_summary_begin(struct run_summary *summary, struct session *session);
void run_summary_close(struct run_summary *summary);

/* Waits for a signal or for the descriptor (-1: none); the line is written meanwhile. */
enum signals_event run_summary_wait(struct run_summary *summary, struct signals *signals,
                                    int fd);

/* Ends sampling and waits until it has.  IMPATIENT: the user did not want to wait.  HANGS: a target
 * keeps the sampling thread in the kernel; what it has sampled so far is there, and nothing of the
 * session may be freed. */
enum run_summary_end { RUN_SUMMARY_ENDED, RUN_SUMMARY_IMPATIENT, RUN_SUMMARY_HANGS };
enum run_summary_end run_summary_stop(struct run_summary *summary, struct signals *signals);

/* Says how sampling went, finishes the capture, and writes the file of --quality.  After the first
 * call there is nothing left to do.  capturing: NULL: the capture is left as it is. */
MUST_CHECK enum err_code run_summary_finish(struct run_summary *summary,
                                            struct capture_output *capture, struct err *err);

#endif /* SERVER_COMMAND_OUTPUT_RUN_SUMMARY_H */
