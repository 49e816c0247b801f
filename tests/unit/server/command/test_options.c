#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/command/options/commands.h"
#include "server/command/options/help.h"
#include "server/command/options/options.h"
#include "server/command/options/suggest.h"
#include "server/command/process/exit.h"
#include "server/report/report.h"
#include "server/settings/setting.h"

enum { MAX_WORDS = 32 };

/* Splits at spaces; the words live in `line`. */
static enum err_code parse(char *line, struct options *options, struct err *err)
{
    static char *argv[MAX_WORDS + 2];
    size_t count = 0;
    char *rest = NULL;
    argv[count++] = line; /* an unused name */
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[count++] = word;
    argv[count] = NULL;
    return options_parse(argv, options, err);
}

static enum err_code parse_text(const char *text, struct options *options, struct err *err)
{
    static char line[512];
    snprintf(line, sizeof line, "%s", text);
    return parse(line, options, err);
}

struct bad_row {
    const char *line;
    const char *message;
};

static void a_capture_is_written_to_the_named_file(void **state)
{
    static const struct {
        const char *line;
        bool wants;
        const char *file;
    } rows[] = {
        { "record 1", true, NULL },
        { "record 1 -o x.pyro", true, NULL },
        { "record 1 -o x.html", false, NULL },
        { "record 1 --collapsed", false, NULL },
        { "record 1 --collapsed=a.folded -o x.pyro", true, NULL },
        { "record 1 --collapsed --binary=x", true, "x" },
        { "attach 1", false, NULL },
        { "attach 1 --binary", true, NULL },
        { "attach 1 --binary -o x", true, NULL },
        { "attach 1 -o x.pyro", true, NULL },
        { "run --binary=x.pyro app.py", true, "x.pyro" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct options options;
        assert_int_equal(parse_text(rows[i].line, &options, NULL), ERR_OK);
        assert_int_equal(options.wants_capture, rows[i].wants);
        if (rows[i].file)
            assert_string_equal(options.capture_file, rows[i].file);
        else
            assert_null(options.capture_file);
    }
}

static void messages_name_what_is_wrong(void **state)
{
    static const struct bad_row rows[] = {
        { "", "a COMMAND is missing (see --help)" },
        { "atach 1", "unknown command 'atach' (did you mean 'attach'?)" },
        { "rcord 1", "unknown command 'rcord' (did you mean 'record'?)" },
        { "frobnicate", "unknown command 'frobnicate' (see --help)" },
        { "attach", "attach needs a PID or --all" },
        { "attach abc", "invalid PID 'abc': want a process ID such as 4711" },
        { "attach 0", "invalid PID '0': want a process ID such as 4711" },
        { "attach -1", "unknown option '-1' (see --help)" },
        { "attach 12x", "invalid PID '12x': want a process ID such as 4711" },
        { "attach 99999999999", "invalid PID '99999999999': want a process ID such as 4711" },
        { "attach 2147483648", "invalid PID '2147483648': want a process ID such as 4711" },
        { "attach 1 2x", "invalid PID '2x': want a process ID such as 4711" },
        { "record 1 --split",
          "--split needs a format: a capture holds all processes (use replay --split)" },
        { "record 1 --anonymize",
          "--anonymize needs a format, such as --flamegraph: a capture holds the real names" },
        { "record 1 --anonymize --collapsed --binary",
          "--anonymize needs a format, such as --flamegraph: a capture holds the real names" },
        { "attach 1 --anonymize", "attach has no option '--anonymize' (see attach --help)" },
        { "replay a.pyro --anonymize --browser",
          "--browser shows the whole capture: select a part in the page, or name a format "
          "instead" },
        { "attach --all 1", "attach takes a PID or --all, not both" },
        { "replay a.pyro --hide function:",
          "invalid --hide 'function:': no pattern: give text, /an expression/, function:NAME, "
          "file:PATH, module:NAME or libraries" },
        { "diff a.pyro b.pyro --show-from /a**/",
          "invalid --show-from '/a**/': the regular expression has nothing to repeat before *, "
          "+, ? or {" },
        { "replay a.pyro --gecko --omit x",
          "unknown option '--omit' (did you mean '--limit'?)" },
        { "record 1 --hide x",
          "filters need a format, such as --flamegraph: a capture holds every sample (use "
          "replay)" },
        { "attach 1 -r", "--sampling-rate needs a value (RATE)" },
        { "attach 1 --sampling-rate", "--sampling-rate needs a value (RATE)" },
        { "attach 1 -r 0",
          "invalid --sampling-rate '0': want 1 to 1mhz, such as 100, 1.5k or 10khz" },
        { "attach 1 -r 1.1mhz",
          "invalid --sampling-rate '1.1mhz': want 1 to 1mhz, such as 100, 1.5k or 10khz" },
        { "attach 1 -d never",
          "invalid --duration 'never': want a time such as 10, 0.5, 500ms, 2m or 1h" },
        { "attach 1 --sampling-rat 5",
          "unknown option '--sampling-rat' (did you mean '--sampling-rate'?)" },
        { "attach 1 --all-threads=yes", "--all-threads takes no value" },
        { "attach 1 -q", "unknown option '-q' (see --help)" },
        { "attach 1 --output x",
          "attach -o writes a capture: add --binary, or name a .pyro file" },
        { "top", "top needs a PID or --all" },
        { "top 1 -o x", "top -o writes a capture: add --binary, or name a .pyro file" },
        { "top 1 --listen 1", "top has no option '--listen' (see top --help)" },
        { "attach 1 --sort name", "attach has no option '--sort' (see attach --help)" },
        { "attach 1 --binary=", "--binary needs a value (FILE)" },
        { "replay", "replay needs a FILE (record writes one)" },
        { "replay nothere.pyro", "cannot read 'nothere.pyro': No such file or directory" },
        { "replay /dev/null", "replay needs a format, such as --flamegraph or --collapsed (see "
                              "replay --help)" },
        { "replay x y --collapsed",
          "replay takes one FILE; 'y' is a second one (merge joins captures)" },
        { "replay x --collapsed -r 10", "unknown option '-r' (see --help)" },
        { "replay x --collapsed --from soon",
          "invalid --from 'soon': want a time since the start, such as 0, 0.5, 500ms, 2m or 1h" },
        { "replay x --browser --from 3",
          "--browser shows the whole capture: select a part in the page, or name a format "
          "instead" },
        { "replay x --browser --collapsed",
          "--browser shows the whole capture: select a part in the page, or name a format "
          "instead" },
        { "replay x --collapsed --to 0",
          "invalid --to '0': want a time such as 10, 0.5, 500ms, 2m or 1h" },
        { "replay x --collapsed --thread=", "--thread needs a value (THREAD)" },
        { "serve --max-sessions 0",
          "invalid --max-sessions '0': want a whole number from 1 to 512" },
        { "serve --max-rate 2mhz",
          "invalid --max-rate '2mhz': want 1 to 1mhz, such as 100, 1.5k or 10khz" },
        { "merge x -o y", "merge needs at least two FILEs, and -o FILE" },
        { "merge x y", "merge needs at least two FILEs, and -o FILE" },
        { "attach 1 --listen 127.0.0.1:x",
          "invalid --listen '127.0.0.1:x': want HOST:PORT or unix:PATH" },
        { "attach 1 --listen [::1:80",
          "invalid --listen '[::1:80': want HOST:PORT or unix:PATH" },
        { "attach 1 --listen ::1", "invalid --listen '::1': want HOST:PORT or unix:PATH" },
        { "attach 1 --listen h:65536",
          "invalid --listen 'h:65536': want HOST:PORT or unix:PATH" },
        { "attach 1 --no-token --token-file f",
          "--no-token and --token-file cannot be given together" },
        { "attach 1 -- x", "'--' is only allowed before the COMMAND of run" },
        { "run", "run needs a TARGET: a Python file, -m MODULE, or -- COMMAND" },
        { "run -m", "run needs a TARGET: a Python file, -m MODULE, or -- COMMAND" },
        { "run --", "run needs a TARGET: a Python file, -m MODULE, or -- COMMAND" },
        { "run -m -- x", "'--' is only allowed before the COMMAND of run" },
        { "record 1 -o x.png",
          "unknown output format '.png' (known: .pyro, .folded, .html, .heatmap.html, .pstats, "
          ".txt, .jsonl, .gecko.json, .trace.json, .speedscope.json, .pb.gz, .diff.html)" },
        { "record 1 -o xhtml",
          "record needs a format, such as --flamegraph or --collapsed (see record --help)" },
        { "record 1 --collapsed=- --flamegraph -o -",
          "only one format can be written to standard output" },
        { "record 1 --collapsed=", "--collapsed needs a value (FILE)" },
        { "record 1 --collapsed --sort beauty",
          "invalid --sort 'beauty': want nsamples, tottime, cumtime, sample-pct, cumul-pct, "
          "nsamples-cumul or name" },
        { "record 1 --collapsed -l 0",
          "invalid --limit '0': want a whole number from 1 to 999999999" },
        { "record 1 --collapsed -l 3x",
          "invalid --limit '3x': want a whole number from 1 to 999999999" },
        { "record 1 --collapsed=x --quality x",
          "--output and --quality must name different files" },
        { "record 1 --collapsed --output=", "--output needs a value (FILE)" },
        { "attach 1 --mode gli", "invalid --mode 'gli': want wall, cpu, gil or exception" },
        { "attach 1 --mode excepton",
          "invalid --mode 'excepton': want wall, cpu, gil or exception" },
        { "attach 1 --mode asynchronous",
          "invalid --mode 'asynchronous': want wall, cpu, gil or exception" },
        { "dump 1 --async-mode off", "invalid --async-mode 'off': want running or all" },
        { "dump 1 --memory 1g", "dump has no option '--memory' (see dump --help)" },
        { "doctor --memory 1g", "doctor has no option '--memory' (see doctor --help)" },
        { "serve --keep-days 100000",
          "invalid --keep-days '100000': want a whole number from 0 to 99999" },
        { "serve --continuous=0",
          "invalid --continuous '0': want 1 to 1mhz, such as 100, 1.5k or 10khz" },
        { "serve --max-upload 1k", "invalid --max-upload '1k': want 1mib to 1024gib, such as "
                                   "64m or 1g" },
        { "serve --base-path a", "invalid --base-path 'a': want a path such as /pyrometer" },
        { "serve --allow-user no_such_user",
          "invalid --allow-user 'no_such_user': no such user" },
        { "attach 1 --mode", "--mode needs a value (MODE)" },
        { "attach 1 --max-cpu 0",
          "invalid --max-cpu '0': want a percentage up to 100, such as 5" },
        { "attach 1 --max-cpu 101",
          "invalid --max-cpu '101': want a percentage up to 100, such as 5" },
        { "attach 1 --max-cpu -5",
          "invalid --max-cpu '-5': want a percentage up to 100, such as 5" },
        { "attach 1 --max-cpu 5s",
          "invalid --max-cpu '5s': want a percentage up to 100, such as 5" },
        { "attach 1 --quality=", "--quality needs a value (FILE)" },
        { "attach 1 --native=yes", "--native takes no value" },
        { "diff", "diff needs two captures: BASELINE and CAPTURE" },
        { "diff a.pyro", "diff needs two captures: BASELINE and CAPTURE" },
        { "diff a b c", "diff takes at most 2 captures" },
        { "diff a b --sampling-rate 5",
          "diff has no option '--sampling-rate' (see diff --help)" },
        { "record 1 --diff-flamegraph", "--diff-flamegraph needs a value (FILE)" },
        { "record 1 --diff-flamegraph=", "--diff-flamegraph needs a value (FILE)" },
        { "--completion tcsh", "invalid --completion 'tcsh': want bash, zsh or fish" },
        { "attach 1 --completion bash",
          "attach has no option '--completion' (see attach --help)" },
        { "attach 1 --block", "unknown option '--block' (did you mean '--blocking'?)" },
        { "record 1 --collapsed -o x --quality x",
          "--output and --quality must name different files" },
        { "record 1 --collapsed -o - --quality -",
          "--output and --quality must name different files" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct options options;
        struct err err = { 0 };
        assert_int_equal(parse_text(rows[i].line, &options, &err), ERR_INVALID);
        assert_string_equal(err.message, rows[i].message);
    }
}

static void defaults_are_a_kilohertz_of_the_main_thread_on_loopback(void **state)
{
    struct options options;
    (void)state;
    assert_int_equal(parse_text("attach 4711", &options, NULL), ERR_OK);
    assert_string_equal(options.command->name, "attach");
    assert_int_equal(options.sampling.pids[0], 4711);
    assert_true(options.sampling.rate_hz == 1000);
    assert_int_equal(options.sampling.duration_ns, 0);
    assert_false(options.sampling.all_threads);
    assert_string_equal(options.listen.host, "127.0.0.1");
    assert_int_equal(options.listen.port, LISTEN_DEFAULT_PORT);
    assert_false(options.has_listen);
}

static void what_is_recorded_is_chosen_for_every_command(void **state)
{
    static const char *const commands[] = { "attach 1", "record 1 --collapsed", "run" };
    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct options options;
        char line[256];
        snprintf(line, sizeof line,
                 "%s --mode gil --native --no-gc --opcodes --blocking --max-cpu 2.5%% "
                 "--realtime-stats --quality q.json%s",
                 commands[i], i == 2 ? " app.py" : "");
        assert_int_equal(parse_text(line, &options, NULL), ERR_OK);
        assert_int_equal(options.sampling.mode, SAMPLER_MODE_GIL);
        assert_true(options.sampling.native && options.sampling.no_gc);
        assert_true(options.sampling.opcodes && options.sampling.blocking);
        assert_true(options.sampling.max_cpu_percent == 2.5);
        assert_true(options.wants_stats);
        assert_string_equal(options.quality_file, "q.json");
    }
}

static void serving_settings_are_read_and_have_defaults(void **state)
{
    struct options options;
    (void)state;
    assert_int_equal(parse_text("serve", &options, NULL), ERR_OK);
    assert_int_equal(options.serve.keep_days, 30);
    assert_int_equal(options.serve.max_sessions, 50);
    assert_true(options.serve.keep_bytes == 10ull << 30);
    assert_true(options.serve.max_rate_hz == 10000 && options.serve.continuous_hz == 19);
    assert_false(options.serve.is_continuous);
    assert_int_equal(parse_text("serve --keep-days 0 --keep-bytes 1g --max-upload 2m "
                                "--continuous --turn 30m --allow-command a* --allow-command b "
                                "--allow-user 4242 --base-path /a/b/",
                                &options, NULL),
                     ERR_OK);
    assert_int_equal(options.serve.keep_days, 0);
    assert_true(options.serve.keep_bytes == 1 << 30 && options.serve.max_upload == 2 << 20);
    assert_true(options.serve.is_continuous && options.serve.continuous_hz == 19);
    assert_true(options.serve.turn_ns == 1800000000000u);
    assert_string_equal(options.access.admission.commands.items[1], "b");
    assert_int_equal(options.access.admission.users[0], 4242);
    assert_string_equal(options.access.base_path, "/a/b");
    assert_int_equal(parse_text("serve --continuous=50", &options, NULL), ERR_OK);
    assert_true(options.serve.is_continuous && options.serve.continuous_hz == 50);
}

static void asyncio_is_off_running_or_all(void **state)
{
    static const struct {
        const char *line;
        enum sampler_async async;
        bool names_mode;
    } rows[] = {
        { "dump 1", SAMPLER_ASYNC_OFF, false },
        { "dump 1 --async-aware", SAMPLER_ASYNC_RUNNING, false },
        { "dump 1 --async-mode all --async-aware", SAMPLER_ASYNC_ALL, true },
        { "dump 1 --async-aware --async-mode running", SAMPLER_ASYNC_RUNNING, true },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct options options;
        assert_int_equal(parse_text(rows[i].line, &options, NULL), ERR_OK);
        assert_int_equal(options.sampling.async, rows[i].async);
        assert_int_equal(options.names_async_mode, rows[i].names_mode);
    }
}

static void nothing_special_is_recorded_unasked(void **state)
{
    struct options options;
    (void)state;
    assert_int_equal(parse_text("attach 1", &options, NULL), ERR_OK);
    assert_int_equal(options.sampling.mode, SAMPLER_MODE_WALL);
    assert_false(options.sampling.native || options.sampling.no_gc);
    assert_false(options.sampling.opcodes || options.sampling.blocking);
    assert_true(options.sampling.max_cpu_percent == 0);
    assert_false(options.wants_stats);
    assert_null(options.quality_file);
}

static void options_may_stand_anywhere_and_be_joined(void **state)
{
    static const char *const lines[] = {
        "attach -r 10khz -d 2m -a 4711",
        "attach 4711 -ar10k -d120",
        "-r 10khz attach --duration=2m 4711 -a",
        "attach --all-threads -ad 120s 4711 -r10000",
        "attach --sampling-rate 10000hz 4711 -a --duration 2m",
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct options options;
        assert_int_equal(parse_text(lines[i], &options, NULL), ERR_OK);
        assert_int_equal(options.sampling.pids[0], 4711);
        assert_true(options.sampling.rate_hz == 10000);
        assert_true(options.sampling.duration_ns == 120000000000u);
        assert_true(options.sampling.all_threads);
    }
}

static void run_leaves_the_words_of_the_target_alone(void **state)
{
    struct options options;
    (void)state;
    assert_int_equal(parse_text("run -a app.py -r --help -- x", &options, NULL), ERR_OK);
    assert_false(options.wants_help);
    assert_string_equal(options.target[0], "app.py");
    assert_string_equal(options.target[1], "-r");
    assert_string_equal(options.target[4], "x");
    assert_null(options.target[5]);
    assert_int_equal(parse_text("run --python p3 -m http.server -d /", &options, NULL), ERR_OK);
    assert_true(options.runs_module);
    assert_string_equal(options.python, "p3");
    assert_string_equal(options.target[0], "http.server");
    assert_string_equal(options.target[1], "-d");
    assert_int_equal(parse_text("run -r5 -- sh -c x", &options, NULL), ERR_OK);
    assert_true(options.runs_command);
    assert_string_equal(options.target[0], "sh");
    assert_string_equal(options.target[1], "-c");
}

static void serving_options_are_read(void **state)
{
    struct options options;
    (void)state;
    assert_int_equal(parse_text("attach 1 --listen [::1]:80 --allow-host a --allow-host=b "
                                "--browser --token-file t",
                                &options, NULL),
                     ERR_OK);
    assert_true(options.has_listen);
    assert_string_equal(options.listen.host, "::1");
    assert_int_equal(options.listen.port, 80);
    assert_int_equal(options.allowed_hosts.count, 2);
    assert_string_equal(options.allowed_hosts.items[1], "b");
    assert_true(options.opens_browser);
    assert_string_equal(options.token_file, "t");
}

struct listen_row {
    const char *text, *host;
    unsigned port;
};

static void listen_addresses_have_defaults(void **state)
{
    static const struct listen_row rows[] = {
        { "", "127.0.0.1", LISTEN_DEFAULT_PORT },
        { ":0", "127.0.0.1", 0 },
        { "0.0.0.0", "0.0.0.0", LISTEN_DEFAULT_PORT },
        { "build7:9", "build7", 9 },
        { "[::]:1", "::", 1 },
        { "[::1]", "::1", LISTEN_DEFAULT_PORT },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct listen_address address;
        assert_int_equal(listen_parse(rows[i].text, &address, NULL), ERR_OK);
        assert_string_equal(address.host, rows[i].host);
        assert_int_equal(address.port, rows[i].port);
    }
}

static void format_follows_the_option_or_the_file_name(void **state)
{
    struct options options;
    (void)state;
    assert_int_equal(parse_text("record 1 -o a.html", &options, NULL), ERR_OK);
    assert_string_equal(options.formats[0].format->name, "flamegraph");
    assert_int_equal(parse_text("record 1 -o a.folded", &options, NULL), ERR_OK);
    assert_string_equal(options.formats[0].format->name, "collapsed");
    assert_int_equal(parse_text("record 1 -o a.html --collapsed", &options, NULL), ERR_OK);
    assert_string_equal(options.formats[0].format->name, "collapsed");
    assert_int_equal(parse_text("record 1 --flamegraph", &options, NULL), ERR_OK);
    assert_null(options.output);
}

static void filters_go_in_the_order_they_are_given(void **state)
{
    static const char *const lines[] = { "replay a.pyro --gecko", "record 1 --gecko",
                                         "diff a.pyro b.pyro" };
    struct options options;
    const struct frame_filters *const filters = &options.view.filters;
    char text[256];
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(text, sizeof text,
                 "%s --show-from function:main --hide a.py --focus x --show y --ignore z "
                 "--hide libraries",
                 lines[i]);
        assert_int_equal(parse_text(text, &options, NULL), ERR_OK);
        assert_int_equal(filters->count, 6);
        assert_int_equal(filters->items[0].kind, FRAME_FILTER_SHOW_FROM);
        assert_string_equal(filters->items[0].pattern, "function:main");
        assert_int_equal(filters->items[5].kind, FRAME_FILTER_HIDE);
        assert_string_equal(filters->items[5].pattern, "libraries");
    }
}

