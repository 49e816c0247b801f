#include <stdlib.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/random.h"
#include "sampler/cpython/python_tick.h"
#include "sampler/session/remote/remote_target.h"
#include "sampler/session/target.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

enum { PID = 1 };
static const uint64_t WINDOW_NS = 250 * NS_PER_MS;

/* A target with one thread, whose ticks are read or skipped as a test says. */
struct world {
    struct target *target;
    struct remote_target remote;
    struct thread_cpus cpus;
    struct sink sink;
    uint64_t heard, heard_ns; /* samples, and the time of the last one */
    thread_id thread;
    node_id node;
    uint64_t now_ns, tick_ns, ticks;
    struct random random;
};

static void hear(void *context, const struct run *run)
{
    struct world *const world = context;
    assert_true(run->first_ns > world->heard_ns);
    world->heard += run->count;
    world->heard_ns = run->first_ns + (run->count - 1) * run->step_ns;
    assert_true(world->heard_ns <= world->now_ns);
}

static void begin(struct world *world)
{
    *world = (struct world){ .now_ns = NS_PER_S, .tick_ns = NS_PER_MS };
    world->sink = (struct sink){ .context = world, .count = hear };
    world->target = calloc(1, sizeof *world->target);
    assert_non_null(world->target);
    struct profile *const profile = made_profile();
    thread_cpus_init(&world->cpus, profile);
    world->cpus.sink = &world->sink;
    world->thread = made_thread(profile, PID, 0);
    world->node = made_node(profile, "main;work");
    world->target->fold.nodes.profile = profile;
    world->target->fold.cpus = &world->cpus;
    world->target->process.pid = PID;
    world->remote.target = world->target;
    random_init(&world->random, 1);
}

static void end(struct world *world)
{
    struct profile *const profile = world->target->fold.nodes.profile;
    thread_cpus_deinit(&world->cpus);
    free(world->target);
    profile_destroy(profile);
}

static const struct quality *quality_of(const struct world *world)
{
    return profile_quality(world->target->fold.nodes.profile);
}

static void pass(struct world *world)
{
    world->now_ns += world->tick_ns;
    world->ticks++;
    remote_target_skip(&world->remote, world->now_ns);
}

enum found { FOUND_STOPPED, FOUND_MOVING, FOUND_STILL, FOUND_KINDS };

/* Counts a thread that was read, for all ticks that were skipped too. */
static void add_sample(struct world *world, thread_id thread, enum found found)
{
    struct target *const target = world->target;
    const struct stops_skipped skipped = world->remote.stops.skipped;
    const struct sample sample = { .thread = thread,
                                   .pid = PID,
                                   .node = world->node,
                                   .spot = PROFILE_NO_SPOT,
                                   .certainty =
                                       &profile_quality(target->fold.nodes.profile)->exact,
                                   .is_still = found == FOUND_STILL,
                                   .is_asked = found == FOUND_STOPPED,
                                   .runs = VALUE_YES,
                                   .times = skipped.ticks + 1,
                                   .since_ns = skipped.first_ns,
                                   .now_ns = world->now_ns };
    assert_int_equal(thread_cpus_add(&world->cpus, &sample), ERR_OK);
}

static void read_thread(struct world *world, enum found found)
{
    world->now_ns += world->tick_ns;
    world->ticks++;
    add_sample(world, world->thread, found);
    stops_stood(&world->remote.stops);
    world->remote.last = (struct remote_reading){ .now_ns = world->now_ns, .weight = 1 };
}

static void repeat(struct world *world)
{
    assert_int_equal(remote_target_repeat(&world->remote, world->now_ns), ERR_OK);
}

static void seal(struct world *world)
{
    repeat(world);
    assert_int_equal(thread_cpus_flush(&world->cpus, world->now_ns), ERR_OK);
}

