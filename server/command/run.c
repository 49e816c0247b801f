#include <stdlib.h>

#include "sampler/base/clock.h"
#include "sampler/sampler.h"
#include "server/command/driver.h"
#include "server/command/options/commands.h"
#include "server/command/options/options.h"
#include "server/command/process/child.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/source/helper.h"

enum {
    PATIENCE_MS = 5000,
    FIND_FIRST_PAUSE_MS = 1,
    FIND_MAX_PAUSE_MS = 50,
    LATE_PAUSE_MS = 500
};

struct run {
    const struct options *options;
    struct driver driver;
    struct child child;
    bool ended_before_python; /* the child ended before it ran Python */
};

/* Executes the user's command, or an interpreter with the user's script or module. */
static enum err_code start_child(struct run *run, struct err *err)
{
    static char python[] = "python3", module[] = "-m";
    const struct options *const options = run->options;
    size_t count = 0, at = 0;
    if (options->runs_command)
        return child_start(&run->child, options->target, &run->driver.signals, err);
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
    const enum err_code rc = child_start(&run->child, argv, &run->driver.signals, err);
    free(argv);
    return rc;
}

/* A program that is still starting is not recognized yet, or changes while it is read. */
static bool may_become_python(enum err_code code)
{
    return code == ERR_NOT_PYTHON || code == ERR_GONE || code == ERR_FAULT ||
           code == ERR_CORRUPT;
}

static enum err_code ended_too_soon(struct run *run, struct err *err)
{
    run->ended_before_python = true;
    return err_set(err, ERR_NOT_PYTHON, "'%s' ended (status %d) before it ran Python%s",
                   run->options->target[0], child_exit_status(&run->child),
                   run->options->sampling.subprocesses
                       ? ""
                       : ": use --subprocesses to sample its child processes");
}

/* The program continues, whether it can be sampled or not. */
static void say_not_python_yet(const struct run *run)
{
    say("'%s' does not run Python yet: sampling starts when it does; use --subprocesses to sample "
        "its child processes",
        run->options->target[0]);
}

static enum err_code start_sampler(struct run *run, struct err *err)
{
    struct sampler_options sampling = run->options->sampling;
    /* With --subprocesses a program that is not Python may start a Python child at any time. */
    uint64_t late_ns =
        sampling.subprocesses ? UINT64_MAX : clock_now_ns() + PATIENCE_MS * NS_PER_MS;
    int pause_ms = FIND_FIRST_PAUSE_MS, most_ms = FIND_MAX_PAUSE_MS;
    sampling.pids[0] = run->child.pid;
    sampling.pid_count = 1;
    sampling.adopts = sampling.subprocesses;
    sampling.helper = source_helper_pid();
    for (;;) {
        const enum err_code rc = driver_find(&run->driver, &sampling, err);
        if (rc == ERR_OK)
            return rc;
        if (child_reap(&run->child))
            return ended_too_soon(run, err);
        if (run->driver.signals.stopped_by || !may_become_python(rc))
            return rc;
        if (clock_now_ns() >= late_ns) {
            say_not_python_yet(run);
            late_ns = UINT64_MAX;
            most_ms = LATE_PAUSE_MS;
        }
        if (signals_wait(&run->driver.signals, -1, pause_ms) == SIGNALS_STOP)
            return err_set(err, ERR_SYS, "stopped before the program ran Python");
        pause_ms = pause_ms * 2 < most_ms ? pause_ms * 2 : most_ms;
    }
}

static enum err_code start(struct run *run, struct err *err)
{
    enum err_code rc = driver_open(&run->driver, err);
    if (run->options->sampling.subprocesses)
        child_adopt_orphans();
    if (rc == ERR_OK)
        rc = start_child(run, err);
    if (rc == ERR_OK)
        rc = privilege_drop(run->options, err);
    if (rc == ERR_OK)
        rc = start_sampler(run, err);
    return rc == ERR_OK ? driver_begin(&run->driver, err) : rc;
}

/* Returns the status of the child if it ended before the user stopped pyrometer. */
int command_run(const struct options *options)
{
    struct run run = { .options = options,
                       .driver = { .options = options,
                                   .serves = true,
                                   .reads_source = !options->report.no_source } };
    struct err err = { 0 };
    enum err_code rc = start(&run, &err);
    if (rc == ERR_OK)
        rc = driver_serve(&run.driver, &run.child, &err);
    const bool has_child_status =
        run.ended_before_python || (rc == ERR_OK && run.child.has_ended);
    child_end(&run.child, &run.driver.signals);
    const int driver_status = driver_end(&run.driver, rc, &err);
    const int status = has_child_status ? child_exit_status(&run.child) : driver_status;
    driver_close(&run.driver, status);
    return status;
}
