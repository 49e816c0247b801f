#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/capture/format.h"
#include "sampler/capture/live_capture.h"
#include "sampler/capture/merge.h"
#include "sampler/capture/reader.h"
#include "sampler/session.h"
#include "server/command/command.h"
#include "server/command/driver.h"
#include "server/command/options/options.h"
#include "server/command/output/output.h"
#include "server/command/process/command_runner.h"
#include "server/command/process/exit.h"
#include "server/sessions/dump.h"
#include "server/sessions/dump_merge.h"
#include "server/sessions/dump_text.h"
#include "server/sessions/recent.h"
#include "server/sessions/session_capture.h"
#include "server/sessions/session_entry.h"
#include "server/sessions/trouble.h"

#define WATCH_RATE_HZ 19.0
/* The time before an event that its capture has. */
static const uint64_t SPAN_NS = 30 * NS_PER_S;
/* A program that runs no code of its own for a minute is stalled, unless the user says otherwise. */
static const uint64_t STALLED_NS = 60 * NS_PER_S;
enum { CHECK_MS = 1000, MEMORY_BYTES = 64 << 20 };

struct watch {
    struct options options; /* of the user, and what watching needs */
    char folder[PATH_MAX];  /* ends with '/' */
    struct driver driver;
    struct trouble trouble;
    int runner; /* of --exec; -1: none */
    uint32_t events;
};

/* The files of an event. */
struct event_files {
    char dump[PATH_MAX / 4], capture[PATH_MAX / 4]; /* "": could not be written */
};

static bool put_to_output(void *to, const char *data, size_t bytes)
{
    return output_write(to, data, bytes);
}

static enum err_code take(void *to, const void *data, size_t bytes, struct err *err)
{
    return output_write(to, data, bytes) ? ERR_OK : err_set(err, ERR_SYS, "writing has failed");
}

/* output_finish reports why a write has failed. */
static void ignore_failure(void *context, const struct err *err)
{
    (void)context;
    (void)err;
}

/* Writes the whole session, of which only the last samples are known, into fd.  *from_ns_out: when these begin. */
static enum err_code write_recent(struct watch *watch, int fd, uint64_t *from_ns_out,
                                  struct err *err)
{
    struct session_entry *const entry = watch->driver.entry;
    struct recent_window *windows[RECENT_MAX_WINDOWS];
    struct live_capture *live = NULL;
    enum err_code rc = live_capture_create(&live, err);
    if (!rc)
        rc = session_capture_write_start(live, fd, watch->driver.session, &entry->filters,
                                         ignore_failure, NULL, err);
    const struct sink *const sink = !rc ? live_capture_sink(live) : NULL;
    const size_t count = sink ? recent_take(watch->trouble.recent, 0, windows) : 0;
    *from_ns_out = count > 0 ? windows[0]->end_ns : 0;
    for (size_t i = 0; i < count; i++) {
        const struct recent_window *const window = windows[i];
        /* The first one only says how long there was nothing, and what was counted until then. */
        for (size_t k = 0; i > 0 && k < window->count; k++)
            sink->count(sink->context, &window->runs[k]);
        sink->seal(sink->context, window->end_ns, window->period_ns, &window->quality);
        recent_release(windows[i]);
    }
    size_t texts = 0;
    if (!rc)
        rc = session_capture_write_end(live, entry, &texts, err);
    live_capture_destroy(live);
    return rc;
}

/* Cuts the time before the first sample off. */
static enum err_code write_capture(struct watch *watch, const char *path, struct err *err)
{
    struct output output = { .fd = -1 };
    struct reader *reader = NULL;
    struct merge_range range = { 0 };
    struct merge_result result = { 0 };
    const struct merge_options wanted = { .ranges = &range,
                                          .memory_bytes = watch->options.sampling.memory_bytes,
                                          .omits_source = watch->options.report.no_source };
    const int fd = memfd_create("pyrometer", MFD_CLOEXEC);
    if (fd < 0)
        return err_set(err, ERR_SYS, "there is no memory for a capture");
    enum err_code rc = write_recent(watch, fd, &range.from_ns, err);
    if (!rc)
        rc = reader_open_fd(fd, &reader, err);
    if (!rc)
        rc = output_init(&output, path, err);
    if (!rc)
        rc = merge_captures(&reader, 1, &wanted, take, &output, &result, err);
    if (!rc || output.sys != 0)
        rc = output_finish(&output, NULL, 0, err);
    output_deinit(&output);
    reader_close(reader);
    close(fd);
    return rc;
}

