#define _GNU_SOURCE
#include "tests/unit/session/cpu_world.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "sampler/process/cpu.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

void cpu_world_begin(struct cpu_world *world, enum session_mode mode)
{
    memset(world, 0, sizeof *world);
    world->profile = made_profile();
    thread_cpus_init(&world->cpus, world->profile);
    world->cpus.mode = mode;
    world->thread = made_thread(world->profile, getpid(), gettid());
    world->node = made_node(world->profile, "main;work");
    world->now_ns = 1;
}

void cpu_world_end(struct cpu_world *world)
{
    thread_cpus_deinit(&world->cpus);
    profile_destroy(world->profile);
}

const struct quality *cpu_world_quality(const struct cpu_world *world)
{
    return profile_quality(world->profile);
}

struct sample cpu_world_sample(struct cpu_world *world, int32_t tid, uint32_t times)
{
    return (struct sample){ .thread = world->thread,
                            .pid = getpid(),
                            .tid = tid,
                            .node = world->node,
                            .in_request = world->in_request,
                            .spot = PROFILE_NO_SPOT,
                            .certainty = &profile_quality(world->profile)->exact,
                            .times = times,
                            .since_ns = world->now_ns - times,
                            .now_ns = world->now_ns };
}

void cpu_world_take(struct cpu_world *world, int32_t tid, state_bits state, bool is_still)
{
    const struct sample sample = { .times = 1,
                                   .thread = world->thread,
                                   .pid = getpid(),
                                   .tid = tid,
                                   .node = world->node,
                                   .in_request = world->in_request,
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

void *cpu_world_spin(void *tid)
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

int32_t cpu_world_tid(enum cpu cpu)
{
    static atomic_int resting, spinning;
    switch (cpu) {
    case CPU_ON: return tid_of_one_that(cpu_world_spin, &spinning, true);
    case CPU_OFF: return tid_of_one_that(rest, &resting, false);
    case CPU_UNKNOWN: break;
    }
    return 0;
}

/* One sample of a thread that moves, with this state.  The first one opens its account. */
void cpu_world_move(struct cpu_world *world, enum cpu cpu, state_bits state)
{
    world->now_ns++;
    cpu_world_take(world, cpu_world_tid(cpu), state, false);
}

struct state_sums cpu_world_sums(struct cpu_world *world)
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
