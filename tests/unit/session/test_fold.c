#include <stdio.h>
#include <string.h>

#include "sampler/profile/series.h"
#include "sampler/session/fold/fold.h"
#include "sampler/session/fold/sampled_thread.h"
#include "sampler/session/origins.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/callables.h"
#include "tests/unit/cpython/made/stack_world.h"

enum { WORD = 8 };

/* A made thread whose stack is folded. */
struct world {
    struct stack_world *made;
    struct leaves leaves;
    struct profile *profile;
    struct thread_cpus cpus;
    struct fold fold;
    struct thread thread;
    struct sampled_thread sampled;
};

static void begin(struct world *world, unsigned minor, const struct session_options *options)
{
    struct err err = { 0 };
    memset(world, 0, sizeof *world);
    world->made = stack_world_create(minor);
    world->profile = made_profile();
    struct stack_world *const made = world->made;
    const struct layout *const layout = &made->python.runtime.layout;
    struct memory *const memory = &made->python.memory.memory;
    /* Names are strings of the profile. */
    made->codes.strings = profile_strings(world->profile);
    leaves_init(&world->leaves, memory, layout, &made->codes, profile_strings(world->profile));
    thread_cpus_init(&world->cpus, world->profile);
    assert_ok(fold_init(&world->fold, world->profile, &world->leaves, &world->cpus, options, 1,
                        "made", &err),
              &err);
    stack_init(&world->thread.stack, memory, layout, made->thread.addr, 0);
    world->thread.head.ident = 1;
    world->thread.kept = &world->sampled;
    world->sampled.reading = (struct thread_reading){ .thread = &world->thread, .times = 1 };
}

static void end(struct world *world)
{
    stack_deinit(&world->thread.stack);
    thread_cpus_deinit(&world->cpus);
    leaves_deinit(&world->leaves);
    profile_destroy(world->profile);
    stack_world_destroy(world->made);
}

static remote_addr call(struct world *world, const char *name, enum fake_call how)
{
    struct fake_python *const python = &world->made->python;
    return fake_push(&world->made->thread, fake_function(python, name), how);
}

static void sample(struct world *world, struct thread_state info)
{
    assert_int_equal(stack_read(&world->thread.stack, &world->made->codes), ERR_OK);
    world->sampled.reading.state = info;
    world->sampled.reading.now_ns = 1;
    assert_int_equal(fold_reading(&world->fold, &world->sampled.reading), ERR_OK);
}

/* "main;f;<GC>" of the node with the most samples since `since`. */
static void expect_stack(struct world *world, const char *expected)
{
    struct err err = { 0 };
    char text[256] = "";
    assert_ok(thread_cpus_flush(&world->cpus, 2), &err);
    const struct profile_snapshot before = made_snapshot(world->profile);
    assert_ok(profile_seal(world->profile, before.end_ns + 1, &err), &err);
    struct profile_snapshot snapshot = made_snapshot(world->profile);
    struct view view = made_view(&snapshot, &(struct view_query){ .since = before.generation });
    assert_int_equal(view.count, 1);
    for (node_id node = view.node[0]; node; node = profile_node_at(&snapshot, node).parent) {
        const struct profile_frame frame =
            profile_frame_at(&snapshot, profile_node_at(&snapshot, node).frame);
        char longer[sizeof text * 2];
        snprintf(
            longer, sizeof longer, "%s%s%s",
            profile_string(&snapshot, profile_function_at(&snapshot, frame.function).name).text,
            *text ? ";" : "", text);
        memcpy(text, longer, sizeof text);
    }
    assert_string_equal(text, expected);
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
    struct profile_snapshot old = before;
    profile_snapshot_release(&old);
}

static const struct thread_state quiet = { .has_gil = VALUE_YES, .in_gc = VALUE_NO };
static const struct session_options plain = { .rate_hz = 1000 };

