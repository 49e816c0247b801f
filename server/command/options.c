#include "server/command/options.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/capture/format.h"
#include "server/command/commands.h"
#include "server/command/completion.h"
#include "server/command/suggest.h"
#include "server/command/units.h"
#include "server/report/report.h"
#include "server/state_words.h"

enum { DEFAULT_RATE_HZ = 1000, DEFAULT_MEMORY_BYTES = 256 << 20 };

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

static enum err_code set_all_threads(struct options *options, const char *value,
                                     struct err *err)
{
    (void)value;
    (void)err;
    options->sampling.all_threads = true;
    return ERR_OK;
}

static enum err_code set_all(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->sampling.all = true;
    return ERR_OK;
}

static enum err_code set_subprocesses(struct options *options, const char *value,
                                      struct err *err)
{
    (void)value;
    (void)err;
    options->sampling.subprocesses = true;
    return ERR_OK;
}

static const char *const mode_names[] = {
#define X(name, text, help) text,
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

static enum err_code set_native(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->sampling.native = true;
    return ERR_OK;
}

static enum err_code set_no_gc(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->sampling.no_gc = true;
    return ERR_OK;
}

static enum err_code set_opcodes(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->sampling.opcodes = true;
    return ERR_OK;
}

static enum err_code set_blocking(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->sampling.blocking = true;
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

static enum err_code set_stats(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->wants_stats = true;
    return ERR_OK;
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

static enum err_code set_no_token(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->no_token = true;
    return ERR_OK;
}

static enum err_code set_browser(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->opens_browser = true;
    return ERR_OK;
}

static enum err_code set_python(struct options *options, const char *value, struct err *err)
{
    (void)err;
    options->python = value;
    return ERR_OK;
}

static enum err_code set_module(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->runs_module = true;
    return ERR_OK;
}

static enum err_code set_output(struct options *options, const char *value, struct err *err)
{
    if (*value == '\0')
        return err_set(err, ERR_INVALID, "--output needs a file name");
    options->output = value;
    return ERR_OK;
}

static enum err_code set_split(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->splits = true;
    return ERR_OK;
}

/* Twice the same is once, with the later name. */
static enum err_code add_format(struct options *options, const struct report_format *format,
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
static enum err_code add_comparing_format(struct options *options,
                                          const struct report_format *format,
                                          const char *baseline, struct err *err)
{
    if (*baseline == '\0')
        return err_set(err, ERR_INVALID, "--%s needs a capture", format->name);
    options->baseline = baseline;
    return add_format(options, format, NULL, err);
}

static const char *const sort_names[] = {
#define X(name, text, help) text,
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

static enum err_code set_no_summary(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->report.no_summary = true;
    return ERR_OK;
}

static enum err_code set_by_line(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->report.by_line = true;
    return ERR_OK;
}

static enum err_code set_no_source(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->report.no_source = true;
    return ERR_OK;
}

static enum err_code set_help(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->wants_help = true;
    return ERR_OK;
}

static enum err_code set_version(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->wants_version = true;
    return ERR_OK;
}

static enum err_code set_json(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->diff_form = DIFF_JSON;
    return ERR_OK;
}

static enum err_code set_html(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->diff_form = DIFF_HTML;
    return ERR_OK;
}

static enum err_code set_by_time(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->diff_basis = COMPARISON_BY_TIME;
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

enum {
    TELLING = COMMAND_ATTACH | COMMAND_RUN | COMMAND_RECORD,
    SAMPLING = TELLING | COMMAND_TOP,
    NAMING = COMMAND_ATTACH | COMMAND_RECORD | COMMAND_TOP,
    LOADING = COMMAND_REPLAY | COMMAND_SERVE,
    SERVING = COMMAND_ATTACH | COMMAND_RUN | LOADING,
    WRITING = COMMAND_RECORD | COMMAND_REPLAY,
    READING = LOADING | COMMAND_MERGE | COMMAND_DIFF,
};

static const struct option table[] = {
    { 'r', "sampling-rate", "RATE", "samples a second: 100, 10khz, 1.5k (default 1khz)",
      SAMPLING, set_rate, NULL },
    { 'd', "duration", "TIME", "stop sampling after TIME: 10, 0.5, 2m, 1h", SAMPLING,
      set_duration, NULL },
    { 'a', "all-threads", NULL, "sample all threads, not only the main one", SAMPLING,
      set_all_threads, NULL },
    { '\0', "all", NULL, "all Python processes that may be read", NAMING, set_all, NULL },
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
    { '\0', "omit", "WORD", "leave out samples in WORD: a file, function:NAME", COMMAND_REPLAY,
      add_omit, NULL },
    { '\0', "below", "WORD", "begin stacks below the innermost WORD", COMMAND_REPLAY, add_below,
      NULL },
    { '\0', "at", "WORD", "only samples in WORD; stacks begin there", COMMAND_REPLAY, add_at,
      NULL },
    { '\0', "hide", "WORD", "take frames of WORD out", COMMAND_REPLAY, add_hide, NULL },
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
    { '\0', "hide-args", NULL, "show programs without their arguments", COMMAND_SERVE,
      serve_set_hide_args, NULL },
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

/* Before the command is known, options that every command which samples has are taken too. */
static bool belongs(const struct option *option, const struct command *command)
{
    if (option->commands == 0)
        return true;
    if (!command)
        return (option->commands & COMMAND_NONE) || (option->commands & TELLING) == TELLING;
    return (option->commands & command->bit) != 0;
}

static const struct option *find_letter(char letter, const struct command *command)
{
    const struct option *option = NULL;
    for (size_t i = 0; (option = option_at(i)); i++)
        if (option->letter == letter && belongs(option, command))
            return option;
    return NULL;
}

static const struct option *find_name(const char *name, const struct command *command)
{
    const struct option *option = NULL;
    for (size_t i = 0; (option = option_at(i)); i++)
        if (strcmp(option->name, name) == 0 && belongs(option, command))
            return option;
    return NULL;
}

static enum err_code unknown_option(const char *name, const struct command *command,
                                    struct err *err)
{
    struct suggestion best = { NULL, 0 };
    const struct option *option = NULL;
    for (size_t i = 0; (option = option_at(i)); i++)
        if (belongs(option, command))
            suggest_offer(&best, name, option->name);
        else if (command && strcmp(option->name, name) == 0)
            return err_set(err, ERR_INVALID, "%s has no option '--%s' (see %s --help)",
                           command->name, name, command->name);
    if (best.word)
        return err_set(err, ERR_INVALID, "unknown option '--%.64s' (did you mean '--%s'?)",
                       name, best.word);
    return err_set(err, ERR_INVALID, "unknown option '--%.64s' (see --help)", name);
}

/* "--name value", "--name=value".  Moves *at behind what it used. */
static enum err_code parse_long(struct options *options, char ***at, struct err *err)
{
    char name[64];
    const char *const text = *(*at)++ + 2;
    const size_t length = strcspn(text, "=");
    const char *value = text[length] == '=' ? text + length + 1 : NULL;
    if (length >= sizeof name)
        return unknown_option(text, options->command, err);
    memcpy(name, text, length);
    name[length] = '\0';
    const struct option *const option = find_name(name, options->command);
    if (!option)
        return unknown_option(name, options->command, err);
    if (option->format && !option->value)
        return add_format(options, option->format, value, err);
    if (option->value && option->value[0] == '=')
        return option->set(options, value, err);
    if (!option->value && value)
        return err_set(err, ERR_INVALID, "--%s takes no value", name);
    if (option->value && !value && !(value = *(*at)++)) {
        (*at)--;
        return err_set(err, ERR_INVALID, "--%s needs a value (%s)", name, option->value);
    }
    if (option->format)
        return add_comparing_format(options, option->format, value, err);
    return option->set(options, value, err);
}

/* "-a", "-r 100", "-r100", "-ar100". */
static enum err_code parse_letters(struct options *options, char ***at, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (const char *text = *(*at)++ + 1; *text && rc == ERR_OK; text++) {
        const struct option *const option = find_letter(*text, options->command);
        if (!option)
            return err_set(err, ERR_INVALID, "unknown option '-%c' (see --help)", *text);
        if (!option->value) {
            rc = option->set(options, NULL, err);
            continue;
        }
        const char *const value = text[1] ? text + 1 : **at;
        if (!value)
            return err_set(err, ERR_INVALID, "-%c needs a value (%s)", *text, option->value);
        if (!text[1])
            (*at)++;
        return option->set(options, value, err);
    }
    return rc;
}

static enum err_code unknown_command(const char *name, struct err *err)
{
    struct suggestion best = { NULL, 0 };
    const struct command *command = NULL;
    for (size_t i = 0; (command = command_at(i)); i++)
        suggest_offer(&best, name, command->name);
    if (best.word)
        return err_set(err, ERR_INVALID, "unknown command '%.64s' (did you mean '%s'?)", name,
                       best.word);
    return err_set(err, ERR_INVALID, "unknown command '%.64s' (see --help)", name);
}

static enum err_code take_pid(struct options *options, const char *text, struct err *err)
{
    const size_t digits = strspn(text, "0123456789");
    const long long pid = digits > 0 && digits <= 10 ? strtoll(text, NULL, 10) : 0;
    if (text[digits] != '\0' || pid <= 0 || pid > INT_MAX)
        return err_set(err, ERR_INVALID, "'%.64s' is not a process id", text);
    struct sampler_options *const sampling = &options->sampling;
    for (size_t i = 0; i < sampling->pid_count; i++)
        if (sampling->pids[i] == (pid_t)pid)
            return ERR_OK;
    if (sampling->pid_count == SAMPLER_MAX_PROCESSES)
        return err_set(err, ERR_INVALID, "no more than %d processes at a time",
                       SAMPLER_MAX_PROCESSES);
    sampling->pids[sampling->pid_count++] = (pid_t)pid;
    return ERR_OK;
}

static enum err_code take_file(struct options *options, const char *name, struct err *err)
{
    if (*name == '\0')
        return err_set(err, ERR_INVALID, "a file needs a name");
    if (options->command->bit == COMMAND_REPLAY && options->file_count == 1)
        return err_set(err, ERR_INVALID,
                       "replay takes one FILE, and there is also '%.64s' (merge makes one of "
                       "several)",
                       name);
    const size_t most = options->command->bit == COMMAND_DIFF ? 2 : OPTIONS_MAX_FILES;
    if (options->file_count == most)
        return err_set(err, ERR_INVALID, "%s takes no more than %zu captures",
                       options->command->name, most);
    options->files[options->file_count++] = name;
    return ERR_OK;
}

/* The first word names the command; then a process id, or what to run and all that follows. */
static enum err_code take_word(struct options *options, char ***at, struct err *err)
{
    char **const word = (*at)++;
    if (!options->command) {
        options->command = command_find(*word);
        return options->command ? ERR_OK : unknown_command(*word, err);
    }
    if (options->command->bit & READING)
        return take_file(options, *word, err);
    if (options->command->bit != COMMAND_RUN)
        return take_pid(options, *word, err);
    options->target = word;
    while (**at)
        (*at)++;
    return ERR_OK;
}

static enum err_code take_command(struct options *options, char ***at, struct err *err)
{
    (*at)++;
    if (!options->command || options->command->bit != COMMAND_RUN || options->runs_module ||
        options->python)
        return err_set(err, ERR_INVALID, "'--' may only stand before the COMMAND of run");
    options->runs_command = true;
    options->target = *at;
    while (**at)
        (*at)++;
    return ERR_OK;
}

static enum err_code parse_one(struct options *options, char ***at, struct err *err)
{
    const char *const word = **at;
    if (strcmp(word, "--") == 0)
        return take_command(options, at, err);
    if (strncmp(word, "--", 2) == 0)
        return parse_long(options, at, err);
    if (word[0] == '-' && word[1] != '\0')
        return parse_letters(options, at, err);
    return take_word(options, at, err);
}

static bool is_capture_name(const char *name)
{
    const char *const dot = strrchr(name, '.');
    return dot && strcmp(dot + 1, CAPTURE_EXTENSION) == 0;
}

/* What the end of the file's name stands for. */
static void guess_format(struct options *options)
{
    const struct report_format *const format = report_of_file(options->output);
    options->formats[0].format = format;
    options->format_count = format ? 1 : 0;
}

/* Is anything asked for that is written, and not shown? */
static bool chooses_a_part(const struct options *options)
{
    const struct options_view *const view = &options->view;
    return options->format_count || options->output || options->splits || view->from_ns ||
           view->to_ns || view->thread_count || view->process_count || view->states ||
           rules_are_any(&view->rules);
}

static bool compares(const struct options *options)
{
    for (size_t i = 0; i < options->format_count; i++)
        if (options->formats[i].format->needs_baseline)
            return true;
    return false;
}

/* Each format needs a place of its own. */
static enum err_code complete_formats(struct options *options, struct err *err)
{
    size_t unnamed = 0, on_screen = 0;
    const bool is_record = options->command->bit == COMMAND_RECORD;
    if (options->format_count == 0 && !options->wants_capture && options->output)
        guess_format(options);
    if (is_record && options->format_count == 0 && !options->output)
        options->wants_capture = true;
    if (options->opens_browser && options->format_count == 0)
        return ERR_OK;
    if (options->splits && options->format_count == 0)
        return err_set(err, ERR_INVALID,
                       "--split is for formats: a capture is of all processes, and replay "
                       "--split writes a file for each");
    if (options->format_count == 0 && !options->wants_capture)
        return err_set(err, ERR_INVALID,
                       "%s needs a format, such as --flamegraph or --collapsed (see %s --help)",
                       options->command->name, options->command->name);
    if (options->wants_capture && !options->capture_file && options->format_count > 0)
        unnamed++;
    for (size_t i = 0; i < options->format_count; i++) {
        const char *const name = options->formats[i].output;
        unnamed += name == NULL;
        on_screen += name && strcmp(name, "-") == 0;
    }
    if (on_screen + (options->output && strcmp(options->output, "-") == 0 ? unnamed : 0) > 1)
        return err_set(err, ERR_INVALID, "only one format can go to standard output");
    return ERR_OK;
}

static bool is_written_elsewhere(const struct options *options, const char *name)
{
    bool found = options->output && strcmp(options->output, name) == 0;
    for (size_t i = 0; i < options->format_count; i++)
        found |= options->formats[i].output && strcmp(options->formats[i].output, name) == 0;
    return found;
}

/* What only shows once all is read. */
static enum err_code complete(struct options *options, struct err *err)
{
    if (options->wants_help || options->wants_version || options->completion)
        return ERR_OK;
    if (!options->command)
        return err_set(err, ERR_INVALID, "no command (see --help)");
    if (options->command->bit == COMMAND_RUN && (!options->target || !*options->target))
        return err_set(err, ERR_INVALID, "run needs a TARGET");
    if (options->command->bit == COMMAND_DIFF && options->file_count != 2)
        return err_set(err, ERR_INVALID, "diff needs two captures: before, and now");
    if (options->command->bit & SAMPLING && options->output && is_capture_name(options->output))
        options->wants_capture = true;
    if (options->command->bit & (COMMAND_REPLAY | COMMAND_MERGE) && options->file_count == 0)
        return err_set(err, ERR_INVALID, "%s needs a FILE, as record makes them",
                       options->command->name);
    if (options->command->bit == COMMAND_MERGE && (options->file_count < 2 || !options->output))
        return err_set(err, ERR_INVALID, "merge needs two FILEs or more, and -o FILE");
    if (options->command->bit & (COMMAND_ATTACH | COMMAND_RUN | COMMAND_TOP) &&
        options->output && !options->wants_capture)
        return err_set(err, ERR_INVALID, "-o is for --binary here: %s shows what it sees",
                       options->command->name);
    if (options->command->bit == COMMAND_DUMP && options->sampling.pid_count == 0)
        return err_set(err, ERR_INVALID, "dump needs a PID");
    if (options->command->bit & NAMING && !options->sampling.pid_count != options->sampling.all)
        return err_set(err, ERR_INVALID,
                       options->sampling.all ? "%s takes a PID or --all, not both"
                                             : "%s needs a PID, or --all",
                       options->command->name);
    if (options->command->bit == COMMAND_REPLAY && options->opens_browser &&
        chooses_a_part(options))
        return err_set(err, ERR_INVALID,
                       "--browser shows all of a capture: choose a part of it in the page, or "
                       "name a format instead");
    if (compares(options) && rules_are_any(&options->view.rules))
        return err_set(err, ERR_INVALID,
                       "--diff-flamegraph compares whole stacks: without --omit, --below, --at "
                       "and --hide");
    if (!options->access.tls_cert != !options->access.tls_key)
        return err_set(err, ERR_INVALID, "--tls-cert and --tls-key need each other");
    if (options->no_token && options->token_file)
        return err_set(err, ERR_INVALID, "--no-token and --token-file exclude each other");
    if (options->quality_file && is_written_elsewhere(options, options->quality_file))
        return err_set(err, ERR_INVALID, "--output and --quality need different files");
    return options->command->bit & WRITING ? complete_formats(options, err) : ERR_OK;
}

enum err_code options_parse(char **argv, struct options *out, struct err *err)
{
    char **at = *argv ? argv + 1 : argv;
    memset(out, 0, sizeof *out);
    out->sampling.rate_hz = DEFAULT_RATE_HZ;
    out->sampling.memory_bytes = DEFAULT_MEMORY_BYTES;
    enum err_code rc = listen_parse("", &out->listen, err);
    while (rc == ERR_OK && *at)
        rc = parse_one(out, &at, err);
    return rc == ERR_OK ? complete(out, err) : rc;
}
