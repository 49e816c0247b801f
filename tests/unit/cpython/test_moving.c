/*
 * A thread that runs on while it is read: between any two slices of a read it takes some steps of
 * a program whose possible stacks are known.  No stack may be read that it never had.
 */
#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/stack/stack.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/stack_world.h"

enum { CHAINS = 2, MAX_DEPTH = 24, SLICE_BYTES = 64, SAMPLES = 4000 };

enum step { STEP_ROOM, STEP_FILL, STEP_ENTER, STEP_BEGIN, STEP_WORK, STEP_LEAVE, STEP_CLEAR };

struct program {
    struct stack_world *world;
    uint64_t random;
    size_t depth;                /* of a whole chain, without main */
    unsigned steps_in_a_hundred; /* slices, on average */
    unsigned work;               /* steps at the end of a chain */
    remote_addr codes[CHAINS][MAX_DEPTH];
    enum fake_call how[MAX_DEPTH];
    /* The position: a chain, and how deep in it. */
    size_t chain, at;
    bool returning;
    enum step step;
    unsigned worked;
    remote_addr frame;
    /* How often it was how deep, without main. */
    uint64_t steps, at_depth[MAX_DEPTH + 1];
};

/* xorshift64*: the same steps on every machine. */
static uint32_t random_below(struct program *program, uint32_t end)
{
    program->random ^= program->random >> 12;
    program->random ^= program->random << 25;
    program->random ^= program->random >> 27;
    return (uint32_t)(program->random * 0x2545f4914f6cdd1du >> 33) % end;
}

static void step_down(struct program *program)
{
    struct fake_thread *const thread = &program->world->thread;
    const remote_addr code = program->codes[program->chain][program->at];
    switch (program->step) {
    case STEP_ROOM:
        program->frame = fake_push_room(thread, code, program->how[program->at]);
        program->step = STEP_FILL;
        break;
    case STEP_FILL:
        fake_push_fill(thread, program->frame, code);
        program->step = STEP_ENTER;
        break;
    case STEP_ENTER:
        fake_push_enter(thread, program->frame);
        program->step = STEP_BEGIN;
        break;
    case STEP_BEGIN:
        fake_push_begin(thread, program->frame, code);
        program->at++;
        program->worked = 0;
        program->step = program->at == program->depth ? STEP_WORK : STEP_ROOM;
        break;
    case STEP_WORK:
        fake_go_to(thread, program->frame, 3 + program->worked % 8);
        program->returning = ++program->worked >= program->work;
        program->step = program->returning ? STEP_LEAVE : STEP_WORK;
        break;
    case STEP_LEAVE:
    case STEP_CLEAR: abort();
    }
}

static void step_up(struct program *program)
{
    struct fake_thread *const thread = &program->world->thread;
    if (program->step == STEP_LEAVE) {
        program->frame = fake_pop_leave(thread);
        program->step = STEP_CLEAR;
        return;
    }
    fake_pop_clear(thread, program->frame);
    program->step = STEP_LEAVE;
    if (--program->at > 0)
        return;
    program->returning = false;
    program->step = STEP_ROOM;
    program->chain = random_below(program, CHAINS);
}

/* The depth of the frame that runs, without main. */
static size_t depth_of(const struct program *program)
{
    return program->at - (program->step == STEP_CLEAR);
}

static void step(struct program *program)
{
    if (program->returning)
        step_up(program);
    else
        step_down(program);
    program->steps++;
    program->at_depth[depth_of(program)]++;
}

static void run_on(struct fake_memory *memory, const struct fake_read_at *moment, void *context)
{
    struct program *const program = context;
    unsigned steps = program->steps_in_a_hundred / 100;
    (void)memory;
    (void)moment;
    steps += random_below(program, 100) < program->steps_in_a_hundred % 100;
    for (unsigned i = 0; i < steps; i++)
        step(program);
}

static void start(struct program *program, unsigned minor, uint64_t seed)
{
    struct stack_world *const world = stack_world_create(minor);
    program->world = world;
    program->random = seed;
    fake_push(&world->thread, fake_function(&world->python, "main"), FAKE_CALL_FROM_C);
    for (size_t chain = 0; chain < CHAINS; chain++)
        for (size_t i = 0; i < program->depth; i++) {
            const char name[] = { (char)('a' + chain), (char)('a' + i), '\0' };
            /* Frames of both chains begin at the same places at first, and then do not. */
            const uint32_t words = i < 3 ? 6 : 6 + (uint32_t)(chain * i);
            program->codes[chain][i] =
                fake_code(&world->python, &(struct fake_code){ .name = name, .words = words });
        }
    world->python.memory.context = program;
    world->python.memory.slice_bytes = SLICE_BYTES;
    world->python.memory.hook = run_on;
}

/* Is it main and the beginning of one chain? */
static bool is_possible(const struct stack_world *world)
{
    const struct stack *const stack = &world->stack;
    if (stack->count == 0)
        return stack->certainty == STACK_TRUNCATED;
    if (strcmp(stack_world_name(world, 0), "main") != 0)
        return false;
    const char chain = stack->count > 1 ? stack_world_name(world, 1)[0] : 'a';
    for (size_t i = 1; i < stack->count; i++) {
        const char *const name = stack_world_name(world, i);
        if (name[0] != chain || name[1] != (char)('a' + i - 1))
            return false;
    }
    return true;
}

