#include "server/command/options/option_table.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "server/command/options/options.h"
#include "server/command/options/suggest.h"
#include "server/push/setting_readers.h"
#include "server/report/report.h"
#include "server/sessions/sessions.h"
#include "server/settings/view_settings.h"

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "a size is read as 64 bits");

const char *const completion_texts[] = { "bash", "zsh", "fish", NULL };

const char *const help_form_texts[] = { "text", "all", "man", NULL };

enum err_code option_add_format(struct options *options, const struct report_format *format,
                                const char *value, struct err *err)
{
    size_t at = 0;
    while (at < options->format_count && options->formats[at].format != format)
        at++;
    if (at == OPTIONS_MAX_FORMATS)
        return err_set(err, ERR_INVALID, "at most %zu formats are allowed", at);
    if (at == options->format_count)
        options->formats[options->format_count++].format = format;
    if (format->needs_baseline)
        options->baseline = value;
    else if (value)
        options->formats[at].output = value;
    return ERR_OK;
}

enum err_code option_read_pid(const struct setting *setting, void *sampling, const char *text,
                              struct err *why)
{
    struct session_options *const options = sampling;
    double pid = 0;
    (void)setting;
    if (!setting_number(SETTING_NUMBER, text, &pid) || pid < 1 || pid > INT_MAX)
        return err_set(why, ERR_INVALID, "want a process ID such as 4711");
    for (size_t i = 0; i < options->pid_count; i++)
        if (options->pids[i] == (pid_t)pid)
            return ERR_OK;
    if (options->pid_count == SESSION_MAX_PROCESSES)
        return err_set(why, ERR_INVALID, "at most %d PIDs are allowed", SESSION_MAX_PROCESSES);
    options->pids[options->pid_count++] = (pid_t)pid;
    return ERR_OK;
}

static enum err_code read_listen(const struct setting *setting, void *address, const char *text,
                                 struct err *why)
{
    (void)setting;
    return listen_parse(text, address, why);
}

static enum err_code read_user(const struct setting *setting, void *admission, const char *text,
                               struct err *why)
{
    (void)setting;
    return admission_add_user(admission, text, why);
}

static enum err_code read_identity(const struct setting *setting, void *identity,
                                   const char *text, struct err *why)
{
    (void)setting;
    return identity_read(text, identity, why);
}

/* "/a/b", with or without a '/' at the end.  Allows only parts that no browser or proxy rewrites. */
static enum err_code read_base_path(const struct setting *setting, void *path, const char *text,
                                    struct err *why)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789-_~./";
    size_t length = strlen(text);
    (void)setting;
    while (length > 0 && text[length - 1] == '/')
        length--;
    if ((length > 0 && text[0] != '/') || length > OPTIONS_MAX_BASE_PATH ||
        strspn(text, safe) != strlen(text) || strstr(text, "//") || strstr(text, "/."))
        return err_set(why, ERR_INVALID, "want a path such as /pyrometer");
    memcpy(path, text, length);
    ((char *)path)[length] = '\0';
    return ERR_OK;
}

/* "" removes the filters of this kind that a capture was recorded with. */
static enum err_code read_filter(const struct setting *setting, void *out, const char *text,
                                 struct err *why)
{
    struct options_view *const view = out;
    view->filter_kinds |= 1U << setting->which;
    return *text ? view_read_filter(setting, &view->filters, text, why) : ERR_OK;
}

/* A format has the name of its option, or that which another profiler gives it.  The value has no room for a baseline. */
static enum err_code read_format(const struct setting *setting, void *formats, const char *text,
                                 struct err *why)
{
    struct options *const options = (void *)((char *)formats - setting->offset);
    const struct report_format *format = report_find(text);
    const char *meaning = NULL;
    struct buffer known = { 0 };
    for (size_t i = 0; !format && (meaning = suggest_meaning(text, i)); i++)
        format = report_find(meaning);
    if (format && !format->needs_baseline)
        return option_add_format(options, format, NULL, why);
    for (size_t i = 0; (format = report_at(i)); i++)
        if (!format->needs_baseline)
            buffer_printf(&known, "%s%s", i == 0 ? "" : ", ", format->name);
    err_set(why, ERR_INVALID, "want %s", buffer_string(&known));
    buffer_deinit(&known);
    return ERR_INVALID;
}

