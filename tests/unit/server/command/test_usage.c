#include "server/command/options/suggest.h"
#include "server/command/process/exit.h"
#include "tests/support/test.h"
#include "tests/unit/server/command/command_line.h"

struct bad_row {
    const char *line;
    const char *message;
};

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
        { "record 1 --parts running -o a.pyro",
          "--parts needs a format, such as --flamegraph: a capture keeps all parts of time (use "
          "replay --parts)" },
        { "attach 1 --anonymize", "attach has no option '--anonymize' (see attach --help)" },
        { "replay a.pyro --anonymize --browser",
          "--browser shows the whole capture: select a part in the page, or name a format "
          "instead" },
        { "attach --all 1", "attach takes a PID or --all, not both" },
        { "replay a.pyro --hide function:",
          "invalid --hide 'function:': want text, /an expression/, function:NAME, "
          "file:PATH, module:NAME, library:NAME, wait:CAUSE, context:VALUE or libraries" },
        { "diff a.pyro b.pyro --show-from /a**/",
          "invalid --show-from '/a**/': the regular expression has nothing to repeat before *, "
          "+, ? or {" },
        { "replay a.pyro --gecko --omit x",
          "unknown option '--omit' (did you mean '--hide'?)" },
        { "replay a.pyro --gecko --state foo",
          "invalid --state 'foo': want on_cpu, has_gil, waits_gil, in_gc, in_native, "
          "has_exception, runnable or in_jit, alone or after \"!\", \"~\" or \"unknown_\"" },
        { "replay a.pyro --gecko --state in_gc,foo",
          "invalid --state 'in_gc,foo': \"foo\" is not a state; want on_cpu, has_gil, "
          "waits_gil, in_gc, in_native, has_exception, runnable or in_jit, alone or after \"!\", \"~\" or "
          "\"unknown_\"" },
        { "replay a.pyro --gecko --state on_cpu,!on_cpu",
          "invalid --state 'on_cpu,!on_cpu': \"!on_cpu\" contradicts another state" },
        { "top 1 --hide x", "top has no option '--hide' (see top --help)" },
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
        { "attach 1 -a --main-thread",
          "--all-threads and --main-thread cannot be given together" },
        { "top 1 --main-thread", "top has no option '--main-thread' (see top --help)" },
        { "attach 1 -q", "unknown option '-q' (see --help)" },
        { "attach 1 --output x",
          "attach -o writes a capture: add --binary, or name a .pyro file" },
        { "top", "top needs a PID or --all" },
        { "top 1 -o x", "top -o writes a capture: add --binary, or name a .pyro file" },
        { "top 1 --all-threads", "top has no option '--all-threads' (see top --help)" },
        { "top 1 --listen 1", "top has no option '--listen' (see top --help)" },
        { "attach 1 --sort name", "attach has no option '--sort' (see attach --help)" },
        { "attach 1 --binary=x.pyro -o y", "-o and --binary name two captures: leave out one" },
        { "record 1 --binary=x.pyro -o y.pyro",
          "-o and --binary name two captures: leave out one" },
        { "run --browser --binary=x.pyro -o y.html app.py",
          "run serves no page if it writes a report: leave out --browser, or write a capture "
          "(.pyro)" },
        { "run --idle app.py",
          "run serves a page, where you choose what is shown: --parts, --idle and the like need "
          "-o FILE or a format" },
        { "replay x.pyro --mode cpu --parts idle",
          "--mode cpu is --parts running: give one of them" },
        { "attach 1 --binary=", "--binary needs a value (FILE)" },
        { "replay", "replay needs a FILE (record writes one)" },
        { "replay nothere.pyro -o x", "cannot read 'nothere.pyro': No such file or directory" },
        { "replay /dev/null -o x",
          "replay needs a format, such as --flamegraph or --collapsed (see replay --help)" },
        { "replay x y --collapsed",
          "replay takes one FILE; 'y' is a second one (merge joins captures)" },
        { "replay x --collapsed -r 10", "unknown option '-r' (see --help)" },
        { "record 1 -F 99", "unknown option '-F' (did you mean '--sampling-rate'?)" },
        { "record 1 --frequency 99",
          "unknown option '--frequency' (did you mean '--sampling-rate'?)" },
        { "record 1 --json", "unknown option '--json' (did you mean '--summary-json'?)" },
        { "dump --process 1", "unknown option '--process' (did you mean '--pid'?)" },
        { "attach 1 --timeout 5", "unknown option '--timeout' (did you mean '--duration'?)" },
        { "serve --port 80", "unknown option '--port' (did you mean '--listen'?)" },
        { "record -p x", "invalid --pid 'x': want a process ID such as 4711" },
        { "record 1 -f png",
          "invalid --format 'png': want collapsed, flamegraph, heatmap, svg, pstats, pstats-text, "
          "summary, summary-markdown, summary-json, jsonl, gecko, chrome-trace, speedscope, pprof" },
        { "record", "record needs a PID, --all or -- COMMAND" },
        { "dump", "dump needs a PID, a core file, --all or --command" },
        { "dump 1 --all", "dump takes a PID or --all, not both" },
        { "dump 1 --command x", "dump takes a PID or --command, not both" },
        { "dump --all --command x", "--command chooses among all: leave out --all" },
        { "record 1 -- x", "record takes a PID or a COMMAND, not both" },
        { "record --all -- x", "record takes --all or a COMMAND, not both" },
        { "record --", "a COMMAND is missing after the '--'" },
        { "run --browser -o x.html app.py",
          "run serves no page if it writes a report: leave out --browser, or write a capture "
          "(.pyro)" },
        { "run --split app.py",
          "--split needs a format: a capture holds all processes (use replay --split)" },
        { "run --anonymize app.py",
          "--anonymize needs a format, such as --flamegraph: a capture holds the real names" },
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
        { "merge x -o y",
          "merge needs two FILEs, or a part of one (FILE@FROM..TO), and -o FILE" },
        { "merge x y", "merge needs two FILEs, or a part of one (FILE@FROM..TO), and -o FILE" },
        { "attach 1 --listen 127.0.0.1:x",
          "invalid --listen '127.0.0.1:x': want HOST:PORT or unix:PATH" },
        { "attach 1 --listen [::1:80",
          "invalid --listen '[::1:80': want HOST:PORT or unix:PATH" },
        { "attach 1 --listen ::1", "invalid --listen '::1': want HOST:PORT or unix:PATH" },
        { "attach 1 --listen h:65536",
          "invalid --listen 'h:65536': want HOST:PORT or unix:PATH" },
        { "attach 1 --no-token --token-file f",
          "--no-token and --token-file cannot be given together" },
        { "attach 1 -- x", "'--' is only allowed before the COMMAND of run or record" },
        { "run", "run needs a TARGET: a Python file, -m MODULE, or -- COMMAND" },
        { "run -m", "run needs a TARGET: a Python file, -m MODULE, or -- COMMAND" },
        { "run --", "run needs a TARGET: a Python file, -m MODULE, or -- COMMAND" },
        { "run -m -- x", "'--' is only allowed before the COMMAND of run or record" },
        { "record 1 -o x.png",
          "unknown output format '.png' (known: .pyro, .folded, .html, .heatmap.html, .svg, .pstats, "
          ".txt, .summary.txt, .md, .summary.json, .jsonl, .gecko.json, .trace.json, .speedscope.json, .pb.gz, .diff.html, .diff.md)" },
        { "replay /dev/null -o y.pyro",
          "unknown output format '.pyro' (known: .folded, .html, .heatmap.html, .svg, .pstats, "
          ".txt, .summary.txt, .md, .summary.json, .jsonl, .gecko.json, .trace.json, .speedscope.json, .pb.gz, .diff.html, .diff.md)" },
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
        { "serve --no-continuous --continuous",
          "--continuous and --no-continuous cannot be given together" },
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
        { "attach 1 --native=yes", "invalid --native 'yes': want off, leaf or full" },
        { "diff", "diff needs two captures: BASELINE and CAPTURE" },
        { "diff a.pyro", "diff needs two captures: BASELINE and CAPTURE" },
        { "diff a b c",
          "diff takes two captures, or several on each side: BASELINE... -- CAPTURE..." },
        { "diff a b --", "diff needs two captures: BASELINE and CAPTURE" },
        { "diff -- a b", "'--' is only allowed before the COMMAND of run or record" },
        { "diff a -- b -- c", "'--' is only allowed before the COMMAND of run or record" },
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
        { "replay a.pyro --collapsed --quality a.pyro", "--quality must not name the capture" },
        { "replay a.pyro --browser --quality x",
          "--browser shows the whole capture: select a part in the page, or name a format "
          "instead" },
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

TEST_GROUP(cmocka_unit_test(messages_name_what_is_wrong), cmocka_unit_test(near_words_are_near),
           cmocka_unit_test(errors_have_their_exit_status))
