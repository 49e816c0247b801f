#include <stdio.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/capture/metadata.h"
#include "sampler/capture/names.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"
#include "tests/unit/capture/made_capture.h"

static struct reader *load(const struct made_capture *capture)
{
    struct reader *const reader = made_reader(capture);
    struct err err = { 0 };
    assert_ok(reader_load(reader, 0, &err), &err);
    assert_null(reader_missing(reader));
    return reader;
}

/* Two windows of two threads, one block. */
static void make_small(struct made_capture *capture)
{
    made_capture_begin(capture);
    const thread_id one = made_thread(capture->profile, 4711, 4711);
    const thread_id two = made_thread(capture->profile, 4711, 4712);
    made_run(capture, one, STATE_ON_CPU | STATE_HAS_GIL, "main;work", 10, 0);
    made_run(capture, two, STATE_UNKNOWN_ON_CPU, "wait", 10, 0);
    made_run(capture, one, STATE_ON_CPU | STATE_HAS_GIL, "main;work;leaf", 1, 10);
    made_capture_seal(capture, 1);
    made_run(capture, one, STATE_WAITS_GIL, "main", 5, 1000);
    made_run(capture, two, STATE_RUNNABLE, "wait", 4, 1000);
    made_capture_seal(capture, 2);
    made_capture_end(capture);
}

static void a_loaded_capture_has_the_same_samples(void **state)
{
    struct made_capture capture;
    (void)state;
    make_small(&capture);
    struct reader *const reader = load(&capture);
    assert_same_samples(capture.profile, reader_profile(reader));
    reader_close(reader);
    made_capture_free(&capture);
}

static void a_runnable_thread_is_on_a_cpu_to_earlier_readers(void **state)
{
    struct capture_metadata metadata = { 0 };
    struct names now, earlier;
    (void)state;
    names_set(&metadata);
    names_init(&now, &metadata);
    metadata.states.count = STATE_FLAG_RUNNABLE;
    names_init(&earlier, &metadata);
    const uint64_t bits = names_bits(STATE_RUNNABLE | STATE_HAS_GIL, false);
    assert_int_equal(names_state(&now, bits), STATE_RUNNABLE | STATE_HAS_GIL);
    assert_int_equal(names_state(&earlier, bits), STATE_ON_CPU | STATE_HAS_GIL |
                                                      STATE_UNKNOWN_RUNNABLE |
                                                      STATE_UNKNOWN_IN_JIT);
}

static void windows_keep_their_times_and_periods(void **state)
{
    struct made_capture capture;
    (void)state;
    make_small(&capture);
    struct reader *const reader = load(&capture);
    struct profile_snapshot snapshot = made_snapshot(reader_profile(reader));
    assert_int_equal(snapshot.window_count, 2);
    assert_int_equal(snapshot.windows[0]->end_ns, NS_PER_S);
    assert_int_equal(snapshot.windows[1]->start_ns, NS_PER_S);
    assert_int_equal(snapshot.windows[1]->end_ns, 2 * NS_PER_S);
    assert_int_equal(snapshot.windows[1]->period_ns, NS_PER_MS);
    assert_int_equal(snapshot.quality.samples, 30);
    profile_snapshot_release(&snapshot);
    reader_close(reader);
    made_capture_free(&capture);
}

/* Captures before 4.4 have counters of a bias. */
static void counters_of_earlier_captures_are_skipped(void **state)
{
    static const char *list[] = { "samples", "control", "biased_function_1", "biased_ppm_1",
                                  "moving" };
    const struct capture_metadata metadata = { .counters = { 5, list } };
    struct names names;
    struct quality quality;
    struct buffer numbers = { 0 };
    (void)state;
    names_init(&names, &metadata);
    buffer_number(&numbers, 5);
    buffer_number(&numbers, 3);
    buffer_number(&numbers, UINT64_MAX);
    buffer_number(&numbers, 7);
    buffer_number(&numbers, 1000000);
    buffer_number(&numbers, 2);
    struct byte_reader in = byte_reader_over(&numbers);
    names_take_quality(&names, &in, &quality);
    assert_int_equal(quality.samples, 3);
    assert_int_equal(quality.moving, 2);
    assert_int_equal(quality.exact, 0);
    buffer_deinit(&numbers);
}

