#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/profile/memory_log.h"
#include "sampler/profile/sink.h"
#include "sampler/session/memory_reader.h"
#include "sampler/session/target.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

enum { MIB = 1 << 20, MANY = MEMORY_READER_TURN + 8, STEP_MS = 250 };

struct world {
    struct profile *profile;
    struct memory_reader reader;
    struct target *targets[MANY];
    size_t count;
    struct sink sink;
    uint32_t heard; /* rows that the sink got */
    uint64_t now_ns;
};

static void hear(void *context, const struct memory_step *step, const struct memory_use *uses)
{
    struct world *const world = context;
    assert_non_null(uses);
    world->heard += step->count;
}

static void begin(struct world *world)
{
    *world = (struct world){ .profile = made_profile(), .now_ns = NS_PER_S };
    world->sink = (struct sink){ .context = world, .memory = hear };
}

static void add_target(struct world *world, pid_t pid, const char *name)
{
    struct target *const target = calloc(1, sizeof *target);
    struct err err = { 0 };
    assert_non_null(target);
    assert_ok(process_open(&target->process, pid, &err), &err);
    assert_ok(profile_process(world->profile, pid, made_string(world->profile, name),
                              &target->fold.nodes.process, &err),
              &err);
    world->targets[world->count++] = target;
}

static void read_all(struct world *world)
{
    struct err err = { 0 };
    world->now_ns += STEP_MS * NS_PER_MS;
    assert_ok(memory_reader_read(&world->reader, world->targets, world->count, world->profile,
                                 &world->sink, world->now_ns, &err),
              &err);
}

static struct memory_log log_of(struct world *world)
{
    struct memory_log log;
    assert_int_equal(profile_copy_memory(world->profile, 0, 0, &log, NULL), ERR_OK);
    return log;
}

static void end(struct world *world)
{
    for (size_t i = 0; i < world->count; i++) {
        process_close(&world->targets[i]->process);
        free(world->targets[i]);
    }
    profile_destroy(world->profile);
}

static void growth_and_its_faults_are_read(void **state)
{
    const size_t bytes = 16 * MIB;
    struct world world;
    (void)state;
    begin(&world);
    add_target(&world, getpid(), "self");
    read_all(&world);
    char *const area =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(area != MAP_FAILED);
    (void)madvise(area, bytes, MADV_NOHUGEPAGE);
    memset(area, 1, bytes);
    read_all(&world);
    munmap(area, bytes);
    read_all(&world);
    struct memory_log log = log_of(&world);
    assert_int_equal(log.step_count, 3);
    assert_int_equal(world.heard, 3);
    /* A sanitizer has memory of its own for that area. */
    const uint64_t grown = log.uses[1].rss_bytes - log.uses[0].rss_bytes;
    assert_in_range(grown, bytes - MIB, PYROMETER_IS_SANITIZED ? UINT64_MAX : bytes + MIB);
    assert_in_range(log.uses[1].rss_bytes - log.uses[2].rss_bytes, bytes - MIB,
                    PYROMETER_IS_SANITIZED ? UINT64_MAX : bytes + MIB);
    /* Those from before the session are not of it. */
    assert_int_equal(log.uses[0].minor_faults, 0);
    assert_true(log.uses[1].minor_faults >= bytes / (size_t)sysconf(_SC_PAGESIZE));
    assert_true(log.steps[2].start_ns == log.steps[1].end_ns);
    memory_log_deinit(&log);
    end(&world);
}

static void a_process_that_ended_has_no_row(void **state)
{
    const pid_t pid = fork();
    struct world world;
    (void)state;
    if (pid == 0)
        for (;;)
            pause();
    assert_true(pid > 0);
    begin(&world);
    add_target(&world, getpid(), "self");
    add_target(&world, pid, "child");
    read_all(&world);
    assert_int_equal(world.heard, 2);
    /* A zombie still has its pid, and after that another process may have it. */
    assert_int_equal(kill(pid, SIGKILL), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    read_all(&world);
    assert_int_equal(world.heard, 3);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    read_all(&world);
    assert_int_equal(world.heard, 4);
    end(&world);
}

static void of_many_the_costly_part_is_read_in_turn(void **state)
{
    struct world world;
    char name[16];
    (void)state;
    begin(&world);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "worker-%d", i);
        add_target(&world, getpid(), name);
    }
    read_all(&world);
    assert_int_equal(world.heard, MANY);
    size_t read = 0;
    for (size_t i = 0; i < MANY; i++)
        read += world.targets[i]->memory.turns;
    assert_int_equal(read, MEMORY_READER_TURN);
    read_all(&world);
    for (size_t i = 0; i < MANY; i++)
        assert_in_range(world.targets[i]->memory.turns, 1, 2);
    end(&world);
}

/* As after a pause: a step does not stand for a time in which nothing was read. */
static void a_gap_is_no_step(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    add_target(&world, getpid(), "self");
    read_all(&world);
    world.now_ns += 60 * NS_PER_S;
    read_all(&world);
    struct memory_log log = log_of(&world);
    assert_int_equal(log.step_count, 2);
    assert_true(log.steps[1].end_ns - log.steps[1].start_ns == STEP_MS * NS_PER_MS);
    assert_true(log.steps[1].end_ns == world.now_ns);
    memory_log_deinit(&log);
    end(&world);
}

static void without_targets_nothing_is_added(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    read_all(&world);
    struct memory_log log = log_of(&world);
    assert_int_equal(log.step_count, 0);
    assert_int_equal(world.heard, 0);
    end(&world);
}

TEST_GROUP(cmocka_unit_test(growth_and_its_faults_are_read),
           cmocka_unit_test(a_process_that_ended_has_no_row),
           cmocka_unit_test(of_many_the_costly_part_is_read_in_turn),
           cmocka_unit_test(a_gap_is_no_step),
           cmocka_unit_test(without_targets_nothing_is_added))