#define AT(member) offsetof(struct options, member)
#define OPTION(letter_, name_, value_, kind_, member_, commands_, ...)       \
    {                                                                        \
        SETTING(name_, kind_, struct options, member_),                      \
            .letter = (letter_), .value = (value_), .commands = (commands_), \
            .help = __VA_ARGS__                                              \
    }
#define LONG(name, value, kind, member, commands, ...) \
    OPTION('\0', name, value, kind, member, commands, __VA_ARGS__)
#define SWITCH(name, member, commands, ...) \
    OPTION('\0', name, NULL, FLAG, member, commands, __VA_ARGS__)
#define RANGE(least_, most_)  .setting.least = (least_), .setting.most = (most_)
#define TEXTS(texts_, least_) .setting.texts = (texts_), .setting.least = (least_)
#define READ(read_)           .setting.read = (read_)
#define GIVEN(member)         .setting.given = AT(member)
#define SHOWN(commands_, value_, ...) \
    .commands = (commands_), .value = (value_), .help = __VA_ARGS__
#define FILTER(name, kind, ...)                                                  \
    {                                                                            \
        SETTING(name, OTHER, struct options, view), READ(read_filter),           \
            .setting.which = FRAME_FILTER_##kind, .setting.is_repeatable = true, \
            SHOWN(FILTERING, "PATTERN", __VA_ARGS__)                             \
    }