static void facts_of_start_and_end_are_known_at_once(void **state)
{
    struct made_capture capture;
    (void)state;
    make_small(&capture);
    struct reader *const reader = made_reader(&capture);
    const struct capture_metadata *const metadata = reader_metadata(reader);
    assert_int_equal(metadata->pid, 4711);
    assert_int_equal(metadata->rate_uhz, 1000000000);
    assert_string_equal(metadata->host, "build7");
    assert_string_equal(metadata->executable, "/usr/bin/python3");
    assert_int_equal(metadata->argv.count, 2);
    assert_string_equal(metadata->argv.items[1], "app.py");
    assert_null(metadata->argv.items[2]);
    assert_string_equal(metadata->reason, "the target exited");
    assert_int_equal(metadata->elapsed_ns, 9 * NS_PER_S);
    reader_close(reader);
    made_capture_free(&capture);
}

static void windows_can_be_read_again(void **state)
{
    struct made_capture capture;
    struct capture_window window;
    (void)state;
    make_small(&capture);
    struct reader *const reader = load(&capture);
    for (unsigned again = 0; again < 2; again++) {
        assert_int_equal(made_samples(reader), 30);
        reader_rewind(reader);
        for (uint64_t second = 0; second < 2; second++) {
            assert_int_equal(reader_next_window(reader, &window, NULL), ERR_OK);
            assert_int_equal(window.start_ns, second * NS_PER_S);
            assert_int_equal(window.period_ns, NS_PER_MS);
            for (size_t i = 0; i < window.run_count; i++)
                assert_int_equal(window.runs[i].step_ns,
                                 window.runs[i].count > 1 ? NS_PER_MS : 0);
        }
        assert_int_equal(reader_next_window(reader, &window, NULL), ERR_NOT_FOUND);
    }
    reader_close(reader);
    made_capture_free(&capture);
}

/* A thread at another of two hundred places each millisecond. */
static void make_moving(struct made_capture *capture, uint64_t windows_of_a_block)
{
    enum { WINDOWS = 16 * 24, RUNS = 250, PLACES = 200 };
    uint64_t random = 1;
    made_capture_begin(capture);
    const thread_id thread = made_thread(capture->profile, 1, 1);
    for (uint64_t window = 0; window < WINDOWS; window++) {
        for (uint64_t i = 0; i < RUNS; i++) {
            char stack[16];
            random = random * 6364136223846793005u + 1442695040888963407u;
            const double x = (double)(random >> 11) / 9007199254740992.0;
            snprintf(stack, sizeof stack, "main;f%u", (unsigned)(x * x * x * PLACES));
            made_run(capture, thread, STATE_ON_CPU, stack, 1, window * RUNS + i);
        }
        struct err err = { 0 };
        const uint64_t end_ns = (window + 1) * RUNS * NS_PER_MS;
        assert_ok(profile_seal(capture->profile, end_ns, &err), &err);
        assert_ok(writer_seal(&capture->writer, end_ns, NS_PER_MS, &err), &err);
        if (window % windows_of_a_block == windows_of_a_block - 1)
            made_capture_flush(capture);
    }
    made_capture_end(capture);
}

/* The worst case: blocks of three quarters of a second, and of four seconds, of a thread that is almost
 * never twice at one place.  Without streams it takes half as much again. */
static void small_blocks_cost_few_bytes(void **state)
{
    struct made_capture small, large;
    (void)state;
    make_moving(&small, 3);
    make_moving(&large, 16);
    assert_in_range(small.file.length, large.file.length / 2, large.file.length * 6 / 5);
    struct reader *const reader = load(&small);
    assert_same_samples(small.profile, reader_profile(reader));
    reader_close(reader);
    made_capture_free(&small);
    made_capture_free(&large);
}

/* A stream ends when it has too many places; the next block starts another one. */
static void a_stream_of_too_many_places_ends(void **state)
{
    enum { SECONDS = 24, PLACES = 4000 };
    struct made_capture capture;
    size_t streams = 0;
    (void)state;
    made_capture_begin(&capture);
    const thread_id thread = made_thread(capture.profile, 1, 1);
    for (uint64_t second = 0; second < SECONDS; second++) {
        for (unsigned i = 0; i < PLACES; i++) {
            char stack[24];
            snprintf(stack, sizeof stack, "main;f%u", (unsigned)second * PLACES + i);
            made_run(&capture, thread, 0, stack, 1, second * 1000 + i % 1000);
        }
        made_capture_seal(&capture, second + 1);
        streams += capture.writer.chain.pieces == 0;
        made_capture_flush(&capture);
        assert_in_range(capture.writer.windows.place_count, 0, WINDOWS_FULL_PLACES);
    }
    made_capture_end(&capture);
    assert_int_equal(streams, 2);
    struct reader *const reader = load(&capture);
    assert_same_samples(capture.profile, reader_profile(reader));
    reader_close(reader);
    made_capture_free(&capture);
}

