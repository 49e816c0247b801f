#include "sampler/base/clock.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"
#include "tests/unit/session/cpu_world.h"

struct target_list {
    struct run runs[64];
    size_t count;
};

static void hear(void *context, const struct run *run)
{
    struct target_list *const targets = context;
    assert_true(targets->count < 64);
    targets->runs[targets->count++] = *run;
}

/* The samples of a cell, in order, each at its own instant. */
static uint64_t target_list_of(const struct target_list *targets, const struct view_cell *cell,
                               uint64_t end_ns)
{
    uint64_t samples = 0, last_ns = 0;
    for (size_t i = 0; i < targets->count; i++) {
        const struct run *const run = &targets->runs[i];
        if (run->thread != cell->thread || run->node != cell->node || run->state != cell->state)
            continue;
        assert_true(run->first_ns >= last_ns);
        last_ns = run->first_ns + run->step_ns * (run->count - 1);
        assert_true(last_ns < end_ns);
        samples += run->count;
    }
    return samples;
}

/* The sink receives every counted sample, whether it waited or was divided by CPU time. */
static void a_sink_hears_what_is_counted_and_when(void **state)
{
    (void)state;
    for (int mode = SESSION_MODE_WALL; mode <= SESSION_MODE_CPU; mode++) {
        struct target_list targets = { .count = 0 };
        const struct sink sink = { .context = &targets, .count = hear };
        struct view_cells cells;
        struct err err = { 0 };
        struct cpu_world world;
        cpu_world_begin(&world, (enum session_mode)mode);
        world.cpus.sink = &sink;
        for (int i = 0; i < 40; i++) {
            world.now_ns += 1000000;
            if (i == 20)
                world.node = made_node(world.profile, "main;rest");
            cpu_world_take(&world, cpu_world_tid(i < 30 ? CPU_OFF : CPU_UNKNOWN),
                           i % 4 ? 0 : STATE_HAS_GIL, i % 4 != 0);
        }
        assert_int_equal(thread_cpus_flush(&world.cpus, world.now_ns), ERR_OK);
        made_seal(world.profile, 1);
        struct profile_snapshot snapshot = made_snapshot(world.profile);
        assert_ok(view_cells_init(&cells, &snapshot, &(struct view_query){ 0 }, &err), &err);
        uint64_t heard = 0, counted = 0;
        for (size_t i = 0; i < targets.count; i++)
            heard += targets.runs[i].count;
        for (size_t i = 0; i < cells.count; i++) {
            counted += cells.cells[i].count;
            assert_int_equal(target_list_of(&targets, &cells.cells[i], world.now_ns + 1),
                             cells.cells[i].count);
        }
        assert_int_equal(heard, counted);
        assert_int_equal(heard + cpu_world_quality(&world)->filtered, 40);
        assert_true(mode == SESSION_MODE_CPU || cells.count >= 2);
        view_cells_deinit(&cells);
        profile_snapshot_release(&snapshot);
        cpu_world_end(&world);
    }
}

/* A sample that stands for several ticks counts as many, whether its thread moves or waits. */
static void a_sample_counts_as_often_as_it_stands_for_ticks(void **state)
{
    enum { TIMES = 7, STILL = 5 };
    struct cpu_world world;
    (void)state;
    cpu_world_begin(&world, SESSION_MODE_WALL);
    world.now_ns = NS_PER_S;
    struct sample sample = cpu_world_sample(&world, cpu_world_tid(CPU_OFF), TIMES);
    sample.motion = &profile_quality(world.profile)->moving;
    assert_int_equal(thread_cpus_add(&world.cpus, &sample), ERR_OK);
    assert_int_equal(cpu_world_quality(&world)->samples, TIMES);
    assert_int_equal(world.cpus.items[0].since_ns, NS_PER_S - TIMES);
    for (unsigned i = 0; i < STILL; i++) {
        world.now_ns += TIMES;
        sample = cpu_world_sample(&world, cpu_world_tid(CPU_OFF), TIMES);
        sample.is_still = true;
        assert_int_equal(thread_cpus_add(&world.cpus, &sample), ERR_OK);
    }
    assert_int_equal(cpu_world_quality(&world)->samples, TIMES);
    assert_int_equal(thread_cpus_flush(&world.cpus, world.now_ns), ERR_OK);
    assert_int_equal(cpu_world_quality(&world)->samples, TIMES + TIMES * STILL);
    assert_int_equal(cpu_world_quality(&world)->exact, TIMES + TIMES * STILL);
    assert_int_equal(cpu_world_quality(&world)->moving, TIMES);
    cpu_world_end(&world);
}

TEST_GROUP(cmocka_unit_test(a_sink_hears_what_is_counted_and_when),
           cmocka_unit_test(a_sample_counts_as_often_as_it_stands_for_ticks))
