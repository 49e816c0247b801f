#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sampler/base/buffer.h"
#include "sampler/profile/profile.h"
#include "server/report/report.h"
#include "server/report/summary.h"
#include "tests/support/made_profile.h"
#include "tests/support/sample_session.h"
#include "tests/support/test.h"

enum { RUNNING = STATE_ON_CPU | STATE_HAS_GIL };

static struct buffer written(const struct report_source *source, const char *format)
{
    struct buffer out = { 0 };
    struct err err = { 0 };
    assert_ok(report_write(report_find(format), source, &out, &err), &err);
    assert_non_null(buffer_string(&out));
    return out;
}

static struct summary summarized(const struct sample_session *session)
{
    struct summary summary;
    struct err err = { 0 };
    assert_ok(summary_init(&summary, &session->source, &err), &err);
    return summary;
}

static void expect_name(struct strtab_string name, const char *wanted)
{
    assert_int_equal(name.length, strlen(wanted));
    assert_memory_equal(name.text, wanted, name.length);
}

static void hot_rows_are_of_running_samples_and_the_rest_waits(void **state)
{
    struct sample_session *const session = sample_session_small();
    const struct summary summary = summarized(session);
    (void)state;
    assert_int_equal(summary.samples, SAMPLE_TOTAL);
    assert_int_equal(summary.waiting, 270);
    assert_int_equal(summary.hot, 730);
    assert_int_equal(summary.thread_count, 3);
    expect_name(summary.lines.rows[0].frame.name, "parse");
    assert_int_equal(summary.lines.rows[0].frame.line, 22);
    assert_int_equal(summary.lines.rows[0].self, 300);
    expect_name(summary.functions.rows[0].frame.name, "parse");
    assert_int_equal(summary.functions.rows[0].self, 300);
    assert_int_equal(summary.functions.rows[0].total, 400);
    expect_name(summary.wait_functions.rows[0].frame.name, "Tree.visit");
    assert_int_equal(summary.wait_functions.rows[0].self, 180);
    assert_int_equal(summary.states.yes[STATE_FLAG_IN_GC], 60);
    sample_session_destroy(session);
}

static void chosen_parts_are_all_that_is_summarized(void **state)
{
    struct sample_session *const session = sample_session_small();
    struct err err = { 0 };
    (void)state;
    session->everything.states.parts = 1U << PART_BLOCKED;
    report_header_deinit(&session->header);
    session->source.header = NULL;
    assert_ok(report_header_init(&session->header, &session->source, &err), &err);
    session->source.header = &session->header;
    const struct summary summary = summarized(session);
    assert_int_equal(summary.samples, 230);
    assert_int_equal(summary.hot, 0);
    assert_int_equal(summary.functions.count, 0);
    assert_int_equal(summary.wait_functions.rows[0].self, 140);
    sample_session_destroy(session);
}

/* Samples of a thread in the headline's table. */
struct share {
    int32_t tid; /* 0: waiting tasks */
    state_bits state;
    const char *stack;
    uint32_t count;
};

static thread_id add_waiting_tasks(struct profile *profile)
{
    struct profile_thread row = { .name = made_string(profile, PROFILE_WAITING_TASKS) };
    thread_id tasks = 0;
    struct err err = { 0 };
    assert_ok(profile_process(profile, 1, made_string(profile, "made"), &row.process, &err),
              &err);
    assert_ok(profile_thread(profile, &row, &tasks, &err), &err);
    return tasks;
}

static void tasks_without_a_thread_are_said_and_shares_are_of_all_of_them(void **state)
{
    struct profile *const profile = made_profile();
    const thread_id tasks = add_waiting_tasks(profile);
    (void)state;
    made_add(profile, tasks, 0, "main;fetch", 60);
    made_add(profile, tasks, 0, "<task made>", 40);
    made_seal(profile, 1);
    struct sample_session *const session = sample_session_of(profile);
    const struct summary summary = summarized(session);
    assert_string_equal(
        summary.headline,
        "No samples of threads; tasks wait, 60 % of them in `fetch` (made.py:1)");
    assert_int_equal(summary.tasks, 100);
    struct buffer out = written(&session->source, "summary");
    assert_non_null(strstr(out.data, "Where tasks wait (% of waiting tasks)\n  60.0 %  fetch"));
    buffer_deinit(&out);
    sample_session_destroy(session);
}

