#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/cpython/threads/threads.h"
#include "sampler/process/cpu.h"
#include "sampler/profile/views/states.h"
#include "sampler/session/thread_cpu.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

/* The kernel accounts for this thread; the test says how much time has passed. */
struct world {
    struct profile *profile;
    struct thread_cpus cpus;
    thread_id thread;
    node_id node;
    uint64_t now_ns;
};

static void begin(struct world *world, enum sampler_mode mode)
{
    memset(world, 0, sizeof *world);
    world->profile = made_profile();
    thread_cpus_init(&world->cpus, world->profile);
    world->cpus.mode = mode;
    world->thread = made_thread(world->profile, getpid(), gettid());
    world->node = made_node(world->profile, "main;work");
    world->now_ns = 1;
}

static void end(struct world *world)
{
    thread_cpus_deinit(&world->cpus);
    profile_destroy(world->profile);
}

static const struct quality *quality_of(const struct world *world)
{
    return profile_quality(world->profile);
}

static void take_sample(struct world *world, int32_t tid, state_bits state, bool is_still)
{
    const struct sample sample = { .times = 1,
                                   .thread = world->thread,
                                   .pid = getpid(),
                                   .tid = tid,
                                   .node = world->node,
                                   .spot = PROFILE_NO_SPOT,
                                   .state = state,
                                   .certainty = &profile_quality(world->profile)->exact,
                                   .is_still = is_still,
                                   .now_ns = world->now_ns };
    assert_int_equal(thread_cpus_add(&world->cpus, &sample), ERR_OK);
}

static void *rest(void *tid)
{
    atomic_store((atomic_int *)tid, gettid());
    for (;;)
        pause();
    return NULL;
}

static void *spin(void *tid)
{
    atomic_store((atomic_int *)tid, gettid());
    for (;;)
        (void)atomic_load((atomic_int *)tid);
    return NULL;
}

/* The id of a thread that already does one of these. */
static int32_t tid_of_one_that(void *(*does)(void *), atomic_int *tid, bool is_running)
{
    struct cpu_meter meter;
    bool runs = !is_running;
    pthread_t thread;
    if (!atomic_load(tid)) {
        assert_int_equal(pthread_create(&thread, NULL, does, tid), 0);
        assert_int_equal(pthread_detach(thread), 0);
    }
    while (!atomic_load(tid))
        sched_yield();
    assert_true(cpu_meter_open(&meter, getpid(), atomic_load(tid)));
    while (runs != is_running)
        assert_true(cpu_meter_is_runnable(&meter, getpid(), atomic_load(tid), &runs, NULL));
    cpu_meter_close(&meter);
    return atomic_load(tid);
}

enum cpu { CPU_ON, CPU_OFF, CPU_UNKNOWN };

static int32_t tid_of(enum cpu cpu)
{
    static atomic_int resting, spinning;
    switch (cpu) {
    case CPU_ON: return tid_of_one_that(spin, &spinning, true);
    case CPU_OFF: return tid_of_one_that(rest, &resting, false);
    case CPU_UNKNOWN: break;
    }
    return 0;
}

/* One sample of a thread that moves, with this state.  The first one opens its account. */
static void read_moving(struct world *world, enum cpu cpu, state_bits state)
{
    world->now_ns++;
    take_sample(world, tid_of(cpu), state, false);
}

static struct state_sums sums_of(struct world *world)
{
    struct states states;
    struct err err = { 0 };
    made_seal(world->profile, 1);
    struct profile_snapshot snapshot = made_snapshot(world->profile);
    assert_ok(states_init(&states, &snapshot, &(struct view_query){ 0 }, &err), &err);
    const struct state_sums sums = states.all;
    states_deinit(&states);
    profile_snapshot_release(&snapshot);
    return sums;
}

