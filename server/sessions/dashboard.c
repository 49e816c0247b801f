#include "server/sessions/dashboard.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/thread.h"
#include "sampler/capture/reader.h"
#include "sampler/processes.h"
#include "sampler/session.h"
#include "server/sessions/capture_store.h"
#include "server/sessions/last_activity.h"
#include "server/sessions/leave.h"
#include "server/sessions/open_capture.h"
#include "server/sessions/session_capture.h"
#include "server/sessions/sessions.h"

enum { DEFAULT_RATE_HZ = 1000, CHECK_MS = 2000 };

/* The context of a thread that starts a session; the thread frees it. */
struct launch {
    struct dashboard *dashboard;
    struct session_entry *entry;
    struct session_options options;
    int fd; /* of the capture to read; -1: none */
};

enum err_code dashboard_open(struct dashboard *dashboard, struct sessions *sessions,
                             struct err *err)
{
    memset(dashboard, 0, sizeof *dashboard);
    dashboard->sessions = sessions;
    dashboard->max_rate_hz = DASHBOARD_MAX_RATE_HZ;
    const enum err_code rc = last_activity_create(&dashboard->activity, err);
    return rc ? rc : processes_create(&dashboard->processes, err);
}

void dashboard_hide_arguments(struct dashboard *dashboard)
{
    dashboard->hides_arguments = true;
    processes_hide_arguments(dashboard->processes);
}

void dashboard_close(struct dashboard *dashboard)
{
    processes_destroy(dashboard->processes);
    captures_close(dashboard->captures);
    last_activity_destroy(dashboard->activity);
    session_close_engines(dashboard->engines);
    memset(dashboard, 0, sizeof *dashboard);
}

void dashboard_begin(struct dashboard *dashboard)
{
    struct processes_summary summary;
    (void)!processes_visit(dashboard->processes, NULL, NULL, &summary, NULL);
}

void dashboard_defaults(const struct dashboard *dashboard, struct session_options *out)
{
    *out = (struct session_options){ .rate_hz = DEFAULT_RATE_HZ,
                                     .all_threads = true,
                                     .hides_arguments = dashboard->hides_arguments,
                                     .memory_bytes = dashboard->memory_bytes,
                                     .engine = dashboard->engine,
                                     .engines = dashboard->engines };
    if (out->rate_hz > dashboard->max_rate_hz)
        out->rate_hz = dashboard->max_rate_hz;
    if (dashboard->max_stop_percent > 0 &&
        dashboard->max_stop_percent < SESSION_MAX_STOP_PERCENT)
        out->max_stop_percent = dashboard->max_stop_percent;
}

static enum err_code check_options(const struct dashboard *dashboard,
                                   const struct session_options *options, struct err *err)
{
    if (options->pid_count == 0 && !options->all)
        return err_set(err, ERR_INVALID, "\"pids\" or \"all\" is required");
    if (options->pid_count > 0 && options->all)
        return err_set(err, ERR_INVALID, "\"pids\" and \"all\" exclude each other");
    if (!(options->rate_hz >= SESSION_MIN_RATE_HZ &&
          options->rate_hz <= dashboard->max_rate_hz))
        return err_set(err, ERR_INVALID, "\"rate_hz\" must be from %g to %g (--max-rate)",
                       SESSION_MIN_RATE_HZ, dashboard->max_rate_hz);
    if (dashboard->max_stop_percent > 0 && options->stop == SESSION_STOP_ALWAYS)
        return err_set(err, ERR_INVALID,
                       "\"stop\": \"always\" is not permitted on this server (--max-stop)");
    if (dashboard->max_stop_percent > 0 &&
        options->max_stop_percent > dashboard->max_stop_percent)
        return err_set(err, ERR_INVALID, "\"max_stop_percent\" must be at most %g (--max-stop)",
                       dashboard->max_stop_percent);
    if (options->duration_ns > DASHBOARD_MAX_DURATION_NS)
        return err_set(err, ERR_INVALID, "\"duration_s\" must be at most %llu",
                       DASHBOARD_MAX_DURATION_NS / 1000000000);

    /* The engine is checked here, as one of several sessions that begin at the same time may still
     * fail. */
    struct err why = { 0 };
    if (options->engine != SESSION_ENGINE_KERNEL)
        return ERR_OK;
    const enum err_code rc = session_check_engine(options, &why);
    return !rc ? rc
               : err_set(err, rc == ERR_INVALID ? rc : ERR_LIMIT,
                         "%s: use the engine auto or remote", why.message);
}

static void *run_launch(void *context)
{
    struct launch *const launch = context;
    struct sessions *const sessions = launch->dashboard->sessions;
    struct session *session = NULL;
    struct session_capture capture;
    struct err err = { 0 };
    session_capture_open(&capture, launch->dashboard->captures, launch->dashboard->say,
                         launch->dashboard->say_context);
    launch->options.sink = session_capture_sink(&capture);
    launch->options.is_cancelled = &launch->entry->is_cancelled;
    if (!session_start(&launch->options, &session, &err)) {
        session_capture_begin(&capture, session, launch->entry);
        session_entry_become(launch->entry, session, NULL);
        sessions_share(sessions);

        /* Now and then somebody sees whether the capture is still there. */
        struct pollfd end = { .fd = session_end_fd(session), .events = POLLIN };
        int ready = 0;
        while ((ready = poll(&end, 1, CHECK_MS)) == 0 || (ready < 0 && errno == EINTR))
            session_capture_check(&capture);
    } else {
        session_entry_fail(launch->entry, &err);
    }
    leave_hold();
    session_capture_close(&capture, session);
    leave_release();
    sessions_share(sessions);
    session_release(launch->entry);
    free(launch);
    sessions_work_end(sessions);
    return NULL;
}