/* So no window has a sample more or less, whatever comes after it: another rate, a pause, the end. */
static void every_window_has_a_sample_for_each_of_its_ticks(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    read_thread(&world, FOUND_STOPPED);
    for (unsigned window = 0; window < 200; window++) {
        const uint64_t ends_ns = world.now_ns + WINDOW_NS;
        world.tick_ns = NS_PER_MS << random_below(&world.random, 4);
        while (world.now_ns < ends_ns)
            if (random_below(&world.random, 1 + window % 100))
                pass(&world);
            else
                read_thread(&world, (enum found)random_below(&world.random, FOUND_KINDS));
        seal(&world);
        assert_int_equal(quality_of(&world)->samples, world.ticks);
        assert_int_equal(world.heard, world.ticks);
        if (window % 10 == 9)
            world.now_ns += NS_PER_S;
    }
    end(&world);
}

static void a_target_that_ends_has_a_sample_for_each_tick(void **state)
{
    (void)state;
    for (enum found found = FOUND_STOPPED; found < FOUND_KINDS; found++) {
        struct world world;
        begin(&world);
        read_thread(&world, FOUND_STOPPED);
        read_thread(&world, found);
        for (unsigned i = 0; i < 9; i++)
            pass(&world);
        repeat(&world);
        assert_int_equal(thread_cpus_drop(&world.cpus, PID, world.now_ns), ERR_OK);
        assert_int_equal(quality_of(&world)->samples, 11);
        repeat(&world);
        assert_int_equal(quality_of(&world)->samples, 11);
        end(&world);
    }
}

/* The state of the repeated sample is that of the sample. */
static void what_is_repeated_was_running_if_the_thread_was(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    world.cpus.mode = SESSION_MODE_CPU;
    read_thread(&world, FOUND_STOPPED);
    pass(&world);
    seal(&world);
    assert_int_equal(quality_of(&world)->samples, 2);
    assert_int_equal(quality_of(&world)->filtered, 0);
    end(&world);
}

static void ticks_before_the_first_reading_wait_for_it(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    pass(&world);
    seal(&world);
    assert_int_equal(quality_of(&world)->samples, 0);
    read_thread(&world, FOUND_STOPPED);
    assert_int_equal(quality_of(&world)->samples, 2);
    end(&world);
}

/* A thread that the last reading did not find was not there. */
static void a_thread_that_had_ended_is_not_repeated(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    read_thread(&world, FOUND_STOPPED);
    world.thread = made_thread(world.target->fold.nodes.profile, PID, 1);
    read_thread(&world, FOUND_STOPPED);
    pass(&world);
    seal(&world);
    assert_int_equal(quality_of(&world)->samples, 3);
    world.target->process.pid = PID + 1;
    pass(&world);
    seal(&world);
    assert_int_equal(quality_of(&world)->samples, 3);
    end(&world);
}

static void failures_and_tasks_are_repeated_too(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    read_thread(&world, FOUND_STOPPED);
    world.target->fold.tasks = &world.target->tasks;
    world.remote.last.failures[ERR_FAULT] = 2;
    for (unsigned i = 0; i < 3; i++)
        pass(&world);
    seal(&world);
    assert_int_equal(quality_of(&world)->failed_fault, 6);
    assert_int_equal(quality_of(&world)->failed_gone, 0);
    assert_int_equal(world.target->tasks.owed, 3);
    end(&world);
}

/* One of many threads is sampled each time, and stands for some. */
static void what_a_reading_stands_for_is_repeated(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    read_thread(&world, FOUND_STOPPED);
    world.remote.last.weight = 2.5;
    for (unsigned i = 0; i < 4; i++)
        pass(&world);
    seal(&world);
    assert_int_equal(quality_of(&world)->samples, 1 + 10);
    assert_int_equal(quality_of(&world)->extrapolated, 6);
    end(&world);
}

/* An interpreter with two threads, whose readings end as a test says. */
static struct failing_reader {
    struct world *world;
    thread_id second;
    enum err_code choosing, reading_tasks, reading_second;
    uint64_t first_samples, second_samples, task_ticks;
} reader;

/* The code objects of every interpreter here. */
static struct code_table codes;