/* A stopped thread does not run: what it did before counts, whatever the kernel says now. */
static void a_stopped_thread_is_counted_as_it_was_before(void **state)
{
    static const enum three_valued info[] = { VALUE_YES, VALUE_NO, VALUE_UNKNOWN };
    static const enum cpu now[] = { CPU_ON, CPU_OFF };
    (void)state;
    for (size_t i = 0; i < sizeof info / sizeof *info; i++)
        for (size_t j = 0; j < sizeof now / sizeof *now; j++) {
            struct world world;
            begin(&world, SAMPLER_MODE_WALL);
            for (unsigned n = 0; n < 100; n++) {
                world.now_ns += NS_PER_MS;
                const struct sample sample = { .thread = world.thread,
                                               .pid = getpid(),
                                               .tid = tid_of(now[j]),
                                               .node = world.node,
                                               .spot = PROFILE_NO_SPOT,
                                               .certainty =
                                                   &profile_quality(world.profile)->exact,
                                               .is_still = n > 0,
                                               .is_asked = true,
                                               .runs = info[i],
                                               .times = 1,
                                               .now_ns = world.now_ns };
                assert_int_equal(thread_cpus_add(&world.cpus, &sample), ERR_OK);
            }
            const struct state_sums sums = sums_of(&world);
            assert_int_equal(sums.samples, 100);
            /* On a busy machine it has had no processor now and then. */
            assert_int_equal(sums.yes[STATE_FLAG_ON_CPU] + sums.yes[STATE_FLAG_RUNNABLE],
                             info[i] == VALUE_YES ? 100 : 0);
            assert_int_equal(sums.unknown[STATE_FLAG_ON_CPU],
                             info[i] == VALUE_UNKNOWN ? 100 : 0);
            end(&world);
        }
}

/* The kernel engine says whether a thread that runs has a processor; else the account does. */
static void a_runnable_thread_is_not_on_a_cpu(void **state)
{
    static const struct {
        enum three_valued runs, runnable;
        state_bits state;
    } rows[] = {
        { VALUE_YES, VALUE_NO, STATE_ON_CPU },
        { VALUE_YES, VALUE_YES, STATE_RUNNABLE },
        { VALUE_YES, VALUE_UNKNOWN, STATE_ON_CPU },
        { VALUE_NO, VALUE_NO, 0 },
        { VALUE_UNKNOWN, VALUE_UNKNOWN, STATE_UNKNOWN_ON_CPU | STATE_UNKNOWN_RUNNABLE },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (unsigned mode = SAMPLER_MODE_WALL; mode <= SAMPLER_MODE_CPU; mode++) {
            struct world world;
            begin(&world, (enum sampler_mode)mode);
            const struct sample sample = { .thread = world.thread,
                                           .pid = getpid(),
                                           .tid = gettid(),
                                           .node = world.node,
                                           .spot = PROFILE_NO_SPOT,
                                           .certainty = &profile_quality(world.profile)->exact,
                                           .is_asked = true,
                                           .runs = rows[i].runs,
                                           .runnable = rows[i].runnable,
                                           .times = 3,
                                           .now_ns = world.now_ns };
            assert_int_equal(thread_cpus_add(&world.cpus, &sample), ERR_OK);
            const bool is_kept = mode == SAMPLER_MODE_WALL || rows[i].state;
            const struct state_sums sums = sums_of(&world);
            assert_int_equal(sums.samples, is_kept ? 3 : 0);
            for (unsigned flag = 0; flag < STATE_FLAG_COUNT && is_kept; flag++) {
                const state_bits yes = state_flag_yes((enum state_flag)flag);
                const state_bits unknown = state_flag_unknown((enum state_flag)flag);
                assert_int_equal(sums.yes[flag], rows[i].state & yes ? 3 : 0);
                assert_int_equal(sums.unknown[flag], rows[i].state & unknown ? 3 : 0);
            }
            end(&world);
        }
}

/* With an open account and without one. */
static void a_thread_is_asked_before_it_is_stopped(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SAMPLER_MODE_WALL);
    for (unsigned i = 0; i < 2; i++) {
        const int32_t off = tid_of(CPU_OFF), on = tid_of(CPU_ON);
        assert_int_equal(thread_cpus_ask(&world.cpus, world.thread, getpid(), off, NULL),
                         VALUE_NO);
        assert_int_equal(thread_cpus_ask(&world.cpus, UINT32_MAX, getpid(), on, NULL),
                         VALUE_YES);
        assert_int_equal(thread_cpus_ask(&world.cpus, UINT32_MAX, getpid(), 0, NULL),
                         VALUE_UNKNOWN);
        take_sample(&world, off, 0, false);
    }
    end(&world);
}

