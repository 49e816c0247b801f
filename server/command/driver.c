#include "server/command/driver.h"

#include <stdio.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/states.h"
#include "sampler/profile/views/view.h"
#include "sampler/session.h"
#include "server/command/options/options.h"
#include "server/command/output/quality_file.h"
#include "server/command/output/run_summary.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/command/process/process_launcher.h"
#include "server/command/process/program.h"
#include "server/command/process/supervisor.h"
#include "server/command/pushing.h"
#include "server/push/push.h"
#include "server/sessions/leave.h"
#include "server/sessions/sessions.h"
#include "server/sessions/startup.h"
#include "server/source/helper.h"
#include "server/wire/json.h"
#include "server/wire/quality.h"
#include "server/wire/session.h"
#include "server/wire/usage.h"

/* Longer than the current tick, or a cancelled start, takes unless a target hangs. */
enum { STOP_MS = 600, CANCEL_MS = 400 };

enum err_code driver_open(struct driver *driver, struct err *err)
{
    const struct options *const options = driver->options;
    driver->signals.fd = driver->quality.fd = driver->audit.fd = driver->live.listener.fd = -1;
    driver->capture = (struct capture_output)CAPTURE_OUTPUT_NONE;
    enum err_code rc = privilege_prepare(options, err);
    if (!rc && driver->has_reader)
        rc = supervisor_start(options, 1, driver->launcher_out, err);
    else if (!rc && driver->launcher_out)
        rc = process_launcher_start(options, driver->launcher_out, &driver->launcher, err);
    if (!rc && driver->reads_source)
        rc = source_helper_start(err);
    if (!rc)
        rc = signals_init(&driver->signals, err);
    if (!rc)
        rc = audit_open(options->access.audit_file, say, &driver->audit, err);
    /* `kernel` is refused before a program is started or anything is written. */
    struct session_options wanted = options->sampling;
    if (!rc && wanted.engine != SESSION_ENGINE_REMOTE) {
        rc = session_open_engines(1, &driver->engines, err);
        wanted.engines = driver->engines;
        if (!rc && wanted.engine == SESSION_ENGINE_KERNEL)
            rc = session_check_engine(&wanted, err);
    }

    if (!rc && options->quality_file)
        rc = output_init(&driver->quality, options->quality_file, err);
    if (!rc)
        rc = capture_output_open(&driver->capture, options, err);
    if (!rc && driver->capture.live && options->quality_file)
        rc = output_check_places(&driver->capture.place, &driver->quality.place, err);
    if (!rc)
        rc = pushing_open(options, &driver->push, err);
    if (!rc && driver->serves) {
        rc = live_open(&driver->live, options, &driver->signals, err);
        driver->sessions = driver->live.sessions;
        if (driver->push)
            driver->live.pipeline.push_counters = push_counters(driver->push);
    } else if (!rc) {
        rc = sessions_create(&driver->sessions, err);
    }
    return rc;
}

static enum err_code find_all(struct driver *driver, const struct session_options *sampling,
                              const struct sink *sink, struct session **out, struct err *err)
{
    struct session_options wanted = *sampling;
    struct startup *startup = NULL;
    struct session *session = NULL;
    wanted.engines = driver->engines;
    wanted.sink = sink;
    enum err_code rc = startup_begin(&wanted, &startup, err);
    if (rc)
        return rc;

    /* Until sampling has started or failed to start, at most CANCEL_MS after a signal. */
    uint64_t end_ns = UINT64_MAX;
    for (;;) {
        const uint64_t now_ns = clock_now_ns();
        const bool is_stopped = end_ns != UINT64_MAX;
        if (now_ns >= end_ns)
            break;
        const int left_ms = is_stopped ? (int)((end_ns - now_ns) / NS_PER_MS) + 1 : -1;
        const enum signals_event event =
            signals_wait(&driver->signals, startup_fd(startup), left_ms);
        if (event == SIGNALS_READABLE)
            break;
        if (event == SIGNALS_STOP && !is_stopped) {
            startup_cancel(startup);
            end_ns = now_ns + CANCEL_MS * NS_PER_MS;
        }
    }

    rc = startup_end(startup, &session, err);
    if (!rc && driver->signals.stopped_by) {
        leave_within(LEAVE_MS, EXIT_FAILED);
        session_destroy(session);
        return err_set(err, ERR_SYS, "stopped before the first sample");
    }
    if (!rc)
        *out = session;
    return rc;
}

