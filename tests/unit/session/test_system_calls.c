/* How many system calls a tick takes: of a made interpreter whose threads have the ids of threads
 * of this program, sampled by a whole target.  The clock is the test's, so the counts are exact. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/process/cpu.h"
#include "sampler/session/fold/thread_cpu.h"
#include "sampler/session/origins.h"
#include "sampler/session/remote/remote_target.h"
#include "sampler/session/target.h"
#include "tests/support/counted_calls.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/fake_heap.h"

enum {
    MAX_THREADS = 41,
    DEPTH = 10,
    TICKS_PER_SECOND = 1000,
    TICKS_PER_WINDOW = 250,
    /* pthread_t is the address of a structure: glibc keeps the thread's id there. */
    PTHREAD_BYTES = 1024,
    PTHREAD_TID_AT = 720,
};

/* Threads of this program that wait until all of them may end. */
static struct {
    pthread_barrier_t begin, end;
    pthread_t threads[MAX_THREADS];
    int32_t tids[MAX_THREADS];
} sleepers;

static void *sleep_until_end(void *context)
{
    *(int32_t *)context = (int32_t)syscall(SYS_gettid);
    pthread_barrier_wait(&sleepers.begin);
    pthread_barrier_wait(&sleepers.end);
    return NULL;
}

static int start_sleepers(void **state)
{
    (void)state;
    sleepers.tids[0] = getpid();
    pthread_barrier_init(&sleepers.begin, NULL, MAX_THREADS);
    pthread_barrier_init(&sleepers.end, NULL, MAX_THREADS);
    for (size_t i = 1; i < MAX_THREADS; i++)
        if (pthread_create(&sleepers.threads[i], NULL, sleep_until_end, &sleepers.tids[i]))
            return -1;
    pthread_barrier_wait(&sleepers.begin);
    return 0;
}

static int end_sleepers(void **state)
{
    (void)state;
    pthread_barrier_wait(&sleepers.end);
    for (size_t i = 1; i < MAX_THREADS; i++)
        pthread_join(sleepers.threads[i], NULL);
    return 0;
}

/* One thread, which calls and returns from a leaf function. */
struct mover {
    struct fake_thread thread;
    remote_addr frames[DEPTH + 1]; /* of 3.8 */
    remote_addr leaf;              /* a code object */
};

struct world {
    struct fake_python python;
    struct mover *movers;
    size_t count;
    bool is_in_leaf;
    struct profile *profile;
    struct thread_cpus cpus;
    struct origins origins;
    struct session_options options;
    struct target *target;
    struct remote_target remote;
    struct remote_tick tick;
    uint64_t now_ns;
};

static struct world *world;

static enum err_code read_made_memory(struct memory *memory, const struct memory_span *spans,
                                      size_t count, size_t *bytes_out)
{
    struct memory *const made = &world->python.memory.memory;
    (void)memory;
    return made->readv(made, spans, count, bytes_out);
}

/* In place of the search for an interpreter. */
enum err_code runtime_find(struct process *process, enum runtime_effort effort,
                           struct runtime *out, struct err *err)
{
    (void)effort;
    (void)err;
    process->memory.memory.readv = read_made_memory;
    *out = world->python.runtime;
    return ERR_OK;
}

enum err_code runtime_find_others(struct process *process, remote_addr chosen,
                                  struct runtime_list *out, struct err *err)
{
    (void)process;
    (void)chosen;
    (void)err;
    out->count = 0;
    return ERR_OK;
}

enum err_code runtime_find_section(int pid, const char *name, remote_addr *out)
{
    (void)pid;
    (void)name;
    (void)out;
    return ERR_NOT_FOUND;
}

static bool has_heap_frames(void)
{
    return world->python.minor < FAKE_OLDEST_MINOR;
}

static void make_heap_stack(struct mover *mover)
{
    remote_addr frame = 0;
    for (size_t i = 0; i <= DEPTH; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%zu", i);
        frame = fake_heap_call(&world->python, mover->thread.addr,
                               fake_heap_code(&world->python, name), frame);
        mover->frames[i] = frame;
    }
    fake_heap_set_executing(&world->python, frame, false);
    fake_heap_set_current(&world->python, mover->thread.addr, mover->frames[DEPTH - 1]);
}

static void make_stack(struct mover *mover)
{
    for (size_t i = 0; i < DEPTH; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%zu", i);
        fake_push(&mover->thread, fake_function(&world->python, name),
                  i ? FAKE_CALL : FAKE_CALL_FROM_C);
    }
    mover->leaf = fake_function(&world->python, "leaf");
}

/* Every thread calls its leaf function, or returns from it. */
static void move(void)
{
    world->is_in_leaf = !world->is_in_leaf;
    for (size_t i = 0; i < world->count; i++) {
        struct mover *const mover = &world->movers[i];
        if (has_heap_frames()) {
            fake_heap_set_executing(&world->python, mover->frames[DEPTH], world->is_in_leaf);
            fake_heap_set_current(&world->python, mover->thread.addr,
                                  mover->frames[world->is_in_leaf ? DEPTH : DEPTH - 1]);
        } else if (world->is_in_leaf) {
            fake_push(&mover->thread, mover->leaf, FAKE_CALL);
        } else {
            fake_pop(&mover->thread);
        }
    }
}