/* As a reader_watcher: until somebody deletes the session, or the server ends. */
static bool goes_on(void *session, uint64_t done, uint64_t bytes)
{
    (void)done;
    (void)bytes;
    return !session_entry_is_stopping(session);
}

static void *run_load(void *context)
{
    struct launch *const launch = context;
    struct sessions *const sessions = launch->dashboard->sessions;
    struct open_capture *opened = NULL;
    struct err err = { 0 };

    struct session_words words;
    const struct reader_part all = { .memory_bytes = launch->dashboard->memory_bytes,
                                     .watch = goes_on,
                                     .context = launch->entry };
    session_entry_words(launch->entry, &words);
    if (open_capture_open(words.capture, launch->fd, &all, launch->dashboard->hides_arguments,
                          &opened, &err)) {
        session_entry_fail(launch->entry, &err);
    } else {
        if (*opened->ignored && launch->dashboard->say)
            launch->dashboard->say(launch->dashboard->say_context, launch->entry->id,
                                   opened->ignored);
        session_entry_become(launch->entry, NULL, opened);
    }
    close(launch->fd);
    session_release(launch->entry);
    free(launch);
    sessions_work_end(sessions);
    return NULL;
}

/* The thread holds the session as well. */
static enum err_code start_thread(struct dashboard *dashboard, void *(*run)(void *context),
                                  struct session_entry *entry,
                                  const struct session_options *options, int fd,
                                  struct err *err)
{
    struct launch *const launch = calloc(1, sizeof *launch);
    if (!launch)
        return err_nomem(err);
    launch->dashboard = dashboard;
    launch->fd = fd;
    launch->entry = sessions_find(dashboard->sessions, entry->id);
    if (options)
        launch->options = *options;
    sessions_work_begin(dashboard->sessions);
    const int sys = launch->entry ? thread_start(NULL, run, launch) : ESRCH;
    if (sys == 0)
        return ERR_OK;
    sessions_work_end(dashboard->sessions);
    session_release(launch->entry);
    free(launch);
    return err_sys(err, sys, "cannot start a thread");
}

static enum err_code launch_source(struct dashboard *dashboard, enum session_source source,
                                   const struct session_options *options,
                                   const struct frame_filters *filters,
                                   const struct session_words *words,
                                   struct session_entry **out, struct err *err)
{
    struct session_entry *entry = NULL;
    enum err_code rc = check_options(dashboard, options, err);
    if (!rc)
        rc = sessions_begin(dashboard->sessions, source, options, filters, words, &entry, err);
    if (rc)
        return rc;
    rc = start_thread(dashboard, run_launch, entry, options, -1, err);
    if (!rc) {
        *out = entry;
        return rc;
    }
    sessions_remove(dashboard->sessions, entry);
    session_release(entry);
    return rc;
}

enum err_code dashboard_launch(struct dashboard *dashboard,
                               const struct session_options *options,
                               const struct frame_filters *filters,
                               const struct session_words *words, struct session_entry **out,
                               struct err *err)
{
    return launch_source(dashboard, SESSION_LIVE, options, filters, words, out, err);
}

enum err_code dashboard_launch_continuous(struct dashboard *dashboard,
                                          const struct session_options *options,
                                          const struct session_words *words,
                                          struct session_entry **out, struct err *err)
{
    return launch_source(dashboard, SESSION_CONTINUOUS, options, NULL, words, out, err);
}

static void take_title(void *context, const struct capture_entry *entry)
{
    struct session_words *const words = context;
    snprintf(words->name, sizeof words->name, "%s", entry->words.title);
    snprintf(words->note, sizeof words->note, "%s", entry->words.note);
    snprintf(words->capture, sizeof words->capture, "%s", entry->name);
}

enum err_code dashboard_launch_capture(struct dashboard *dashboard, const char *name,
                                       struct session_entry **out, struct err *err)
{
    struct session_words words = { .name = "" };
    struct range_notes notes;
    struct session_entry *entry = NULL;
    uint64_t bytes = 0;
    int fd = -1;
    enum err_code rc = captures_tell_one(dashboard->captures, name, take_title, &words, err);
    if (!rc)
        rc = captures_open_file(dashboard->captures, name, &fd, &bytes, NULL, err);
    if (rc)
        return rc;
    rc = sessions_begin(dashboard->sessions, SESSION_CAPTURE, NULL, NULL, &words, &entry, err);
    if (!rc) {
        captures_read_notes(dashboard->captures, name, &notes);
        session_entry_set_notes(entry, &notes);
    }
    if (!rc && (rc = start_thread(dashboard, run_load, entry, NULL, fd, err))) {
        sessions_remove(dashboard->sessions, entry);
        session_release(entry);
    }
    if (rc)
        close(fd);
    else
        *out = entry;
    return rc;
}
