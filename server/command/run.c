#include "sampler/base/clock.h"
#include "sampler/sampler.h"
#include "server/command/driver.h"
#include "server/command/options/commands.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/command/process/process_launcher.h"
#include "server/command/process/program.h"

enum {
    PATIENCE_MS = 5000,
    FIND_FIRST_PAUSE_MS = 1,
    FIND_MAX_PAUSE_MS = 50,
    LATE_PAUSE_MS = 500
};

struct run {
    const struct options *options;
    struct driver driver;
    struct program program;
    bool ended_before_python; /* the program ended before it ran Python */
};

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
                   run->options->target[0], program_exit_status(&run->program),
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
    sampling.pids[0] = run->program.pid;
    sampling.pid_count = 1;
    for (;;) {
        const enum err_code rc = driver_find(&run->driver, &sampling, err);
        if (rc == ERR_OK)
            return rc;
        if (program_check(&run->program))
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
    if (rc == ERR_OK)
        rc = program_start(&run->program, process_launcher_program(run->options), err);
    if (rc == ERR_OK)
        rc = privilege_drop(run->options, err);
    if (rc == ERR_OK)
        rc = start_sampler(run, err);
    return rc == ERR_OK ? driver_begin(&run->driver, err) : rc;
}

/* Returns the status of the program if it ended before the user stopped pyrometer. */
int command_run(const struct options *options)
{
    struct run run = { .options = options,
                       .driver = { .options = options, .serves = true, .has_reader = true },
                       .program.socket = -1 };
    struct err err = { 0 };
    run.driver.launcher_out = &run.program.socket;
    enum err_code rc = start(&run, &err);
    if (rc == ERR_OK)
        rc = driver_serve(&run.driver, &run.program, &err);
    const bool has_status = run.ended_before_python || (rc == ERR_OK && run.program.has_ended);
    program_end(&run.program, &run.driver.signals);
    const int driver_status = driver_end(&run.driver, rc, &err);
    const int status = has_status ? program_exit_status(&run.program) : driver_status;
    driver_close(&run.driver, status);
    return status;
}
