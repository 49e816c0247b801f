#include <stdio.h>
#include <string.h>

#include "sampler/profile/profile.h"
#include "sampler/profile/window.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

static int begin(void **state)
{
    *state = made_profile();
    return 0;
}

static int end(void **state)
{
    profile_destroy(*state);
    return 0;
}

static void the_root_is_row_0_of_everything(void **state)
{
    made_add(*state, made_thread(*state, 1, 1), 0, "", 1);
    made_seal(*state, 1);
    struct profile_snapshot snapshot = made_snapshot(*state);
    assert_int_equal(profile_node_at(&snapshot, 0).parent, 0);
    assert_int_equal(profile_node_at(&snapshot, 0).frame, 0);
    assert_int_equal(profile_frame_at(&snapshot, 0).function, 0);
    assert_int_equal(profile_frame_at(&snapshot, 0).line, 0);
    assert_int_equal(profile_function_at(&snapshot, 0).name, 0);
    assert_string_equal(profile_string(&snapshot, 0).text, "");
    assert_int_equal(snapshot.windows[0]->cells[0].node, 0);
    profile_snapshot_release(&snapshot);
}

static void equal_stacks_end_at_the_same_node(void **state)
{
    const node_id leaf = made_node(*state, "main;work;leaf");
    assert_int_equal(made_node(*state, "main;work;leaf"), leaf);
    assert_int_equal(made_node(*state, "main;work"), leaf - 1);
    assert_int_equal(made_node(*state, "main"), leaf - 2);
    assert_int_equal(made_node(*state, "main;work;other"), leaf + 1);
    assert_int_equal(made_node(*state, "work"), leaf + 2);
}

static void recursion_makes_a_node_a_level(void **state)
{
    assert_int_equal(made_node(*state, "f"), 1);
    assert_int_equal(made_node(*state, "f;f"), 2);
    assert_int_equal(made_node(*state, "f;f;f"), 3);
    assert_int_equal(made_node(*state, "f;f"), 2);
}

static void a_nameless_function_is_not_taken_for_the_root(void **state)
{
    struct err err = { 0 };
    function_id function;
    frame_id frame;
    node_id node;
    assert_ok(profile_function(*state, 0, 0, 0, &function, &err), &err);
    assert_ok(profile_frame(*state, function, 0, &frame, &err), &err);
    assert_ok(profile_node(*state, 0, frame, &node, &err), &err);
    assert_int_not_equal(node, 0);
}

static void functions_differ_by_each_field(void **state)
{
    static const struct {
        const char *name, *file;
        int32_t line;
    } rows[] = { { "f", "a.py", 1 }, { "g", "a.py", 1 }, { "f", "b.py", 1 },
                 { "f", "a.py", 2 }, { "a.py", "f", 1 }, { "f", "a.py", -1 } };
    struct err err = { 0 };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const str_id name = made_string(*state, rows[i].name);
        const str_id file = made_string(*state, rows[i].file);
        function_id id, again;
        assert_ok(profile_function(*state, name, file, rows[i].line, &id, &err), &err);
        assert_ok(profile_function(*state, name, file, rows[i].line, &again, &err), &err);
        assert_int_equal(id, i + 1); /* 0 is the root's */
        assert_int_equal(again, id);
    }
}

static void functions_of_two_libraries_are_two(void **state)
{
    const function_id python = made_function(*state, "sum", "sum.h", 7);
    const function_id first = made_native_function(*state, "sum", "liba.so", "sum.h", 7);
    const function_id second = made_native_function(*state, "sum", "libb.so", "sum.h", 7);
    assert_int_equal(first, python + 1);
    assert_int_equal(second, python + 2);
    assert_int_equal(made_native_function(*state, "sum", "liba.so", "sum.h", 7), first);
    made_seal(*state, 1);
    struct profile_snapshot snapshot = made_snapshot(*state);
    assert_int_equal(snapshot.sizes.libraries, 3);
    assert_int_equal(profile_function_at(&snapshot, python).library, 0);
    const library_id library = profile_function_at(&snapshot, second).library;
    const struct profile_library row = profile_library_at(&snapshot, library);
    assert_string_equal(profile_string(&snapshot, row.path).text, "libb.so");
    assert_string_equal(profile_string(&snapshot, row.build_id).text, "a1b2c3");
    profile_snapshot_release(&snapshot);
}

