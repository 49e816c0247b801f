#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/enum_text.h"
#include "sampler/capture/format.h"
#include "server/command/options/commands.h"
#include "server/command/options/completion.h"
#include "server/command/options/option_parts.h"
#include "server/command/options/suggest.h"
#include "server/command/options/units.h"
#include "server/report/report.h"
#include "server/wire/state_words.h"

/* The setter of an option without a value. */
#define SET_TO(name, member, what)                                                         \
    static enum err_code name(struct options *options, const char *value, struct err *err) \
    {                                                                                      \
        (void)value;                                                                       \
        (void)err;                                                                         \
        options->member = what;                                                            \
        return ERR_OK;                                                                     \
    }
#define SET_TRUE(name, member) SET_TO(name, member, true)

SET_TRUE(set_all_threads, sampling.all_threads)
SET_TRUE(set_all, sampling.all)
SET_TRUE(set_hide_args, sampling.hides_arguments)
SET_TRUE(set_subprocesses, sampling.subprocesses)
SET_TRUE(set_native, sampling.native)
SET_TRUE(set_no_gc, sampling.no_gc)
SET_TRUE(set_opcodes, sampling.opcodes)
SET_TRUE(set_blocking, sampling.blocking)
SET_TRUE(set_stats, wants_stats)
SET_TRUE(set_no_token, no_token)
SET_TRUE(set_browser, opens_browser)
SET_TRUE(set_module, runs_module)
SET_TRUE(set_split, splits)
SET_TRUE(set_no_summary, report.no_summary)
SET_TRUE(set_by_line, report.by_line)
SET_TRUE(set_no_source, report.no_source)
SET_TRUE(set_redact, report.redacts)
SET_TRUE(set_help, wants_help)
SET_TRUE(set_version, wants_version)
SET_TO(set_json, diff_form, DIFF_JSON)
SET_TO(set_html, diff_form, DIFF_HTML)
SET_TO(set_by_time, diff_basis, COMPARISON_BY_TIME)

static enum err_code set_rate(struct options *options, const char *value, struct err *err)
{
    if (units_rate(value, &options->sampling.rate_hz))
        return ERR_OK;
    return err_set(err, ERR_INVALID,
                   "bad sampling rate '%s': use 1 to 1mhz, as in 100, 10khz or 1.5k", value);
}

static enum err_code set_duration(struct options *options, const char *value, struct err *err)
{
    if (units_duration(value, &options->sampling.duration_ns))
        return ERR_OK;
    return err_set(err, ERR_INVALID, "bad duration '%s': use 10, 0.5, 500ms, 2m or 1h", value);
}

static const char *const mode_names[] = {
#define X(name, text) text,
    SAMPLER_MODES(X)
#undef X
};

static enum err_code set_mode(struct options *options, const char *value, struct err *err)
{
    struct suggestion best = { NULL, 0 };
    for (size_t i = 0; i < sizeof mode_names / sizeof *mode_names; i++) {
        if (strcmp(mode_names[i], value) == 0) {
            options->sampling.mode = (enum sampler_mode)i;
            return ERR_OK;
        }
        suggest_offer(&best, value, mode_names[i]);
    }
    if (best.word)
        return err_set(err, ERR_INVALID, "unknown mode '%.64s' (did you mean '%s'?)", value,
                       best.word);
    return err_set(err, ERR_INVALID, "unknown mode '%.64s': use wall, cpu, gil or exception",
                   value);
}

static enum err_code set_async_aware(struct options *options, const char *value,
                                     struct err *err)
{
    (void)value;
    (void)err;
    if (options->sampling.async == SAMPLER_ASYNC_OFF)
        options->sampling.async = SAMPLER_ASYNC_RUNNING;
    return ERR_OK;
}

static enum err_code set_async_mode(struct options *options, const char *value, struct err *err)
{
    const int async = enum_find(sampler_async_texts, value);
    if (async <= (int)SAMPLER_ASYNC_OFF)
        return err_set(err, ERR_INVALID, "unknown mode of tasks '%.64s': use running or all",
                       value);
    options->sampling.async = (enum sampler_async)async;
    options->names_async_mode = true;
    return ERR_OK;
}