static const struct option table[] = {
    SWITCH("all", sampling.all, BY_PID, "profile every Python process that can be read",
           .heading = "Processes"),
    SWITCH("all", sampling.all, COMMAND_DUMP, "every Python process that can be read"),
    { SETTING("pid", OTHER, struct options, sampling), READ(option_read_pid),
      .setting.is_repeatable = true, .letter = 'p',
      SHOWN(BY_PID | COMMAND_DUMP | COMMAND_DOCTOR, "PID", "a process, like PID without -p") },
    OPTION('s', "subprocesses", NULL, FLAG, sampling.subprocesses, SAMPLING,
           "profile child processes too"),
    OPTION('s', "subprocesses", NULL, FLAG, sampling.subprocesses, COMMAND_DUMP,
           "child processes too"),
    LONG("command", "PATTERN", TEXTS, dump.commands, COMMAND_DUMP,
         "by command line, such as *gunicorn*"),
    SWITCH("hide-args", sampling.hides_arguments,
           SAMPLING | LOADING | COMMAND_DIFF | COMMAND_MCP | COMMAND_PUSH,
           "keep only the first word of command lines"),
    OPTION('m', "module", NULL, FLAG, runs_module, COMMAND_RUN,
           "TARGET is a module, as in python -m"),
    LONG("python", "PATH", TEXT, python, COMMAND_RUN,
         "interpreter that runs TARGET (default python3)"),

    OPTION('r', "sampling-rate", "RATE", RATE, sampling.rate_hz, SAMPLING,
           "samples per second: 100, 1.5k, 10khz (default 1k)", .heading = "Sampling"),
    LONG("rate", "RATE", RATE, sampling.rate_hz, SAMPLING, "the same as --sampling-rate"),
    OPTION('d', "duration", "TIME", DURATION, sampling.duration_ns, SAMPLING,
           "stop after TIME: 10, 0.5, 2m, 1h"),
    OPTION('a', "all-threads", NULL, FLAG, sampling.all_threads, LOGGING,
           "sample all threads (the default)", GIVEN(names_all_threads)),
    SWITCH("main-thread", only_main_thread, LOGGING, "sample the main thread only"),
    LONG("mode", "MODE", CHOICE, sampling.mode, SAMPLING | SELECTING,
         "what to record: wall, cpu, gil or exception", TEXTS(session_mode_texts, 0),
         GIVEN(names_mode)),
    OPTION('e', "event", "NAME", OTHER, sampling.measures, LOGGING | HOSTING,
           "what to count (default: time)", READ(setting_read_events),
           .setting.is_repeatable = true),
    OPTION('g', "gil", NULL, FLAG, is_gil_only, SAMPLING, "the same as --mode gil"),
    OPTION('n', "native", "=WHAT", CHOICE, sampling.native, SAMPLING,
           "native code: leaf (without WHAT), full (-n), off", TEXTS(session_native_texts, 0),
           .bare = "leaf", .by_letter = "full"),
    OPTION('n', "native", NULL, FLAG, shows_native, COMMAND_DUMP,
           "show native frames; stops the process briefly"),
    SWITCH("kernel", sampling.kernel_frames, SAMPLING,
           "show what threads do in the kernel, as frames"),
    LONG("executable", "FILE", TEXT, executable, COMMAND_DUMP,
         "the program of a core, if it is not where it was"),
    SWITCH("no-gc", sampling.no_gc, SAMPLING, "do not mark garbage collection"),
    SWITCH("opcodes", sampling.opcodes, SAMPLING, "record bytecode instructions besides lines"),
    SWITCH("async-aware", is_async_aware, SAMPLING | COMMAND_DUMP,
           "show asyncio tasks and what awaits them"),
    LONG("async-mode", "MODE", CHOICE, sampling.async, SAMPLING | COMMAND_DUMP,
         "tasks to show: running, or all (waiting too)",
         TEXTS(session_async_texts, SESSION_ASYNC_RUNNING), GIVEN(names_async_mode)),
    LONG("context", "NAME", OTHER, sampling.context, SAMPLING | HOSTING,
         "record this ContextVar, or guessed-requests", READ(setting_read_context)),
    LONG("engine", "ENGINE", CHOICE, sampling.engine, SAMPLING | HOSTING,
         "what reads stacks: auto (default), kernel, remote", TEXTS(session_engine_texts, 0)),
    LONG("stop", "WHEN", CHOICE, sampling.stop, SAMPLING,
         "stop threads to read them: auto, never, always", TEXTS(session_stop_texts, 0)),
    LONG("max-stop", "PERCENT", PERCENT, sampling.max_stop_percent, SAMPLING,
         "with --stop auto, of a thread's time (default 1)"),
    SWITCH("blocking", is_blocking, SAMPLING, "the same as --stop always"),
    LONG("stalled", "TIME", DURATION, watch.limits.stalled_ns, COMMAND_WATCH,
         "no thread has run your code for TIME", .heading = "Events"),
    SWITCH("deadlock", watch.limits.deadlock, COMMAND_WATCH,
           "threads wait for each other for ever"),
    LONG("loop-blocked", "TIME", DURATION, watch.limits.loop_blocked_ns, COMMAND_WATCH,
         "an event loop is in one callback for TIME"),
    LONG("rss", "SIZE", SIZE, watch.limits.rss_bytes, COMMAND_WATCH,
         "all processes together have SIZE of memory"),
    LONG("exec", "COMMAND", TEXT, watch.exec, COMMAND_WATCH,
         "run COMMAND for each event (sh -c)"),
    LONG("max-events", "NUMBER", NUMBER, watch.max_events, COMMAND_WATCH,
         "write files of so many events (default 100)", RANGE(1, 999999)),

    LONG("max-cpu", "PERCENT", PERCENT, sampling.max_cpu_percent, SAMPLING | HOSTING,
         "limit profiler CPU to PERCENT of a core", .heading = "Limits"),
    LONG("memory", "SIZE", SIZE, sampling.memory_bytes,
         SAMPLING | READING | COMMAND_MCP | COMMAND_WATCH,
         "memory for profile data (default up to 256m)", GIVEN(has_memory)),

    OPTION('o', "output", "FILE", TEXT, output,
           SAMPLING | COMMAND_REPLAY | COMMAND_MERGE | COMMAND_DIFF | COMMAND_WATCH,
           "output file or folder; - is standard output", .heading = "Output"),
    { SETTING("format", OTHER, struct options, formats), READ(read_format),
      .setting.is_repeatable = true, .letter = 'f', .names_format = true,
      SHOWN(WRITING, "NAME", "a format, such as svg or pprof") },
    LONG("binary", "=FILE", TEXT, capture_file, SAMPLING, "write a capture for replay",
         GIVEN(wants_capture)),
    LONG("measure", "NAME", TEXT, measure, WRITING | COMMAND_DIFF,
         "what reports show, of several events"),
    SWITCH("split", splits, WRITING, "write one file per process: NAME_PID.html"),
    LONG("quality", "FILE", TEXT, quality_file, SAMPLING | COMMAND_REPLAY,
         "write data quality to FILE as JSON"),
    SWITCH("realtime-stats", wants_stats, LOGGING, "print rate and errors every second"),
    SWITCH("each", dump.each, COMMAND_DUMP, "print every stack, equal ones too"),
    OPTION('i', "idle", NULL, FLAG, shows_idle, COMMAND_DUMP,
           "print the stacks of idle workers too"),
    LONG("locals", "=WHAT", CHOICE, dump.locals, COMMAND_DUMP,
         "print variables: values (without WHAT), names",
         TEXTS(session_locals_texts, SESSION_LOCALS_NAMES), .bare = "values"),
    SWITCH("kernel", dump.kernel, COMMAND_DUMP, "print what blocked threads do in the kernel"),
    LONG("repeat", "NUMBER", NUMBER, dump.repeat, COMMAND_DUMP,
         "read NUMBER times; mark threads that are stuck", RANGE(1, 1000)),
    LONG("interval", "TIME", DURATION, dump.interval_ns, COMMAND_DUMP,
         "time between two readings (default 1)"),
    SWITCH("json", writes_json, COMMAND_DIFF | COMMAND_DUMP, "write JSON"),
    SWITCH("html", diff_html, COMMAND_DIFF, "write the page, opened at the comparison"),
    SWITCH("markdown", diff_markdown, COMMAND_DIFF, "write a Markdown table"),
    LONG("fail-if", "CONDITION", TEXTS, fail_ifs, COMMAND_DIFF | COMMAND_DUMP,
         "exit with 5 if it holds"),
    SWITCH("by-time", diff_by_time, COMMAND_DIFF, "compare by time, not by share of samples"),
    LONG("sort", "KEY", CHOICE, report.sort, WRITING,
         "sort the table by nsamples, tottime, cumtime, ...", TEXTS(report_sort_texts, 0)),
    OPTION('l', "limit", "ROWS", NUMBER, report.limit, WRITING | COMMAND_DIFF,
           "maximum rows of the table (default 15)", RANGE(1, 999999999)),
    SWITCH("no-summary", report.no_summary, WRITING, "leave out the summary below the table"),
    OPTION('t', "threads", NULL, FLAG, report.by_thread, WRITING,
           "in an SVG, a frame for each thread"),
    SWITCH("by-line", report.by_line, WRITING, "group by line instead of by function"),
    SWITCH("no-source", report.no_source,
           SAMPLING | LOADING | COMMAND_MERGE | COMMAND_DIFF | COMMAND_MCP | COMMAND_WATCH |
               COMMAND_DUMP,
           "leave out source code"),
    SWITCH("anonymize", report.anonymizes, WRITING | COMMAND_DIFF | COMMAND_PUSH,
           "hash your names; omit command, host and source"),

    { VIEW_FROM(struct options, view.query),
      SHOWN(SELECTING, "TIME", "leave out samples before TIME since the start"),
      .heading = "Selection" },
    { VIEW_TO(struct options, view.query),
      SHOWN(SELECTING, "TIME", "leave out samples from TIME on") },
    LONG("thread", "THREAD", TEXTS, view.threads, SELECTING, "only this thread, by name or id"),
    LONG("process", "PROCESS", TEXTS, view.processes, SELECTING,
         "only this process, by name or PID"),
    LONG("before", "WHEN", TEXT, diff_before, COMMAND_DIFF,
         "compare around a version, UTC time or last start"),
    LONG("service", "NAME", TEXT, diff_service, COMMAND_DIFF,
         "with --before: only processes of this service"),
    LONG("span", "TIME", DURATION, diff_span_ns, COMMAND_DIFF,
         "with --before: at most TIME on each side"),
    { VIEW_PARTS(struct options, view.query),
      SHOWN(WRITING | SELECTING | COMMAND_TOP, "LIST",
            "parts of time: running, needs-gil, blocked"),
      GIVEN(chooses_parts) },
    OPTION('i', "idle", NULL, FLAG, shows_idle, WRITING | SELECTING | COMMAND_TOP,
           "show idle threads too"),
    LONG("slower-than", "TIME", DURATION, view.requests.slower_ns, SELECTING,
         "only requests that took TIME or more"),
    LONG("faster-than", "TIME", DURATION, view.requests.faster_ns, SELECTING,
         "only requests of less than TIME"),
    LONG("slowest", "PERCENT", PERCENT, view.requests.slowest, SELECTING,
         "only these requests; diff FILE: with the rest"),
    { VIEW_CONTEXT_VALUE("context-value", struct options, view.requests),
      SHOWN(SELECTING, "PATTERN", "only requests with such a value: TEXT|/REGEX/") },
    { VIEW_STATE(struct options, view.query),
      SHOWN(SELECTING, "WORDS", "only samples in these states: on_cpu,!has_gil") },
    FILTER(
        "focus", FOCUS, "keep samples with a matching frame",
        .heading =
            "Filters; PATTERN: function: file: module: library: wait: context: TEXT|/REGEX/"),
    FILTER("ignore", IGNORE, "drop samples with a matching frame"),
    FILTER("hide", HIDE, "remove matching frames"),
    FILTER("show", SHOW, "keep only matching frames"),
    FILTER("show-from", SHOW_FROM, "start stacks at a matching frame"),
    { VIEW_NATIVE("native-frames", struct options, view.filters),
      SHOWN(FILTERING, "WHICH", "hidden, leaf (default), library, all, everything") },
    { VIEW_WAITS(struct options, view.filters),
      SHOWN(FILTERING, "=on|off", "end waiting stacks with their cause (default on)"),
      .bare = "on" },
    SWITCH("contexts", view.filters.shows_contexts, FILTERING,
           "end stacks with what their threads work for"),

    LONG("listen", "ADDRESS", OTHER, listen, SERVING,
         "HOST:PORT or unix:PATH (default 127.0.0.1:7997)", READ(read_listen),
         GIVEN(has_listen), .heading = "Server"),
    SWITCH("browser", opens_browser, SERVING, "open the page in a browser"),
    LONG("base-path", "PREFIX", OTHER, access.base_path, SERVING,
         "serve below PREFIX behind a proxy: /pyrometer", READ(read_base_path)),
    LONG("max-rate", "RATE", RATE, serve.max_rate_hz, HOSTING,
         "maximum sampling rate (default 10khz)"),
    LONG("max-stop", "PERCENT", PERCENT, sampling.max_stop_percent, HOSTING,
         "maximum share of a thread's time for stops"),
    LONG("max-sessions", "NUMBER", NUMBER, serve.max_sessions, HOSTING,
         "maximum concurrent sessions (default 50)", RANGE(1, SESSIONS_MAX / 2)),
    LONG("continuous", "=RATE", RATE, serve.continuous_hz, COMMAND_SERVE,
         "always sample all processes (19 Hz, 1 % CPU)", GIVEN(serve.is_continuous)),
    SWITCH("no-continuous", serve.no_continuous, COMMAND_SERVE,
           "do not; without captures, root does by default"),
    LONG("turn", "TIME", DURATION, serve.turn_ns, COMMAND_SERVE,
         "length of each continuous capture (default 1h)"),

    LONG("data", "DIR", TEXT, serve.data, COMMAND_SERVE,
         "folder of captures, instead of the usual one", .heading = "Captures"),
    SWITCH("no-data", serve.no_data, COMMAND_SERVE, "do not record sessions"),
    LONG("keep-days", "DAYS", NUMBER, serve.keep_days, COMMAND_SERVE,
         "delete captures after DAYS (default 30; 0: never)", RANGE(0, 99999)),
    LONG("keep-bytes", "SIZE", SIZE, serve.keep_bytes, COMMAND_SERVE,
         "delete the oldest above SIZE (default 10g)"),
    LONG("max-upload", "SIZE", SIZE, serve.max_upload, COMMAND_SERVE,
         "maximum upload size (default 256m)"),

    LONG("editor", "EDITOR", OTHER, report.links.editor, LINKING,
         "vscode, cursor, pycharm or URL with {path} {line}", READ(source_links_read_editor),
         .heading = "Links"),
    LONG("map-path", "FROM=TO", OTHER, report.links.maps, LINKING,
         "folder FROM of the target is TO here", READ(source_links_read_map),
         .setting.is_repeatable = true),
    LONG("repository", "URL", OTHER, report.links.repository, LINKING,
         "URL with {commit}, {path} below FROM, and {line}",
         READ(source_links_read_repository)),
    LONG("commit", "COMMIT", OTHER, report.links.commit, LINKING,
         "what {commit} stands for (default: its checkout)", READ(source_links_read_commit)),
    LONG("link-template", "URL", OTHER, report.links.service, LINKING,
         "history of a service: {service} {from} {to} ...", READ(source_links_read_service)),

    { SETTING("push", OTHER, struct options, push), READ(push_read_endpoint),
      .setting.is_repeatable = true,
      SHOWN(PUSHING, "URL", "to pyroscope://, otlp:// or parca://"), .heading = "Push" },
    { SETTING("push-headers", OTHER, struct options, push), READ(push_read_headers_file),
      .setting.is_repeatable = true,
      SHOWN(PUSHING | COMMAND_PUSH, "FILE", "headers for the URL before it") },
    { SETTING("push-ca", OTHER, struct options, push), READ(push_read_ca_file),
      .setting.is_repeatable = true,
      SHOWN(PUSHING | COMMAND_PUSH, "FILE", "CA certificates to trust there (PEM)") },
    { SETTING("label", OTHER, struct options, push), READ(push_read_label),
      .setting.is_repeatable = true,
      SHOWN(PUSHING | COMMAND_PUSH, "NAME=VALUE", "label what is pushed; NAME= removes") },
    LONG("sample-labels", "WHICH", CHOICE, push.sample_labels, PUSHING | COMMAND_PUSH,
         "also label samples: thread, state, thread,state", TEXTS(push_sample_labels_texts, 0)),
    { SETTING("push-batch", OTHER, struct options, push), READ(push_read_batch),
      SHOWN(PUSHING | COMMAND_PUSH, "TIME", "time of each pushed profile (default 15s)") },
    LONG("push-spool", "SIZE", SIZE, push.spool_bytes, PUSHING,
         "disk space for what waits (default 64m)"),

    LONG("token-file", "FILE", TEXT, token_file, SERVING, "read the access token from FILE",
         .heading = "Access"),
    SWITCH("no-token", no_token, SERVING, "allow access without a token"),
    LONG("allow-host", "NAME", TEXTS, allowed_hosts, SERVING, "also accept this host name"),
    LONG("allow-user", "USER", OTHER, access.admission, HOSTING,
         "only profile processes of USER", READ(read_user), .setting.is_repeatable = true),
    LONG("allow-command", "PATTERN", TEXTS, access.admission.commands, HOSTING,
         "only profile matching commands"),
    SWITCH("allow-locals", access.allows_locals, HOSTING,
           "let dumps show the values of variables"),
    LONG("user", "USER", OTHER, access.identity, SERVING, "serve as USER, if root starts it",
         READ(read_identity), GIVEN(access.has_identity)),
    LONG("tls-cert", "FILE", TEXT, access.tls_cert, SERVING, "TLS certificate chain (PEM)"),
    LONG("tls-key", "FILE", TEXT, access.tls_key, SERVING,
         "private key of the certificate (PEM)"),
    LONG("shares", "FILE", TEXT, access.shares_file, SERVING,
         "keep shared links in FILE across restarts"),
    LONG("audit", "FILE", TEXT, access.audit_file, SERVING | SAMPLING | COMMAND_MCP,
         "write an audit log to FILE; - is standard error"),

    LONG("completion", "SHELL", CHOICE, completion, COMMAND_NONE,
         "print a completion script for bash, zsh or fish", TEXTS(completion_texts, 0),
         GIVEN(wants_completion), .heading = "Other"),
    OPTION('h', "help", "=FORM", CHOICE, help_form, 0,
           "show help: all of it with =all, roff with =man", TEXTS(help_form_texts, HELP_TEXT),
           GIVEN(wants_help), .bare = "text"),
    OPTION('V', "version", NULL, FLAG, wants_version, 0, "show the version"),
};

/* Makes the row of a format. */
static const struct option *format_option(size_t index)
{
    static struct option rows[OPTIONS_MAX_FORMATS];
    const struct report_format *const format = report_at(index);
    if (!format || index >= OPTIONS_MAX_FORMATS)
        return NULL;
    rows[index] = (struct option){
        .setting.name = format->name,
        .value = format->needs_baseline ? "FILE" : "=FILE",
        .help = format->description,
        .commands = WRITING,
        .heading = "Formats, one or more",
        .format = format,
    };
    return &rows[index];
}

const struct option *option_at(size_t index)
{
    enum { ROWS = sizeof table / sizeof *table };
    return index < ROWS ? &table[index] : format_option(index - ROWS);
}