static void quality_is_rounded_as_the_badge_of_the_page_rounds_it(void **state)
{
    static const struct {
        uint64_t exact, samples;
        const char *text;
    } rows[] = { { 1000, 1000, "100 % of the" },         { 99999, 100000, "> 99.99 % of the" },
                 { 9997, 10000, "99.97 % of the" },      { 998, 1000, "99.8 % of the" },
                 { 5, 10000, "0.05 % of the" },          { 1, 100000, "< 0.01 % of the" },
                 { 0, 1000, "0 % of the samples exact" } };
    struct sample_session *const session = sample_session_small();
    char text[SUMMARY_QUALITY_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        session->snapshot.quality.exact = rows[i].exact;
        session->snapshot.quality.samples = rows[i].samples;
        summary_quality_text(&session->info, text);
        assert_ptr_equal(strstr(text, rows[i].text), text);
    }
    sample_session_destroy(session);
}

static void a_headline_of_hostile_names_closes_each(void **state)
{
    char wait[256], disk[256], control[61];
    struct profile *const profile = made_profile();
    size_t quotes = 0;
    (void)state;
    memset(control, 1, sizeof control - 1);
    control[sizeof control - 1] = '\0';
    snprintf(wait, sizeof wait, "main;%s;<waits: network read %s>", control, control);
    snprintf(disk, sizeof disk, "main;%s;<waits: disk>", control);
    const thread_id thread = made_thread(profile, 1, 1);
    made_add(profile, thread, 0, wait, 60);
    made_add(profile, thread, 0, disk, 40);
    made_seal(profile, 1);
    struct sample_session *const session = sample_session_of(profile);
    const struct summary summary = summarized(session);
    for (const char *c = summary.headline; *c; c++)
        quotes += *c == '`';
    assert_int_equal(quotes, 4);
    assert_true(strlen(summary.headline) < SUMMARY_HEADLINE_BYTES - 1);
    sample_session_destroy(session);
}

static void the_headline_names_the_largest_share_first(void **state)
{
    enum { MOST = 6 };
    static const struct {
        const char *headline;
        struct share shares[MOST];
    } rows[] = {
        { "59 % of the time it waits for the disk in `sqlite3.Connection.commit`, called by "
          "made.py:1; 41 % it runs `work` (made.py:1)",
          { { 1, 0, "main;<native> sqlite3.Connection.commit;<waits: disk>", 59 },
            { 1, RUNNING, "main;work", 41 } } },
        { "Threads need the GIL 60 % of the time, held mostly by `render` (made.py:1); "
          "40 % it runs `render` (made.py:1)",
          { { 1, RUNNING, "run;render", 40 },
            { 2, STATE_WAITS_GIL, "run;<native> _socket.socket.send;<waits: GIL>", 60 } } },
        { "90 % of the time that is not idle it runs `work` (made.py:1); 10 % it waits to read from "
          "the network (10.0.0.5:5432) in `recv` (made.py:1); 2 of 3 threads are idle",
          { { 1, RUNNING, "main;work", 90 },
            { 1, 0, "main;recv;<waits: network read 10.0.0.5:5432>", 10 },
            { 2, 0, "run;get;<waits: idle worker>", 100 },
            { 3, 0, "run;nap;<waits: sleep>", 95 } } },
        { "90 % of the time that is not idle it runs `work` (made.py:1); 10 % it is blocked in "
          "`work` (made.py:1); it is idle 50 % of the time",
          { { 1, 0, "main;accept;<waits: event loop>", 100 },
            { 2, RUNNING, "run;work", 45 },
            { 3, RUNNING, "run;work", 45 },
            { 4, 0, "run;work", 10 } } },
        { "Threads need a processor 75 % of the time; 25 % it is blocked in `main` (made.py:1)",
          { { 1, STATE_RUNNABLE, "main;<waits: processor>", 75 }, { 1, 0, "main", 25 } } },
        { "100 % of the time that is not idle it runs `main` (made.py:1); it is idle 50 % of "
          "the time",
          { { 1, RUNNING, "main", 50 }, { 1, 0, "main;<waits: event loop>", 50 } } },
        { "Tasks wait, 80 % of them in `handle` (made.py:1); 100 % of the time that is not idle it "
          "runs `work` (made.py:1); it is idle 90 % of the time",
          { { 1, RUNNING, "main;work", 10 },
            { 1, 0, "main;<waits: event loop>", 90 },
            { 0, 0, "handle", 400 },
            { 0, 0, "<task made>", 100 } } },
        { "100 % of the time it runs `work` (made.py:1); tasks wait, 100 % of them in `handle` "
          "(made.py:1)",
          { { 1, RUNNING, "main;work", 9 }, { 0, 0, "handle", 9 } } },
        { "Tasks wait, 100 % of them in `handle` (made.py:1); it is idle all the time: event loop",
          { { 1, 0, "main;<waits: event loop>", 9 }, { 0, 0, "handle", 9 } } },
        { "Idle all the time: event loop", { { 1, 0, "main;<waits: event loop>", 9 } } },
        { "100 % of the time it runs `a'b` (made.py:1)", { { 1, RUNNING, "a`b", 9 } } },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct profile *const profile = made_profile();
        for (const struct share *share = rows[i].shares;
             share < rows[i].shares + MOST && share->stack; share++)
            made_add(profile,
                     share->tid ? made_thread(profile, 1, share->tid)
                                : add_waiting_tasks(profile),
                     share->state, share->stack, share->count);
        made_seal(profile, 1);
        struct sample_session *const session = sample_session_of(profile);
        const struct summary summary = summarized(session);
        assert_string_equal(summary.headline, rows[i].headline);
        struct buffer out = written(&session->source, "summary");
        assert_memory_equal(out.data, rows[i].headline, strlen(rows[i].headline));
        buffer_deinit(&out);
        sample_session_destroy(session);
    }
}