struct tally {
    unsigned samples, failed, impossible, truncated, exact;
    unsigned at_depth[MAX_DEPTH + 1]; /* of the program */
};

/* Half the sum of the differences of the shares of each depth. */
static double distance(const struct program *program, const struct tally *tally)
{
    double sum = 0;
    for (size_t i = 0; i <= MAX_DEPTH; i++) {
        const double truth = (double)program->at_depth[i] / (double)program->steps;
        const double seen = (double)tally->at_depth[i] / tally->samples;
        sum += truth > seen ? truth - seen : seen - truth;
    }
    return sum / 2;
}

static struct tally watch(struct program *program)
{
    struct tally tally = { 0 };
    struct stack_world *const world = program->world;
    for (int i = 0; i < SAMPLES; i++) {
        const unsigned apart = random_below(program, 200);
        for (unsigned k = 0; k < apart; k++)
            step(program);
        tally.samples++;
        if (stack_world_read(world)) {
            tally.failed++;
            continue;
        }
        tally.truncated += world->stack.certainty == STACK_TRUNCATED;
        tally.exact += world->stack.certainty == STACK_EXACT;
        tally.impossible += !is_possible(world);
        if (world->stack.count)
            tally.at_depth[world->stack.count - 1]++;
    }
    stack_world_destroy(world);
    return tally;
}

/* Watches a program of this pattern in every version.  `most_apart`: how far the shares of the
 * depths may be from the truth, 1: anywhere. */
static void watch_all(const struct program *pattern, double most_apart)
{
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct program program = *pattern;
        start(&program, minor, 0x9e3779b97f4a7c15u + minor);
        const struct tally tally = watch(&program);
        const double apart = distance(&program, &tally);
        print_message("3.%u: %u samples, %u exact, %u truncated, %.1f %% off\n", minor,
                      tally.samples, tally.exact, tally.truncated, apart * 100);
        assert_int_equal(tally.impossible, 0);
        assert_true(tally.failed <= SAMPLES / 100);
        assert_true(apart <= most_apart);
    }
}

static void a_slow_program_is_seen_as_it_is(void **state)
{
    (void)state;
    watch_all(&(struct program){ .depth = 6, .steps_in_a_hundred = 10, .work = 10 }, 0.08);
}

static void chains_that_alternate_during_a_reading_never_mix(void **state)
{
    (void)state;
    watch_all(&(struct program){ .depth = 6, .steps_in_a_hundred = 50, .work = 10 }, 0.25);
}

static void chains_that_come_and_go_within_a_reading_never_mix(void **state)
{
    (void)state;
    watch_all(&(struct program){ .depth = 6, .steps_in_a_hundred = 200, .work = 10 }, 1);
}

static void deep_chains_never_mix(void **state)
{
    (void)state;
    watch_all(&(struct program){ .depth = 20, .steps_in_a_hundred = 50, .work = 30 }, 0.3);
}

static const struct program WITH_C = {
    .depth = 6, .work = 10, .how = { FAKE_CALL, FAKE_CALL_FROM_C, FAKE_CALL, FAKE_CALL_FROM_C }
};

static void calls_from_c_are_seen_as_they_are(void **state)
{
    struct program program = WITH_C;
    (void)state;
    program.steps_in_a_hundred = 10;
    watch_all(&program, 0.12);
}

static void chains_with_calls_from_c_never_mix(void **state)
{
    struct program program = WITH_C;
    (void)state;
    program.steps_in_a_hundred = 50;
    watch_all(&program, 1);
}

/* The program moves between the readings only, and its thread is known to be stopped. */
static void every_stack_of_a_stopped_thread_is_exact(void **state)
{
    static const struct program patterns[] = {
        { .depth = 6, .work = 10 },
        { .depth = 20, .work = 30 },
        { .depth = 6,
          .work = 10,
          .how = { FAKE_CALL, FAKE_CALL_FROM_C, FAKE_CALL, FAKE_CALL_FROM_C } },
    };
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++)
        for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
            struct program program = patterns[i];
            start(&program, minor, 0x9e3779b97f4a7c15u + minor);
            struct stack *const stack = &program.world->stack;
            stack->copy.is_still = true;
            for (int sample = 0; sample < SAMPLES; sample++) {
                for (unsigned apart = random_below(&program, 200); apart > 0; apart--)
                    step(&program);
                assert_int_equal(stack_world_read(program.world), ERR_OK);
                assert_int_equal(stack->certainty, STACK_EXACT);
                assert_true(is_possible(program.world));
                assert_int_equal(stack->count, 1 + depth_of(&program));
            }
            stack_world_destroy(program.world);
        }
}

TEST_GROUP(cmocka_unit_test(a_slow_program_is_seen_as_it_is),
           cmocka_unit_test(chains_that_alternate_during_a_reading_never_mix),
           cmocka_unit_test(chains_that_come_and_go_within_a_reading_never_mix),
           cmocka_unit_test(deep_chains_never_mix),
           cmocka_unit_test(calls_from_c_are_seen_as_they_are),
           cmocka_unit_test(chains_with_calls_from_c_never_mix),
           cmocka_unit_test(every_stack_of_a_stopped_thread_is_exact))