/* Before 3.15 the interpreter does not say who waits for the GIL, but its word is what the thread waits at. */
static void the_word_that_a_thread_waits_at_says_whether_it_waits_for_the_gil(void **state)
{
    enum { GIL = 0x5000, LOCKED = 0x100 };
    static const struct {
        enum three_valued runs;
        bool is_known;
        long number;
        remote_addr word;
        state_bits said; /* by the interpreter */
        enum three_valued expected;
    } rows[] = {
        { VALUE_NO, true, SYS_futex, GIL + LOCKED + 16, STATE_UNKNOWN_WAITS_GIL, VALUE_YES },
        { VALUE_NO, true, SYS_futex, GIL + LOCKED + 150, STATE_UNKNOWN_WAITS_GIL, VALUE_YES },
        { VALUE_NO, true, SYS_futex, GIL + LOCKED - 4, STATE_UNKNOWN_WAITS_GIL, VALUE_UNKNOWN },
        { VALUE_NO, true, SYS_futex, GIL + 0x1000, STATE_UNKNOWN_WAITS_GIL, VALUE_UNKNOWN },
        { VALUE_NO, true, SYS_futex, GIL + LOCKED + 16, 0, VALUE_NO },
        { VALUE_NO, true, SYS_epoll_wait, GIL + LOCKED + 16, STATE_UNKNOWN_WAITS_GIL,
          VALUE_NO },
        { VALUE_NO, false, 0, 0, STATE_UNKNOWN_WAITS_GIL, VALUE_UNKNOWN },
        { VALUE_YES, false, 0, 0, STATE_UNKNOWN_WAITS_GIL, VALUE_NO },
        { VALUE_UNKNOWN, false, 0, 0, STATE_UNKNOWN_WAITS_GIL, VALUE_UNKNOWN },
    };
    const struct runtime runtime = { .addr = GIL, .layout = { .runtime_gil_locked = LOCKED } };
    const struct thread_list list = { .runtime = &runtime };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world world;
        begin(&world, SAMPLER_MODE_WALL);
        const struct sample sample = { .thread = world.thread,
                                       .pid = getpid(),
                                       .tid = gettid(),
                                       .node = world.node,
                                       .spot = PROFILE_NO_SPOT,
                                       .state = rows[i].said,
                                       .certainty = &profile_quality(world.profile)->exact,
                                       .is_asked = true,
                                       .runs = rows[i].runs,
                                       .runnable = VALUE_NO,
                                       .call = { .is_known = rows[i].is_known,
                                                 .number = (int32_t)rows[i].number,
                                                 .args = { rows[i].word } },
                                       .threads = &list,
                                       .times = 3,
                                       .now_ns = 5 };
        assert_int_equal(thread_cpus_add(&world.cpus, &sample), ERR_OK);
        const struct state_sums sums = sums_of(&world);
        assert_int_equal(sums.samples, 3);
        assert_int_equal(sums.yes[STATE_FLAG_WAITS_GIL], rows[i].expected == VALUE_YES ? 3 : 0);
        assert_int_equal(sums.unknown[STATE_FLAG_WAITS_GIL],
                         rows[i].expected == VALUE_UNKNOWN ? 3 : 0);
        end(&world);
    }
}