static void native_samples_are_by_library_without_the_interpreter(void **state)
{
    struct sample_session *const session = sample_session_native();
    const struct summary summary = summarized(session);
    (void)state;
    assert_int_equal(summary.library_count, 3);
    expect_name(names_base(summary.libraries[0].path), "libopenblas64_p-r0.3.23.so");
    assert_int_equal(summary.libraries[0].samples, 4 * 190);
    for (size_t i = 1; i < summary.library_count; i++)
        assert_true(summary.libraries[i].samples <= summary.libraries[i - 1].samples);
    assert_true(summary.native < summary.hot);
    sample_session_destroy(session);
}

static void the_thread_that_others_wait_for_is_named(void **state)
{
    struct profile *const profile = made_profile();
    (void)state;
    made_add(profile, made_thread(profile, 1, 1), RUNNING, "main;hold", 60);
    made_add(profile, made_thread(profile, 1, 2), RUNNING, "main;hold", 20);
    made_add(profile, made_thread(profile, 1, 3), STATE_WAITS_GIL, "main;want", 40);
    made_seal(profile, 1);
    struct sample_session *const session = sample_session_of(profile);
    const struct summary summary = summarized(session);
    assert_int_equal(summary.gil, SUMMARY_GIL_KNOWN);
    assert_int_equal(summary.holder_tid, 1);
    assert_true(fabs(summary.holder_share - 0.75) < 0.001);
    struct buffer out = written(&session->source, "summary");
    assert_non_null(strstr(out.data, "needed in 33.3 %. Thread 1 held it in 75 %"));
    buffer_deinit(&out);
    sample_session_destroy(session);
}