static void several_formats_may_be_given_each_with_a_name(void **state)
{
    struct options options;
    (void)state;
    assert_int_equal(
        parse_text("record 1 --flamegraph=a --collapsed --flamegraph=b", &options, NULL),
        ERR_OK);
    assert_int_equal(options.format_count, 2);
    assert_string_equal(options.formats[0].format->name, "flamegraph");
    assert_string_equal(options.formats[0].output, "b");
    assert_string_equal(options.formats[1].format->name, "collapsed");
    assert_null(options.formats[1].output);
}

static void two_captures_are_compared(void **state)
{
    struct options options;
    (void)state;
    assert_int_equal(parse_text("diff a.pyro b.pyro --by-time --json -l 3", &options, NULL),
                     ERR_OK);
    assert_string_equal(options.files[0], "a.pyro");
    assert_string_equal(options.files[1], "b.pyro");
    assert_true(options.diff_by_time && options.diff_json && !options.diff_html);
    assert_int_equal(options.report.limit, 3);
    assert_int_equal(parse_text("record 1 --diff-flamegraph a.pyro -o x.html", &options, NULL),
                     ERR_OK);
    assert_string_equal(options.baseline, "a.pyro");
    assert_string_equal(options.formats[0].format->name, "diff-flamegraph");
}