static void the_collector_is_marked_above_the_leaf(void **state)
{
    struct world world;
    const struct thread_state collecting = { .has_gil = VALUE_YES, .in_gc = VALUE_YES };
    (void)state;
    begin(&world, 14, &plain);
    call(&world, "main", FAKE_CALL_FROM_C);
    call(&world, "f", FAKE_CALL);
    sample(&world, quiet);
    expect_stack(&world, "main;f");
    sample(&world, collecting);
    expect_stack(&world, "main;f;<GC>");
    sample(&world, quiet);
    expect_stack(&world, "main;f");
    end(&world);
}

/* A thread without frames is idle only if it does not run; as the interpreter ends, the collector runs without any. */
static void a_thread_without_frames_is_what_it_does(void **state)
{
    struct world world;
    const struct thread_state collecting = { .has_gil = VALUE_YES, .in_gc = VALUE_YES };
    (void)state;
    begin(&world, 14, &plain);
    world.sampled.reading.is_asked = true;
    world.sampled.reading.runs = VALUE_NO;
    sample(&world, quiet);
    expect_stack(&world, "<idle native thread>");
    world.sampled.reading.runs = VALUE_YES;
    sample(&world, quiet);
    expect_stack(&world, "<native>");
    sample(&world, collecting);
    expect_stack(&world, "<GC>");
    /* It ran when it was asked, and is no longer. */
    world.sampled.reading.is_asked = false;
    sample(&world, quiet);
    expect_stack(&world, "<idle native thread>");
    world.sampled.reading.is_asked = true;
    world.sampled.reading.runs = VALUE_NO;
    sample(&world, quiet);
    expect_stack(&world, "<idle native thread>");
    end(&world);
}

/* The sample is of the nearest caller, not of a function of the same name somewhere else. */
static void full_tables_leave_the_sample_to_the_caller_they_know(void **state)
{
    struct world world;
    struct err err = { 0 };
    (void)state;
    begin(&world, 14, &plain);
    call(&world, "main", FAKE_CALL_FROM_C);
    call(&world, "f", FAKE_CALL);
    sample(&world, quiet);
    expect_stack(&world, "main;f");
    call(&world, "helper", FAKE_CALL);
    sample(&world, quiet);
    expect_stack(&world, "main;f;helper");
    fake_pop(&world.made->thread);
    profile_set_memory(world.profile, 1);
    assert_ok(profile_seal(world.profile, 3, &err), &err);
    sample(&world, quiet);
    expect_stack(&world, "main;f");
    assert_int_equal(profile_quality(world.profile)->overflowed, 0);
    call(&world, "new", FAKE_CALL);
    call(&world, "f", FAKE_CALL);
    sample(&world, quiet);
    sample(&world, quiet);
    expect_stack(&world, "main;f");
    assert_int_equal(profile_quality(world.profile)->overflowed, 2);
    end(&world);
}

static uint64_t ticks_of(struct profile *profile, enum part part)
{
    struct series series;
    struct err err = { 0 };
    uint64_t total = 0;
    assert_ok(profile_copy_series(profile, 0, 1, &series, &err), &err);
    for (size_t bin = 0; bin < SERIES_BINS_PER_SECOND; bin++)
        total += series_second_at(&series, 0)->bins[bin].parts[part];
    series_deinit(&series);
    return total;
}

static void every_sample_is_in_the_series(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 14, &plain);
    call(&world, "main", FAKE_CALL_FROM_C);
    for (int i = 0; i < 40; i++)
        sample(&world, quiet);
    expect_stack(&world, "main");
    assert_int_equal(ticks_of(world.profile, PART_RUNNING), 40);
    assert_int_equal(profile_quality(world.profile)->samples, 40);
    end(&world);
}

static void the_collector_is_marked_where_it_was_started(void **state)
{
    struct world world;
    struct thread_state collecting = { .has_gil = VALUE_YES, .in_gc = VALUE_YES };
    (void)state;
    begin(&world, 15, &plain);
    collecting.gc_frame = call(&world, "main", FAKE_CALL_FROM_C);
    call(&world, "finalizer", FAKE_CALL_FROM_C);
    call(&world, "f", FAKE_CALL);
    for (int i = 0; i < 3; i++) {
        sample(&world, collecting);
        expect_stack(&world, "main;<GC>;finalizer;f");
        sample(&world, quiet);
        expect_stack(&world, "main;finalizer;f");
    }
    end(&world);
}