/* A fifth of what runs, in a function that is not Python's own, without native stacks. */
static void native_stacks_are_offered_where_they_would_say_more(void **state)
{
    static const struct {
        const char *leaf;
        uint32_t samples;
        enum session_native native;
        bool is_offered;
    } rows[] = {
        { "<native> numpy.dot", 21, SESSION_NATIVE_LEAF, true },
        { "<native> numpy.dot", 20, SESSION_NATIVE_OFF, false },
        { "<native> numpy.dot", 21, SESSION_NATIVE_FULL, false },
        { "<native> list.sort", 90, SESSION_NATIVE_LEAF, false },
        { "<native>", 90, SESSION_NATIVE_LEAF, false },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct profile *const profile = made_profile();
        const thread_id thread = made_thread(profile, 1, 1);
        char stack[64];
        snprintf(stack, sizeof stack, "main;%s", rows[i].leaf);
        made_add(profile, thread, RUNNING, stack, rows[i].samples);
        made_add(profile, thread, RUNNING, "main;work", 100 - rows[i].samples);
        made_add(profile, thread, 0, "main;wait", 500);
        made_seal(profile, 1);
        struct sample_session *const session = sample_session_of(profile);
        session->options.native = rows[i].native;
        struct buffer text = written(&session->source, "summary"),
                      json = written(&session->source, "summary-json");
        assert_int_equal(strstr(text.data, "21.0 % of running time ends in numpy.dot") != NULL,
                         rows[i].is_offered);
        assert_int_equal(strstr(json.data, "\"wanted_for\":null") == NULL, rows[i].is_offered);
        buffer_deinit(&json);
        buffer_deinit(&text);
        sample_session_destroy(session);
    }
}

static void waits_are_shown_by_cause_and_peer(void **state)
{
    struct profile *const profile = made_profile();
    const thread_id one = made_thread(profile, 1, 1), two = made_thread(profile, 1, 2);
    (void)state;
    made_add(profile, one, RUNNING, "main;work", 10);
    made_add(profile, one, 0, "main;loop;<waits: event loop>", 60);
    made_add(profile, two, 0, "main;read;<waits: network read 10.0.0.5:5432>", 20);
    made_add(profile, two, 0, "main;read;<waits: network read 10.0.0.6:5432>", 6);
    made_add(profile, two, 0, "main;read;<context id: a>;<waits: network read>", 4);
    made_add(profile, two, 0, "main;other", 10);
    made_seal(profile, 1);
    struct sample_session *const session = sample_session_of(profile);
    const struct summary summary = summarized(session);
    assert_int_equal(summary.waiting, 40);
    assert_int_equal(summary.busy, 50);
    assert_int_equal(summary.parts[PART_IDLE], 60);
    assert_int_equal(summary.cause_count, 3);
    assert_int_equal(summary.causes[0].cause, WAIT_EVENT_LOOP);
    assert_int_equal(summary.causes[1].cause, WAIT_NETWORK_READ);
    assert_int_equal(summary.causes[1].samples, 30);
    assert_int_equal(summary.causes[1].peer_count, 2);
    expect_name(summary.causes[1].peers[0].name, "10.0.0.5:5432");
    assert_int_equal(summary.causes[2].cause, WAIT_UNKNOWN);
    /* The functions are those that wait, not the marks. */
    expect_name(summary.wait_functions.rows[0].frame.name, "read");
    assert_int_equal(summary.wait_functions.rows[0].self, 30);
    struct buffer out = written(&session->source, "summary");
    assert_non_null(strstr(out.data, "Where it waits, by cause (% of the time not idle)\n"
                                     "  60.0 %  network read, 40.0 % 10.0.0.5:5432, "
                                     "12.0 % 10.0.0.6:5432\n"
                                     "  20.0 %  unknown\n"));
    buffer_deinit(&out);
    out = written(&session->source, "summary-markdown");
    assert_non_null(strstr(out.data, "- 60.0 %  network read, 40.0 % `10.0.0.5:5432`"));
    buffer_deinit(&out);
    session->source.settings.anonymizes = true;
    out = written(&session->source, "summary-json");
    assert_non_null(strstr(out.data, "{\"cause\":\"network_read\",\"title\":\"network read\","
                                     "\"samples\":30,\"share\":0.6,"
                                     "\"peer_count\":0,\"peers\":[]}"));
    assert_null(strstr(out.data, "10.0.0.5"));
    buffer_deinit(&out);
    sample_session_destroy(session);
}