/* The other processes can be sampled nevertheless. */
static bool is_of_one_process(enum err_code code)
{
    return code == ERR_NOT_PYTHON || code == ERR_GONE || code == ERR_PERM ||
           code == ERR_UNSUPPORTED || code == ERR_FAULT || code == ERR_CORRUPT;
}

/* Tries a process alone, in the least that a session does. */
static enum err_code try_one(struct driver *driver, const struct session_options *sampling,
                             pid_t pid, bool subprocesses, struct err *err)
{
    struct session_options alone = *sampling;
    struct session *session = NULL;
    alone.pids[0] = pid;
    alone.pid_count = 1;
    alone.subprocesses = subprocesses;
    alone.engine = SESSION_ENGINE_REMOTE;
    alone.stop = SESSION_STOP_NEVER;
    alone.rate_hz = SESSION_MIN_RATE_HZ;
    alone.native = SESSION_NATIVE_OFF;
    const enum err_code rc = find_all(driver, &alone, NULL, &session, err);
    session_destroy(session);
    return rc;
}

/* Users often name the program that starts Python, such as sudo or a shell, instead of Python. */
static void hint_at_children(struct driver *driver, const struct session_options *sampling,
                             pid_t pid, struct err *err)
{
    const struct err why = *err;
    if (!sampling->subprocesses && !try_one(driver, sampling, pid, true, NULL))
        (void)err_set(err, ERR_NOT_PYTHON, "%s, but a child of it is: use --subprocesses",
                      why.message);
}

/* Names the processes that cannot be sampled. */
static enum err_code leave_out(struct driver *driver, struct session_options *sampling,
                               struct err *err)
{
    const size_t count = sampling->pid_count;
    const struct session_options wanted = *sampling;
    sampling->pid_count = 0;
    for (size_t i = 0; i < count; i++) {
        const pid_t pid = wanted.pids[i];
        struct err why = { 0 };
        const enum err_code rc = try_one(driver, &wanted, pid, wanted.subprocesses, &why);
        if (rc == ERR_NOT_PYTHON)
            hint_at_children(driver, &wanted, pid, &why);
        if (!rc) {
            sampling->pids[sampling->pid_count++] = pid;
            continue;
        }
        if (driver->signals.stopped_by || !is_of_one_process(rc))
            return err_set(err, rc, "%s", why.message);
        say("%s", why.message);
        driver->left_out = driver->left_out ? driver->left_out : rc;
    }
    return sampling->pid_count > 0
               ? ERR_OK
               : err_set(err, driver->left_out, "none of the processes can be sampled");
}

enum err_code driver_find(struct driver *driver, const struct session_options *sampling,
                          struct err *err)
{
    const struct sink *const written = capture_output_sink(&driver->capture);
    const struct sink *const sink = written ? written : driver->sink;
    struct session_options wanted = *sampling;
    enum err_code rc = find_all(driver, &wanted, sink, &driver->session, err);
    if (wanted.pid_count < 2 || driver->signals.stopped_by || !is_of_one_process(rc))
        return rc;
    rc = leave_out(driver, &wanted, err);
    return rc ? rc : find_all(driver, &wanted, sink, &driver->session, err);
}

static void audit_stop(struct driver *driver, const char *reason)
{
    const struct audit_event event = { "stop", "command line", driver->id,
                                       *reason ? reason : NULL };
    if (driver->is_audited)
        audit_write_event(&driver->audit, &event);
    driver->is_audited = false;
}

enum err_code driver_begin(struct driver *driver, struct err *err)
{
    if (driver->options->report.no_source)
        sessions_hide_source(driver->sessions);
    if (driver->omits_texts)
        sessions_omit_texts(driver->sessions);
    enum err_code rc = driver->serves ? live_start(&driver->live, err) : ERR_OK;
    if (!rc)
        rc = sessions_add(driver->sessions, driver->session, &driver->options->view.filters,
                          &driver->entry, err);
    if (rc) {
        session_destroy(driver->session);
        driver->session = NULL;
        return rc;
    }
    run_summary_begin(&driver->summary);
    snprintf(driver->id, sizeof driver->id, "%s", driver->entry->id);