/* Adds a process to the merge, or writes it as text if it is the only one.  One that cannot be read now does not hide the others. */
static void add_process(pid_t pid, struct dump_merge *merge, struct buffer *text, bool is_alone)
{
    const struct dump_view view = { .shows_tasks = true, .dumps = 1 };
    const struct dump_request request = { .async = SESSION_ASYNC_RUNNING,
                                          .native = SESSION_NATIVE_LEAF };
    struct process_facts facts;
    struct dump dump;
    struct err err = { 0 };
    if (process_facts_read(pid, &facts) || facts.memory_of)
        return;
    enum err_code rc = dump_take(&dump, pid, &request, NULL, &err);
    if (!rc) {
        if (is_alone)
            dump_text_write(text, &dump, &view, &facts);
        else
            rc = dump_text_merge(merge, &dump, &view, &facts, &err);
        dump_deinit(&dump);
    }
    if (rc)
        say("the dump lacks process %d: %s", (int)pid, err.message);
}

static enum err_code write_dump(struct watch *watch, const char *path, struct err *err)
{
    struct output output = { .fd = -1 };
    struct dump_merge merge = { 0 };
    struct session_target target;
    struct buffer text;
    size_t count = 0;
    buffer_init_draining(&text, put_to_output, &output);
    enum err_code rc = output_init(&output, path, err);
    if (!rc)
        rc = dump_merge_init(&merge, err);
    for (size_t i = 0; session_target_at(watch->driver.session, i, &target); i++)
        count += !target.reason;
    for (size_t i = 0; !rc && session_target_at(watch->driver.session, i, &target); i++)
        if (!target.reason)
            add_process(target.pid, &merge, &text, count == 1);
    if (!rc && count != 1)
        rc = dump_merge_write(&merge, false, &text, err);
    if (!rc) {
        buffer_flush(&text);
        rc = buffer_check(&text, err);
    }
    if (!rc || output.sys != 0)
        rc = output_finish(&output, NULL, 0, err);
    buffer_deinit(&text);
    output_deinit(&output);
    dump_merge_deinit(&merge);
    return rc;
}

/* "incidents/20261130-043210Z-deadlock-4711". */
static void name_files(const struct watch *watch, enum trouble_kind kind,
                       struct event_files *files)
{
    const time_t now = time(NULL);
    char when[32] = "", base[PATH_MAX / 4];
    struct tm parts;
    if (gmtime_r(&now, &parts))
        strftime(when, sizeof when, "%Y%m%d-%H%M%SZ", &parts);
    snprintf(base, sizeof base, "%.900s%s-%s-%d", watch->folder, when, trouble_texts[kind],
             (int)session_target(watch->driver.session)->pid);
    snprintf(files->dump, sizeof files->dump, "%.1000s.txt", base);
    snprintf(files->capture, sizeof files->capture, "%.1000s." CAPTURE_EXTENSION, base);
}

static void run_command(const struct watch *watch, enum trouble_kind kind,
                        const struct event_files *files)
{
    struct command_event event = { .kind = "" };
    struct err err = { 0 };
    snprintf(event.kind, sizeof event.kind, "%s", trouble_texts[kind]);
    snprintf(event.pid, sizeof event.pid, "%d",
             (int)session_target(watch->driver.session)->pid);
    snprintf(event.dump, sizeof event.dump, "%s", files->dump);
    snprintf(event.capture, sizeof event.capture, "%s", files->capture);
    if (command_runner_run(watch->runner, &event, &err))
        say("%s", err.message);
}

/* A file that cannot be written is said, and watching goes on. */
static void handle_event(struct watch *watch, const struct trouble_event *event)
{
    struct event_files files;
    struct err err = { 0 };
    say("%s: %s", trouble_texts[event->kind], event->text);
    if (watch->events >= watch->options.watch.max_events) {
        say("no files of this event: --max-events is %" PRIu32,
            watch->options.watch.max_events);
        return;
    }
    watch->events++;
    name_files(watch, event->kind, &files);
    /* The dump first: what it shows may be over soon. */
    session_pause(watch->driver.session, true);
    if (write_dump(watch, files.dump, &err)) {
        say("%s", err.message);
        files.dump[0] = '\0';
    }
    session_pause(watch->driver.session, false);
    if (write_capture(watch, files.capture, &err)) {
        say("%s", err.message);
        files.capture[0] = '\0';
    }
    if (*files.dump || *files.capture)
        say("wrote %s%s%s", files.dump, *files.dump && *files.capture ? " and " : "",
            files.capture);
    if (watch->runner >= 0)
        run_command(watch, event->kind, &files);
}

static void choose_options(struct watch *watch, const struct options *given)
{
    struct session_options *const sampling = &watch->options.sampling;
    struct trouble_limits *const limits = &watch->options.watch.limits;
    const size_t length = strlen(given->output);
    watch->options = *given;
    snprintf(watch->folder, sizeof watch->folder, "%.1000s%s", given->output,
             length > 0 && given->output[length - 1] == '/' ? "" : "/");
    watch->options.output = watch->folder;
    if (!limits->stalled_ns && !limits->loop_blocked_ns && !limits->rss_bytes &&
        !limits->deadlock)
        *limits = (struct trouble_limits){ .stalled_ns = STALLED_NS, .deadlock = true };
    sampling->rate_hz = WATCH_RATE_HZ;
    sampling->subprocesses = true;
    /* It needs no right of the kernel, and at that rate stops threads for next to nothing. */
    sampling->engine = SESSION_ENGINE_REMOTE;
    if (!given->has_memory)
        sampling->memory_bytes = MEMORY_BYTES;
    if (limits->deadlock && !given->names_async_mode)
        sampling->async = SESSION_ASYNC_RUNNING;
}

