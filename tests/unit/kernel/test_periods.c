/* When the clocks of a processor make events, and for how many instants each of them stands. */
#include "sampler/base/clock.h"
#include "sampler/kernel/instants.h"
#include "sampler/kernel/periods.h"
#include "tests/support/test.h"

/* A processor with its clocks, and one thread that always runs. */
struct world {
    struct periods periods;
    uint64_t now_ns, next_ns[PERIODS];
    uint64_t counted_ns; /* when an event came last */
    long long balance_ns;
    uint64_t events, instants, uneven; /* events that stand for another number than one */
};

static void world_init(struct world *world, uint64_t seed, uint64_t period_ns)
{
    *world = (struct world){ 0 };
    periods_init(&world->periods, seed);
    periods_set(&world->periods, period_ns, 1);
    for (size_t i = 0; i < PERIODS; i++)
        world->next_ns[i] = periods_of(&world->periods, i);
}

/* Goes on to the next event.  Returns the instants that it stands for. */
static uint32_t next_event(struct world *world)
{
    size_t first = 0, changed[2];
    for (size_t i = 1; i < PERIODS; i++)
        if (world->next_ns[i] < world->next_ns[first])
            first = i;
    world->now_ns = world->next_ns[first];
    world->next_ns[first] += periods_of(&world->periods, first);
    if (periods_vary(&world->periods, world->now_ns, changed))
        for (size_t i = 0; i < 2; i++)
            world->next_ns[changed[i]] =
                world->now_ns + periods_of(&world->periods, changed[i]);
    const uint32_t instants = instants_take(world->now_ns - world->counted_ns,
                                            world->periods.period_ns, &world->balance_ns);
    world->counted_ns = world->now_ns;
    world->events++;
    world->instants += instants;
    world->uneven += instants != 1;
    return instants;
}

/* By how many standard errors of independent samples the share of a part differs from the truth. */
static double error_of_part(uint64_t seed, uint64_t period_ns, uint64_t loop_ns)
{
    enum { EVENTS = 4000 };
    static const double PART = 0.3;
    struct world world;
    double all = 0, in_part = 0;
    world_init(&world, seed, period_ns);
    while (world.events < EVENTS) {
        const uint32_t instants = next_event(&world);
        all += instants;
        if ((double)(world.now_ns % loop_ns) < PART * (double)loop_ns)
            in_part += instants;
    }
    return (in_part / all - PART) / sqrt(PART * (1 - PART) / all);
}

static void a_program_in_step_has_its_shares(void **state)
{
    enum { RECORDINGS = 100 };
    static const uint64_t rates_hz[] = { 10, 100, 1000, 10000 };
    static const double loops[] = { 0.25, 0.5, 1, 1.5, 2, 3, 4, 8 }; /* times the mean period */
    (void)state;
    for (size_t r = 0; r < sizeof rates_hz / sizeof *rates_hz; r++) {
        const uint64_t period_ns = NS_PER_S / rates_hz[r];
        for (size_t l = 0; l < sizeof loops / sizeof *loops; l++) {
            double squares = 0;
            for (uint64_t seed = 0; seed < RECORDINGS; seed++) {
                const uint64_t loop_ns = (uint64_t)(loops[l] * (double)period_ns);
                const double error = error_of_part(seed, period_ns, loop_ns);
                squares += error * error;
            }
            /* 1 if the instants were independent of each other; with one clock, 2 to 10. */
            const double mean = sqrt(squares / RECORDINGS);
            if (mean > 2)
                fail_msg("%lu Hz, a loop of %g periods: off by %.1f standard errors",
                         (unsigned long)rates_hz[r], loops[l], mean);
        }
    }
}

