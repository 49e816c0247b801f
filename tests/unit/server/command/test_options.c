#include <stdio.h>
#include <string.h>

#include "server/command/options/commands.h"
#include "server/command/options/selection.h"
#include "server/report/report.h"
#include "tests/support/test.h"
#include "tests/unit/server/command/command_line.h"

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

static void defaults_are_a_kilohertz_of_all_threads_on_loopback(void **state)
{
    struct options options;
    (void)state;
    assert_int_equal(parse_text("attach 4711", &options, NULL), ERR_OK);
    assert_string_equal(options.command->name, "attach");
    assert_int_equal(options.sampling.pids[0], 4711);
    assert_true(options.sampling.rate_hz == 1000);
    assert_int_equal(options.sampling.duration_ns, 0);
    assert_true(options.sampling.all_threads);
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
        assert_int_equal(options.sampling.mode, SESSION_MODE_GIL);
        assert_int_equal(options.sampling.native, SESSION_NATIVE_LEAF);
        assert_true(options.sampling.no_gc);
        assert_true(options.sampling.opcodes && options.sampling.stop == SESSION_STOP_ALWAYS);
        assert_true(options.sampling.max_cpu_percent == 2.5);
        assert_true(options.wants_stats);
        assert_string_equal(options.quality_file, "q.json");
    }
}