uint64_t __wrap_clock_now_ns(void);
struct code_table *__wrap_python_codes(struct python *python);
remote_addr __wrap_python_anchor(const struct python *python);
enum err_code __wrap_python_choose(struct python *python, bool all_threads);
struct thread *const *__wrap_python_chosen(const struct python *python, size_t *count_out);
enum three_valued __wrap_python_knows_opcodes(const struct python *python);
double __wrap_python_weight(const struct python *python);
enum err_code __wrap_python_read_tasks(struct python *python, uint64_t now_ns);
enum err_code __wrap_python_sample(struct python *python, struct thread *const *threads,
                                   size_t count, python_sample_fn on_sample, void *context);

uint64_t __wrap_clock_now_ns(void)
{
    return reader.world->now_ns;
}

struct code_table *__wrap_python_codes(struct python *python)
{
    (void)python;
    return &codes;
}

remote_addr __wrap_python_anchor(const struct python *python)
{
    (void)python;
    return (remote_addr)(uintptr_t)&codes;
}

enum err_code __wrap_python_choose(struct python *python, bool all_threads)
{
    (void)python, (void)all_threads;
    return reader.choosing;
}

struct thread *const *__wrap_python_chosen(const struct python *python, size_t *count_out)
{
    (void)python;
    *count_out = 0;
    return NULL;
}

enum three_valued __wrap_python_knows_opcodes(const struct python *python)
{
    (void)python;
    return VALUE_YES;
}

double __wrap_python_weight(const struct python *python)
{
    (void)python;
    return 1;
}

/* Tasks that are read are counted for all ticks that are owed to them. */
enum err_code __wrap_python_read_tasks(struct python *python, uint64_t now_ns)
{
    (void)python, (void)now_ns;
    if (!reader.reading_tasks)
        reader.task_ticks += reader.world->target->tasks.owed;
    return reader.reading_tasks;
}

enum err_code __wrap_python_sample(struct python *python, struct thread *const *threads,
                                   size_t count, python_sample_fn on_sample, void *context)
{
    struct world *const world = reader.world;
    (void)python, (void)threads, (void)count, (void)on_sample, (void)context;
    add_sample(world, world->thread, FOUND_STOPPED);
    if (!reader.reading_second)
        add_sample(world, reader.second, FOUND_STOPPED);
    return reader.reading_second;
}

static void hear_each(void *context, const struct run *run)
{
    struct failing_reader *const heard = context;
    uint64_t *const samples =
        run->thread == heard->second ? &heard->second_samples : &heard->first_samples;
    *samples += run->count;
}

/* Whatever fails after which part of the work, and however many ticks were skipped before it. */
static void a_turn_that_fails_counts_no_tick_twice(void **state)
{
    static const struct session_options options = { .stop = SESSION_STOP_AUTO };
    static struct tasks none;
    struct world world;
    struct remote_tick tick = { .weight = 1 };
    uint64_t all = 0, first = 0, second = 0;
    (void)state;
    begin(&world);
    struct target *const target = world.target;
    reader = (struct failing_reader){ .world = &world };
    reader.second = made_thread(target->fold.nodes.profile, PID, 1);
    world.sink = (struct sink){ .context = &reader, .count = hear_each };
    target->options = &options;
    target->fold.tasks = &target->tasks;
    target->tasks.tasks = &none;
    target->tasks.nodes = &target->fold.nodes;
    target->tasks.cpus = target->fold.cpus;
    target->tasks.is_each = true;
    stops_init(&world.remote.stops, SESSION_STOP_AUTO, 0);
    for (unsigned i = 0; i < 2000; i++) {
        const bool fails = i && random_below(&world.random, 2);
        const uint64_t skipped = random_below(&world.random, 4);
        for (uint64_t k = 0; k < skipped; k++)
            pass(&world);
        world.now_ns += world.tick_ns;
        reader.choosing = fails && random_below(&world.random, 3) == 0 ? ERR_FAULT : ERR_OK;
        reader.reading_tasks = random_below(&world.random, 2) ? ERR_FAULT : ERR_OK;
        reader.reading_second = fails ? ERR_GONE : ERR_OK;
        /* The reading is to be one of moving threads, at this tick. */
        world.remote.stops.window_ends_ns = world.remote.stops.trial_ns = UINT64_MAX;
        const enum err_code rc = remote_target_sample(&world.remote, &tick);
        assert_int_equal(rc, reader.choosing ? ERR_FAULT : fails ? ERR_GONE : ERR_OK);
        all += skipped + (reader.choosing == ERR_OK);
        first += skipped + (reader.choosing == ERR_OK);
        second += skipped + !fails;
        assert_int_equal(reader.task_ticks + target->tasks.owed, all);
    }
    assert_int_equal(thread_cpus_flush(&world.cpus, world.now_ns), ERR_OK);
    assert_int_equal(reader.second_samples, second);
    assert_int_equal(reader.first_samples, first);
    end(&world);
}

