#include <inttypes.h>

#include "sampler/base/clock.h"
#include "sampler/sampler.h"
#include "server/command/driver.h"
#include "server/command/options/commands.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/command/process/process_launcher.h"
#include "server/command/process/program.h"

enum { PATIENCE_MS = 5000, LATE_PAUSE_MS = 500, LASTING_MS = 20, UNSUPPORTED_MS = 200 };

/* Pauses between two searches of a program that starts: a twentieth of the time that it has run, from 1 to 50 ms. */
enum { PAUSES_IN_TIME = 20, LEAST_PAUSE_MS = 1, MOST_PAUSE_MS = 50 };

struct run {
    const struct options *options;
    struct driver driver;
    struct program program;
    bool is_unsampled; /* for a reason that is not ours to mend */
};

/* A program that is still starting is not recognized yet, or changes while it is read: its interpreter does not say its
 * version yet, or lies where another one did. */
static bool may_become_python(enum err_code code)
{
    return code == ERR_NOT_PYTHON || code == ERR_UNSUPPORTED || code == ERR_GONE ||
           code == ERR_FAULT || code == ERR_CORRUPT;
}

/* What was found of the program that starts, for some time.  One that ends looks like no Python for a moment, and one
 * that begins like an unsupported one. */
struct verdict {
    enum err_code code;
    struct err why;
    uint64_t since_ns;
    bool lasts;
};

static void note_verdict(struct verdict *verdict, enum err_code code, const struct err *why,
                         uint64_t now_ns)
{
    if (code == ERR_GONE)
        return;
    if (code != verdict->code)
        verdict->since_ns = now_ns;
    verdict->code = code;
    verdict->why = *why;
    verdict->lasts = code == ERR_UNSUPPORTED
                         ? clock_now_ns() - verdict->since_ns >= UNSUPPORTED_MS * NS_PER_MS
                         : now_ns - verdict->since_ns >= LASTING_MS * NS_PER_MS;
}

static enum err_code ended_too_soon(const struct run *run, uint64_t began_ns,
                                    const struct verdict *verdict, struct err *err)
{
    const bool is_other = verdict->lasts && verdict->code == ERR_NOT_PYTHON;
    const bool is_unsupported = verdict->lasts && verdict->code == ERR_UNSUPPORTED;
    return err_set(err, is_unsupported ? ERR_UNSUPPORTED : ERR_NOT_PYTHON,
                   "'%s' ended (status %d) after %" PRIu64 " ms, before its first sample%s%s%s",
                   run->options->target[0], program_exit_status(&run->program),
                   (uint64_t)((clock_now_ns() - began_ns) / NS_PER_MS),
                   is_other || is_unsupported ? ": " : "",
                   is_other         ? "it ran no Python itself"
                   : is_unsupported ? verdict->why.message
                                    : "",
                   is_other && !run->options->sampling.subprocesses
                       ? "; use --subprocesses to sample its child processes"
                       : "");
}

/* The program continues, whether it can be sampled or not. */
static void say_not_sampled_yet(const struct run *run, enum err_code code, const char *why)
{
    if (code == ERR_NOT_PYTHON)
        say("'%s' does not run Python yet: sampling starts when it does; use --subprocesses to "
            "sample its child processes",
            run->options->target[0]);
    else
        say("'%s' cannot be sampled yet: %s", run->options->target[0], why);
}

static enum err_code start_sampler(struct run *run, struct err *err)
{
    struct sampler_options sampling = run->options->sampling;
    const uint64_t began_ns = clock_now_ns();
    /* With --subprocesses a program that is not Python may start a Python child at any time. */
    uint64_t late_ns = sampling.subprocesses ? UINT64_MAX : began_ns + PATIENCE_MS * NS_PER_MS;
    int most_ms = MOST_PAUSE_MS;
    struct verdict verdict = { .code = ERR_OK };
    sampling.pids[0] = run->program.pid;
    sampling.pid_count = 1;
    sampling.since_ns = began_ns;
    for (;;) {
        const uint64_t tried_ns = clock_now_ns();
        const enum err_code rc = driver_find(&run->driver, &sampling, err);
        if (rc == ERR_OK)
            return rc;
        /* Before it runs Python, no tick is due. */
        if (rc == ERR_NOT_PYTHON)
            sampling.since_ns = tried_ns;
        note_verdict(&verdict, rc, err, tried_ns);
        if (program_check(&run->program))
            return ended_too_soon(run, began_ns, &verdict, err);
        if (run->driver.signals.stopped_by || !may_become_python(rc))
            return rc;
        const uint64_t now_ns = clock_now_ns();
        if (now_ns >= late_ns) {
            say_not_sampled_yet(run, rc, err->message);
            late_ns = UINT64_MAX;
            most_ms = LATE_PAUSE_MS;
        }
        const uint64_t pause_ms = (now_ns - began_ns) / NS_PER_MS / PAUSES_IN_TIME;
        const int wait_ms = pause_ms < LEAST_PAUSE_MS      ? LEAST_PAUSE_MS
                            : pause_ms > (uint64_t)most_ms ? most_ms
                                                           : (int)pause_ms;
        if (signals_wait(&run->driver.signals, -1, wait_ms) == SIGNALS_STOP)
            return err_set(err, ERR_SYS, "stopped before the program ran Python");
    }
}

/* The kernel engine takes a moment to load; by now it has, so no part of the program is missed. */
static void wait_for_engine(const struct run *run)
{
    struct err why = { 0 };
    if (run->options->sampling.engine != SAMPLER_ENGINE_REMOTE)
        (void)!sampler_check_engine(&run->options->sampling, &why);
}

static enum err_code start(struct run *run, struct err *err)
{
    enum err_code rc = driver_open(&run->driver, err);
    if (rc == ERR_OK)
        wait_for_engine(run);
    if (rc == ERR_OK)
        rc = program_start(&run->program, process_launcher_program(run->options), err);
    if (rc == ERR_OK)
        rc = privilege_drop(run->options, err);
    if (rc == ERR_OK) {
        rc = start_sampler(run, err);
        run->is_unsampled = rc != ERR_OK;
    }
    return rc == ERR_OK ? driver_begin(&run->driver, err) : rc;
}

/* A program that cannot be sampled is not ended for it. */
static void go_on_without_sampling(struct run *run, const struct err *err)
{
    struct signals *const signals = &run->driver.signals;
    if (!run->program.pid || program_check(&run->program) || signals->stopped_by)
        return;
    say("%s: '%s' goes on without being sampled", err->message, run->options->target[0]);
    while (!program_check(&run->program) &&
           signals_wait(signals, run->program.socket, -1) != SIGNALS_STOP)
        ;
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
    const bool is_sampled = rc == ERR_OK;
    if (is_sampled)
        rc = driver_serve(&run.driver, &run.program, &err);
    else if (run.is_unsampled)
        go_on_without_sampling(&run, &err);
    const bool has_status = run.program.has_ended && (rc == ERR_OK || !is_sampled);
    program_end(&run.program, &run.driver.signals);
    const int driver_status = driver_end(&run.driver, rc, &err);
    const int status = has_status ? program_exit_status(&run.program) : driver_status;
    driver_close(&run.driver, status);
    return status;
}
