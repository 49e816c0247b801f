#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/states.h"
#include "sampler/profile/views/view.h"
#include "sampler/session.h"
#include "server/command/command.h"
#include "server/command/driver.h"
#include "server/command/launch.h"
#include "server/command/options/options.h"
#include "server/command/output/exports.h"
#include "server/command/process/exit.h"
#include "server/report/report.h"
#include "server/sessions/sessions.h"
#include "server/wire/session.h"

enum { STATUS_MS = 50 };

struct record {
    const struct options *options;
    struct driver driver;
    struct launch launch; /* of the COMMAND, if there is one */
    struct exports exports;
};

static enum err_code start_recording(struct record *record, struct err *err)
{
    enum err_code rc = driver_open(&record->driver, err);
    if (!rc) {
        /* Default file names contain the process id and the time. */
        const struct session_target target = { .pid = record->options->sampling.pids[0] };
        const struct session_info info = { .target = &target,
                                           .status.started_at_ns = clock_wall_ns() };
        rc = exports_open(&record->exports, record->options, &record->options->view.filters,
                          &info, err);
        if (!rc && record->driver.capture.live)
            rc = exports_check(&record->exports, &record->driver.capture.place, err);
        if (!rc && record->options->quality_file)
            rc = exports_check(&record->exports, &record->driver.quality.place, err);
    }
    if (rc)
        return rc;
    return record->options->target
               ? launch_start(&record->launch, err)
               : driver_start(&record->driver, &record->options->sampling, err);
}

/* Ends by the signal itself, so that the parent process sees it. */
static _Noreturn void end_at_once(struct record *record)
{
    const int signal = record->driver.signals.stopped_by;
    run_summary_end_line(&record->driver.summary);
    exports_close(&record->exports);
    (void)driver_end(&record->driver, ERR_OK, NULL);
    (void)raise(signal);
    _exit(128 + signal);
}

/* A descriptor that is readable when one of both is; -1: there is none. */
static int watch_both(int a, int b)
{
    struct epoll_event event = { .events = EPOLLIN };
    const int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd >= 0 && epoll_ctl(fd, EPOLL_CTL_ADD, a, &event) == 0 &&
        epoll_ctl(fd, EPOLL_CTL_ADD, b, &event) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Has the COMMAND children that are sampled, and may go on for longer? */
static bool has_children(const struct record *record)
{
    return record->options->target && record->options->sampling.subprocesses;
}

/* Samples until the session ends.  The first signal ends it cleanly, a second one at once.  A COMMAND ends before the
 * session does. */
static void sample_target(struct record *record)
{
    struct driver *const driver = &record->driver;

    /* Until the session or the COMMAND ends, or the user stops them. */
    struct program *const program = &record->launch.program;
    const int end_fd = session_end_fd(driver->session);
    const int both_fd = has_children(record) ? watch_both(end_fd, program->socket) : -1;
    enum signals_event event = SIGNALS_TIMEOUT;
    while (event != SIGNALS_READABLE && event != SIGNALS_STOP)
        event = driver_wait(driver, both_fd >= 0 ? both_fd : end_fd);
    if (both_fd >= 0)
        close(both_fd);
    /* Its status comes a moment later. */
    if (event != SIGNALS_STOP && record->options->target && !program_check(program))
        event = signals_wait(&driver->signals, program->socket, STATUS_MS);
    const bool is_stopped = event == SIGNALS_STOP;

    if (is_stopped)
        program_end(&record->launch.program, &driver->signals);
    if ((is_stopped || has_children(record)) && driver_stop(driver) == DRIVER_IMPATIENT)
        end_at_once(record);
    driver_end_push(driver);
    /* Writing to a slow disk may take long, so from now on a signal ends the program at once. */
    if (!record->options->target || program_check(&record->launch.program)) {
        signals_forget(&driver->signals);
        signals_deinit(&driver->signals);
    }
}

static enum err_code finish_recording(struct record *record, struct err *err)
{
    const struct view_query everything = { 0 };
    struct session_entry *const entry = record->driver.entry;
    struct profile_snapshot snapshot;
    struct session_info info;
    enum err_code rc = profile_snapshot(session_entry_profile(entry), &snapshot, err);
    if (rc)
        return rc;
    session_entry_describe(entry, &snapshot, &info);
    const struct report_source source = { .snapshot = &snapshot,
                                          .query = &everything,
                                          .session = &info,
                                          .settings = record->options->report,
                                          .files = session_entry_files(entry) };
    rc = driver_finish(&record->driver, err);
    if (!rc && snapshot.measures)
        rc = exports_take_measure(&record->exports, record->options, &snapshot, err);
    if (exports_write(&record->exports, &source, &record->driver.written, !rc ? err : NULL) &&
        !rc)
        rc = err->code;

    const enum session_state state = info.status.state;
    struct states states;
    if (*info.status.reason && state == SESSION_FAILED)
        say("%s", info.status.reason);
    if (!states_init(&states, info.snapshot, &everything, NULL)) {
        run_summary_say_end(&info, &states, &record->driver.written);
        states_deinit(&states);
    }

    if (!rc && !snapshot.measures) {
        rc = err_set(err, ERR_NOT_FOUND, "no samples were captured%s",
                     snapshot.quality.filtered > 0        ? ": --mode left out every sample"
                     : snapshot.quality.stops_refused > 0 ? ": the kernel refused every stop"
                                                          : "");
        /* A COMMAND of a moment may have none, and its file is there. */
        if (record->options->target) {
            say("%s", err->message);
            rc = ERR_OK;
        }
    }
    profile_snapshot_release(&snapshot);
    return rc;
}

/* A capture contains source text, and some formats do, or say where native code is defined. */
static bool wants_texts(const struct options *options)
{
    const bool has_native = options->sampling.native == SESSION_NATIVE_FULL;
    bool wants = options->wants_capture;
    for (size_t i = 0; i < options->format_count; i++) {
        const struct report_format *const format = options->formats[i].format;
        wants |= report_is_page(format) || (format->has_places && has_native);
    }
    return wants;
}

int command_record(const struct options *options)
{
    struct record record = { .options = options,
                             .driver = { .options = options,
                                         .reads_source = !options->report.no_source,
                                         .omits_texts = !wants_texts(options),
                                         .shows_progress = !options->target,
                                         .ends_later = true },
                             .launch.program.socket = -1 };
    struct err err = { 0 };
    if (options->target)
        launch_init(&record.launch, &record.driver);
    enum err_code rc = start_recording(&record, &err);
    if (!rc) {
        sample_target(&record);
        rc = finish_recording(&record, &err);
        if (options->target)
            launch_wait(&record.launch);
    } else if (record.launch.is_unsampled) {
        launch_go_on(&record.launch, &err);
    }
    program_end(&record.launch.program, &record.driver.signals);
    exports_close(&record.exports);
    const int driver_status = driver_end(&record.driver, rc, &err);
    /* The status of the COMMAND.  If all went well there, but not here, the output is missing. */
    const struct program *const program = &record.launch.program;
    const int own = program->has_ended ? program_exit_status(program) : 0;
    const int status = own == 0 ? driver_status : own;
    driver_close(&record.driver, status);
    return status;
}