static void libraries_differ_by_each_field(void **state)
{
    const str_id a = made_string(*state, "a"), b = made_string(*state, "b");
    const struct profile_library rows[] = {
        { a, a, 0 }, { b, a, 0 }, { a, b, 0 }, { a, a, PROFILE_LIBRARY_INTERPRETER }
    };
    struct err err = { 0 };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        library_id id, again;
        assert_ok(profile_library(*state, &rows[i], &id, &err), &err);
        assert_ok(profile_library(*state, &rows[i], &again, &err), &err);
        assert_int_equal(id, i + 1); /* 0 is none */
        assert_int_equal(again, id);
    }
}

static void too_many_libraries_are_an_error_and_no_harm(void **state)
{
    struct profile_library row = { 0 };
    struct err err = { 0 };
    library_id id;
    for (uint32_t i = 1; i < PROFILE_MAX_LIBRARIES; i++) {
        char text[16];
        snprintf(text, sizeof text, "%u", i);
        row.path = made_string(*state, text);
        assert_ok(profile_library(*state, &row, &id, &err), &err);
    }
    row.path = 0;
    row.build_id = made_string(*state, "one more");
    assert_int_equal(profile_library(*state, &row, &id, &err), ERR_LIMIT);
    row.path = made_string(*state, "7");
    row.build_id = 0;
    assert_ok(profile_library(*state, &row, &id, &err), &err);
    assert_int_equal(id, 7);
}

static void lines_of_a_function_are_frames_of_their_own(void **state)
{
    const frame_id first = made_frame(*state, "f", 10);
    assert_int_equal(made_frame(*state, "f", 11), first + 1);
    assert_int_equal(made_frame(*state, "f", 0), first + 2);
    assert_int_equal(made_frame(*state, "f", -1), first + 3);
    assert_int_equal(made_frame(*state, "f", 10), first);
}

static void threads_differ_by_each_field(void **state)
{
    struct err err = { 0 };
    const str_id name = made_string(*state, "worker"), renamed = made_string(*state, "idle");
    (void)made_thread(*state, 1, 1); /* process 0 */
    (void)made_thread(*state, 2, 2); /* process 1 */
    const struct profile_thread rows[] = {
        { .process = 0, .tid = 5, .ident = 50, .name = name },
        { .process = 1, .tid = 5, .ident = 50, .name = name },
        { .process = 0, .tid = 6, .ident = 50, .name = name },
        { .process = 0, .tid = 5, .ident = 51, .name = name },
        { .process = 0, .tid = 5, .ident = (uint64_t)50 << 32, .name = name },
        { .process = 0, .tid = 5, .ident = 50, .name = renamed },
        { .process = 0, .tid = 5, .ident = 50, .name = name, .is_main = true },
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        thread_id id, again;
        assert_ok(profile_thread(*state, &rows[i], &id, &err), &err);
        assert_ok(profile_thread(*state, &rows[i], &again, &err), &err);
        assert_int_equal(id, i + 2);
        assert_int_equal(again, id);
    }
}

static void bytes_between_the_fields_of_a_thread_do_not_count(void **state)
{
    struct profile_thread clean, dirty;
    thread_id a, b;
    struct err err = { 0 };
    (void)made_thread(*state, 1, 1);
    memset(&clean, 0, sizeof clean);
    memset(&dirty, 0xff, sizeof dirty);
    dirty.process = 0;
    dirty.tid = 0;
    dirty.ident = 0;
    dirty.name = 0;
    dirty.is_main = false;
    assert_ok(profile_thread(*state, &clean, &a, &err), &err);
    assert_ok(profile_thread(*state, &dirty, &b, &err), &err);
    assert_int_equal(a, b);
}

static void a_process_that_runs_another_program_is_a_new_row(void **state)
{
    struct err err = { 0 };
    process_id shell, python, again;
    const str_id sh = made_string(*state, "sh"), py = made_string(*state, "python3");
    assert_ok(profile_process(*state, 7, sh, &shell, &err), &err);
    assert_ok(profile_process(*state, 7, py, &python, &err), &err);
    assert_ok(profile_process(*state, 7, sh, &again, &err), &err);
    assert_int_not_equal(shell, python);
    assert_int_equal(shell, again);
}

static void parents_come_before_children(void **state)
{
    char stack[64];
    for (unsigned i = 0; i < 2000; i++) {
        sprintf(stack, "a%u;b%u;c%u;d%u", i % 3, i % 7, i % 31, i % 101);
        made_add(*state, made_thread(*state, 1, 1), 0, stack, 1);
    }
    made_seal(*state, 1);
    struct profile_snapshot snapshot = made_snapshot(*state);
    assert_true(snapshot.sizes.nodes > 2000);
    for (node_id id = 1; id < snapshot.sizes.nodes; id++)
        assert_true(profile_node_at(&snapshot, id).parent < id);
    profile_snapshot_release(&snapshot);
}

