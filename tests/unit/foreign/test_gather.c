#include <string.h>
#include <unistd.h>

#include "sampler/capture/reader.h"
#include "sampler/foreign/gather.h"
#include "sampler/foreign/scratch.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/window.h"
#include "tests/support/test.h"

/* A gather with one thread and two places below one another. */
struct world {
    struct gather gather;
    struct scratch scratch;
    struct reader *reader;
    struct profile_snapshot snapshot;
    thread_id thread;
    node_id outer, inner;
    struct err err;
};

static void begin_world(struct world *world)
{
    const struct gather_text none = { "", 0 }, name = { "work", 4 }, file = { "a.py", 4 };
    frame_id frame;
    *world = (struct world){ .thread = 0 };
    struct err *const err = &world->err;
    assert_ok(gather_init(&world->gather, 64 << 20, err), err);
    world->gather.format = "test";
    assert_ok(gather_thread(&world->gather, 0, none, 0, 0, none, &world->thread, err), err);
    assert_ok(gather_frame(&world->gather, name, file, 1, 2, &frame, err), err);
    assert_ok(gather_child(&world->gather, 0, frame, &world->outer, err), err);
    assert_ok(gather_child(&world->gather, world->outer, frame, &world->inner, err), err);
}

static void add_sample(struct world *world, node_id node, uint64_t value, uint64_t at_ns)
{
    assert_ok(gather_sample(&world->gather, world->thread, STATE_ALL_UNKNOWN, node, value,
                            at_ns, &world->err),
              &world->err);
}

static void load_world(struct world *world)
{
    struct err *const err = &world->err;
    assert_ok(scratch_open(&world->scratch, err), err);
    assert_ok(gather_write(&world->gather, &world->scratch, err), err);
    assert_ok(reader_open_fd(world->scratch.fd, &world->reader, err), err);
    assert_ok(reader_load(world->reader, 0, err), err);
    assert_null(reader_missing(world->reader));
    assert_ok(profile_snapshot(reader_profile(world->reader), &world->snapshot, err), err);
}

static void end_world(struct world *world)
{
    profile_snapshot_release(&world->snapshot);
    reader_close(world->reader);
    scratch_close(&world->scratch);
    gather_deinit(&world->gather);
}

/* The samples of a node in all windows. */
static uint64_t count_of(const struct world *world, node_id node, uint64_t *ns_out)
{
    uint64_t count = 0;
    *ns_out = 0;
    for (size_t i = 0; i < world->snapshot.window_count; i++) {
        const struct window *const window = world->snapshot.windows[i];
        for (size_t j = 0; j < window->cell_count; j++)
            if (window->cells[j].node == node) {
                count += window->cells[j].count;
                *ns_out += window_cell_ns(window, j);
            }
    }
    return count;
}

static void what_else_is_counted_is_a_measure(void **state)
{
    const struct gather_text type = { "alloc space", 11 }, unit = { "bytes", 5 };
    struct world world;
    enum measure measure, same;
    (void)state;
    begin_world(&world);
    struct err *const err = &world.err;
    world.gather.is_time = true;
    assert_ok(gather_measure(&world.gather, type, unit, &measure, err), err);
    assert_ok(gather_measure(&world.gather, type, unit, &same, err), err);
    assert_int_equal(measure, same);
    add_sample(&world, world.inner, 30, 0);
    /* More samples than a window can have. */
    assert_ok(gather_measured(&world.gather, measure, world.thread, world.inner,
                              6 * (1ull << 32) + 3, err),
              err);
    assert_ok(gather_measured(&world.gather, measure, world.thread, world.outer, 9, err), err);
    assert_int_equal(
        gather_measured(&world.gather, measure, world.thread, world.outer, 1ull << 61, err),
        ERR_LIMIT);
    load_world(&world);
    uint64_t ns;
    assert_int_equal(count_of(&world, world.inner, &ns), 1);
    assert_int_equal(ns, 30);
    assert_int_equal(world.snapshot.measures, MEASURE_SET(MEASURE_TIME) | MEASURE_SET(measure));
    assert_int_equal(
        profile_find_measure(&world.snapshot, world.snapshot.measures, "alloc_space"), measure);
    assert_string_equal(profile_measure(&world.snapshot, measure)->unit, "bytes");
    profile_snapshot_release(&world.snapshot);
    assert_ok(
        profile_snapshot_measured(reader_profile(world.reader), measure, &world.snapshot, err),
        err);
    assert_int_equal(world.snapshot.sums[measure], 6 * (1ull << 32) + 12);
    (void)count_of(&world, world.inner, &ns);
    assert_true(ns == 6 * (1ull << 32) + 3);
    end_world(&world);
}