static void another_thread_that_collects_leaves_no_mark(void **state)
{
    struct world world;
    const struct thread_state other = { .has_gil = VALUE_YES,
                                        .in_gc = VALUE_YES,
                                        .gc_frame = 0x1000 };
    (void)state;
    begin(&world, 15, &plain);
    call(&world, "main", FAKE_CALL_FROM_C);
    sample(&world, other);
    expect_stack(&world, "main");
    end(&world);
}

static void the_mark_of_the_collector_can_be_left_out(void **state)
{
    struct world world;
    const struct session_options options = { .no_gc = true };
    const struct thread_state collecting = { .has_gil = VALUE_YES, .in_gc = VALUE_YES };
    (void)state;
    begin(&world, 14, &options);
    call(&world, "main", FAKE_CALL_FROM_C);
    sample(&world, collecting);
    expect_stack(&world, "main");
    end(&world);
}

static void c_code_that_calls_back_is_marked_if_requested(void **state)
{
    const struct session_options native = { .native = SESSION_NATIVE_LEAF };
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++)
        for (int asked = 0; asked < 2; asked++) {
            struct world world;
            begin(&world, minor, asked ? &native : &plain);
            call(&world, "main", FAKE_CALL_FROM_C);
            call(&world, "sort", FAKE_CALL);
            call(&world, "key", FAKE_CALL_FROM_C);
            call(&world, "g", FAKE_RESUME_FROM_C);
            sample(&world, quiet);
            expect_stack(&world,
                         asked ? "main;sort;<native>;key;<native>;g" : "main;sort;key;g");
            end(&world);
        }
}

static void the_frame_below_an_init_is_not_shown(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 14, &plain);
    struct fake_python *const python = &world.made->python;
    const struct layout *const layout = &python->runtime.layout;
    const remote_addr shim =
        fake_code(python, &(struct fake_code){ .name = "__init__", .file = "__init__" });
    fake_memory_put_u32(&python->memory, shim + layout->code_firsttraceable, 100);
    call(&world, "main", FAKE_CALL_FROM_C);
    const remote_addr frame = fake_push(&world.made->thread, shim, FAKE_CALL);
    fake_go_to(&world.made->thread, frame, 0);
    call(&world, "Class.__init__", FAKE_CALL);
    sample(&world, quiet);
    expect_stack(&world, "main;Class.__init__");
    end(&world);
}

static void a_file_of_the_target_is_not_that_of_marks(void **state)
{
    struct world world;
    const char *file = NULL;
    (void)state;
    begin(&world, 14, &plain);
    const remote_addr code =
        fake_code(&world.made->python, &(struct fake_code){ .name = "<GC>", .file = "~" });
    fake_push(&world.made->thread, code, FAKE_CALL_FROM_C);
    sample(&world, quiet);
    expect_stack(&world, "<GC>");
    struct profile_snapshot snapshot = made_snapshot(world.profile);
    for (function_id id = 1; id < snapshot.sizes.functions; id++) {
        const struct profile_function function = profile_function_at(&snapshot, id);
        if (function.first_line > 0 &&
            strcmp(profile_string(&snapshot, function.name).text, "<GC>") == 0)
            file = profile_string(&snapshot, function.file).text;
    }
    assert_non_null(file);
    assert_string_equal(file, "./~");
    profile_snapshot_release(&snapshot);
    end(&world);
}

