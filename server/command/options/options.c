#include "server/command/options/options.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/capture/format.h"
#include "server/command/options/commands.h"
#include "server/command/options/option_parts.h"
#include "server/command/options/suggest.h"
#include "server/command/options/units.h"
#include "server/report/report.h"

enum { DEFAULT_RATE_HZ = 1000, DEFAULT_MEMORY_BYTES = 256 << 20 };

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
        return option_add_format(options, option->format, value, err);
    if (option->value && option->value[0] == '=')
        return option->set(options, value, err);
    if (!option->value && value)
        return err_set(err, ERR_INVALID, "--%s takes no value", name);
    if (option->value && !value && !(value = *(*at)++)) {
        (*at)--;
        return err_set(err, ERR_INVALID, "--%s needs a value (%s)", name, option->value);
    }
    if (option->format)
        return option_add_comparing_format(options, option->format, value, err);
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
           rules_are_any(&view->rules) || options->report.redacts;
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
    if (options->report.redacts && options->wants_capture)
        return err_set(
            err, ERR_INVALID,
            "--redact is for formats, such as --flamegraph: a capture holds all that "
            "was seen");
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
