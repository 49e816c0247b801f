#include "server/command/options/options_parse.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/enum_text.h"
#include "sampler/capture/format.h"
#include "server/command/options/commands.h"
#include "server/command/options/option_table.h"
#include "server/command/options/options.h"
#include "server/command/options/suggest.h"
#include "server/push/setting_readers.h"
#include "server/report/diff/comparison.h"
#include "server/report/report.h"
#include "server/sessions/capture_store.h"
#include "server/sessions/continuous.h"
#include "server/sessions/dashboard.h"

static const struct options defaults = {
    .sampling = { .rate_hz = 1000, .memory_bytes = 256 << 20, .all_threads = true },
    .listen = { .host = "127.0.0.1", .port = LISTEN_DEFAULT_PORT },
    .serve = { .max_rate_hz = DASHBOARD_MAX_RATE_HZ,
               .max_sessions = DASHBOARD_MAX_SESSIONS,
               .continuous_hz = CONTINUOUS_RATE_HZ,
               .turn_ns = CONTINUOUS_TURN_NS,
               .keep_days = 30,
               .keep_bytes = CAPTURES_KEEP_BYTES,
               .max_upload = CAPTURES_MAX_UPLOAD },
    .watch = { .max_events = 100 },
    .dump = { .repeat = 1, .interval_ns = NS_PER_S },
    .push = { .batch_ns = PUSH_BATCH_NS, .spool_bytes = PUSH_SPOOL_BYTES },
};

/* Before the command is known, options that all of attach, run and record have are accepted too. */
static bool is_of_command(const struct option *option, const struct command *command)
{
    if (option->commands == 0)
        return true;
    if (!command)
        return (option->commands & COMMAND_NONE) || (option->commands & LOGGING) == LOGGING;
    return (option->commands & command->bit) != 0;
}

static const struct option *find_letter(char letter, const struct command *command)
{
    const struct option *option = NULL;
    for (size_t i = 0; (option = option_at(i)); i++)
        if (option->letter == letter && is_of_command(option, command))
            return option;
    return NULL;
}

static const struct option *find_name(const char *name, const struct command *command)
{
    const struct option *option = NULL;
    for (size_t i = 0; (option = option_at(i)); i++)
        if (strcmp(option->setting.name, name) == 0 && is_of_command(option, command))
            return option;
    return NULL;
}

/* A word of the same meaning is meant before one that is spelt alike. */
static const char *find_meaning(const char *name, const struct command *command)
{
    const char *word = NULL;
    for (size_t i = 0; (word = suggest_meaning(name, i)); i++)
        if (find_name(word, command))
            return word;
    return NULL;
}

static enum err_code unknown_option(const char *name, const struct command *command,
                                    struct err *err)
{
    const char *const meaning = find_meaning(name, command);
    struct suggestion best = { meaning, 0 };
    const struct option *option = NULL;
    for (size_t i = 0; !meaning && (option = option_at(i)); i++)
        if (is_of_command(option, command))
            suggest_offer(&best, name, option->setting.name);
        else if (command && strcmp(option->setting.name, name) == 0)
            return err_set(err, ERR_INVALID, "%s has no option '--%s' (see %s --help)",
                           command->name, name, command->name);
    if (best.word)
        return err_set(err, ERR_INVALID, "unknown option '--%.64s' (did you mean '--%s'?)",
                       name, best.word);
    return err_set(err, ERR_INVALID, "unknown option '--%.64s' (see --help)", name);
}

/* value NULL: none is given. */
static enum err_code take_value(struct options *options, const struct option *option,
                                const char *value, struct err *err)
{
    const struct setting *const setting = &option->setting;
    const bool is_text =
        option->format || setting->kind == SETTING_TEXT || setting->kind == SETTING_TEXTS;
    struct err why = { 0 };
    if (option->value && (value ? is_text && *value == '\0' : *option->value != '='))
        return err_set(err, ERR_INVALID, "--%s needs a value (%s)", option->setting.name,
                       option->value + strspn(option->value, "="));
    if (option->format)
        return option_add_format(options, option->format, value, err);
    value = value ? value : option->bare;
    if (!setting_read(setting, options, value, &why))
        return ERR_OK;
    return err_set(err, ERR_INVALID, "invalid --%s '%.64s': %s", setting->name, value,
                   why.message);
}