static void what_goes_on_is_one_run(void **state)
{
    struct made_capture capture;
    struct capture_window window;
    (void)state;
    made_capture_begin(&capture);
    const thread_id thread = made_thread(capture.profile, 1, 1);
    for (uint64_t i = 0; i < 500; i++)
        made_run(&capture, thread, STATE_ON_CPU, "main", 1, i);
    made_capture_seal(&capture, 1);
    made_capture_end(&capture);
    struct reader *const reader = load(&capture);
    reader_rewind(reader);
    assert_int_equal(reader_next_window(reader, &window, NULL), ERR_OK);
    assert_int_equal(window.run_count, 1);
    assert_int_equal(window.runs[0].count, 500);
    assert_int_equal(window.runs[0].first_ns, 0);
    assert_int_equal(window.runs[0].step_ns, NS_PER_MS);
    assert_int_equal(reader_next_window(reader, &window, NULL), ERR_NOT_FOUND);
    reader_close(reader);
    made_capture_free(&capture);
}

static void a_hole_in_time_ends_a_run(void **state)
{
    struct made_capture capture;
    struct capture_window window;
    (void)state;
    made_capture_begin(&capture);
    const thread_id thread = made_thread(capture.profile, 1, 1);
    made_run(&capture, thread, 0, "main", 10, 100);
    made_run(&capture, thread, 0, "main", 10, 500);
    made_capture_seal(&capture, 1);
    made_capture_end(&capture);
    struct reader *const reader = load(&capture);
    reader_rewind(reader);
    assert_int_equal(reader_next_window(reader, &window, NULL), ERR_OK);
    assert_int_equal(window.run_count, 2);
    assert_int_equal(window.runs[0].first_ns, 100 * NS_PER_MS);
    assert_int_equal(window.runs[0].count, 10);
    assert_int_equal(window.runs[1].first_ns, 500 * NS_PER_MS);
    reader_close(reader);
    made_capture_free(&capture);
}

static void a_time_without_samples_is_in_no_window(void **state)
{
    struct made_capture capture;
    struct err err = { 0 };
    (void)state;
    made_capture_begin(&capture);
    const thread_id thread = made_thread(capture.profile, 1, 1);
    made_run(&capture, thread, 0, "main", 10, 100);
    made_capture_seal(&capture, 1);
    assert_ok(writer_seal(&capture.writer, 7 * NS_PER_S, NS_PER_MS, &err), &err);
    made_run(&capture, thread, 0, "main", 10, 7100);
    made_capture_seal(&capture, 8);
    made_capture_end(&capture);
    struct reader *const reader = load(&capture);
    struct profile_snapshot snapshot = made_snapshot(reader_profile(reader));
    assert_int_equal(snapshot.window_count, 2);
    assert_int_equal(snapshot.windows[1]->start_ns, 7 * NS_PER_S);
    profile_snapshot_release(&snapshot);
    reader_close(reader);
    made_capture_free(&capture);
}