/* A frame of 3.14 that stands at a call of time.sleep(x). */
static void call_sleep(struct world *world)
{
    struct fake_python *const python = &world->made->python;
    const struct layout *const layout = &python->runtime.layout;
    const struct opcode *const opcodes = world->leaves.opcodes;
    const unsigned char load = (unsigned char)opcodes_find(opcodes, "LOAD_FAST"),
                        null = (unsigned char)opcodes_find(opcodes, "PUSH_NULL"),
                        calls = (unsigned char)opcodes_find(opcodes, "CALL");
    const unsigned char units[] = { load, 0, null, 0, load, 1, calls, 1 };
    const struct callable_types types = callable_types_make(python);
    const remote_addr code = fake_function(python, "f");
    fake_memory_put(&python->memory, fake_instr(python, code, 0), units, sizeof units);
    fake_memory_put_u64(&python->memory, code + layout->bytes_length + 24,
                        fake_bytes(python, "", 0));
    const remote_addr frame = fake_push(&world->made->thread, code, FAKE_CALL);
    const remote_addr stack = frame + layout->frame_bytes - WORD;
    fake_go_to(&world->made->thread, frame, 3);
    fake_memory_put_u64(&python->memory, stack,
                        callable_function(python, &types, "sleep",
                                          callable_object(python, types.module),
                                          callable_str(python, &types, "time")));
    fake_memory_put_u64(&python->memory, frame + layout->frame_stack, stack + 3 * WORD);
}

static void a_c_function_has_a_frame_of_its_own(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 14, &plain);
    call(&world, "main", FAKE_CALL_FROM_C);
    call_sleep(&world);
    for (int i = 0; i < 3; i++) {
        sample(&world, quiet);
        expect_stack(&world, "main;f;<native> time.sleep");
    }
    end(&world);
}

static void spots_stand_beside_the_frame_of_python(void **state)
{
    struct world world;
    struct err err = { 0 };
    struct view_spots spots;
    const struct session_options options = { .opcodes = true };
    (void)state;
    begin(&world, 14, &options);
    call(&world, "main", FAKE_CALL_FROM_C);
    call_sleep(&world);
    for (int i = 0; i < 5; i++)
        sample(&world, quiet);
    expect_stack(&world, "main;f;<native> time.sleep");
    struct profile_snapshot snapshot = made_snapshot(world.profile);
    assert_ok(view_spots_init(&spots, &snapshot, &(struct view_query){ 0 }, &err), &err);
    /* The spot of main, and that of its callee. */
    assert_int_equal(spots.count, 2);
    assert_int_equal(spots.spots[0].self, 0);
    assert_int_equal(spots.spots[0].total, 5);
    assert_int_equal(spots.spots[1].self, 5);
    const struct profile_spot spot = profile_spot_at(&snapshot, spots.spots[1].spot);
    assert_int_equal(spot.caller, spots.spots[0].spot + 1);
    const struct profile_frame frame =
        profile_frame_at(&snapshot, profile_node_at(&snapshot, spots.spots[1].node).frame);
    assert_int_equal(frame.function, spot.function);
    assert_int_equal(frame.line, spot.line);
    assert_string_equal(profile_string(&snapshot, spot.opcode).text, "CALL");
    assert_string_equal(profile_string(&snapshot, spot.base).text, "CALL");
    view_spots_deinit(&spots);
    profile_snapshot_release(&snapshot);
    end(&world);
}

static void a_call_of_c_is_a_state_too(void **state)
{
    struct world world;
    struct err err = { 0 };
    struct view_cells cells;
    (void)state;
    begin(&world, 14, &plain);
    call(&world, "main", FAKE_CALL_FROM_C);
    call_sleep(&world);
    sample(&world, quiet);
    expect_stack(&world, "main;f;<native> time.sleep");
    struct profile_snapshot snapshot = made_snapshot(world.profile);
    assert_ok(view_cells_init(&cells, &snapshot, &(struct view_query){ 0 }, &err), &err);
    assert_int_equal(cells.count, 1);
    assert_true(cells.cells[0].state & STATE_IN_NATIVE);
    assert_false(cells.cells[0].state & STATE_UNKNOWN_IN_NATIVE);
    view_cells_deinit(&cells);
    profile_snapshot_release(&snapshot);
    end(&world);
}