/* "-a", "-r 100", "-r100", "-ar100". */
static enum err_code parse_letters(struct options *options, char ***at, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (const char *text = *(*at)++ + 1; *text && !rc; text++) {
        const struct option *const option = find_letter(*text, options->command);
        if (!option) {
            const char letter = *text;
            const struct command *const command = options->command;
            const char name[] = { letter, '\0' };
            const char *const meaning = find_meaning(name, command);
            if (meaning)
                return err_set(err, ERR_INVALID, "unknown option '-%c' (did you mean '--%s'?)",
                               letter, meaning);
            return err_set(err, ERR_INVALID, "unknown option '-%c' (see --help)", letter);
        }
        const bool wants_word = option->value && *option->value != '=';
        if (wants_word && text[1])
            return take_value(options, option, text + 1, err);
        rc =
            take_value(options, option, wants_word && **at ? *(*at)++ : option->by_letter, err);
    }
    return rc;
}

static enum err_code take_file(struct options *options, const char *name, struct err *err)
{
    if (*name == '\0')
        return err_set(err, ERR_INVALID, "a FILE needs a name");
    if (options->command->bit == COMMAND_REPLAY && options->file_count == 1)
        return err_set(err, ERR_INVALID,
                       "replay takes one FILE; '%.64s' is a second one (merge joins captures)",
                       name);
    if (options->file_count == OPTIONS_MAX_FILES)
        return err_set(err, ERR_INVALID, "%s takes at most %d captures", options->command->name,
                       OPTIONS_MAX_FILES);
    options->files[options->file_count++] = name;
    return ERR_OK;
}

static bool is_capture_name(const char *name)
{
    const char *const dot = strrchr(name, '.');
    return dot && strcmp(dot + 1, CAPTURE_EXTENSION) == 0;
}

/* Profiles of other tools have any name. */
static bool is_file_name(const char *name)
{
    return is_capture_name(name) || (strpbrk(name, "./") && access(name, F_OK) == 0);
}

/* The first word is the command, or a file to serve.  The next ones are PIDs, files, or TARGET and its arguments. */
static enum err_code take_word(struct options *options, char ***at, struct err *err)
{
    char **const word = (*at)++;
    if (!options->command) {
        options->command = command_find(*word);
        if (options->command)
            return ERR_OK;
        if (!is_file_name(*word)) {
            const char *const name = *word;
            struct suggestion best = { NULL, 0 };
            const struct command *command = NULL;
            for (size_t i = 0; (command = command_at(i)); i++)
                suggest_offer(&best, name, command->name);
            if (best.word)
                return err_set(err, ERR_INVALID, "unknown command '%.64s' (did you mean '%s'?)",
                               name, best.word);
            return err_set(err, ERR_INVALID, "unknown command '%.64s' (see --help)", name);
        }
        options->command = command_find("serve");
        return take_file(options, *word, err);
    }
    if (options->command->bit == COMMAND_PUSH && options->file_count > 0) {
        const char *const text = *word;
        struct err why = { 0 };
        if (!push_read_endpoint(NULL, &options->push, text, &why))
            return ERR_OK;
        return err_set(err, ERR_INVALID, "invalid URL '%.64s': %s", text, why.message);
    }
    if (options->command->bit & READING)
        return take_file(options, *word, err);
    if (options->command->bit == COMMAND_MCP)
        return err_set(err, ERR_INVALID, "mcp takes no PID: its client names processes");
    if (options->command->bit != COMMAND_RUN) {
        const char *const text = *word;
        struct err why = { 0 };
        if (!option_read_pid(NULL, &options->sampling, text, &why))
            return ERR_OK;
        if (options->command->bit == COMMAND_DUMP && access(text, F_OK) == 0)
            return take_file(options, text, err);
        if (options->command->bit == COMMAND_DUMP)
            return err_set(err, ERR_INVALID, "'%.64s' is neither a PID nor a core file", text);
        return err_set(err, ERR_INVALID, "invalid PID '%.64s': %s", text, why.message);
    }
    options->target = word;
    while (**at)
        (*at)++;
    return ERR_OK;
}