/* Every column of every table, with numbers at their ends. */
static void rows_of_every_table_come_back(void **state)
{
    struct made_capture capture;
    struct err err = { 0 };
    (void)state;
    made_capture_begin(&capture);
    struct profile *const profile = capture.profile;
    const str_id name = made_string(profile, "f\xc3\xa9 \"quoted\"\n"),
                 op = made_string(profile, "LOAD_FAST"), base = made_string(profile, "LOAD");
    function_id function;
    frame_id frame;
    node_id node;
    process_id process;
    thread_id thread;
    spot_id spot;
    const function_id native =
        made_native_function(profile, "read", "/usr/bin/python3", "fileio.c", INT32_MAX);
    (void)made_native_function(profile, "read", "/lib/libz.so", NULL, 0);
    assert_ok(profile_function(profile, name, base, INT32_MIN, &function, &err), &err);
    assert_ok(profile_frame(profile, function, INT32_MAX, &frame, &err), &err);
    assert_ok(profile_node(profile, 0, frame, &node, &err), &err);
    assert_ok(profile_process(profile, INT32_MAX, name, &process, &err), &err);
    const struct profile_thread row = { process, INT32_MAX, UINT64_MAX, name, true };
    assert_ok(profile_thread(profile, &row, &thread, &err), &err);
    const struct profile_spot place = { function, 7, INT32_MAX, -1, INT32_MAX, op, base, 0 };
    spot_id caller;
    assert_ok(profile_spot(profile, &place, &caller, &err), &err);
    struct profile_spot called = place;
    called.caller = caller + 1;
    assert_ok(profile_spot(profile, &called, &spot, &err), &err);
    made_spot_run(&capture, thread, "main;leaf", spot, 3, 0);
    made_run(&capture, thread, 0, "main", 1, 3);
    made_capture_seal(&capture, 1);
    made_capture_end(&capture);
    struct reader *const reader = load(&capture);
    struct profile_snapshot snapshot = made_snapshot(reader_profile(reader));
    struct profile_snapshot original = made_snapshot(profile);
    assert_memory_equal(&snapshot.sizes, &original.sizes, sizeof snapshot.sizes);
    assert_int_equal(profile_function_at(&snapshot, function).first_line, INT32_MIN);
    assert_int_equal(profile_function_at(&snapshot, function).library, 0);
    const struct profile_function known = profile_function_at(&snapshot, native);
    const struct profile_library library = profile_library_at(&snapshot, known.library);
    assert_int_equal(known.first_line, INT32_MAX);
    assert_string_equal(profile_string(&snapshot, known.file).text, "fileio.c");
    assert_string_equal(profile_string(&snapshot, library.path).text, "/usr/bin/python3");
    assert_string_equal(profile_string(&snapshot, library.build_id).text, "00ff");
    assert_int_equal(library.flags, PROFILE_LIBRARY_INTERPRETER);
    assert_int_equal(snapshot.sizes.libraries, 3);
    assert_int_equal(profile_frame_at(&snapshot, frame).line, INT32_MAX);
    assert_int_equal(profile_node_at(&snapshot, node).frame, frame);
    assert_int_equal(profile_process_at(&snapshot, process).pid, INT32_MAX);
    assert_string_equal(profile_string(&snapshot, name).text, "f\xc3\xa9 \"quoted\"\n");
    assert_true(profile_thread_at(&snapshot, thread).ident == UINT64_MAX);
    assert_true(profile_thread_at(&snapshot, thread).is_main);
    assert_int_equal(profile_spot_at(&snapshot, spot).column, -1);
    assert_int_equal(profile_spot_at(&snapshot, spot).end_column, INT32_MAX);
    assert_int_equal(profile_spot_at(&snapshot, spot).base, base);
    assert_int_equal(profile_spot_at(&snapshot, spot).caller, caller + 1);
    assert_int_equal(snapshot.windows[0]->spot_count, 1);
    assert_int_equal(snapshot.windows[0]->spots[0].count, 3);
    profile_snapshot_release(&snapshot);
    profile_snapshot_release(&original);
    reader_close(reader);
    made_capture_free(&capture);
}

/* More rows than fit one slice, ids of several bytes, long texts, many blocks. */
static void large_tables_come_back(void **state)
{
    enum { STACKS = 20000 };
    struct made_capture capture;
    static char text[70000];
    (void)state;
    made_capture_begin(&capture);
    memset(text, 'x', sizeof text - 1);
    for (unsigned i = 0; i < 40; i++) {
        snprintf(text, 8, "%07u", i);
        text[7] = 'x';
        (void)made_string(capture.profile, text);
    }
    const thread_id thread = made_thread(capture.profile, 1, 1);
    for (unsigned i = 0; i < STACKS; i++) {
        char stack[64];
        snprintf(stack, sizeof stack, "main;f%u;g%u", i % 3000, i);
        made_run(&capture, thread, (state_bits)(i & 3), stack, 1 + i % 7, 2ull * i);
        if (i % 1000 == 999)
            made_capture_seal(&capture, i / 1000 + 1);
        if (i % 5000 == 4999)
            made_capture_flush(&capture);
    }
    made_capture_end(&capture);
    struct reader *const reader = load(&capture);
    assert_same_samples(capture.profile, reader_profile(reader));
    reader_close(reader);
    made_capture_free(&capture);
}