/* A mode keeps samples of its state, and those whose state is unknown. */
static void a_mode_keeps_what_it_asks_for_and_what_is_unknown(void **state)
{
    static const struct {
        enum cpu cpu;
        state_bits state;
        bool kept[4]; /* wall, cpu, gil, exception */
    } rows[] = {
        { CPU_OFF, 0, { true, false, false, false } },
        { CPU_UNKNOWN, 0, { true, true, false, false } },
        { CPU_OFF, STATE_HAS_GIL, { true, false, true, false } },
        { CPU_OFF, STATE_UNKNOWN_HAS_GIL, { true, false, true, false } },
        { CPU_OFF, STATE_WAITS_GIL, { true, false, false, false } },
        { CPU_OFF, STATE_HAS_EXCEPTION, { true, false, false, true } },
        { CPU_OFF, STATE_UNKNOWN_HAS_EXCEPTION, { true, false, false, true } },
        { CPU_OFF, STATE_IN_GC | STATE_IN_NATIVE, { true, false, false, false } },
        { CPU_UNKNOWN, STATE_HAS_GIL | STATE_HAS_EXCEPTION, { true, true, true, true } },
    };
    static const enum sampler_mode modes[] = { SAMPLER_MODE_WALL, SAMPLER_MODE_CPU,
                                               SAMPLER_MODE_GIL, SAMPLER_MODE_EXCEPTION };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
            struct world world;
            begin(&world, modes[m]);
            take_sample(&world, tid_of(rows[i].cpu), STATE_ALL_UNKNOWN, false);
            const struct quality before = *quality_of(&world);
            read_moving(&world, rows[i].cpu, rows[i].state);
            const struct quality *const now = quality_of(&world);
            assert_int_equal(now->samples - before.samples, rows[i].kept[m]);
            assert_int_equal(now->exact - before.exact, rows[i].kept[m]);
            assert_int_equal(now->filtered - before.filtered, !rows[i].kept[m]);
            end(&world);
        }
}

static void a_thread_that_ran_all_the_time_is_kept_by_cpu(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SAMPLER_MODE_CPU);
    take_sample(&world, tid_of(CPU_ON), 0, false);
    const uint64_t before = quality_of(&world)->samples;
    for (int i = 0; i < 5; i++)
        read_moving(&world, CPU_ON, 0);
    assert_int_equal(quality_of(&world)->samples, before + 5);
    const struct state_sums sums = sums_of(&world);
    assert_int_equal(sums.yes[STATE_FLAG_ON_CPU], sums.samples);
    end(&world);
}

/* The mode applies to waiting samples once it is known how long the thread ran meanwhile. */
static void samples_that_waited_are_filtered_too(void **state)
{
    enum { STILL = 10 };
    (void)state;
    for (int runs = 0; runs < 2; runs++) {
        struct world world;
        const int32_t tid = tid_of(runs ? CPU_ON : CPU_OFF);
        begin(&world, SAMPLER_MODE_CPU);
        take_sample(&world, tid, 0, false);
        const struct quality before = *quality_of(&world);
        for (int i = 0; i < STILL; i++) {
            world.now_ns++;
            take_sample(&world, tid, 0, true);
        }
        assert_int_equal(quality_of(&world)->samples, before.samples);
        world.now_ns += runs ? 1 : 1ull << 60;
        assert_int_equal(thread_cpus_flush(&world.cpus, world.now_ns), ERR_OK);
        assert_int_equal(quality_of(&world)->samples - before.samples, runs ? STILL : 0);
        assert_int_equal(quality_of(&world)->filtered - before.filtered, runs ? 0 : STILL);
        end(&world);
    }
}

/* The mode keeps one of two threads: the profile has nothing of the other. */
static void what_is_filtered_is_nowhere(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SAMPLER_MODE_GIL);
    for (int i = 0; i < 10; i++) {
        world.now_ns++;
        take_sample(&world, 0, i % 2 ? STATE_HAS_GIL : STATE_WAITS_GIL, false);
    }
    assert_int_equal(thread_cpus_flush(&world.cpus, world.now_ns), ERR_OK);
    const struct state_sums sums = sums_of(&world);
    assert_int_equal(sums.samples, 5);
    assert_int_equal(sums.yes[STATE_FLAG_HAS_GIL], 5);
    assert_int_equal(sums.yes[STATE_FLAG_WAITS_GIL], 0);
    assert_int_equal(quality_of(&world)->filtered, 5);
    end(&world);
}