static enum err_code parse_one(struct options *options, char ***at, struct err *err)
{
    const char *const word = **at;
    if (strcmp(word, "--") == 0) {
        (*at)++;
        if (options->command && options->command->bit == COMMAND_DIFF &&
            options->file_count > 0 && options->baseline_count == 0) {
            options->baseline_count = options->file_count;
            return ERR_OK;
        }
        if (!options->command || !(options->command->bit & (COMMAND_RUN | COMMAND_RECORD)) ||
            options->runs_module || options->python)
            return err_set(err, ERR_INVALID,
                           "'--' is only allowed before the COMMAND of run or record");
        options->runs_command = true;
        options->target = *at;
        while (**at)
            (*at)++;
        return ERR_OK;
    }
    if (strncmp(word, "--", 2) == 0) {
        /* "--name value", "--name=value".  Moves *at behind the words that it used. */
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
        if (!option->value && value)
            return err_set(err, ERR_INVALID, "--%s takes no value", name);
        if (option->value && *option->value != '=' && !value && **at)
            value = *(*at)++;
        return take_value(options, option, value, err);
    }
    if (word[0] == '-' && word[1] != '\0')
        return parse_letters(options, at, err);
    return take_word(options, at, err);
}

/* True if an option concerns the written output, which the page does not use. */
static bool chooses_a_part(const struct options *options)
{
    const struct options_view *const view = &options->view;
    const struct view_query *const query = &view->query;
    return options->format_count || options->output || options->quality_file ||
           options->splits || query->from_ns || query->to_ns ||
           state_condition_is_set(&query->states) || view->threads.count ||
           request_choice_is_set(&view->requests) || view->processes.count ||
           options->report.anonymizes;
}

/* A missing file and a wrong ending are likelier mistakes than a forgotten option. */
static enum err_code no_format(const struct options *options, struct err *err)
{
    const char *const name = options->command->name;
    const struct report_format *format = NULL;
    struct buffer known = { 0 };
    if (options->file_count > 0 && access(options->files[0], F_OK) != 0)
        return err_set(err, ERR_INVALID, "cannot read '%.200s': No such file or directory",
                       options->files[0]);
    const char *const file = options->output ? options->output : "";
    const char *const dot = strrchr(file, '.');
    if (!dot || strchr(dot, '/') || !dot[1])
        return err_set(err, ERR_INVALID,
                       "%s needs a format, such as --flamegraph or --collapsed (see %s --help)",
                       name, name);
    if (options->command->bit == COMMAND_RECORD)
        buffer_printf(&known, "." CAPTURE_EXTENSION ", ");
    for (size_t i = 0; (format = report_at(i)); i++)
        buffer_printf(&known, "%s.%s", i == 0 ? "" : ", ", format->extension);
    err_set(err, ERR_INVALID, "unknown output format '%.32s' (known: %s)", dot,
            buffer_string(&known));
    buffer_deinit(&known);
    return ERR_INVALID;
}

/* Selects the formats, and checks that each has its own file. */
static enum err_code complete_formats(struct options *options, struct err *err)
{
    size_t unnamed = 0, on_screen = 0;
    const bool is_record = options->command->bit == COMMAND_RECORD;
    const bool is_replay = options->command->bit == COMMAND_REPLAY;
    if (options->output && (!options->wants_capture || options->capture_file)) {
        /* The extension of the output file selects the format.  What py-spy calls a flame graph is a picture. */
        const struct report_format *const format = report_of_file(options->output);
        const struct report_format *const picture = report_find("svg");
        if (options->format_count == 0) {
            options->formats[0].format = format;
            options->format_count = format ? 1 : 0;
        } else if (format == picture && options->format_count == 1 &&
                   options->formats[0].format == report_find("flamegraph")) {
            options->formats[0].format = picture;
        }
    }
    const bool pushes = options->push.endpoint_count > 0;
    if (is_record && options->format_count == 0 && !options->output && !pushes)
        options->wants_capture = true;
    if (options->opens_browser && options->format_count == 0)
        return ERR_OK;
    if (is_replay && options->format_count == 0 && !options->output && !options->splits)
        options->formats[options->format_count++].format = report_find("summary");
    if (options->splits && options->format_count == 0)
        return err_set(
            err, ERR_INVALID,
            "--split needs a format: a capture holds all processes (use replay --split)");
    if (options->report.anonymizes &&
        (options->wants_capture || options->command->bit == COMMAND_RUN))
        return err_set(
            err, ERR_INVALID,
            "--anonymize needs a format, such as --flamegraph: a capture holds the real names");
    const bool is_measured =
        options->measure && strcmp(options->measure, measure_texts[MEASURE_TIME]) != 0;
    /* A file of another tool may have others. */
    if (is_measured && !is_replay && enum_find(measure_texts, options->measure) < 0) {
        struct buffer known = { 0 };
        for (size_t i = 0; measure_texts[i]; i++)
            buffer_printf(&known, "%s%s", i > 0 ? ", " : "", measure_texts[i]);
        err_set(err, ERR_INVALID, "--measure '%.64s': nothing counts it (known: %s)",
                options->measure, buffer_string(&known));
        buffer_deinit(&known);
        return ERR_INVALID;
    }
    for (size_t i = 0; i < options->format_count && is_measured; i++)
        if (!options->formats[i].format->takes_measures)
            return err_set(err, ERR_INVALID,
                           "--%s is of time alone: with --measure %s, use --summary, "
                           "--collapsed, --flamegraph, --pprof or --speedscope",
                           options->formats[i].format->name, options->measure);
    if (options->chooses_parts && options->view.query.states.parts &&
        options->format_count == 0 && is_record)
        return err_set(
            err, ERR_INVALID,
            "--parts needs a format, such as --flamegraph: a capture keeps all parts of "
            "time (use replay --parts)");
    if (options->command->bit == COMMAND_RUN)
        return ERR_OK;
    const bool has_capture =
        options->wants_capture && !(options->capture_file && options->output);
    if (options->format_count == 0 && !has_capture && !(pushes && !options->output))
        return no_format(options, err);
    if (options->wants_capture && !options->capture_file && options->format_count > 0)
        unnamed++;
    for (size_t i = 0; i < options->format_count; i++) {
        const char *const name = options->formats[i].output;
        unnamed += name == NULL;
        on_screen += name && strcmp(name, "-") == 0;
    }
    if (on_screen + (options->output && strcmp(options->output, "-") == 0 ? unnamed : 0) > 1)
        return err_set(err, ERR_INVALID, "only one format can be written to standard output");
    return ERR_OK;
}

