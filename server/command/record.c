#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "sampler/sampler.h"
#include "server/command/driver.h"
#include "server/command/options/commands.h"
#include "server/command/options/options.h"
#include "server/command/output/exports.h"
#include "server/command/process/exit.h"
#include "server/report/report.h"
#include "server/sessions/sessions.h"
#include "server/wire/session.h"

struct record {
    const struct options *options;
    struct driver driver;
    struct exports exports;
};

/* Default file names contain the process id and the time. */
static enum err_code open_outputs(struct record *record, struct err *err)
{
    const struct sampler_target target = { .pid = record->options->sampling.pids[0] };
    const struct session_info info = { .target = &target,
                                       .status.started_at_ns = clock_wall_ns() };
    enum err_code rc = exports_open(&record->exports, record->options,
                                    &record->options->view.filters, &info, err);
    if (rc == ERR_OK && record->driver.capture.live)
        rc = exports_check(&record->exports, &record->driver.capture.place, err);
    if (rc == ERR_OK && record->options->quality_file)
        rc = exports_check(&record->exports, &record->driver.quality.place, err);
    return rc;
}

static enum err_code start(struct record *record, struct err *err)
{
    enum err_code rc = driver_open(&record->driver, err);
    if (rc == ERR_OK)
        rc = open_outputs(record, err);
    return rc == ERR_OK ? driver_start(&record->driver, &record->options->sampling, err) : rc;
}

/* Ends by the signal itself, so that the parent process sees it. */
static _Noreturn void end_at_once(struct record *record)
{
    const int signal = record->driver.signals.stopped_by;
    exports_close(&record->exports);
    (void)driver_end(&record->driver, ERR_OK, NULL);
    (void)raise(signal);
    _exit(128 + signal);
}

/* Samples until the session ends.  The first signal ends it cleanly, a second one at once. */
static void sample(struct record *record)
{
    struct driver *const driver = &record->driver;
    const int end_fd = sampler_end_fd(driver->sampler);
    enum signals_event event = SIGNALS_TIMEOUT;
    while (event != SIGNALS_READABLE && event != SIGNALS_STOP)
        event = driver_wait(driver, end_fd);
    if (event == SIGNALS_STOP && driver_stop(driver) == DRIVER_IMPATIENT)
        end_at_once(record);
    /* Writing to a slow disk may take long, so from now on a signal ends the program at once. */
    signals_deinit(&driver->signals);
}

static enum err_code finish(struct record *record, struct err *err)
{
    const struct view_query everything = { 0 };
    struct session *const session = record->driver.session;
    struct profile_snapshot snapshot;
    struct session_info info;
    enum err_code rc = profile_snapshot(session_profile(session), &snapshot, err);
    if (rc != ERR_OK)
        return rc;
    session_describe(session, &snapshot, &info);
    const struct report_source source = { .snapshot = &snapshot,
                                          .query = &everything,
                                          .session = &info,
                                          .settings = record->options->report,
                                          .files = session_files(session) };
    if (*info.status.reason)
        say("%s", info.status.reason);
    rc = driver_finish(&record->driver, err);
    if (exports_write(&record->exports, &source, rc == ERR_OK ? err : NULL) != ERR_OK &&
        rc == ERR_OK)
        rc = err->code;
    if (rc == ERR_OK && snapshot.quality.samples == 0)
        rc = err_set(err, ERR_NOT_FOUND, "no samples were captured%s",
                     snapshot.quality.filtered > 0        ? ": --mode left out every sample"
                     : snapshot.quality.stops_refused > 0 ? ": the kernel refused every stop"
                                                          : "");
    profile_snapshot_release(&snapshot);
    return rc;
}

/* Only some formats contain source text, or say where native code is defined; a capture does not. */
static bool wants_texts(const struct options *options)
{
    const bool has_native = options->sampling.native == SAMPLER_NATIVE_FULL;
    bool wants = false;
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
                                         .omits_texts = !wants_texts(options) } };
    struct err err = { 0 };
    enum err_code rc = start(&record, &err);
    if (rc == ERR_OK) {
        sample(&record);
        rc = finish(&record, &err);
    }
    exports_close(&record.exports);
    const int status = driver_end(&record.driver, rc, &err);
    driver_close(&record.driver, status);
    return status;
}