static enum err_code set_max_cpu(struct options *options, const char *value, struct err *err)
{
    if (units_percent(value, &options->sampling.max_cpu_percent))
        return ERR_OK;
    return err_set(err, ERR_INVALID,
                   "bad CPU budget '%.64s': use a percentage of one core up to 100, as in 5",
                   value);
}

static enum err_code set_quality(struct options *options, const char *value, struct err *err)
{
    if (*value == '\0')
        return err_set(err, ERR_INVALID, "--quality needs a file name");
    options->quality_file = value;
    return ERR_OK;
}

static enum err_code set_listen(struct options *options, const char *value, struct err *err)
{
    options->has_listen = true;
    return listen_parse(value, &options->listen, err);
}

static enum err_code add_host(struct options *options, const char *value, struct err *err)
{
    const size_t room = sizeof options->allowed_hosts / sizeof *options->allowed_hosts;
    if (options->allowed_host_count == room)
        return err_set(err, ERR_INVALID, "--allow-host is given more than %zu times", room);
    options->allowed_hosts[options->allowed_host_count++] = value;
    return ERR_OK;
}

static enum err_code set_token_file(struct options *options, const char *value, struct err *err)
{
    (void)err;
    options->token_file = value;
    return ERR_OK;
}

static enum err_code set_python(struct options *options, const char *value, struct err *err)
{
    (void)err;
    options->python = value;
    return ERR_OK;
}

static enum err_code set_output(struct options *options, const char *value, struct err *err)
{
    if (*value == '\0')
        return err_set(err, ERR_INVALID, "--output needs a file name");
    options->output = value;
    return ERR_OK;
}

/* Twice the same is once, with the later name. */
enum err_code option_add_format(struct options *options, const struct report_format *format,
                                const char *output, struct err *err)
{
    size_t at = 0;
    if (output && *output == '\0')
        return err_set(err, ERR_INVALID, "--%s= needs a file name", format->name);
    while (at < options->format_count && options->formats[at].format != format)
        at++;
    if (at == OPTIONS_MAX_FORMATS)
        return err_set(err, ERR_INVALID, "%zu formats at a time are enough", at);
    if (at == options->format_count)
        options->formats[options->format_count++].format = format;
    if (output)
        options->formats[at].output = output;
    return ERR_OK;
}

/* Its value is not its own file but what it compares with. */
enum err_code option_add_comparing_format(struct options *options,
                                          const struct report_format *format,
                                          const char *baseline, struct err *err)
{
    if (*baseline == '\0')
        return err_set(err, ERR_INVALID, "--%s needs a capture", format->name);
    options->baseline = baseline;
    return option_add_format(options, format, NULL, err);
}

static const char *const sort_names[] = {
#define X(name, text) text,
    REPORT_SORTS(X)
#undef X
};

static enum err_code set_memory(struct options *options, const char *value, struct err *err)
{
    if (units_size(value, &options->sampling.memory_bytes))
        return ERR_OK;
    return err_set(err, ERR_INVALID, "bad size '%.64s': use 1mib to 1024g, as in 64m or 1g",
                   value);
}

static enum err_code set_sort(struct options *options, const char *value, struct err *err)
{
    struct suggestion best = { NULL, 0 };
    for (size_t i = 0; i < REPORT_SORT_COUNT; i++) {
        if (strcmp(sort_names[i], value) == 0) {
            options->report.sort = (enum report_sort)i;
            return ERR_OK;
        }
        suggest_offer(&best, value, sort_names[i]);
    }
    return err_set(err, ERR_INVALID, "unknown sort key '%.64s'%s%s%s", value,
                   best.word ? " (did you mean '" : ": use nsamples, tottime, cumtime, ",
                   best.word ? best.word : "sample-pct, cumul-pct, nsamples-cumul or name",
                   best.word ? "'?)" : "");
}

static enum err_code set_limit(struct options *options, const char *value, struct err *err)
{
    const size_t digits = strspn(value, "0123456789");
    const unsigned long limit = digits > 0 && digits <= 9 ? strtoul(value, NULL, 10) : 0;
    if (value[digits] != '\0' || limit == 0)
        return err_set(err, ERR_INVALID, "bad limit '%.64s': use a number of rows, as in 30",
                       value);
    options->report.limit = (uint32_t)limit;
    return ERR_OK;
}

