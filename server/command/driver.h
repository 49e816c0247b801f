/*
 * driver - runs the one session of attach, run, record and top: opens its outputs, starts
 * sampling, waits, and closes in the right order.
 *
 *     driver_open      opens files and the address before sampling, while all rights are held
 *     driver_start     drops rights, finds the interpreters, starts sampling
 *     driver_serve     serves the page until the user stops it (attach, run)
 *     driver_wait      waits without a page (record, top)
 *     driver_renew     ends the session, and starts another one of the same processes (watch)
 *     driver_stop      ends sampling
 *     driver_end_push  waits for what is pushed; driver_finish does it, too
 *     driver_finish    completes the capture and the quality file, prints the result
 *     driver_end       prints the error and returns the exit status
 *     driver_close
 *
 * The command fills the fields before `signals`; the rest is zero until driver_open.  After a failure of
 * any call, call driver_end and driver_close.
 *
 * Ownership: the caller's storage, which must not move; the driver owns everything it opens.
 * Threads: the main one.
 */
#ifndef SERVER_COMMAND_DRIVER_H
#define SERVER_COMMAND_DRIVER_H

#include <stdbool.h>

#include "sampler/base/err.h"
#include "server/access/audit.h"
#include "server/command/live.h"
#include "server/command/output/capture_output.h"
#include "server/command/output/output.h"
#include "server/command/output/run_summary.h"
#include "server/command/output/written.h"
#include "server/command/process/signals.h"

struct program;
struct options;
struct push;
struct session_options;
struct session_entry;
struct sessions;

/* How sampling ended.  IMPATIENT: the user sent a second signal.  HANGS: a target blocks the sampling
 * thread in the kernel; the samples so far are usable, but the session must not be freed. */
enum driver_ending { DRIVER_ENDED, DRIVER_IMPATIENT, DRIVER_HANGS };

typedef enum err_code driver_between(void *context, struct err *err);

struct driver {
    const struct options *options;
    const struct sink *sink; /* receives the samples if there is no capture; NULL: nobody */
    bool serves;             /* serves the page of the session */
    bool reads_source;       /* starts the helper that reads source files */
    bool omits_texts;        /* needs no text of them, only what is known of packages */
    bool shows_progress;     /* on a terminal that nobody else writes to */
    bool ends_later;         /* the command writes more files, then prints the result itself */
    bool has_reader;         /* starts a process that reads other processes, and source files */
    int *
        launcher_out; /* the socket to a launcher (process_launcher.h), which starts a program; NULL: none */
    pid_t launcher; /* without has_reader: a child of this process; 0: none */

    struct signals signals;
    struct live live;                   /* if it serves */
    struct sessions *sessions;          /* borrowed from live if it serves */
    struct session_entry *entry;        /* NULL: sampling has not started */
    struct session *session;            /* of the session */
    enum err_code left_out;             /* why one of several is not sampled; OK: all are */
    struct kernel_engine_pool *engines; /* the kernel engine; NULL: --engine remote */
    struct capture_output capture;
    struct push *push;     /* NULL: profiles are not pushed */
    struct output quality; /* the file of --quality */
    struct run_summary summary;
    struct written written; /* files, so far */
    struct audit audit;
    char id[12];     /* of the session, for the audit log */
    bool is_audited; /* the start is logged, the end is not */
    enum driver_ending ending;
    bool is_finished;
};

MUST_CHECK enum err_code driver_open(struct driver *driver, struct err *err);

/* privilege_drop, driver_find and driver_begin. */
MUST_CHECK enum err_code driver_start(struct driver *driver,
                                      const struct session_options *sampling, struct err *err);
/* Finds the interpreters.  Of several processes, those that cannot be sampled are named and left out,
 * and driver_end returns the status that stands for it.  A signal ends it, even if a target hangs.
 * Errors are those of session_start, and ERR_SYS if a signal ended it; then signals.stopped_by is
 * set. */
MUST_CHECK enum err_code driver_find(struct driver *driver,
                                     const struct session_options *sampling, struct err *err);
/* Starts the session of the interpreters that driver_find found. */
MUST_CHECK enum err_code driver_begin(struct driver *driver, struct err *err);

/* Waits as signals_wait does without a timeout, and prints the line of --realtime-stats meanwhile. */
enum signals_event driver_wait(struct driver *driver, int fd);
/* Serves until the user stops it, then stops sampling.  If sampling ends earlier, says so and goes on
 * serving.  program: asked whether it has ended, until the user stops us; NULL: none. */
MUST_CHECK enum err_code driver_serve(struct driver *driver, struct program *program,
                                      struct err *err);

/* Replaces the session, whose processes go on, by a new one with these options.  No capture and no page may show it.
 * between: called while none runs.  Errors as of driver_find; ERR_SYS also if the session does not end. */
MUST_CHECK enum err_code driver_renew(struct driver *driver,
                                      const struct session_options *sampling,
                                      driver_between *between, void *context, struct err *err);

/* Ends sampling and waits for that; also sets driver->ending. */
enum driver_ending driver_stop(struct driver *driver);
/* Sends what is left to be pushed, until it is sent, time is over, or a signal comes, which stays unread. */
void driver_end_push(struct driver *driver);
/* A second call does nothing.  If sampling hangs it does not touch the capture, because the sampling
 * thread may still write it. */
MUST_CHECK enum err_code driver_finish(struct driver *driver, struct err *err);

int driver_end(struct driver *driver, enum err_code rc, const struct err *err);
/* If closing hangs, ends the process with `status`. */
void driver_close(struct driver *driver, int status);

#endif /* SERVER_COMMAND_DRIVER_H */
