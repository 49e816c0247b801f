/*
 * driver - runs the one session of attach, run, record and top: opens its outputs, starts
 * sampling, waits, and closes in the right order.
 *
 *     driver_open      opens what may fail or needs rights, before anything is sampled
 *     driver_start     drops rights, finds the interpreters, starts sampling
 *     driver_serve     attach and run: until the user stops; the others use driver_wait
 *     driver_stop      ends sampling
 *     driver_finish    says how sampling went, completes the capture and the quality file
 *     driver_end       says what failed and gives the exit status
 *     driver_close
 *
 * The command fills the first three fields; the rest is zero until driver_open.  driver_end and
 * driver_close may be called after any failure.
 *
 * Ownership: the caller's storage, which must not move; the driver owns everything it opens.
 * Threads: the main one.
 * Depends on: live, options, output, process, access/audit, sessions.
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
#include "server/command/process/signals.h"

struct child;
struct options;
struct sampler_options;
struct session;
struct sessions;

/* How sampling ended.  IMPATIENT: the user did not wait for it.  HANGS: a target keeps the sampling
 * thread in the kernel; its samples so far are there, and nothing of the session may be freed. */
enum driver_ending { DRIVER_ENDED, DRIVER_IMPATIENT, DRIVER_HANGS };

struct driver {
    const struct options *options;
    bool serves;       /* shows the session in the browser */
    bool reads_source; /* starts the helper that reads source files */

    struct signals signals;
    struct live live;          /* if it serves */
    struct sessions *sessions; /* borrowed from live if it serves */
    struct session *session;   /* NULL: sampling has not started */
    struct sampler *sampler;   /* of the session */
    struct capture_output capture;
    struct output quality; /* the file of --quality */
    struct run_summary summary;
    struct audit audit;
    char id[12];     /* of the session, for the audit log */
    bool is_audited; /* the start is logged, the end is not */
    enum driver_ending ending;
    bool is_finished;
};

MUST_CHECK enum err_code driver_open(struct driver *driver, struct err *err);

/* privilege_drop, driver_find and driver_begin. */
MUST_CHECK enum err_code driver_start(struct driver *driver,
                                      const struct sampler_options *sampling, struct err *err);
/* Finds the interpreters.  A signal ends it, even if a target hangs.  Errors as of sampler_start;
 * ERR_SYS also if the user stopped it: signals.stopped_by is set then. */
MUST_CHECK enum err_code driver_find(struct driver *driver,
                                     const struct sampler_options *sampling, struct err *err);
/* Makes a session of what driver_find found. */
MUST_CHECK enum err_code driver_begin(struct driver *driver, struct err *err);

/* As signals_wait without a timeout; writes the line of --realtime-stats meanwhile. */
enum signals_event driver_wait(struct driver *driver, int fd);
/* Serves until the user stops, then stops sampling.  If sampling ends before, only says so.
 * child: collected once it has ended; NULL: none. */
MUST_CHECK enum err_code driver_serve(struct driver *driver, struct child *child,
                                      struct err *err);

/* Ends sampling and waits until it has ended; sets driver->ending, too. */
enum driver_ending driver_stop(struct driver *driver);
/* The second call does nothing.  Leaves the capture as it is if sampling hangs, as its thread may
 * still write. */
MUST_CHECK enum err_code driver_finish(struct driver *driver, struct err *err);

int driver_end(struct driver *driver, enum err_code rc, const struct err *err);
/* Ends the process with `status` if that hangs. */
void driver_close(struct driver *driver, int status);

#endif /* SERVER_COMMAND_DRIVER_H */