static bool is_written_elsewhere(const struct options *options, const char *name)
{
    bool found = options->output && strcmp(options->output, name) == 0;
    for (size_t i = 0; i < options->format_count; i++)
        found |= options->formats[i].output && strcmp(options->formats[i].output, name) == 0;
    return found;
}

/* Which captures of diff are the baseline. */
static enum err_code complete_sides(struct options *options, struct err *err)
{
    if (!options->diff_before && (options->diff_service || options->diff_span_ns))
        return err_set(err, ERR_INVALID, "--service and --span need --before");
    if (options->diff_before && options->baseline_count > 0)
        return err_set(err, ERR_INVALID, "--before finds the sides: leave out the '--'");
    if (options->diff_before && (options->view.query.from_ns || options->view.query.to_ns ||
                                 options->view.processes.count > 0))
        return err_set(err, ERR_INVALID,
                       "--before chooses times and processes: leave out --from, "
                       "--to and --process");
    if (options->diff_before)
        return options->file_count > 0
                   ? ERR_OK
                   : err_set(err, ERR_INVALID, "diff --before needs captures: CAPTURE...");
    if (options->file_count == 1 && options->baseline_count == 0 &&
        request_choice_is_set(&options->view.requests))
        return ERR_OK; /* with the rest of it */
    if (options->file_count < 2 || options->file_count == options->baseline_count)
        return err_set(err, ERR_INVALID, "diff needs two captures: BASELINE and CAPTURE");
    if (options->file_count > 2 && options->baseline_count == 0)
        return err_set(
            err, ERR_INVALID,
            "diff takes two captures, or several on each side: BASELINE... -- CAPTURE...");
    options->baseline_count = options->baseline_count ? options->baseline_count : 1;
    if (options->baseline_count > COMPARISON_MAX_CAPTURES ||
        options->file_count - options->baseline_count > COMPARISON_MAX_CAPTURES)
        return err_set(err, ERR_INVALID, "diff takes at most %d captures on a side",
                       COMPARISON_MAX_CAPTURES);
    return ERR_OK;
}

/* Is there an option of formats, which a page has no use for? */
static bool is_for_formats(const struct options *options)
{
    const struct report_settings *const report = &options->report;
    return options->chooses_parts || report->sort || report->limit || report->no_summary ||
           report->by_line || report->by_thread;
}

/* With a file to write, `run` serves no page, and records as `record` does: but for a capture beside a page that is asked
 * for. */