    /* {"pids":[4711]} or {"all":true}, as in the body of POST /sessions. */
    struct buffer body = { 0 };
    struct json json;
    const struct session_options *const sampling = session_options(driver->session);
    json_init(&json, &body);
    json_object(&json);
    json_key(&json, sampling->all ? "all" : "pids");
    if (sampling->all) {
        json_bool(&json, true);
    } else {
        json_array(&json);
        for (size_t i = 0; i < sampling->pid_count; i++)
            json_int(&json, sampling->pids[i]);
        json_end(&json);
    }
    json_end(&json);
    if (!json_finish(&json, NULL)) {
        const struct audit_event event = { "start", "command line", driver->id,
                                           buffer_string(&body) };
        audit_write_event(&driver->audit, &event);
        driver->is_audited = true;
    }
    buffer_deinit(&body);

    rc = capture_output_begin(&driver->capture, driver->entry, err);
    if (!rc && driver->push)
        rc = push_begin(driver->push, driver->sessions, SESSION_LIVE, err);
    if (rc || !driver->serves)
        return rc;
    run_summary_say_start(driver->session);
    return live_say_url(&driver->live, driver->options, err);
}

enum err_code driver_start(struct driver *driver, const struct session_options *sampling,
                           struct err *err)
{
    enum err_code rc = privilege_drop(driver->options, err);
    if (!rc)
        rc = driver_find(driver, sampling, err);
    if (rc == ERR_NOT_PYTHON && sampling->pid_count == 1)
        hint_at_children(driver, sampling, sampling->pids[0], err);
    return rc ? rc : driver_begin(driver, err);
}

enum signals_event driver_wait(struct driver *driver, int fd)
{
    const bool has_lines =
        driver->options->wants_stats || (driver->shows_progress && driver->summary.is_terminal);
    if (!has_lines || driver->is_finished)
        return signals_wait(&driver->signals, fd, -1);
    for (;;) {
        const int wait_ms = run_summary_wait_ms(&driver->summary, clock_now_ns());
        const enum signals_event event = signals_wait(&driver->signals, fd, wait_ms);
        if (event != SIGNALS_TIMEOUT)
            return event;

        struct profile_snapshot snapshot;
        struct session_info info;
        if (profile_snapshot(session_entry_profile(driver->entry), &snapshot, NULL))
            continue;
        session_entry_describe(driver->entry, &snapshot, &info);
        (driver->options->wants_stats ? run_summary_say_line : run_summary_say_progress)(
            &driver->summary, &info, clock_now_ns());
        profile_snapshot_release(&snapshot);
    }
}

enum driver_ending driver_stop(struct driver *driver)
{
    const uint64_t end_ns = clock_now_ns() + STOP_MS * NS_PER_MS;
    const int end_fd = session_end_fd(driver->session);
    session_stop(driver->session);
    for (;;) {
        const uint64_t now_ns = clock_now_ns();
        const int left_ms = now_ns < end_ns ? (int)((end_ns - now_ns) / NS_PER_MS) + 1 : 0;
        const enum signals_event event = signals_wait(&driver->signals, end_fd, left_ms);
        if (event == SIGNALS_READABLE)
            return driver->ending = DRIVER_ENDED;
        if (event == SIGNALS_STOP)
            return driver->ending = DRIVER_IMPATIENT;
        if (left_ms > 0)
            continue;
        say("a process blocks the sampling thread in the kernel: not waiting for it");
        return driver->ending = DRIVER_HANGS;
    }
}

enum err_code driver_renew(struct driver *driver, const struct session_options *sampling,
                           driver_between *between, void *context, struct err *err)
{
    if (driver_stop(driver) != DRIVER_ENDED)
        return err_set(err, ERR_SYS, "sampling does not end");
    audit_stop(driver, "");
    sessions_remove(driver->sessions, driver->entry);
    session_release(driver->entry);
    driver->entry = NULL;
    driver->session = NULL;
    enum err_code rc = between(context, err);
    if (!rc)
        rc = driver_find(driver, sampling, err);
    return rc ? rc : driver_begin(driver, err);
}