static void times_are_kept_exactly(void **state)
{
    struct world world;
    uint64_t ns;
    (void)state;
    begin_world(&world);
    world.gather.is_time = true;
    add_sample(&world, world.inner, 30000000, 0);
    add_sample(&world, world.outer, 20000000, 0);
    add_sample(&world, world.inner, 50000000, 0);
    load_world(&world);
    assert_int_equal(count_of(&world, world.inner, &ns), 8);
    assert_int_equal(ns, 80000000);
    assert_int_equal(count_of(&world, world.outer, &ns), 2);
    assert_int_equal(ns, 20000000);
    end_world(&world);
}

/* More nanoseconds than a cell can count. */
static void long_times_are_kept_exactly(void **state)
{
    struct world world;
    uint64_t ns;
    (void)state;
    begin_world(&world);
    world.gather.is_time = true;
    add_sample(&world, world.inner, 100000000001, 0);
    add_sample(&world, world.outer, 2, 0);
    load_world(&world);
    assert_int_equal(count_of(&world, world.inner, &ns), 100000000001);
    assert_int_equal(ns, 100000000001);
    end_world(&world);
}

/* A sample that goes on for a second is in each of the windows of that second. */
static void long_samples_are_where_they_were(void **state)
{
    struct world world;
    uint64_t ns;
    (void)state;
    begin_world(&world);
    world.gather.is_time = world.gather.has_instants = true;
    add_sample(&world, world.outer, 1000000000, 5000000000);
    add_sample(&world, world.inner, 10000000, 6500000000);
    load_world(&world);
    /* The time between the two has no samples, and no window. */
    assert_int_equal(world.snapshot.window_count, 5);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(world.snapshot.windows[i]->samples, 25);
    assert_int_equal(world.snapshot.windows[4]->start_ns, 1500000000);
    assert_int_equal(world.snapshot.windows[4]->samples, 1);
    assert_int_equal(count_of(&world, world.outer, &ns), 100);
    assert_int_equal(ns, 1000000000);
    end_world(&world);
}

static void samples_without_time_have_none(void **state)
{
    struct world world;
    uint64_t ns;
    (void)state;
    begin_world(&world);
    add_sample(&world, world.outer, 40, 0);
    add_sample(&world, world.inner, 60, 0);
    load_world(&world);
    assert_int_equal(count_of(&world, world.inner, &ns), 60);
    assert_int_equal(ns, 0);
    assert_int_equal(reader_metadata(world.reader)->rate_uhz, 0);
    assert_int_equal(reader_metadata(world.reader)->started_at_ns, 0);
    end_world(&world);
}

static void a_file_without_samples_is_refused(void **state)
{
    struct world world;
    struct err err = { 0 };
    (void)state;
    begin_world(&world);
    assert_ok(scratch_open(&world.scratch, &err), &err);
    add_sample(&world, world.outer, 0, 0);
    assert_int_equal(gather_write(&world.gather, &world.scratch, &err), ERR_CORRUPT);
    assert_string_equal(err.message, "it has no samples");
    scratch_close(&world.scratch);
    gather_deinit(&world.gather);
}

static void too_much_is_refused(void **state)
{
    struct world world;
    struct err err = { 0 };
    (void)state;
    begin_world(&world);
    assert_int_equal(
        gather_sample(&world.gather, world.thread, 0, world.outer, UINT64_MAX, 0, &err),
        ERR_LIMIT);
    assert_int_equal(
        gather_sample(&world.gather, world.thread, 0, world.outer, 1, UINT64_MAX, &err),
        ERR_LIMIT);
    world.gather.table_bytes = 1;
    node_id node;
    assert_int_equal(gather_child(&world.gather, world.inner, 1, &node, &err), ERR_LIMIT);
    gather_deinit(&world.gather);
}

TEST_GROUP(cmocka_unit_test(what_else_is_counted_is_a_measure),
           cmocka_unit_test(times_are_kept_exactly),
           cmocka_unit_test(long_times_are_kept_exactly),
           cmocka_unit_test(long_samples_are_where_they_were),
           cmocka_unit_test(samples_without_time_have_none),
           cmocka_unit_test(a_file_without_samples_is_refused),
           cmocka_unit_test(too_much_is_refused))