/* Before the kernel is asked, only samples that the mode cannot keep are dropped. */
static void what_may_be_kept_is_known_before_the_cpu_is(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SAMPLER_MODE_CPU);
    assert_true(thread_cpus_may_keep(&world.cpus, 0));
    world.cpus.mode = SAMPLER_MODE_GIL;
    assert_false(thread_cpus_may_keep(&world.cpus, 0));
    assert_true(thread_cpus_may_keep(&world.cpus, STATE_HAS_GIL));
    assert_true(thread_cpus_may_keep(&world.cpus, STATE_UNKNOWN_HAS_GIL));
    world.cpus.mode = SAMPLER_MODE_EXCEPTION;
    assert_false(thread_cpus_may_keep(&world.cpus, STATE_HAS_GIL));
    assert_true(thread_cpus_may_keep(&world.cpus, STATE_HAS_EXCEPTION));
    world.cpus.mode = SAMPLER_MODE_WALL;
    assert_true(thread_cpus_may_keep(&world.cpus, 0));
    end(&world);
}

/* Too short a time for the account, but the kernel says whether they run. */
static void what_waits_shortly_is_as_it_was_at_first(void **state)
{
    enum { STILL = 5 };
    (void)state;
    for (enum cpu cpu = CPU_ON; cpu <= CPU_OFF; cpu++) {
        struct world world;
        begin(&world, SAMPLER_MODE_WALL);
        for (int i = 0; i <= STILL; i++) {
            world.now_ns += 1000;
            take_sample(&world, tid_of(cpu), 0, i > 0);
        }
        assert_int_equal(thread_cpus_flush(&world.cpus, world.now_ns), ERR_OK);
        const struct state_sums sums = sums_of(&world);
        assert_int_equal(sums.samples, STILL + 1);
        /* On a busy machine it may be without a processor meanwhile. */
        assert_int_equal(sums.yes[STATE_FLAG_ON_CPU] + sums.yes[STATE_FLAG_RUNNABLE],
                         cpu == CPU_ON ? STILL + 1 : 0);
        end(&world);
    }
}

/* From now on the kernel is asked about another thread. */
static void become(struct world *world, enum cpu cpu)
{
    struct thread_cpu *const thread_cpu = &world->cpus.items[0];
    thread_cpu->tid = tid_of(cpu);
    cpu_meter_close(&thread_cpu->meter);
    assert_true(cpu_meter_open(&thread_cpu->meter, getpid(), thread_cpu->tid));
}

/* A thread that lets the GIL go is often ready for a moment, and waits then. */
static void what_was_ready_at_first_only_counts_as_ready_once(void **state)
{
    enum { STILL = 5 };
    struct world world;
    (void)state;
    begin(&world, SAMPLER_MODE_WALL);
    for (int i = 0; i <= STILL; i++) {
        if (i == 2)
            become(&world, CPU_OFF);
        world.now_ns += THREAD_CPUS_FRESH_NS;
        take_sample(&world, tid_of(CPU_ON), 0, i > 0);
    }
    assert_int_equal(thread_cpus_flush(&world.cpus, world.now_ns), ERR_OK);
    const struct state_sums sums = sums_of(&world);
    assert_int_equal(sums.samples, STILL + 1);
    assert_int_equal(sums.yes[STATE_FLAG_ON_CPU] + sums.yes[STATE_FLAG_RUNNABLE], 2);
    end(&world);
}

/* The samples that moved before have waited for a processor, not those that wait. */
static void time_without_a_processor_is_of_the_samples_then(void **state)
{
    enum { STILL = 20, QUEUED_MS = 5 };
    struct world world;
    (void)state;
    begin(&world, SAMPLER_MODE_WALL);
    for (int i = 0; i <= STILL; i++) {
        world.now_ns += NS_PER_MS;
        take_sample(&world, tid_of(CPU_OFF), 0, i > 0);
        if (i == 0) {
            world.cpus.items[0].has_queue = true;
            world.cpus.items[0].queued_ns = QUEUED_MS * NS_PER_MS;
        }
    }
    assert_int_equal(thread_cpus_flush(&world.cpus, world.now_ns), ERR_OK);
    /* It stands for what the thread does next. */
    assert_int_equal(world.cpus.items[0].queued_ns, QUEUED_MS * NS_PER_MS);
    const struct state_sums sums = sums_of(&world);
    assert_int_equal(sums.samples, STILL + 1);
    assert_int_equal(sums.yes[STATE_FLAG_RUNNABLE] + sums.yes[STATE_FLAG_ON_CPU], 0);
    end(&world);
}