static void unknown_and_missing_gils_are_not_zero(void **state)
{
    struct profile *const profile = made_profile();
    (void)state;
    made_add(profile, made_thread(profile, 1, 1), STATE_ON_CPU | STATE_UNKNOWN_WAITS_GIL,
             "main;work", 60);
    made_seal(profile, 1);
    struct sample_session *const session = sample_session_of(profile);
    struct buffer out = written(&session->source, "summary");
    assert_non_null(strstr(out.data, "waits for it are unknown"));
    buffer_deinit(&out);
    out = written(&session->source, "summary-json");
    assert_non_null(strstr(out.data, "\"waited_share\":null"));
    buffer_deinit(&out);
    session->header.target.python = "3.14.0t";
    out = written(&session->source, "summary");
    assert_non_null(strstr(out.data, "free-threaded"));
    buffer_deinit(&out);
    out = written(&session->source, "summary-json");
    assert_non_null(strstr(out.data, "\"gil\":null"));
    buffer_deinit(&out);
    sample_session_destroy(session);
}

/* Beside many that are known, a few unknown ones do not hide that nobody waited. */
static void few_unknown_waits_for_the_gil_are_said_to_be_the_least(void **state)
{
    struct profile *const profile = made_profile();
    const thread_id thread = made_thread(profile, 1, 1);
    (void)state;
    made_add(profile, thread, STATE_ON_CPU | STATE_HAS_GIL, "main;work", 60);
    made_add(profile, thread, STATE_ON_CPU, "main;work;read", 30);
    made_add(profile, thread, STATE_ON_CPU | STATE_UNKNOWN_WAITS_GIL, "main;other", 10);
    made_seal(profile, 1);
    struct sample_session *const session = sample_session_of(profile);
    struct buffer out = written(&session->source, "summary");
    assert_non_null(strstr(out.data, "needed in at least 0.0 %"));
    buffer_deinit(&out);
    sample_session_destroy(session);
}

static struct sample_session *session_without_processors(uint32_t runnable, state_bits others)
{
    struct profile *const profile = made_profile();
    const thread_id thread = made_thread(profile, 1, 1);
    made_add(profile, thread, RUNNING, "main;work", 90 - runnable);
    made_add(profile, thread, STATE_RUNNABLE, "main;work", runnable);
    made_add(profile, thread, STATE_ON_CPU | others, "main;other", 10);
    made_seal(profile, 1);
    return sample_session_of(profile);
}

static void a_program_that_wants_processors_says_so(void **state)
{
    static const struct {
        uint32_t runnable;
        state_bits others;
        const char *text; /* NULL: nothing is said */
        const char *json;
    } rows[] = {
        { 40, 0, "Processors: needed in 40.0 % of the time not idle",
          "\"runnable_share\":0.4" },
        { 40, STATE_UNKNOWN_RUNNABLE, "needed in at least 40.0 % of",
          "\"runnable_share\":0.4" },
        { 4, 0, NULL, "\"runnable_share\":0.04" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sample_session *const session =
            session_without_processors(rows[i].runnable, rows[i].others);
        struct buffer out = written(&session->source, "summary");
        if (rows[i].text)
            assert_non_null(strstr(out.data, rows[i].text));
        else
            assert_null(strstr(out.data, "Processors"));
        buffer_deinit(&out);
        out = written(&session->source, "summary-json");
        assert_non_null(strstr(out.data, rows[i].json));
        buffer_deinit(&out);
        sample_session_destroy(session);
    }
}

TEST_GROUP(cmocka_unit_test(hot_rows_are_of_running_samples_and_the_rest_waits),
           cmocka_unit_test(chosen_parts_are_all_that_is_summarized),
           cmocka_unit_test(the_headline_names_the_largest_share_first),
           cmocka_unit_test(quality_is_rounded_as_the_badge_of_the_page_rounds_it),
           cmocka_unit_test(a_headline_of_hostile_names_closes_each),
           cmocka_unit_test(tasks_without_a_thread_are_said_and_shares_are_of_all_of_them),
           cmocka_unit_test(native_samples_are_by_library_without_the_interpreter),
           cmocka_unit_test(the_thread_that_others_wait_for_is_named),
           cmocka_unit_test(native_stacks_are_offered_where_they_would_say_more),
           cmocka_unit_test(waits_are_shown_by_cause_and_peer),
           cmocka_unit_test(few_unknown_waits_for_the_gil_are_said_to_be_the_least),
           cmocka_unit_test(a_program_that_wants_processors_says_so),
           cmocka_unit_test(unknown_and_missing_gils_are_not_zero))