static void a_window_may_go_on_in_the_next_block(void **state)
{
    struct made_capture capture;
    (void)state;
    made_capture_begin(&capture);
    const thread_id thread = made_thread(capture.profile, 1, 1);
    made_run(&capture, thread, 0, "main;a", 10, 0);
    made_capture_seal(&capture, 1);
    made_run(&capture, thread, 0, "main;a", 10, 1000);
    made_capture_flush(&capture);
    made_run(&capture, thread, 0, "main", 4, 1010);
    made_capture_seal(&capture, 2);
    made_capture_end(&capture);
    struct reader *const reader = load(&capture);
    struct profile_snapshot snapshot = made_snapshot(reader_profile(reader));
    assert_int_equal(snapshot.window_count, 2);
    assert_int_equal(snapshot.windows[1]->samples, 14);
    profile_snapshot_release(&snapshot);
    assert_same_samples(capture.profile, reader_profile(reader));
    reader_close(reader);
    made_capture_free(&capture);
}

static void an_empty_capture_is_one(void **state)
{
    struct made_capture capture;
    struct capture_window window;
    (void)state;
    made_capture_begin(&capture);
    made_capture_end(&capture);
    struct reader *const reader = load(&capture);
    assert_int_equal(made_samples(reader), 0);
    reader_rewind(reader);
    assert_int_equal(reader_next_window(reader, &window, NULL), ERR_NOT_FOUND);
    reader_close(reader);
    made_capture_free(&capture);
}

static void want_of_memory_is_an_error_while_writing(void **state)
{
    (void)state;
    for (unsigned nth = 0, done = 0; !done; nth++) {
        struct made_capture capture;
        struct err err = { 0 };
        made_capture_begin(&capture);
        const thread_id thread = made_thread(capture.profile, 1, 1);
        const node_id node = made_node(capture.profile, "main;work");
        made_seal(capture.profile, 1);
        struct profile_snapshot snapshot = made_snapshot(capture.profile);
        const struct run run = { .thread = thread,
                                 .node = node,
                                 .spot = PROFILE_NO_SPOT,
                                 .count = 3,
                                 .step_ns = NS_PER_MS };
        const struct capture_metadata end = { 0 };
        failing_alloc_at(nth);
        enum err_code rc = writer_run(&capture.writer, &run, &err);
        if (!rc)
            rc = writer_seal(&capture.writer, NS_PER_S, NS_PER_MS, &err);
        if (!rc)
            rc = writer_flush(&capture.writer, &snapshot, &snapshot.quality, 0, &err);
        if (!rc)
            rc = writer_finish(&capture.writer, &end, &err);
        done = !failing_alloc_happened();
        failing_alloc_never();
        assert_int_equal(rc, done ? ERR_OK : ERR_NOMEM);
        profile_snapshot_release(&snapshot);
        made_capture_free(&capture);
    }
}

static void want_of_memory_is_an_error_while_reading(void **state)
{
    struct made_capture capture;
    (void)state;
    make_small(&capture);
    for (unsigned nth = 0, done = 0; !done; nth++) {
        struct reader *reader = NULL;
        struct err err = { 0 };
        struct capture_window window;
        failing_alloc_at(nth);
        enum err_code rc = reader_open(capture.path, &reader, &err);
        if (!rc)
            rc = reader_load(reader, 0, &err);
        if (!rc) {
            reader_rewind(reader);
            rc = reader_next_window(reader, &window, &err);
        }
        done = !failing_alloc_happened();
        failing_alloc_never();
        if (done)
            assert_ok(rc, &err);
        else if (rc != ERR_OK)
            assert_int_equal(rc, ERR_NOMEM);
        reader_close(reader);
    }
    made_capture_free(&capture);
}

TEST_GROUP(cmocka_unit_test(a_loaded_capture_has_the_same_samples),
           cmocka_unit_test(a_runnable_thread_is_on_a_cpu_to_earlier_readers),
           cmocka_unit_test(windows_keep_their_times_and_periods),
           cmocka_unit_test(counters_of_earlier_captures_are_skipped),
           cmocka_unit_test(facts_of_start_and_end_are_known_at_once),
           cmocka_unit_test(windows_can_be_read_again),
           cmocka_unit_test(small_blocks_cost_few_bytes),
           cmocka_unit_test(a_stream_of_too_many_places_ends),
           cmocka_unit_test(what_goes_on_is_one_run),
           cmocka_unit_test(a_hole_in_time_ends_a_run),
           cmocka_unit_test(a_time_without_samples_is_in_no_window),
           cmocka_unit_test(rows_of_every_table_come_back),
           cmocka_unit_test(large_tables_come_back),
           cmocka_unit_test(a_window_may_go_on_in_the_next_block),
           cmocka_unit_test(an_empty_capture_is_one),
           cmocka_unit_test(want_of_memory_is_an_error_while_writing),
           cmocka_unit_test(want_of_memory_is_an_error_while_reading))