static void begin(unsigned minor, size_t threads)
{
    struct err err = { 0 };
    world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->now_ns = NS_PER_S;
    counted_set_clock(world->now_ns);
    fake_python_init(&world->python, minor);
    world->movers = calloc(threads, sizeof *world->movers);
    assert_non_null(world->movers);
    world->count = threads;
    const remote_addr interp = fake_interp(&world->python, 0);
    for (size_t i = 0; i < threads; i++) {
        const remote_addr pthread = fake_alloc(&world->python, PTHREAD_BYTES);
        const int32_t tid = sleepers.tids[i];
        fake_memory_put_u32(&world->python.memory, pthread + PTHREAD_TID_AT, (uint32_t)tid);
        fake_thread_init(&world->movers[i].thread, &world->python, interp, pthread, tid);
        if (has_heap_frames())
            make_heap_stack(&world->movers[i]);
        else
            make_stack(&world->movers[i]);
    }
    world->profile = made_profile();
    thread_cpus_init(&world->cpus, world->profile);
    origins_init(&world->origins);
    world->options =
        (struct session_options){ .all_threads = true, .stop = SESSION_STOP_NEVER };
    world->tick.weight = 1;
    assert_ok(target_open(getpid(), RUNTIME_QUICK, SESSION_MODE_WALL, NULL,
                          profile_strings(world->profile), &world->target, &err),
              &err);
    assert_ok(target_join(world->target, world->profile, &world->cpus, &world->origins, NULL,
                          &world->options, &err),
              &err);
    remote_target_init(&world->remote, world->target);
}

static void end(void)
{
    target_close(world->target);
    origins_deinit(&world->origins);
    thread_cpus_deinit(&world->cpus);
    profile_destroy(world->profile);
    fake_python_deinit(&world->python);
    free(world->movers);
    free(world);
}

static void run(unsigned ticks, bool moves)
{
    for (unsigned i = 0; i < ticks; i++) {
        world->now_ns += NS_PER_S / TICKS_PER_SECOND;
        counted_set_clock(world->now_ns);
        if (moves)
            move();
        /* How busy this machine is does not count. */
        for (size_t thread = 0; thread < world->cpus.count; thread++)
            world->cpus.items[thread].queue.crowded_ns = 0;
        assert_int_equal(remote_target_sample(&world->remote, &world->tick), ERR_OK);
        if ((i + 1) % TICKS_PER_WINDOW == 0)
            assert_int_equal(thread_cpus_flush(&world->cpus, world->now_ns), ERR_OK);
    }
}

/* Calls in a second of 1000 ticks, once all functions are known: process_vm_readv, and those for
 * files of /proc. */
static const struct budget {
    unsigned minor;
    size_t threads;
    bool moves;
    uint64_t reads, files;
} budgets[] = {
    /* 3.x, threads, moves, reads, files */
    { 8, 1, false, 1126, 48 },    { 8, 1, true, 1022, 1000 },
    { 8, 41, false, 6222, 2288 }, { 8, 41, true, 40522, 41320 },
    { 11, 1, false, 1038, 8 },    { 11, 1, true, 1038, 1000 },
    { 11, 41, false, 1678, 648 }, { 11, 41, true, 41178, 41320 },
    { 13, 1, false, 1038, 8 },    { 13, 1, true, 1038, 1000 },
    { 13, 41, false, 1678, 648 }, { 13, 41, true, 41178, 41320 },
    { 15, 1, false, 1022, 8 },    { 15, 1, true, 1038, 1000 },
    { 15, 41, false, 1022, 648 }, { 15, 41, true, 1678, 41320 },
};

static void a_second_takes_as_many_system_calls_as_stated(void **state)
{
    bool is_kept = true;
    struct cpu_meter meter;
    (void)state;
    if (!cpu_meter_open(&meter, getpid(), getpid())) {
        print_message("the kernel does not account for threads (CONFIG_SCHED_INFO)\n");
        skip();
    }
    cpu_meter_close(&meter);
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        const struct budget *const budget = &budgets[i];
        begin(budget->minor, budget->threads);
        run(TICKS_PER_WINDOW, true);
        run(TICKS_PER_WINDOW, budget->moves);
        const struct quality *const quality = profile_quality(world->profile);
        const uint64_t samples = quality->samples, files = counted_file_calls();
        const struct memory *const memory = &world->target->process.memory.memory;
        const uint64_t reads = memory->reads;
        run(TICKS_PER_SECOND, budget->moves);
        assert_int_equal(quality->samples - samples, TICKS_PER_SECOND * budget->threads);
        const uint64_t reads_now = memory->reads - reads;
        const uint64_t files_now = counted_file_calls() - files;
        if (reads_now != budget->reads || files_now != budget->files) {
            print_message("3.%u, %zu threads, %s: %llu reads, %llu of files\n", budget->minor,
                          budget->threads, budget->moves ? "moving" : "still",
                          (unsigned long long)reads_now, (unsigned long long)files_now);
            is_kept = false;
        }
        end();
    }
    assert_true(is_kept);
}

TEST_GROUP_WITHIN(start_sleepers, end_sleepers,
                  cmocka_unit_test(a_second_takes_as_many_system_calls_as_stated))