static bool is_refused;
static struct permission_users asked;

static enum err_code refuse_some(const void *context,
                                 const struct permission_candidate *candidate, struct err *err)
{
    (void)context;
    asked = candidate->users;
    return is_refused ? err_set(err, ERR_PERM, "not this one") : ERR_OK;
}

/* As one of this process, whose users have changed since. */
static void open_target(struct target *target)
{
    *target = (struct target){ .users.ids = { 1, 2, 3, 4 } };
    assert_int_equal(process_open(&target->process, getpid(), NULL), ERR_OK);
}

static void the_rule_is_asked_again_of_a_target_with_other_users(void **state)
{
    struct target target;
    struct ending ending;
    struct err err = { 0 };
    (void)state;
    permission_use(refuse_some, NULL);
    open_target(&target);
    is_refused = false;
    assert_true(target_may_stay(&target, &ending));
    assert_int_equal(asked.ids[0], getuid());
    assert_memory_equal(&target.users, &asked, sizeof asked);
    is_refused = true;
    /* It has the same users: nothing is asked. */
    assert_true(target_may_stay(&target, &ending));
    target.users.ids[2]++;
    assert_false(target_may_stay(&target, &ending));
    assert_true(ending.is_refused);
    assert_int_equal(ending.state, SESSION_ENDED);
    assert_int_equal(target_check_permission(&target, &err), ERR_PERM);
    assert_string_equal(err.message, "not this one");
    process_close(&target.process);
    permission_use(NULL, NULL);
}

static void nothing_new_is_read_of_a_target_that_is_permitted_no_longer(void **state)
{
    struct target target;
    (void)state;
    permission_use(refuse_some, NULL);
    open_target(&target);
    is_refused = true;
    codes.counters.misses = 0;
    assert_true(target_is_same(&target));
    codes.counters.misses = 1;
    assert_false(target_is_same(&target));
    assert_false(target_is_same(&target));
    is_refused = false;
    assert_true(target_is_same(&target));
    process_close(&target.process);
    permission_use(NULL, NULL);
}

/* Then nobody could tell that it executes another program. */
static void a_target_whose_memory_is_not_open_is_refused_under_a_rule(void **state)
{
    struct target target;
    (void)state;
    open_target(&target);
    close(target.process.space_fd);
    target.process.space_fd = -1;
    assert_int_equal(target_check_permission(&target, NULL), ERR_OK);
    is_refused = false;
    permission_use(refuse_some, NULL);
    assert_int_equal(target_check_permission(&target, NULL), ERR_PERM);
    process_close(&target.process);
    permission_use(NULL, NULL);
}

TEST_GROUP(cmocka_unit_test(every_window_has_a_sample_for_each_of_its_ticks),
           cmocka_unit_test(a_target_that_ends_has_a_sample_for_each_tick),
           cmocka_unit_test(what_is_repeated_was_running_if_the_thread_was),
           cmocka_unit_test(ticks_before_the_first_reading_wait_for_it),
           cmocka_unit_test(a_thread_that_had_ended_is_not_repeated),
           cmocka_unit_test(failures_and_tasks_are_repeated_too),
           cmocka_unit_test(what_a_reading_stands_for_is_repeated),
           cmocka_unit_test(a_turn_that_fails_counts_no_tick_twice),
           cmocka_unit_test(the_rule_is_asked_again_of_a_target_with_other_users),
           cmocka_unit_test(nothing_new_is_read_of_a_target_that_is_permitted_no_longer),
           cmocka_unit_test(a_target_whose_memory_is_not_open_is_refused_under_a_rule))