static enum err_code set_completion(struct options *options, const char *value, struct err *err)
{
    options->completion = value;
    return completion_knows(value)
               ? ERR_OK
               : err_set(err, ERR_INVALID, "no completion for '%.64s': use bash, zsh or fish",
                         value);
}

/* Without an own name it goes where -o says. */
static enum err_code set_binary(struct options *options, const char *value, struct err *err)
{
    if (value && *value == '\0')
        return err_set(err, ERR_INVALID, "--binary= needs a file name");
    options->wants_capture = true;
    if (value)
        options->capture_file = value;
    return ERR_OK;
}

static enum err_code read_instant(const char *name, const char *value, uint64_t *out,
                                  struct err *err)
{
    *out = 0;
    if (strcmp(value, "0") == 0 || units_duration(value, out))
        return ERR_OK;
    return err_set(err, ERR_INVALID,
                   "bad time '%.64s' for --%s: use 10, 0.5, 500ms, 2m or 1h since the start",
                   value, name);
}

static enum err_code set_from(struct options *options, const char *value, struct err *err)
{
    return read_instant("from", value, &options->view.from_ns, err);
}

static enum err_code set_to(struct options *options, const char *value, struct err *err)
{
    const enum err_code rc = read_instant("to", value, &options->view.to_ns, err);
    if (rc == ERR_OK && options->view.to_ns == 0)
        return err_set(err, ERR_INVALID, "nothing is before --to 0");
    return rc;
}

static enum err_code add_word(const char **words, size_t *count, const char *name,
                              const char *value, struct err *err)
{
    if (*value == '\0')
        return err_set(err, ERR_INVALID, "--%s needs a name or an id", name);
    if (*count == OPTIONS_MAX_THREADS)
        return err_set(err, ERR_INVALID, "--%s is given more than %d times", name,
                       OPTIONS_MAX_THREADS);
    words[(*count)++] = value;
    return ERR_OK;
}

static enum err_code add_thread(struct options *options, const char *value, struct err *err)
{
    return add_word(options->view.threads, &options->view.thread_count, "thread", value, err);
}

static enum err_code add_process(struct options *options, const char *value, struct err *err)
{
    return add_word(options->view.processes, &options->view.process_count, "process", value,
                    err);
}

static enum err_code set_state(struct options *options, const char *value, struct err *err)
{
    state_bits require, exclude;
    options->view.states = value;
    return state_words_read(value, &require, &exclude, err);
}

static enum err_code add_rule(struct options *options, enum rule rule, const char *name,
                              const char *value, struct err *err)
{
    struct err why = { 0 };
    if (rules_add(&options->view.rules, rule, value, &why) == ERR_OK)
        return ERR_OK;
    return err_set(err, ERR_INVALID, "bad --%s '%.64s': %s", name, value, why.message);
}

static enum err_code add_omit(struct options *options, const char *value, struct err *err)
{
    return add_rule(options, RULE_OMIT, "omit", value, err);
}

static enum err_code add_below(struct options *options, const char *value, struct err *err)
{
    return add_rule(options, RULE_BELOW, "below", value, err);
}

static enum err_code add_at(struct options *options, const char *value, struct err *err)
{
    return add_rule(options, RULE_AT, "at", value, err);
}

static enum err_code add_hide(struct options *options, const char *value, struct err *err)
{
    return add_rule(options, RULE_HIDE, "hide", value, err);
}