static enum err_code complete_run(struct options *options, struct err *err)
{
    if (!options->target || !*options->target)
        return err_set(err, ERR_INVALID,
                       "run needs a TARGET: a Python file, -m MODULE, or -- COMMAND");
    const bool wants_page = options->opens_browser || options->has_listen;
    const bool is_capture = (options->wants_capture && !options->capture_file) ||
                            (options->output && is_capture_name(options->output));
    if (options->format_count == 0 && (!options->output || (wants_page && is_capture)))
        return is_for_formats(options)
                   ? err_set(
                         err, ERR_INVALID,
                         "run serves a page, where you choose what is shown: --parts, --idle and "
                         "the like need -o FILE or a format")
                   : ERR_OK;
    if (wants_page)
        return err_set(err, ERR_INVALID,
                       "run serves no page if it writes a report: leave out --%s, or write a "
                       "capture (.pyro)",
                       options->opens_browser ? "browser" : "listen");
    options->command = command_find("record");
    return ERR_OK;
}

/* Which processes are sampled. */
static enum err_code check_targets(const struct options *options, struct err *err)
{
    const struct session_options *const sampling = &options->sampling;
    const char *const name = options->command->name;
    const bool has_pids = sampling->pid_count > 0;
    if (has_pids && sampling->all)
        return err_set(err, ERR_INVALID, "%s takes a PID or --all, not both", name);
    if (options->target && (has_pids || sampling->all))
        return err_set(err, ERR_INVALID, "%s takes %s or a COMMAND, not both", name,
                       has_pids ? "a PID" : "--all");
    if (options->target && !*options->target)
        return err_set(err, ERR_INVALID, "a COMMAND is missing after the '--'");
    if (!has_pids && !sampling->all && !options->target)
        return err_set(err, ERR_INVALID, "%s needs a PID%s --all%s", name,
                       options->command->bit == COMMAND_RECORD ? "," : " or",
                       options->command->bit == COMMAND_RECORD ? " or -- COMMAND" : "");
    return ERR_OK;
}

/* Which processes a dump reads. */
static enum err_code check_dump(const struct options *options, struct err *err)
{
    const struct session_options *const sampling = &options->sampling;
    const char *const others = sampling->all ? "--all" : "--command";
    const bool has_others = sampling->all || options->dump.commands.count > 0;
    if (sampling->pid_count > 0 && has_others)
        return err_set(err, ERR_INVALID, "dump takes a PID or %s, not both", others);
    if (sampling->pid_count == 0 && options->file_count == 0 && !has_others)
        return err_set(err, ERR_INVALID, "dump needs a PID, a core file, --all or --command");
    if (options->executable && options->file_count == 0)
        return err_set(err, ERR_INVALID, "--executable needs a core file");
    if (sampling->all && options->dump.commands.count > 0)
        return err_set(err, ERR_INVALID, "--command chooses among all: leave out --all");
    return ERR_OK;
}

/* Applies the short forms of --parts, and of --state for a mark. */
static enum err_code complete_parts(struct options *options, struct err *err)
{
    struct state_condition *const states = &options->view.query.states;
    const unsigned command = options->command ? options->command->bit : 0;
    const part_set usual = command == COMMAND_DIFF ? PART_SET_COMPARED : PART_SET_USUAL;
    part_set parts = !options->chooses_parts ? usual
                     : states->parts         ? states->parts
                                             : PART_SET_ALL;
    if (options->names_mode && (command & SELECTING)) {
        if (options->sampling.mode == SESSION_MODE_CPU && options->chooses_parts)
            return err_set(err, ERR_INVALID, "--mode cpu is --parts running: give one of them");
        switch (options->sampling.mode) {
        case SESSION_MODE_WALL: parts = options->chooses_parts ? parts : PART_SET_USUAL; break;
        case SESSION_MODE_CPU: parts = 1U << PART_RUNNING; break;
        case SESSION_MODE_GIL: states->require |= STATE_HAS_GIL; break;
        case SESSION_MODE_EXCEPTION: states->require |= STATE_HAS_EXCEPTION; break;
        }
        options->chooses_parts = true;
    }
    /* A request that waits is not idle, and its tasks wait in no part. */
    if (request_choice_is_set(&options->view.requests) && !options->chooses_parts) {
        parts = PART_SET_ALL;
        options->chooses_parts = true;
    }
    if (options->shows_idle)
        parts |= 1U << PART_IDLE;
    options->chooses_parts |= options->shows_idle;
    if (options->chooses_parts)
        states->parts = parts == PART_SET_ALL ? 0 : parts;
    return ERR_OK;
}