static void events_are_chosen_by_name(void **state)
{
    enum { PAGES = MEASURE_SET(MEASURE_PAGE_FAULTS), TIME = MEASURE_SET(MEASURE_TIME) };
    static const struct {
        const char *line;
        measure_set measures;
        const char *error; /* NULL: the line is right */
    } rows[] = {
        { "record 1", 0, NULL },
        { "record 1 -e time", TIME, NULL },
        { "record 1 --event page-faults", PAGES, NULL },
        { "record 1 -e page-faults,time", PAGES | TIME, NULL },
        { "attach 1 -e time,page-faults", PAGES | TIME, NULL },
        { "attach 1 -e time --event page-faults", PAGES | TIME, NULL },
        { "run -e page-faults -o x.html app.py", PAGES, NULL },
        { "attach 1 -e page-faults", PAGES, NULL },
        { "run -e page-faults app.py", PAGES, NULL },
        { "record 1 -e faults", 0, "time, page-faults, returned, copy-on-write" },
        { "record 1 -e time,", 0, "time, page-faults, returned, copy-on-write" },
        { "record 1 -e page-faultsy", 0, "'page-faultsy'" },
        { "record 1 --measure page-faults --collapsed", 0, NULL },
        { "record 1 --measure page-faults --pstats", 0, "--pstats is of time alone" },
        { "record 1 --measure teeth --collapsed", 0, "--measure 'teeth': nothing counts it" },
        { "replay x.pyro --measure page-faults --gecko", 0, "--gecko is of time alone" },
        { "replay heap.pb.gz --measure alloc_space --collapsed", 0, NULL },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct options options;
        struct err err = { 0 };
        const enum err_code rc = parse_text(rows[i].line, &options, &err);
        assert_int_equal(rc, rows[i].error ? ERR_INVALID : ERR_OK);
        if (rows[i].error)
            assert_non_null(strstr(err.message, rows[i].error));
        else
            assert_int_equal(options.sampling.measures, rows[i].measures);
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
    assert_int_equal(parse_text("serve --no-continuous", &options, NULL), ERR_OK);
    assert_true(options.serve.no_continuous && !options.serve.is_continuous);
}

static void asyncio_is_off_running_or_all(void **state)
{
    static const struct {
        const char *line;
        enum session_async async;
        bool names_mode;
    } rows[] = {
        { "dump 1", SESSION_ASYNC_OFF, false },
        { "dump 1 --async-aware", SESSION_ASYNC_RUNNING, false },
        { "dump 1 --async-mode all --async-aware", SESSION_ASYNC_ALL, true },
        { "dump 1 --async-aware --async-mode running", SESSION_ASYNC_RUNNING, true },
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
    assert_int_equal(options.sampling.mode, SESSION_MODE_WALL);
    assert_false(options.sampling.native || options.sampling.no_gc);
    assert_false(options.sampling.opcodes || options.sampling.stop);
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

static void the_main_thread_alone_is_an_option_of_each_command_that_logs(void **state)
{
    static const char *const lines[] = { "attach 1 --main-thread", "record --main-thread 1",
                                         "run --main-thread app.py" };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct options options;
        assert_int_equal(parse_text(lines[i], &options, NULL), ERR_OK);
        assert_false(options.sampling.all_threads);
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

static void an_empty_filter_names_its_kind_and_filters_nothing(void **state)
{
    struct options options;
    (void)state;
    assert_int_equal(parse_text("replay a.pyro --gecko --focus x", &options, NULL), ERR_OK);
    assert_int_equal(options.view.filter_kinds, 1U << FRAME_FILTER_FOCUS);
    assert_int_equal(options.view.filters.count, 1);
    assert_int_equal(parse_text("replay a.pyro --gecko --hide= --show-from x", &options, NULL),
                     ERR_OK);
    assert_int_equal(options.view.filter_kinds,
                     1U << FRAME_FILTER_HIDE | 1U << FRAME_FILTER_SHOW_FROM);
    assert_int_equal(options.view.filters.count, 1);
    assert_int_equal(parse_text("replay a.pyro --browser --ignore x", &options, NULL), ERR_OK);
    assert_int_equal(options.view.filters.count, 1);
}

static void native_code_is_recorded_as_wanted(void **state)
{
    struct options options;
    (void)state;
    assert_int_equal(parse_text("record 1 --collapsed --native=full", &options, NULL), ERR_OK);
    assert_int_equal(options.sampling.native, SESSION_NATIVE_FULL);
    assert_int_equal(parse_text("run --native=off app.py", &options, NULL), ERR_OK);
    assert_int_equal(options.sampling.native, SESSION_NATIVE_OFF);
    assert_int_equal(parse_text("run --native app.py", &options, NULL), ERR_OK);
    assert_int_equal(options.sampling.native, SESSION_NATIVE_LEAF);
}

static void native_frames_are_chosen_by_name(void **state)
{
    static const struct frame_filters recorded = { .count = 1,
                                                   .items = { { FRAME_FILTER_HIDE, "a" } } };
    struct options options;
    struct frame_filters out;
    struct err err = { 0 };
    (void)state;
    assert_int_equal(parse_text("replay a.pyro --gecko", &options, NULL), ERR_OK);
    assert_int_equal(options.view.filters.native, NATIVE_FRAMES_DEFAULT);
    assert_int_equal(
        parse_text("replay a.pyro --gecko --native-frames library", &options, NULL), ERR_OK);
    assert_int_equal(options.view.filters.native, NATIVE_FRAMES_LIBRARY);
    assert_int_equal(selection_filters(&options, &recorded, &out, &err), ERR_OK);
    assert_int_equal(out.native, NATIVE_FRAMES_LIBRARY);
    assert_int_equal(out.count, 1);
    assert_int_equal(parse_text("replay a.pyro --gecko --native-frames full", &options, &err),
                     ERR_INVALID);
    assert_non_null(strstr(err.message, "want hidden, leaf, library, all or everything"));
}

static void options_replace_the_same_kind_of_a_capture(void **state)
{
    static const struct frame_filters recorded = {
        .count = 3,
        .items = { { FRAME_FILTER_HIDE, "a" },
                   { FRAME_FILTER_HIDE, "b" },
                   { FRAME_FILTER_SHOW, "c" } },
    };
    static const struct {
        const char *line, *patterns;
    } rows[] = { { "", "abc" },
                 { "--hide x", "xc" },
                 { "--hide=", "c" },
                 { "--show= --hide=", "" },
                 { "--focus x", "xabc" } };
    struct options options;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[64], patterns[8] = "";
        struct frame_filters out;
        struct err err = { 0 };
        snprintf(line, sizeof line, "replay a.pyro --gecko %s", rows[i].line);
        assert_int_equal(parse_text(line, &options, NULL), ERR_OK);
        assert_int_equal(selection_filters(&options, &recorded, &out, &err), ERR_OK);
        for (size_t k = 0; k < out.count; k++)
            strcat(patterns, out.items[k].pattern);
        assert_string_equal(patterns, rows[i].patterns);
    }
    struct frame_filters most = { .count = FRAME_FILTERS_MAX,
                                  .items = { { FRAME_FILTER_HIDE, "a" } } },
                         out;
    struct err err = { 0 };
    assert_int_equal(parse_text("replay a.pyro --gecko --ignore x", &options, NULL), ERR_OK);
    assert_int_equal(selection_filters(&options, &most, &out, &err), ERR_INVALID);
    assert_non_null(strstr(err.message, "more than 16 filters together"));
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
    assert_true(options.diff_by_time && options.writes_json && !options.diff_html);
    assert_int_equal(options.baseline_count, 1);
    assert_int_equal(options.report.limit, 3);
    assert_int_equal(
        parse_text("diff a.pyro b.pyro -- c.pyro d.pyro e.pyro --state on_cpu", &options, NULL),
        ERR_OK);
    assert_int_equal(options.baseline_count, 2);
    assert_int_equal(options.file_count, 5);
    assert_true(options.view.query.states.require == STATE_ON_CPU);
    assert_int_equal(parse_text("diff a.pyro b.pyro --fail-if self>5% --fail-if total(x)>1%",
                                &options, NULL),
                     ERR_OK);
    assert_int_equal(options.fail_ifs.count, 2);
    assert_null(options.measure);
    assert_int_equal(parse_text("diff a.pyro b.pyro --measure page-faults --fail-if self>5% "
                                "--fail-if total(x)>1%",
                                &options, NULL),
                     ERR_OK);
    assert_string_equal(options.measure, "page-faults");
    assert_string_equal(options.fail_ifs.items[1], "total(x)>1%");
    assert_int_equal(parse_text("record 1 --diff-flamegraph a.pyro -o x.html", &options, NULL),
                     ERR_OK);
    assert_string_equal(options.baseline, "a.pyro");
    assert_string_equal(options.formats[0].format->name, "diff-flamegraph");
}

static void letters_mean_what_they_mean_in_py_spy(void **state)
{
    struct options options;
    (void)state;
    assert_int_equal(
        parse_text("record -p 7 --pid 8 -p 7 -s -n -i -t -g --rate 50 -f raw", &options, NULL),
        ERR_OK);
    assert_int_equal(options.sampling.pid_count, 2);
    assert_int_equal(options.sampling.pids[1], 8);
    assert_true(options.sampling.subprocesses);
    assert_int_equal(options.sampling.native, SESSION_NATIVE_FULL);
    assert_true(options.shows_idle && options.report.by_thread);
    assert_int_equal(options.sampling.mode, SESSION_MODE_GIL);
    assert_true(options.sampling.rate_hz == 50);
    assert_string_equal(options.formats[0].format->name, "collapsed");
    assert_int_equal(parse_text("dump 7 /dev/null --executable x", &options, NULL), ERR_OK);
    assert_int_equal(options.sampling.pid_count, 1);
    assert_string_equal(options.files[0], "/dev/null");
    assert_string_equal(options.executable, "x");
    assert_int_equal(parse_text("dump 7 --executable x", &options, NULL), ERR_INVALID);
    assert_int_equal(parse_text("dump /nonexistent/core", &options, NULL), ERR_INVALID);
    assert_int_equal(parse_text("dump", &options, NULL), ERR_INVALID);
    assert_int_equal(parse_text("dump -n -p 7", &options, NULL), ERR_OK);
    assert_true(options.shows_native && options.sampling.pid_count == 1);
}

static void a_flame_graph_in_a_picture_file_is_a_picture(void **state)
{
    static const struct {
        const char *line, *format;
    } rows[] = { { "record 1 -o x.svg", "svg" },
                 { "record 1 -f flamegraph -o x.svg", "svg" },
                 { "record 1 -f flamegraph -o x.html", "flamegraph" },
                 { "record 1 -f speedscope -o x.svg", "speedscope" },
                 { "record 1 -f chrometrace -o x.json", "chrome-trace" },
                 { "replay x.pyro", "summary" },
                 { "record 1 --binary=x.pyro -o x.svg", "svg" },
                 { "run --binary=x.pyro -o x.svg app.py", "svg" },
                 { "replay x.pyro -o x.svg", "svg" } };
    struct options options;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(parse_text(rows[i].line, &options, NULL), ERR_OK);
        assert_int_equal(options.format_count, 1);
        assert_string_equal(options.formats[0].format->name, rows[i].format);
    }
}

static void a_command_line_chooses_whether_there_is_a_page(void **state)
{
    static const struct {
        const char *line, *command;
    } rows[] = { { "night.pyro", "serve" },
                 { "run app.py", "run" },
                 { "run --binary=x.pyro app.py", "run" },
                 { "run -o x.pyro app.py", "record" },
                 { "run --listen :0 -o x.pyro app.py", "run" },
                 { "run -o x.html -- app", "record" },
                 { "run --summary -m app", "record" },
                 { "record -o x.html -- app -p 1", "record" } };
    struct options options;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(parse_text(rows[i].line, &options, NULL), ERR_OK);
        assert_string_equal(options.command->name, rows[i].command);
        assert_true(!options.target == (i == 0));
    }
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

static void threads_are_stopped_as_needed_never_or_always(void **state)
{
    static const struct {
        const char *line;
        enum session_stop stop;
        double percent;
    } rows[] = {
        { "attach 1", SESSION_STOP_AUTO, 0 },
        { "attach 1 --stop auto --max-stop 2.5%", SESSION_STOP_AUTO, 2.5 },
        { "attach 1 --stop=never", SESSION_STOP_NEVER, 0 },
        { "attach 1 --stop always", SESSION_STOP_ALWAYS, 0 },
        { "attach 1 --blocking", SESSION_STOP_ALWAYS, 0 },
    };
    static const char *const wrong[] = { "attach 1 --stop", "attach 1 --stop sometimes",
                                         "attach 1 --max-stop 0", "attach 1 --max-stop 101",
                                         "attach 1 --max-stop much" };
    struct options options;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(parse_text(rows[i].line, &options, NULL), ERR_OK);
        assert_int_equal(options.sampling.stop, rows[i].stop);
        assert_true(options.sampling.max_stop_percent == rows[i].percent);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(parse_text(wrong[i], &options, NULL), ERR_INVALID);
}

TEST_GROUP(cmocka_unit_test(a_capture_is_written_to_the_named_file),
           cmocka_unit_test(defaults_are_a_kilohertz_of_all_threads_on_loopback),
           cmocka_unit_test(what_is_recorded_is_chosen_for_every_command),
           cmocka_unit_test(events_are_chosen_by_name),
           cmocka_unit_test(nothing_special_is_recorded_unasked),
           cmocka_unit_test(serving_settings_are_read_and_have_defaults),
           cmocka_unit_test(asyncio_is_off_running_or_all),
           cmocka_unit_test(options_may_stand_anywhere_and_be_joined),
           cmocka_unit_test(the_main_thread_alone_is_an_option_of_each_command_that_logs),
           cmocka_unit_test(run_leaves_the_words_of_the_target_alone),
           cmocka_unit_test(serving_options_are_read),
           cmocka_unit_test(listen_addresses_have_defaults),
           cmocka_unit_test(format_follows_the_option_or_the_file_name),
           cmocka_unit_test(filters_go_in_the_order_they_are_given),
           cmocka_unit_test(an_empty_filter_names_its_kind_and_filters_nothing),
           cmocka_unit_test(native_code_is_recorded_as_wanted),
           cmocka_unit_test(native_frames_are_chosen_by_name),
           cmocka_unit_test(options_replace_the_same_kind_of_a_capture),
           cmocka_unit_test(two_captures_are_compared),
           cmocka_unit_test(several_formats_may_be_given_each_with_a_name),
           cmocka_unit_test(letters_mean_what_they_mean_in_py_spy),
           cmocka_unit_test(a_flame_graph_in_a_picture_file_is_a_picture),
           cmocka_unit_test(a_command_line_chooses_whether_there_is_a_page),
           cmocka_unit_test(every_format_is_an_option_and_its_ending_names_it),
           cmocka_unit_test(threads_are_stopped_as_needed_never_or_always))