static void there_are_as_many_instants_as_requested(void **state)
{
    static const uint64_t rates_hz[] = { 1, 19, 100, 1000, 10000 };
    (void)state;
    for (size_t r = 0; r < sizeof rates_hz / sizeof *rates_hz; r++) {
        struct world world;
        world_init(&world, r, NS_PER_S / rates_hz[r]);
        while (world.events < 20000)
            next_event(&world);
        const double expected = (double)world.now_ns * (double)rates_hz[r] / NS_PER_S;
        assert_true(fabs((double)world.instants - expected) <= INSTANTS_BY_CHANCE + 1);
        /* And each of them is an event. */
        assert_true(world.uneven < world.events / 50);
    }
}

static void clocks_differ_and_have_all_of_the_rate(void **state)
{
    struct periods periods;
    size_t changed[2], changes = 0;
    (void)state;
    periods_init(&periods, 7);
    periods_set(&periods, NS_PER_MS, 1);
    for (uint64_t now_ns = 1; changes < 2000; now_ns += 50 * NS_PER_MS) {
        const bool has_changed = periods_vary(&periods, now_ns, changed);
        double sum = 0;
        changes += has_changed;
        assert_true(!has_changed || changed[0] != changed[1]);
        for (size_t i = 0; i < PERIODS; i++) {
            sum += periods.shares[i];
            assert_true(periods.shares[i] > 0.3 / PERIODS && periods.shares[i] < 2.0 / PERIODS);
        }
        assert_true(fabs(sum - 1) < 1e-9);
    }
}

static void many_processors_are_interrupted_less_often(void **state)
{
    size_t changes[2] = { 0 }, changed[2];
    (void)state;
    for (size_t many = 0; many < 2; many++) {
        struct periods periods;
        periods_init(&periods, 7);
        periods_set(&periods, NS_PER_MS, many ? 64 : 1);
        for (uint64_t now_ns = 1; now_ns < 100 * NS_PER_S; now_ns += 10 * NS_PER_MS)
            changes[many] += periods_vary(&periods, now_ns, changed);
    }
    assert_in_range(changes[0], 400, 550);
    assert_in_range(changes[1], 40, 70);
}

static void an_event_that_comes_late_stands_for_what_was_missed(void **state)
{
    long long balance_ns = 0;
    (void)state;
    assert_int_equal(instants_take(NS_PER_MS, NS_PER_MS, &balance_ns), 1);
    /* 50 events were due. */
    assert_in_range(instants_take(50 * NS_PER_MS, NS_PER_MS, &balance_ns),
                    50 - INSTANTS_BY_CHANCE, 50);
    uint64_t instants = 0;
    for (int i = 0; i < 100; i++)
        instants += instants_take(3 * NS_PER_MS, NS_PER_MS, &balance_ns);
    assert_in_range(instants, 300, 300 + INSTANTS_BY_CHANCE);
    assert_int_equal(instants_take(NS_PER_S * 1000, NS_PER_US, &balance_ns),
                     KERNEL_MAX_INSTANTS);
}

static void events_that_come_too_often_stand_for_nothing(void **state)
{
    long long balance_ns = 0;
    uint64_t instants = 0;
    (void)state;
    for (int i = 0; i < 1000; i++)
        instants += instants_take(NS_PER_MS / 10, NS_PER_MS, &balance_ns);
    assert_in_range(instants, 100, 100 + INSTANTS_BY_CHANCE);
}

static void a_short_life_has_samples_too(void **state)
{
    long long balance_ns = 0;
    (void)state;
    assert_int_equal(instants_take(1, NS_PER_MS, &balance_ns), 1);
}

TEST_GROUP(cmocka_unit_test(a_program_in_step_has_its_shares),
           cmocka_unit_test(there_are_as_many_instants_as_requested),
           cmocka_unit_test(clocks_differ_and_have_all_of_the_rate),
           cmocka_unit_test(many_processors_are_interrupted_less_often),
           cmocka_unit_test(an_event_that_comes_late_stands_for_what_was_missed),
           cmocka_unit_test(events_that_come_too_often_stand_for_nothing),
           cmocka_unit_test(a_short_life_has_samples_too))