static const struct option table[] = {
    { 'r', "sampling-rate", "RATE", "samples a second: 100, 10khz, 1.5k (default 1khz)",
      SAMPLING, set_rate, NULL },
    { 'd', "duration", "TIME", "stop sampling after TIME: 10, 0.5, 2m, 1h", SAMPLING,
      set_duration, NULL },
    { 'a', "all-threads", NULL, "sample all threads, not only the main one", SAMPLING,
      set_all_threads, NULL },
    { '\0', "all", NULL, "all Python processes that may be read", NAMING, set_all, NULL },
    { '\0', "hide-args", NULL, "keep only the first word of command lines", DESCRIBING,
      set_hide_args, NULL },
    { '\0', "subprocesses", NULL, "sample the processes it starts too, and theirs", SAMPLING,
      set_subprocesses, NULL },
    { '\0', "mode", "MODE", "keep samples of: wall (all), cpu, gil, exception", SAMPLING,
      set_mode, NULL },
    { '\0', "native", NULL, "mark where C code runs or calls back", SAMPLING, set_native,
      NULL },
    { '\0', "no-gc", NULL, "leave out the mark of the garbage collector", SAMPLING, set_no_gc,
      NULL },
    { '\0', "opcodes", NULL, "record the instruction beside the line", SAMPLING, set_opcodes,
      NULL },
    { '\0', "async-aware", NULL, "stacks of asyncio tasks, with who awaits them",
      SAMPLING | COMMAND_DUMP, set_async_aware, NULL },
    { '\0', "async-mode", "MODE", "running, or all: tasks that wait are samples, too",
      SAMPLING | COMMAND_DUMP, set_async_mode, NULL },
    { '\0', "blocking", NULL, "stop the program for each look; slows it down", SAMPLING,
      set_blocking, NULL },
    { '\0', "max-cpu", "PERCENT", "use at most PERCENT of one core", SAMPLING | COMMAND_SERVE,
      set_max_cpu, NULL },
    { '\0', "memory", "SIZE", "memory for what is kept (default 256m)", 0, set_memory, NULL },
    { '\0', "realtime-stats", NULL, "print rate and errors every second", TELLING, set_stats,
      NULL },
    { '\0', "quality", "FILE", "write how well it went to FILE, as JSON", SAMPLING, set_quality,
      NULL },
    { 'o', "output", "FILE", "file or folder to write; - for standard output",
      SAMPLING | COMMAND_REPLAY | COMMAND_MERGE | COMMAND_DIFF, set_output, NULL },
    { '\0', "split", NULL, "a file for each process: NAME_PID.html", WRITING, set_split, NULL },
    { '\0', "binary", "=FILE", "write a capture for replay (=FILE is optional)", SAMPLING,
      set_binary, NULL },
    { '\0', "from", "TIME", "leave out what was before TIME since the start", COMMAND_REPLAY,
      set_from, NULL },
    { '\0', "to", "TIME", "leave out what was from TIME on", COMMAND_REPLAY, set_to, NULL },
    { '\0', "thread", "THREAD", "only this thread, name or id (may be repeated)",
      COMMAND_REPLAY, add_thread, NULL },
    { '\0', "process", "PROCESS", "only this process (may be repeated)", COMMAND_REPLAY,
      add_process, NULL },
    { '\0', "state", "WORDS", "only samples in these states: on_cpu,!has_gil", COMMAND_REPLAY,
      set_state, NULL },
    { '\0', "omit", "WORD", "leave out samples in WORD: a file, function:NAME", RESHAPING,
      add_omit, NULL },
    { '\0', "below", "WORD", "begin stacks below the innermost WORD", RESHAPING, add_below,
      NULL },
    { '\0', "at", "WORD", "only samples in WORD; stacks begin there", RESHAPING, add_at, NULL },
    { '\0', "hide", "WORD", "take frames of WORD out", RESHAPING, add_hide, NULL },
    { '\0', "json", NULL, "write JSON", COMMAND_DIFF, set_json, NULL },
    { '\0', "html", NULL, "write a differential flame graph", COMMAND_DIFF, set_html, NULL },
    { '\0', "by-time", NULL, "compare seconds of each second, not shares", COMMAND_DIFF,
      set_by_time, NULL },
    { '\0', "sort", "KEY", "sort the table: nsamples, tottime, cumtime, ...", WRITING, set_sort,
      NULL },
    { 'l', "limit", "ROWS", "rows of the table (default 15)", WRITING | COMMAND_DIFF, set_limit,
      NULL },
    { '\0', "no-summary", NULL, "leave out the interesting functions below it", WRITING,
      set_no_summary, NULL },
    { '\0', "by-line", NULL, "tell lines apart, not only functions", WRITING, set_by_line,
      NULL },
    { '\0', "no-source", NULL, "leave the text of source files out", WRITING | SERVING,
      set_no_source, NULL },
    { '\0', "redact", NULL, "own code as hashes; no command, host, source",
      WRITING | COMMAND_DIFF, set_redact, NULL },
    { 'm', "module", NULL, "TARGET is a module, as in python -m", COMMAND_RUN, set_module,
      NULL },
    { '\0', "python", "PATH", "interpreter for TARGET (default python3)", COMMAND_RUN,
      set_python, NULL },
    { '\0', "listen", "ADDRESS", "HOST:PORT or unix:PATH (default 127.0.0.1:7997)", SERVING,
      set_listen, NULL },
    { '\0', "browser", NULL, "open the page in a browser", SERVING, set_browser, NULL },
    { '\0', "allow-host", "NAME", "also answer to this name (may be repeated)", SERVING,
      add_host, NULL },
    { '\0', "token-file", "FILE", "take the access token from FILE", SERVING, set_token_file,
      NULL },
    { '\0', "no-token", NULL, "let everybody on this machine in", SERVING, set_no_token, NULL },
    { '\0', "tls-cert", "FILE", "speak TLS with this certificate (and chain), PEM", SERVING,
      access_set_tls_cert, NULL },
    { '\0', "tls-key", "FILE", "the certificate's key, PEM", SERVING, access_set_tls_key,
      NULL },
    { '\0', "shares", "FILE", "keep shared links in FILE, over restarts", SERVING,
      access_set_shares, NULL },
    { '\0', "base-path", "PATH", "be below PATH, behind a proxy: /pyrometer", SERVING,
      access_set_base_path, NULL },
    { '\0', "data", "DIR", "folder of captures (~/.local/state/pyrometer)", COMMAND_SERVE,
      serve_set_data, NULL },
    { '\0', "no-data", NULL, "keep nothing: sessions are not recorded", COMMAND_SERVE,
      serve_set_no_data, NULL },
    { '\0', "keep-days", "DAYS", "remove older captures (default 30; 0: none)", COMMAND_SERVE,
      serve_set_keep_days, NULL },
    { '\0', "keep-bytes", "SIZE", "remove the oldest above SIZE (default 10g)", COMMAND_SERVE,
      serve_set_keep_bytes, NULL },
    { '\0', "max-upload", "SIZE", "captures sent may have SIZE (default 256m)", COMMAND_SERVE,
      serve_set_max_upload, NULL },
    { '\0', "continuous", "=RATE", "sample all processes always (19 Hz, 1 % CPU)",
      COMMAND_SERVE, serve_set_continuous, NULL },
    { '\0', "turn", "TIME", "a capture of --continuous has TIME (default 1h)", COMMAND_SERVE,
      serve_set_turn, NULL },
    { '\0', "max-rate", "RATE", "sessions may have up to RATE (default 10khz)", COMMAND_SERVE,
      serve_set_max_rate, NULL },
    { '\0', "max-sessions", "NUMBER", "so many may run at a time (default 50)", COMMAND_SERVE,
      serve_set_max_sessions, NULL },
    { '\0', "audit", "FILE", "who started, stopped, took what; - is stderr", SERVING | SAMPLING,
      access_set_audit, NULL },
    { '\0', "allow-user", "USER", "look at USER's processes only (may be repeated)",
      COMMAND_SERVE, access_add_user, NULL },
    { '\0', "allow-command", "PATTERN", "at commands such as '*gunicorn*' only (likewise)",
      COMMAND_SERVE, access_add_command, NULL },
    { '\0', "completion", "SHELL", "print what SHELL needs to complete: bash, zsh, fish",
      COMMAND_NONE, set_completion, NULL },
    { 'h', "help", NULL, "show this help", 0, set_help, NULL },
    { 'V', "version", NULL, "show the version", 0, set_version, NULL },
};

/* The row of a format, made when it is first asked for. */
static const struct option *format_option(size_t index)
{
    static struct option rows[OPTIONS_MAX_FORMATS];
    const struct report_format *const format = report_at(index);
    if (!format || index >= OPTIONS_MAX_FORMATS)
        return NULL;
    rows[index] = (struct option){
        .name = format->name,
        .value = format->needs_baseline ? "BASELINE" : NULL,
        .help = format->description,
        .commands = WRITING,
        .format = format,
    };
    return &rows[index];
}

const struct option *option_at(size_t index)
{
    enum { ROWS = sizeof table / sizeof *table };
    return index < ROWS ? &table[index] : format_option(index - ROWS);
}