static enum err_code write_quality(struct driver *driver, const struct session_info *info,
                                   const struct state_sums *sums, struct err *err)
{
    struct usage usage;
    usage_read(&usage);
    return quality_file_write(&driver->quality, info, sums, &usage,
                              capture_output_totals(&driver->capture), err);
}

void driver_end_push(struct driver *driver)
{
    run_summary_end_line(&driver->summary);
    push_end(driver->push, signals_are_pending);
}

enum err_code driver_finish(struct driver *driver, struct err *err)
{
    struct profile_snapshot snapshot;
    if (driver->is_finished)
        return ERR_OK;
    driver->is_finished = true;
    driver_end_push(driver);
    enum err_code rc = profile_snapshot(session_entry_profile(driver->entry), &snapshot, err);
    if (rc)
        return rc;
    const struct view_query everything = { 0 };
    struct session_info info;
    struct states states;
    rc = states_init(&states, &snapshot, &everything, err);
    if (!rc) {
        session_entry_describe(driver->entry, &snapshot, &info);
        audit_stop(driver, info.status.reason);
        if (driver->ending != DRIVER_HANGS)
            rc = capture_output_finish(&driver->capture, &driver->written, err);
        if (driver->options->quality_file &&
            write_quality(driver, &info, &states.all, rc ? NULL : err) && !rc)
            rc = err->code;
        if (!driver->ends_later)
            run_summary_say_end(&info, &states, &driver->written);
        states_deinit(&states);
    }

    profile_snapshot_release(&snapshot);
    /* A program that was run keeps its own status. */
    const bool counts = !rc && !driver->launcher_out;
    const enum err_code pushed = push_check(driver->push, counts ? err : NULL);
    return counts ? pushed : rc;
}

/* The descriptor that says that the session has ended, and then that the program has. */
static int awaited_fd(const struct driver *driver, const struct program *program)
{
    if (!driver->is_finished)
        return session_end_fd(driver->session);
    return program && !program->has_ended ? program->socket : -1;
}

enum err_code driver_serve(struct driver *driver, struct program *program, struct err *err)
{
    enum err_code rc = ERR_OK;
    enum signals_event event = SIGNALS_TIMEOUT;
    while ((event = driver_wait(driver, awaited_fd(driver, program))) != SIGNALS_STOP) {
        if (event == SIGNALS_CHILD) {
            /* The supervisor has ended: samples taken so far stay on the page. */
            struct err why = { 0 };
            if (driver->has_reader && supervisor_check(&why))
                say("%s", why.message);
        }
        if (program)
            (void)program_check(program);
        if (event == SIGNALS_READABLE && !driver->is_finished) {
            /* Reports an error at once, because the page stays. */
            struct session_status status;
            rc = driver_finish(driver, err);
            if (rc)
                say("%s", err->message);
            session_status(driver->session, &status);
            live_say_ended(&driver->live, *status.reason ? status.reason : "sampling ended");
        }
    }
    if (!driver->is_finished && driver_stop(driver) == DRIVER_ENDED)
        rc = driver_finish(driver, err);
    else if (driver->is_finished && program)
        (void)program_check(program);
    return rc;
}

int driver_end(struct driver *driver, enum err_code rc, const struct err *err)
{
    output_deinit(&driver->quality);
    audit_stop(driver, "");
    audit_close(&driver->audit);
    signals_deinit(&driver->signals);
    const int status = exit_with(rc, err);
    return status == EXIT_DONE ? (int)exit_status_of(driver->left_out) : status;
}

void driver_close(struct driver *driver, int status)
{
    push_end(driver->push, signals_are_pending);
    leave_within(LEAVE_MS, status);
    capture_output_close(&driver->capture);
    if (driver->serves) {
        live_close(&driver->live);
    } else {
        source_helper_stop();
        sessions_destroy(driver->sessions);
    }
    /* Requests for metrics read its counters until nothing is served. */
    push_close(driver->push);
    session_close_engines(driver->engines);
    driver->engines = NULL;
}