/* The kernel is not asked about a thread that ran very recently and has moved since. */
static void what_ran_just_now_runs(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SAMPLER_MODE_WALL);
    read_moving(&world, CPU_ON, 0);
    become(&world, CPU_OFF);
    read_moving(&world, CPU_ON, 0);
    world.now_ns += THREAD_CPUS_FRESH_NS;
    read_moving(&world, CPU_ON, 0);
    const struct state_sums sums = sums_of(&world);
    assert_int_equal(sums.samples, 3);
    assert_int_equal(sums.yes[STATE_FLAG_ON_CPU], 2);
    end(&world);
}

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
    for (int mode = SAMPLER_MODE_WALL; mode <= SAMPLER_MODE_CPU; mode++) {
        struct target_list targets = { .count = 0 };
        const struct sink sink = { .context = &targets, .count = hear };
        struct view_cells cells;
        struct err err = { 0 };
        struct world world;
        begin(&world, (enum sampler_mode)mode);
        world.cpus.sink = &sink;
        for (int i = 0; i < 40; i++) {
            world.now_ns += 1000000;
            if (i == 20)
                world.node = made_node(world.profile, "main;rest");
            take_sample(&world, tid_of(i < 30 ? CPU_OFF : CPU_UNKNOWN),
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
        assert_int_equal(heard + quality_of(&world)->filtered, 40);
        assert_true(mode == SAMPLER_MODE_CPU || cells.count >= 2);
        view_cells_deinit(&cells);
        profile_snapshot_release(&snapshot);
        end(&world);
    }
}

static struct sample sample_of_many(struct world *world, int32_t tid, uint32_t times)
{
    return (struct sample){ .thread = world->thread,
                            .pid = getpid(),
                            .tid = tid,
                            .node = world->node,
                            .spot = PROFILE_NO_SPOT,
                            .certainty = &profile_quality(world->profile)->exact,
                            .times = times,
                            .since_ns = world->now_ns - times,
                            .now_ns = world->now_ns };
}

/* A sample that stands for several ticks counts as many, whether its thread moves or waits. */
static void a_sample_counts_as_often_as_it_stands_for_ticks(void **state)
{
    enum { TIMES = 7, STILL = 5 };
    struct world world;
    (void)state;
    begin(&world, SAMPLER_MODE_WALL);
    world.now_ns = NS_PER_S;
    struct sample sample = sample_of_many(&world, tid_of(CPU_OFF), TIMES);
    sample.motion = &profile_quality(world.profile)->moving;
    assert_int_equal(thread_cpus_add(&world.cpus, &sample), ERR_OK);
    assert_int_equal(quality_of(&world)->samples, TIMES);
    assert_int_equal(world.cpus.items[0].since_ns, NS_PER_S - TIMES);
    for (unsigned i = 0; i < STILL; i++) {
        world.now_ns += TIMES;
        sample = sample_of_many(&world, tid_of(CPU_OFF), TIMES);
        sample.is_still = true;
        assert_int_equal(thread_cpus_add(&world.cpus, &sample), ERR_OK);
    }
    assert_int_equal(quality_of(&world)->samples, TIMES);
    assert_int_equal(thread_cpus_flush(&world.cpus, world.now_ns), ERR_OK);
    assert_int_equal(quality_of(&world)->samples, TIMES + TIMES * STILL);
    assert_int_equal(quality_of(&world)->exact, TIMES + TIMES * STILL);
    assert_int_equal(quality_of(&world)->moving, TIMES);
    end(&world);
}

/* So they are a share of the samples in every mode. */
static void stopped_samples_that_are_filtered_are_not_counted_as_stopped(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SAMPLER_MODE_CPU);
    for (unsigned i = 0; i < 10; i++) {
        world.now_ns++;
        struct sample sample = sample_of_many(&world, tid_of(CPU_OFF), 1);
        sample.is_asked = true;
        sample.runs = i % 2 ? VALUE_YES : VALUE_NO;
        sample.motion = &profile_quality(world.profile)->stopped;
        assert_int_equal(thread_cpus_add(&world.cpus, &sample), ERR_OK);
    }
    assert_int_equal(quality_of(&world)->samples, 5);
    assert_int_equal(quality_of(&world)->stopped, 5);
    end(&world);
}