/* Checks that need all options. */
static enum err_code complete_options(struct options *options, struct err *err)
{
    if (options->only_main_thread)
        options->sampling.all_threads = false;
    if (options->is_async_aware && !options->names_async_mode)
        options->sampling.async = SESSION_ASYNC_RUNNING;
    if (options->is_gil_only)
        options->sampling.mode = SESSION_MODE_GIL;
    options->names_mode = options->names_mode || options->is_gil_only;
    if (options->is_blocking)
        options->sampling.stop = SESSION_STOP_ALWAYS;
    if (complete_parts(options, err) || request_choice_check(&options->view.requests, err))
        return ERR_INVALID;
    if (options->wants_help || options->wants_version || options->wants_completion)
        return ERR_OK;
    if (!options->command)
        return err_set(err, ERR_INVALID, "a COMMAND is missing (see --help)");
    if (options->command->bit == COMMAND_RUN && complete_run(options, err))
        return ERR_INVALID;
    if (options->command->bit == COMMAND_DIFF)
        return complete_sides(options, err);
    if (options->command->bit & SAMPLING && options->output && is_capture_name(options->output))
        options->wants_capture = true;
    if (options->capture_file && options->output &&
        (!(options->command->bit & WRITING) || is_capture_name(options->output)))
        return err_set(err, ERR_INVALID, "-o and --binary name two captures: leave out one");
    if (options->command->bit & (COMMAND_REPLAY | COMMAND_MERGE) && options->file_count == 0)
        return err_set(err, ERR_INVALID, "%s needs a FILE (record writes one)",
                       options->command->name);
    if (options->command->bit == COMMAND_MERGE &&
        ((options->file_count < 2 && !strchr(options->files[0], '@')) || !options->output))
        return err_set(err, ERR_INVALID,
                       "merge needs two FILEs, or a part of one (FILE@FROM..TO), and -o FILE");
    if (options->command->bit & (COMMAND_ATTACH | COMMAND_TOP) && options->output &&
        !options->wants_capture)
        return err_set(err, ERR_INVALID,
                       "%s -o writes a capture: add --binary, or name a .pyro file",
                       options->command->name);
    if (options->command->bit == COMMAND_PUSH && options->push.endpoint_count == 0)
        return err_set(err, ERR_INVALID, "push needs a capture and a URL: FILE URL");
    if (options->command->bit == COMMAND_DUMP && check_dump(options, err))
        return ERR_INVALID;
    if (options->command->bit & BY_PID && check_targets(options, err))
        return ERR_INVALID;
    if (options->command->bit == COMMAND_WATCH && !options->output)
        return err_set(err, ERR_INVALID, "watch needs -o DIR, a folder for dumps and captures");
    if (options->command->bit == COMMAND_REPLAY && options->opens_browser &&
        chooses_a_part(options))
        return err_set(
            err, ERR_INVALID,
            "--browser shows the whole capture: select a part in the page, or name a "
            "format instead");
    if (!options->access.tls_cert != !options->access.tls_key)
        return err_set(err, ERR_INVALID, "--tls-cert and --tls-key must be given together");
    if (options->no_token && options->token_file)
        return err_set(err, ERR_INVALID,
                       "--no-token and --token-file cannot be given together");
    if (options->only_main_thread && options->names_all_threads)
        return err_set(err, ERR_INVALID,
                       "--all-threads and --main-thread cannot be given together");
    if (options->serve.is_continuous && options->serve.no_continuous)
        return err_set(err, ERR_INVALID,
                       "--continuous and --no-continuous cannot be given together");
    if (options->quality_file && is_written_elsewhere(options, options->quality_file))
        return err_set(err, ERR_INVALID, "--output and --quality must name different files");
    if (options->quality_file && options->command->bit == COMMAND_REPLAY &&
        strcmp(options->quality_file, options->files[0]) == 0)
        return err_set(err, ERR_INVALID, "--quality must not name the capture");
    return options->command->bit & WRITING ? complete_formats(options, err) : ERR_OK;
}

enum err_code options_parse(char **argv, struct options *out, struct err *err)
{
    char **at = *argv ? argv + 1 : argv;
    enum err_code rc = ERR_OK;
    *out = defaults;
    while (!rc && *at)
        rc = parse_one(out, &at, err);
    return rc ? rc : complete_options(out, err);
}