static void ids_that_do_not_exist_are_refused(void **state)
{
    const thread_id thread = made_thread(*state, 1, 1);
    uint32_t id = 99;
    struct err err = { 0 };
    assert_int_equal(profile_function(*state, 1000, 0, 0, &id, &err), ERR_INVALID);
    assert_string_equal(err.message, "there is no string 1000");
    assert_int_equal(profile_function(*state, 0, 1000, 0, &id, NULL), ERR_INVALID);
    assert_int_equal(
        profile_function_row(*state, &(struct profile_function){ .library = 1 }, &id, &err),
        ERR_INVALID);
    assert_string_equal(err.message, "there is no library 1");
    assert_int_equal(
        profile_library(*state, &(struct profile_library){ .build_id = 1000 }, &id, NULL),
        ERR_INVALID);
    assert_int_equal(
        profile_library(*state, &(struct profile_library){ .flags = 8 }, &id, NULL),
        ERR_INVALID);
    assert_int_equal(profile_frame(*state, 1, 0, &id, &err), ERR_INVALID);
    assert_string_equal(err.message, "there is no function 1");
    assert_int_equal(profile_node(*state, 1, 0, &id, NULL), ERR_INVALID);
    assert_int_equal(profile_node(*state, 0, 1, &id, NULL), ERR_INVALID);
    assert_int_equal(profile_process(*state, 1, 1000, &id, NULL), ERR_INVALID);
    assert_int_equal(
        profile_thread(*state, &(struct profile_thread){ .process = 1 }, &id, NULL),
        ERR_INVALID);
    assert_int_equal(
        profile_thread(*state, &(struct profile_thread){ .name = 1000 }, &id, NULL),
        ERR_INVALID);
    assert_int_equal(profile_add(*state, thread + 1, 0, 0, 1, NULL), ERR_INVALID);
    assert_int_equal(profile_add(*state, thread, 0, 1, 1, NULL), ERR_INVALID);
    assert_int_equal(id, 99);
}

static void too_many_processes_are_an_error_and_no_harm(void **state)
{
    process_id id;
    struct err err = { 0 };
    for (int32_t pid = 0; pid < PROFILE_MAX_PROCESSES; pid++)
        assert_ok(profile_process(*state, pid, 0, &id, &err), &err);
    assert_int_equal(id, PROFILE_MAX_PROCESSES - 1);
    assert_int_equal(profile_process(*state, PROFILE_MAX_PROCESSES, 0, &id, &err), ERR_LIMIT);
    assert_ok(profile_process(*state, 5, 0, &id, &err), &err);
    assert_int_equal(id, 5);
}

static void too_many_threads_are_an_error_and_no_harm(void **state)
{
    struct profile_thread row = { .process = 0 };
    thread_id id;
    struct err err = { 0 };
    (void)made_thread(*state, 1, -1);
    for (uint32_t n = 1; n < PROFILE_MAX_THREADS; n++) {
        row.ident = n;
        assert_ok(profile_thread(*state, &row, &id, &err), &err);
    }
    assert_int_equal(id, PROFILE_MAX_THREADS - 1);
    row.ident = PROFILE_MAX_THREADS;
    assert_int_equal(profile_thread(*state, &row, &id, &err), ERR_LIMIT);
    made_add(*state, id, 0, "still counted", 1);
}

static uint32_t sealed_count(struct profile *profile)
{
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    const struct window *const last = snapshot.windows[snapshot.window_count - 1];
    assert_int_equal(last->cell_count, 1);
    const uint32_t count = last->cells[0].count;
    profile_snapshot_release(&snapshot);
    return count;
}

static void samples_of_the_same_cell_add_up(void **state)
{
    const thread_id thread = made_thread(*state, 1, 1);
    made_add(*state, thread, STATE_ON_CPU, "f", 3);
    made_add(*state, thread, STATE_ON_CPU, "f", 1);
    made_add(*state, thread, STATE_ON_CPU, "f", 4);
    assert_int_equal(sealed_count(*state), 8);
}

static void a_count_stops_at_its_greatest_value(void **state)
{
    const thread_id thread = made_thread(*state, 1, 1);
    made_add(*state, thread, 0, "f", UINT32_MAX - 1);
    assert_int_equal(sealed_count(*state), UINT32_MAX - 1);
    made_add(*state, thread, 0, "f", UINT32_MAX);
    made_add(*state, thread, 0, "f", UINT32_MAX);
    assert_int_equal(sealed_count(*state), UINT32_MAX);
}