/* Two threads that share a processor, which run forever. */
static int32_t start_rivals(void)
{
    static atomic_int tids[2];
    cpu_set_t before, one;
    pthread_t thread;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&thread, NULL, spin, &tids[i]), 0);
        assert_int_equal(pthread_detach(thread), 0);
        while (!atomic_load(&tids[i]))
            sched_yield();
        assert_int_equal(sched_setaffinity(atomic_load(&tids[i]), sizeof one, &one), 0);
    }
    return atomic_load(&tids[0]);
}

static struct state_sums sums_of_300_samples(int32_t tid, bool is_still)
{
    struct world world;
    begin(&world, SAMPLER_MODE_WALL);
    world.cpus.created_ns = clock_now_ns();
    for (int i = 0; i < 300; i++) {
        const struct timespec pause = { .tv_nsec = (long)NS_PER_MS };
        nanosleep(&pause, NULL);
        world.now_ns = clock_now_ns();
        take_sample(&world, tid, 0, is_still);
    }
    assert_int_equal(thread_cpus_flush(&world.cpus, clock_now_ns()), ERR_OK);
    const struct state_sums sums = sums_of(&world);
    end(&world);
    return sums;
}

/* Whether or not its stack moves.  On a busy machine it may be without one, or have one, all the time. */
static void a_thread_without_a_processor_is_runnable(void **state)
{
    enum { TRIES = 20 };
    const int32_t tid = start_rivals();
    (void)state;
    for (int still = 0; still <= 1; still++) {
        struct state_sums sums = { 0 };
        bool has_both = false;
        for (int i = 0; i < TRIES && !has_both; i++) {
            sums = sums_of_300_samples(tid, still);
            assert_int_equal(sums.samples, 300);
            has_both = sums.yes[STATE_FLAG_RUNNABLE] > sums.samples / 8 &&
                       sums.yes[STATE_FLAG_ON_CPU] > 0;
        }
        assert_true(has_both);
        assert_true(sums.unknown[STATE_FLAG_RUNNABLE] <= sums.samples / 8);
    }
}

TEST_MAIN(cmocka_unit_test(stopped_samples_that_are_filtered_are_not_counted_as_stopped),
          cmocka_unit_test(a_sample_counts_as_often_as_it_stands_for_ticks),
          cmocka_unit_test(a_sink_hears_what_is_counted_and_when),
          cmocka_unit_test(what_ran_just_now_runs),
          cmocka_unit_test(what_was_ready_at_first_only_counts_as_ready_once),
          cmocka_unit_test(time_without_a_processor_is_of_the_samples_then),
          cmocka_unit_test(a_stopped_thread_is_counted_as_it_was_before),
          cmocka_unit_test(a_runnable_thread_is_not_on_a_cpu),
          cmocka_unit_test(the_word_that_a_thread_waits_at_says_whether_it_waits_for_the_gil),
          cmocka_unit_test(a_thread_without_a_processor_is_runnable),
          cmocka_unit_test(a_thread_is_asked_before_it_is_stopped),
          cmocka_unit_test(what_waits_shortly_is_as_it_was_at_first),
          cmocka_unit_test(a_mode_keeps_what_it_asks_for_and_what_is_unknown),
          cmocka_unit_test(a_thread_that_ran_all_the_time_is_kept_by_cpu),
          cmocka_unit_test(samples_that_waited_are_filtered_too),
          cmocka_unit_test(what_is_filtered_is_nowhere),
          cmocka_unit_test(what_may_be_kept_is_known_before_the_cpu_is))
