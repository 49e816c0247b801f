#include "server/command/launch.h"

#include <inttypes.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/session.h"
#include "server/command/driver.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/command/process/process_launcher.h"
#include "server/command/process/signals.h"

enum { DEADLINE_MS = 5000, LATE_PAUSE_MS = 500, LASTING_MS = 20, UNSUPPORTED_MS = 200 };

/* Pauses between two searches of a program that starts: a twentieth of the time that it has run, from 1 to 50 ms. */
enum { PAUSES_IN_TIME = 20, LEAST_PAUSE_MS = 1, MOST_PAUSE_MS = 50 };

void launch_init(struct launch *launch, struct driver *driver)
{
    *launch =
        (struct launch){ .options = driver->options, .driver = driver, .program.socket = -1 };
    driver->launcher_out = &launch->program.socket;
}

/* A program that is still starting is not recognized yet, or changes while it is read: its interpreter does not say its
 * version yet, or lies where another one did. */
static bool may_become_python(enum err_code code)
{
    return code == ERR_NOT_PYTHON || code == ERR_UNSUPPORTED || code == ERR_GONE ||
           code == ERR_FAULT || code == ERR_CORRUPT;
}

/* A verdict on the program that starts, which must hold for some time: a program that ends looks like no Python for a
 * moment, and one that begins like an unsupported one. */
struct verdict {
    enum err_code code;
    struct err why;
    uint64_t since_ns;
    bool lasts;
};

/* An interpreter that loads looks like no Python: for long, on a busy machine. */
static bool is_named_python(const char *program)
{
    const char *const slash = strrchr(program, '/');
    return strncmp(slash ? slash + 1 : program, "python", strlen("python")) == 0;
}

static enum err_code ended_too_soon(const struct launch *launch, uint64_t began_ns,
                                    const struct verdict *verdict, struct err *err)
{
    const bool is_other = verdict->lasts && verdict->code == ERR_NOT_PYTHON &&
                          !is_named_python(process_launcher_program(launch->options));
    const bool is_unsupported = verdict->lasts && verdict->code == ERR_UNSUPPORTED;
    return err_set(err, is_unsupported ? ERR_UNSUPPORTED : ERR_NOT_PYTHON,
                   "'%s' ended (status %d) after %" PRIu64 " ms, before its first sample%s%s%s",
                   launch->options->target[0], program_exit_status(&launch->program),
                   (uint64_t)((clock_now_ns() - began_ns) / NS_PER_MS),
                   is_other || is_unsupported ? ": " : "",
                   is_other         ? "it ran no Python itself"
                   : is_unsupported ? verdict->why.message
                                    : "",
                   is_other && !launch->options->sampling.subprocesses
                       ? "; use --subprocesses to sample its child processes"
                       : "");
}

/* The program continues, whether it can be sampled or not. */
static void say_not_sampled_yet(const struct launch *launch, enum err_code code,
                                const char *why)
{
    if (code == ERR_NOT_PYTHON)
        say("'%s' does not run Python yet: sampling starts when it does; use --subprocesses to "
            "sample its child processes",
            launch->options->target[0]);
    else
        say("'%s' cannot be sampled yet: %s", launch->options->target[0], why);
}

static enum err_code start_sampler(struct launch *launch, struct err *err)
{
    struct session_options sampling = launch->options->sampling;
    const uint64_t began_ns = clock_now_ns();
    /* With --subprocesses a program that is not Python may start a Python child at any time. */
    uint64_t late_ns = sampling.subprocesses ? UINT64_MAX : began_ns + DEADLINE_MS * NS_PER_MS;
    int most_ms = MOST_PAUSE_MS;
    struct verdict verdict = { .code = ERR_OK };
    sampling.pids[0] = launch->program.pid;
    sampling.pid_count = 1;
    sampling.since_ns = began_ns;
    sampling.adopter = sampling.subprocesses ? launch->driver->launcher : 0;
    for (;;) {
        const uint64_t tried_ns = clock_now_ns();
        const enum err_code rc = driver_find(launch->driver, &sampling, err);
        if (!rc)
            return rc;
        /* Before it runs Python, no tick is due. */
        if (rc == ERR_NOT_PYTHON)
            sampling.since_ns = tried_ns;
        if (rc != ERR_GONE) {
            if (rc != verdict.code)
                verdict.since_ns = tried_ns;
            verdict.code = rc;
            verdict.why = *err;
            verdict.lasts =
                rc == ERR_UNSUPPORTED
                    ? clock_now_ns() - verdict.since_ns >= UNSUPPORTED_MS * NS_PER_MS
                    : tried_ns - verdict.since_ns >= LASTING_MS * NS_PER_MS;
        }
        if (program_check(&launch->program))
            return ended_too_soon(launch, began_ns, &verdict, err);
        if (launch->driver->signals.stopped_by || !may_become_python(rc))
            return rc;
        const uint64_t now_ns = clock_now_ns();
        if (now_ns >= late_ns) {
            say_not_sampled_yet(launch, rc, err->message);
            late_ns = UINT64_MAX;
            most_ms = LATE_PAUSE_MS;
        }
        const uint64_t pause_ms = (now_ns - began_ns) / NS_PER_MS / PAUSES_IN_TIME;
        const int wait_ms = pause_ms < LEAST_PAUSE_MS      ? LEAST_PAUSE_MS
                            : pause_ms > (uint64_t)most_ms ? most_ms
                                                           : (int)pause_ms;
        if (signals_wait(&launch->driver->signals, -1, wait_ms) == SIGNALS_STOP)
            return err_set(err, ERR_SYS, "stopped before the program ran Python");
    }
}

enum err_code launch_start(struct launch *launch, struct err *err)
{
    /* The kernel engine takes a moment to load; by now it has, so no part of the program is missed.
     * */
    struct session_options wanted = launch->options->sampling;
    struct err why = { 0 };
    wanted.engines = launch->driver->engines;
    if (wanted.engine != SESSION_ENGINE_REMOTE)
        (void)!session_check_engine(&wanted, &why);

    enum err_code rc =
        program_start(&launch->program, process_launcher_program(launch->options), err);
    if (!rc)
        rc = privilege_drop(launch->options, err);
    if (!rc) {
        rc = start_sampler(launch, err);
        launch->is_unsampled = rc;
    }
    return rc ? rc : driver_begin(launch->driver, err);
}

void launch_wait(struct launch *launch)
{
    while (!program_check(&launch->program) && launch->program.socket >= 0 &&
           signals_wait(&launch->driver->signals, launch->program.socket, -1) != SIGNALS_STOP)
        ;
}

void launch_go_on(struct launch *launch, const struct err *err)
{
    if (!launch->program.pid || program_check(&launch->program) ||
        launch->driver->signals.stopped_by)
        return;
    say("%s: '%s' goes on without being sampled", err->message, launch->options->target[0]);
    launch_wait(launch);
}
