#include <signal.h>
#include <stdlib.h>

#include "sampler/base/clock.h"
#include "sampler/sampler.h"
#include "server/command/live.h"
#include "server/command/options/commands.h"
#include "server/command/options/options.h"
#include "server/command/output/capture_output.h"
#include "server/command/output/run_summary.h"
#include "server/command/process/child.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/command/process/signals.h"
#include "server/command/process/starting.h"
#include "server/sessions/leave.h"
#include "server/source/helper.h"

enum {
    PATIENCE_MS = 5000,
    FIND_FIRST_PAUSE_MS = 1,
    FIND_MAX_PAUSE_MS = 50,
    LATE_PAUSE_MS = 500
};

struct run {
    const struct options *options;
    struct signals signals;
    struct live live;
    struct run_summary summary;
    struct capture_output capture;
    struct child child;
    struct sampler *sampler;
    bool ended_by_itself; /* the child, before the user stopped us */
    bool ended_unseen;    /* and before there was an interpreter in it */
};

/* The words to execute: the user's command, or an interpreter and the user's target. */
static enum err_code start_child(struct run *run, struct err *err)
{
    static char python[] = "python3", module[] = "-m";
    const struct options *const options = run->options;
    size_t count = 0, at = 0;
    if (options->runs_command)
        return child_start(&run->child, options->target, &run->signals, err);
    while (options->target[count])
        count++;
    char **const argv = calloc(count + 3, sizeof *argv);
    if (!argv)
        return err_nomem(err);
    argv[at++] = options->python ? (char *)(uintptr_t)options->python : python;
    if (options->runs_module)
        argv[at++] = module;
    for (size_t i = 0; i < count; i++)
        argv[at++] = options->target[i];
    const enum err_code rc = child_start(&run->child, argv, &run->signals, err);
    free(argv);
    return rc;
}

/* A program that is still starting looks like none, or changes under our eyes. */
static bool may_yet_come(enum err_code code)
{
    return code == ERR_NOT_PYTHON || code == ERR_GONE || code == ERR_FAULT ||
           code == ERR_CORRUPT;
}

static enum err_code ended_too_soon(struct run *run, struct err *err)
{
    run->ended_unseen = true;
    return err_set(err, ERR_NOT_PYTHON,
                   "'%s' ended (status %d) before a Python interpreter was seen in it%s",
                   run->options->target[0], child_exit_status(&run->child),
                   run->options->sampling.subprocesses
                       ? ""
                       : "; use --subprocesses to sample what it starts");
}

/* The program is the user's, and goes on whatever we see of it. */
static void say_unseen(const struct run *run)
{
    say("no Python interpreter was seen in '%s' yet: it goes on, and is sampled once it is one; use "
        "--subprocesses to sample what it starts",
        run->options->target[0]);
}

static enum err_code start_sampler(struct run *run, struct err *err)
{
    struct sampler_options sampling = run->options->sampling;
    /* What is no Python may start one at any time. */
    uint64_t late_ns =
        sampling.subprocesses ? UINT64_MAX : clock_now_ns() + PATIENCE_MS * NS_PER_MS;
    int pause_ms = FIND_FIRST_PAUSE_MS, most_ms = FIND_MAX_PAUSE_MS;
    sampling.pids[0] = run->child.pid;
    sampling.pid_count = 1;
    sampling.adopts = sampling.subprocesses;
    sampling.helper = source_helper_pid();
    sampling.sink = capture_output_sink(&run->capture);
    for (;;) {
        const enum err_code rc = starting_sampler(&sampling, &run->signals, &run->sampler, err);
        if (rc == ERR_OK)
            return rc;
        if (child_reap(&run->child))
            return ended_too_soon(run, err);
        if (run->signals.stopped_by || !may_yet_come(rc))
            return rc;
        if (clock_now_ns() >= late_ns) {
            say_unseen(run);
            late_ns = UINT64_MAX;
            most_ms = LATE_PAUSE_MS;
        }
        if (signals_wait(&run->signals, -1, pause_ms) == SIGNALS_STOP)
            return err_set(err, ERR_SYS, "stopped before a Python interpreter was seen");
        pause_ms = pause_ms * 2 < most_ms ? pause_ms * 2 : most_ms;
    }
}

static enum err_code start(struct run *run, struct err *err)
{
    enum err_code rc = signals_init(&run->signals, err);
    if (rc == ERR_OK)
        rc = run_summary_open(&run->summary, run->options, err);
    if (rc == ERR_OK)
        rc = capture_output_open(&run->capture, run->options, err);
    if (rc == ERR_OK)
        rc = live_open(&run->live, run->options, &run->signals, err);
    if (run->options->sampling.subprocesses)
        child_adopt_orphans();
    if (rc == ERR_OK)
        rc = start_child(run, err);
    if (rc == ERR_OK)
        rc = privilege_drop(run->options, err);
    if (rc == ERR_OK)
        rc = start_sampler(run, err);
    if (rc != ERR_OK)
        return rc;
    rc = live_start(&run->live, run->options, run->sampler, err);
    if (rc != ERR_OK)
        return rc;
    run_summary_begin(&run->summary, live_session(&run->live));
    return capture_output_begin(&run->capture, run->sampler, err);
}

static enum err_code serve(struct run *run, struct err *err)
{
    enum err_code rc = ERR_OK;
    int end_fd = sampler_end_fd(run->sampler);
    enum signals_event event = SIGNALS_TIMEOUT;
    while ((event = run_summary_wait(&run->summary, &run->signals, end_fd)) != SIGNALS_STOP) {
        run->ended_by_itself = child_reap(&run->child);
        if (event == SIGNALS_READABLE) {
            rc = live_finish(&run->live, &run->summary, &run->capture, err);
            end_fd = -1;
        }
    }
    if (!run->summary.is_finished &&
        run_summary_stop(&run->summary, &run->signals) == RUN_SUMMARY_ENDED)
        rc = run_summary_finish(&run->summary, &run->capture, err);
    return rc;
}

int command_run(const struct options *options)
{
    struct run run = { .options = options,
                       .live.listener.fd = -1,
                       .signals.fd = -1,
                       .summary = RUN_SUMMARY_NONE,
                       .capture = CAPTURE_OUTPUT_NONE };
    struct err err = { 0 };
    enum err_code rc = options->report.no_source ? ERR_OK : source_helper_start(&err);
    if (rc == ERR_OK)
        rc = start(&run, &err);
    if (rc == ERR_OK)
        rc = serve(&run, &err);
    child_end(&run.child, &run.signals);
    signals_deinit(&run.signals);
    run_summary_close(&run.summary);
    const int own = exit_with(rc, &err);
    const int status = run.ended_unseen || (rc == ERR_OK && run.ended_by_itself)
                           ? child_exit_status(&run.child)
                           : own;
    leave_within(LEAVE_MS, status);
    capture_output_close(&run.capture);
    live_close(&run.live);
    return status;
}