/* The first event may come in weeks: what keeps its files from being written is said now. */
static enum err_code check_folder(const struct watch *watch, struct err *err)
{
    struct output output = { .fd = -1 };
    char path[PATH_MAX / 4 + 16];
    struct stat status;
    if (stat(watch->folder, &status) != 0 || !S_ISDIR(status.st_mode))
        return err_set(err, ERR_SYS, "cannot write into '%.200s': there is no such folder",
                       watch->folder);
    snprintf(path, sizeof path, "%.1000sevent", watch->folder);
    const enum err_code rc = output_init(&output, path, err);
    output_deinit(&output);
    return rc;
}

static enum err_code start(struct watch *watch, struct err *err)
{
    const struct options *const options = &watch->options;
    enum err_code rc = trouble_init(&watch->trouble, &options->watch.limits, SPAN_NS, err);
    if (!rc)
        rc = driver_open(&watch->driver, err);
    if (!rc)
        rc = check_folder(watch, err);
    if (!rc && options->watch.exec)
        rc = command_runner_start(options->watch.exec, &watch->driver.signals, &watch->runner,
                                  err);
    return rc ? rc : driver_start(&watch->driver, &options->sampling, err);
}

static void say_start(const struct watch *watch)
{
    struct session_target target;
    size_t count = 0;
    for (size_t i = 0; session_target_at(watch->driver.session, i, &target); i++)
        count += !target.reason;
    if (count > 1)
        say("watching %zu processes: Ctrl-C to quit", count);
    else
        say("watching process %d: Ctrl-C to quit",
            (int)session_target(watch->driver.session)->pid);
}

static enum err_code forget_samples(void *context, struct err *err)
{
    struct watch *const watch = context;
    return trouble_renew(&watch->trouble, err);
}

/* Begins a new session of the processes that are watched now: in a full one, code that comes later has no name. */
static enum err_code renew_session(struct watch *watch, struct err *err)
{
    struct session_options wanted = watch->options.sampling;
    struct session_target target;
    wanted.pid_count = 0;
    for (size_t i = 0; session_target_at(watch->driver.session, i, &target) &&
                       wanted.pid_count < SESSION_MAX_PROCESSES;
         i++)
        if (!target.reason)
            wanted.pids[wanted.pid_count++] = target.pid;
    if (!wanted.pid_count)
        return ERR_OK;
    say("the memory for names is full (--memory): samples until now are forgotten");
    return driver_renew(&watch->driver, &wanted, forget_samples, watch, err);
}

/* Checks once a second, until the user stops it or the last process has ended. */
static enum err_code wait_for_events(struct watch *watch, struct err *err)
{
    struct driver *const driver = &watch->driver;
    enum err_code rc = ERR_OK;
    while (!rc) {
        struct trouble_event events[TROUBLE_KINDS];
        size_t count = 0;
        const enum signals_event event =
            signals_wait(&driver->signals, session_end_fd(driver->session), CHECK_MS);
        if (event == SIGNALS_STOP || event == SIGNALS_READABLE)
            break;
        rc = trouble_check(&watch->trouble, driver->session, events, &count, err);
        for (size_t i = 0; i < count && !rc; i++)
            handle_event(watch, &events[i]);
        if (!rc && profile_is_full(session_profile(driver->session)))
            rc = renew_session(watch, err);
    }
    /* They ended, or the user stopped it, while no session ran. */
    return !driver->session && (rc == ERR_GONE || driver->signals.stopped_by) ? ERR_OK : rc;
}

int command_watch(const struct options *given)
{
    struct watch watch = { .runner = -1 };
    struct err err = { 0 };
    choose_options(&watch, given);
    watch.driver = (struct driver){ .options = &watch.options,
                                    .sink = &watch.trouble.sink,
                                    .reads_source = !given->report.no_source,
                                    .ends_later = true };
    enum err_code rc = start(&watch, &err);
    if (!rc) {
        say_start(&watch);
        rc = wait_for_events(&watch, &err);
        if (watch.driver.session)
            (void)driver_stop(&watch.driver);
        if (!rc && watch.driver.session)
            rc = driver_finish(&watch.driver, &err);
    }
    const int status = driver_end(&watch.driver, rc, &err);
    command_runner_stop(watch.runner);
    driver_close(&watch.driver, status);
    trouble_deinit(&watch.trouble);
    return status;
}