static void every_format_is_an_option_and_its_ending_names_it(void **state)
{
    const struct report_format *format = NULL;
    (void)state;
    for (size_t i = 0; (format = report_at(i)); i++) {
        struct options options;
        char line[256];
        assert_true(i < OPTIONS_MAX_FORMATS);
        snprintf(line, sizeof line, "record 1 --%s%s", format->name,
                 format->needs_baseline ? " base.pyro" : "");
        assert_int_equal(parse_text(line, &options, NULL), ERR_OK);
        assert_ptr_equal(options.formats[0].format, format);
        snprintf(line, sizeof line, "record 1 -o x.%s", format->extension);
        assert_int_equal(parse_text(line, &options, NULL), ERR_OK);
        assert_ptr_equal(options.formats[0].format, format);
    }
}

struct unit_row {
    const char *text;
    double value; /* 0: not accepted */
};

static void rates_are_read(void **state)
{
    static const struct unit_row rows[] = {
        { "100", 100 },   { "100hz", 100 }, { "10khz", 1e4 }, { "1.5k", 1500 }, { "1mhz", 1e6 },
        { "1MHz", 1e6 },  { "1M", 1e6 },    { "1", 1 },       { "0.001k", 1 },  { "1e3", 0 },
        { "0.5", 0 },     { "0", 0 },       { "-5", 0 },      { "+5", 0 },      { "", 0 },
        { "k", 0 },       { "1.1mhz", 0 },  { "2000k", 0 },   { "inf", 0 },     { "nan", 0 },
        { "0x10", 0 },    { "1ghz", 0 },    { "1 k", 0 },     { "1.2.3", 0 },   { ".", 0 },
        { "1000001", 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double hz = 0;
        assert_int_equal(setting_number(SETTING_RATE, rows[i].text, &hz), rows[i].value > 0);
        assert_true(rows[i].value == 0 || hz == rows[i].value);
    }
}

static void sizes_are_read(void **state)
{
    static const struct unit_row rows[] = {
        { "64m", 0x1p26 },
        { "64MiB", 0x1p26 },
        { "1.5g", 1.5 * 0x1p30 },
        { "1048576", 0x1p20 },
        { "1024k", 0x1p20 },
        { "1024g", 0x1p40 },
        { "1mb", 0x1p20 },
        { "1023k", 0 },
        { "1025g", 0 },
        { "0", 0 },
        { "", 0 },
        { "-1m", 0 },
        { "1t", 0 },
        { "m", 0 },
        { "inf", 0 },
        { "2097152b", 0x1p21 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double bytes = 0;
        assert_int_equal(setting_number(SETTING_SIZE, rows[i].text, &bytes), rows[i].value > 0);
        assert_true(rows[i].value == 0 || bytes == rows[i].value);
    }
}

static void durations_are_read(void **state)
{
    static const struct unit_row rows[] = {
        { "10", 10e9 },  { "0.5", 0.5e9 },  { "500ms", 0.5e9 }, { "10s", 10e9 },
        { "2m", 120e9 }, { "1h", 3600e9 },  { "1.5M", 90e9 },   { "0", 0 },
        { "", 0 },       { "-1", 0 },       { "1d", 0 },        { "inf", 0 },
        { "m", 0 },      { "9999999h", 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double ns = 0;
        assert_int_equal(setting_number(SETTING_DURATION, rows[i].text, &ns),
                         rows[i].value > 0);
        assert_true(rows[i].value == 0 || ns == rows[i].value);
    }
}

static void near_words_are_near(void **state)
{
    (void)state;
    assert_int_equal(suggest_distance("", ""), 0);
    assert_int_equal(suggest_distance("", "abc"), 3);
    assert_int_equal(suggest_distance("attach", "attach"), 0);
    assert_int_equal(suggest_distance("attach", "atach"), 1);
    assert_int_equal(suggest_distance("attach", "attahc"), 1);
    assert_int_equal(suggest_distance("run", "nur"), 2);
    assert_int_equal(suggest_distance("kitten", "sitting"), 3);
}

static void errors_have_their_exit_status(void **state)
{
    (void)state;
    assert_int_equal(exit_status_of(ERR_OK), 0);
    assert_int_equal(exit_status_of(ERR_SYS), 1);
    assert_int_equal(exit_status_of(ERR_UNSUPPORTED), 1);
    assert_int_equal(exit_status_of(ERR_INVALID), 2);
    assert_int_equal(exit_status_of(ERR_PERM), 3);
    assert_int_equal(exit_status_of(ERR_GONE), 4);
    assert_int_equal(exit_status_of(ERR_NOT_PYTHON), 4);
}

/* The caller frees. */
static char *help_of(const struct command *command)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    assert_non_null(out);
    help_print(out, command);
    fclose(out);
    return text;
}

/* The whole word, not the start of another. */
static bool names(const char *text, const char *option)
{
    for (const char *at = text; (at = strstr(at, option)); at++)
        if (!isalnum((unsigned char)at[strlen(option)]) && at[strlen(option)] != '-')
            return true;
    return false;
}

static void help_shows_every_option_of_a_command_and_no_other(void **state)
{
    const struct command *command = NULL;
    const struct option *option = NULL;
    (void)state;
    for (size_t i = 0; (command = command_at(i)); i++) {
        char *const text = help_of(command);
        for (size_t j = 0; (option = option_at(j)); j++) {
            char name[64];
            snprintf(name, sizeof name, "--%s", option->setting.name);
            const bool belongs = !option->commands || (option->commands & command->bit);
            assert_int_equal(names(text, name), belongs);
        }
        free(text);
    }
}

static void expect_narrow(const struct command *command)
{
    char *const text = help_of(command);
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        assert_in_range(strlen(line), 0, 80);
    free(text);
}

static void help_fits_a_terminal(void **state)
{
    const struct command *command = NULL;
    (void)state;
    expect_narrow(NULL);
    for (size_t i = 0; (command = command_at(i)); i++)
        expect_narrow(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capture_is_written_to_the_named_file),
        cmocka_unit_test(messages_name_what_is_wrong),
        cmocka_unit_test(defaults_are_a_kilohertz_of_the_main_thread_on_loopback),
        cmocka_unit_test(what_is_recorded_is_chosen_for_every_command),
        cmocka_unit_test(nothing_special_is_recorded_unasked),
        cmocka_unit_test(serving_settings_are_read_and_have_defaults),
        cmocka_unit_test(asyncio_is_off_running_or_all),
        cmocka_unit_test(options_may_stand_anywhere_and_be_joined),
        cmocka_unit_test(run_leaves_the_words_of_the_target_alone),
        cmocka_unit_test(serving_options_are_read),
        cmocka_unit_test(listen_addresses_have_defaults),
        cmocka_unit_test(format_follows_the_option_or_the_file_name),
        cmocka_unit_test(filters_go_in_the_order_they_are_given),
        cmocka_unit_test(two_captures_are_compared),
        cmocka_unit_test(several_formats_may_be_given_each_with_a_name),
        cmocka_unit_test(every_format_is_an_option_and_its_ending_names_it),
        cmocka_unit_test(rates_are_read),
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(durations_are_read),
        cmocka_unit_test(near_words_are_near),
        cmocka_unit_test(errors_have_their_exit_status),
        cmocka_unit_test(help_shows_every_option_of_a_command_and_no_other),
        cmocka_unit_test(help_fits_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