static void no_samples_make_no_cell(void **state)
{
    const thread_id thread = made_thread(*state, 1, 1);
    made_add(*state, thread, 0, "f", 0);
    made_add(*state, thread, 0, "g", 1);
    assert_int_equal(sealed_count(*state), 1);
}

static void thread_state_and_node_make_a_cell(void **state)
{
    const thread_id one = made_thread(*state, 1, 1), two = made_thread(*state, 1, 2);
    made_add(*state, one, STATE_ON_CPU, "f", 1);
    made_add(*state, two, STATE_ON_CPU, "f", 1);
    made_add(*state, one, STATE_HAS_GIL, "f", 1);
    made_add(*state, one, STATE_UNKNOWN_ON_CPU, "f", 1);
    made_add(*state, one, STATE_ON_CPU, "g", 1);
    made_seal(*state, 1);
    struct profile_snapshot snapshot = made_snapshot(*state);
    assert_int_equal(snapshot.windows[0]->cell_count, 5);
    profile_snapshot_release(&snapshot);
}

static void bytes_grow_with_what_is_kept(void **state)
{
    size_t before = made_bytes(*state);
    char stack[64];
    assert_int_equal(before, 0);
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned j = 0; j < 10000; j++) {
            sprintf(stack, "f%u;g%u", i, j);
            made_add(*state, made_thread(*state, 1, 1), 0, stack, 1);
        }
        assert_int_equal(made_bytes(*state), before);
        made_seal(*state, i + 1);
        assert_true(made_bytes(*state) > before + 10000 * sizeof(struct cell));
        before = made_bytes(*state);
    }
}

static enum err_code whole_session(struct profile **out)
{
    struct profile *profile;
    uint32_t string, function, frame, node, process, thread;
    enum err_code rc = profile_create(&profile, NULL);
    if (rc)
        return rc;
    rc = strtab_intern(profile_strings(profile), "f", 1, &string, NULL);
    if (!rc)
        rc = profile_function(profile, string, string, 1, &function, NULL);
    if (!rc)
        rc = profile_frame(profile, function, 2, &frame, NULL);
    if (!rc)
        rc = profile_node(profile, 0, frame, &node, NULL);
    if (!rc)
        rc = profile_process(profile, 1, string, &process, NULL);
    if (!rc)
        rc = profile_thread(profile, &(struct profile_thread){ .tid = 1 }, &thread, NULL);
    if (!rc)
        rc = profile_add(profile, thread, 0, node, 5, NULL);
    if (!rc)
        rc = profile_seal(profile, 1, NULL);
    *out = profile;
    return rc;
}

static void without_memory_every_step_says_so(void **state)
{
    enum err_code rc;
    unsigned nth = 0;
    (void)state;
    do {
        struct profile *profile = NULL;
        failing_alloc_at(nth++);
        rc = whole_session(&profile);
        failing_alloc_never();
        profile_destroy(profile);
        assert_true(rc == ERR_OK || rc == ERR_NOMEM);
    } while (rc);
    assert_true(nth > 15);
}

#define WITH_PROFILE(test) cmocka_unit_test_setup_teardown(test, begin, end)

TEST_GROUP(WITH_PROFILE(the_root_is_row_0_of_everything),
           WITH_PROFILE(equal_stacks_end_at_the_same_node),
           WITH_PROFILE(recursion_makes_a_node_a_level),
           WITH_PROFILE(a_nameless_function_is_not_taken_for_the_root),
           WITH_PROFILE(functions_differ_by_each_field),
           WITH_PROFILE(functions_of_two_libraries_are_two),
           WITH_PROFILE(libraries_differ_by_each_field),
           WITH_PROFILE(too_many_libraries_are_an_error_and_no_harm),
           WITH_PROFILE(lines_of_a_function_are_frames_of_their_own),
           WITH_PROFILE(threads_differ_by_each_field),
           WITH_PROFILE(bytes_between_the_fields_of_a_thread_do_not_count),
           WITH_PROFILE(a_process_that_runs_another_program_is_a_new_row),
           WITH_PROFILE(parents_come_before_children),
           WITH_PROFILE(ids_that_do_not_exist_are_refused),
           WITH_PROFILE(too_many_processes_are_an_error_and_no_harm),
           WITH_PROFILE(too_many_threads_are_an_error_and_no_harm),
           WITH_PROFILE(samples_of_the_same_cell_add_up),
           WITH_PROFILE(a_count_stops_at_its_greatest_value),
           WITH_PROFILE(no_samples_make_no_cell),
           WITH_PROFILE(thread_state_and_node_make_a_cell),
           WITH_PROFILE(bytes_grow_with_what_is_kept),
           cmocka_unit_test(without_memory_every_step_says_so))