/* Counts into the profile of another process's fold from now on. */
static void join(struct world *world, const struct world *other)
{
    struct stack_world *const made = world->made;
    struct strtab *const strings = profile_strings(other->profile);
    struct err err = { 0 };
    leaves_deinit(&world->leaves);
    thread_cpus_deinit(&world->cpus);
    made->codes.strings = strings;
    leaves_init(&world->leaves, &made->python.memory.memory, &made->python.runtime.layout,
                &made->codes, strings);
    thread_cpus_init(&world->cpus, other->profile);
    assert_ok(fold_init(&world->fold, other->profile, &world->leaves, &world->cpus, &plain, 2,
                        "made", &err),
              &err);
}

static profile_origin origin_of(struct profile *profile, const char *name)
{
    struct profile_snapshot snapshot;
    profile_origin origin = PROFILE_ORIGIN_NONE;
    struct err err = { 0 };
    const struct profile_snapshot before = made_snapshot(profile);
    assert_ok(profile_seal(profile, before.end_ns + 1, &err), &err);
    snapshot = made_snapshot(profile);
    for (function_id id = 0; id < snapshot.sizes.functions; id++) {
        const struct profile_function row = profile_function_at(&snapshot, id);
        if (strcmp(profile_string(&snapshot, row.name).text, name) == 0)
            origin = row.origin;
    }
    profile_snapshot_release(&snapshot);
    struct profile_snapshot old = before;
    profile_snapshot_release(&old);
    return origin;
}

/* A process notes the origin of a function once, because its code objects are cached. */
static void a_function_knows_the_process_it_was_seen_in(void **state)
{
    const profile_origin one = (profile_origin)1 << 48 | 1, two = (profile_origin)2 << 48 | 2;
    struct origins origins;
    struct world first, second;
    (void)state;
    origins_init(&origins);
    begin(&first, 14, &plain);
    begin(&second, 14, &plain);
    join(&second, &first);
    first.fold.nodes.origins = second.fold.nodes.origins = &origins;
    first.fold.nodes.origin = one;
    second.fold.nodes.origin = two;
    call(&first, "main", FAKE_CALL_FROM_C);
    call(&first, "f", FAKE_CALL);
    sample(&first, quiet);
    assert_true(origin_of(first.profile, "f") == one);
    assert_true(origin_of(first.profile, "<truncated>") == PROFILE_ORIGIN_NONE);
    call(&second, "main", FAKE_CALL_FROM_C);
    call(&second, "g", FAKE_CALL);
    sample(&second, quiet);
    sample(&first, quiet);
    assert_true(origin_of(first.profile, "f") == one);
    assert_true(origin_of(first.profile, "g") == two);
    assert_true(origin_of(first.profile, "main") == PROFILE_ORIGIN_SEVERAL);
    end(&second);
    end(&first);
    origins_deinit(&origins);
}

TEST_GROUP(cmocka_unit_test(a_function_knows_the_process_it_was_seen_in),
           cmocka_unit_test(full_tables_leave_the_sample_to_the_caller_they_know),
           cmocka_unit_test(every_sample_is_in_the_series),
           cmocka_unit_test(the_collector_is_marked_above_the_leaf),
           cmocka_unit_test(a_thread_without_frames_is_what_it_does),
           cmocka_unit_test(the_collector_is_marked_where_it_was_started),
           cmocka_unit_test(another_thread_that_collects_leaves_no_mark),
           cmocka_unit_test(the_mark_of_the_collector_can_be_left_out),
           cmocka_unit_test(c_code_that_calls_back_is_marked_if_requested),
           cmocka_unit_test(the_frame_below_an_init_is_not_shown),
           cmocka_unit_test(a_file_of_the_target_is_not_that_of_marks),
           cmocka_unit_test(a_c_function_has_a_frame_of_its_own),
           cmocka_unit_test(spots_stand_beside_the_frame_of_python),
           cmocka_unit_test(a_call_of_c_is_a_state_too))
