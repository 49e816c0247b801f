#include <math.h>
#include <stdlib.h>

#include "sampler/base/clock.h"
#include "sampler/session/remote/stops.h"
#include "tests/support/test.h"

static const uint64_t START_NS = NS_PER_S, TICK_NS = NS_PER_MS;
static const double SHARE = 0.01;

/* A target at 1 kHz, whose stops take stop_ns and whose moving readings are uncertain as often as said.  Of each
 * period it waits for a part; a thread that waits is not stopped. */
struct world {
    struct stops stops;
    uint64_t now_ns, stop_ns, period_ns, wait_ns;
    double uncertain, owed;
    uint64_t ticks, stood_for, waited, steps[STOPS_STILL + 1], stopped_ns, probes;
};

static void begin(struct world *world, enum session_stop policy)
{
    *world = (struct world){ .now_ns = START_NS, .stop_ns = 100000 };
    stops_init(&world->stops, policy, SHARE);
    random_init(&world->stops.random, 1);
}

static bool waits(const struct world *world)
{
    return world->period_ns && world->now_ns % world->period_ns < world->wait_ns;
}

static void read_moving(struct world *world)
{
    world->owed += world->uncertain;
    const bool is_uncertain = world->owed >= 1;
    world->owed -= is_uncertain;
    stops_note_reading(&world->stops, is_uncertain);
}

static struct stops_turn tick(struct world *world)
{
    world->now_ns += TICK_NS;
    world->ticks++;
    const struct stops_turn turn = stops_next(&world->stops, world->now_ns);
    world->steps[turn.step]++;
    if (turn.step == STOPS_SKIP)
        return turn;
    world->stood_for += turn.ticks;
    world->waited += waits(world) ? turn.ticks : 0;
    if (!waits(world) && turn.step == STOPS_STILL) {
        world->stopped_ns += world->stop_ns;
        stops_note_stop(&world->stops, world->stop_ns, world->now_ns);
    }
    const bool is_probed = turn.step == STOPS_STILL && stops_wants_probe(&world->stops);
    world->probes += is_probed;
    if (!waits(world) && (turn.step == STOPS_MOVING || is_probed))
        read_moving(world);
    stops_stood(&world->stops);
    return turn;
}

static void run(struct world *world, unsigned seconds)
{
    const uint64_t until_ns = world->now_ns + seconds * NS_PER_S;
    while (world->now_ns < until_ns)
        tick(world);
}

static void never_and_always_are_kept(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SESSION_STOP_NEVER);
    world.uncertain = 1;
    run(&world, 3);
    assert_int_equal(world.steps[STOPS_MOVING], world.ticks);
    begin(&world, SESSION_STOP_ALWAYS);
    world.stop_ns = 10 * NS_PER_MS;
    run(&world, 3);
    assert_int_equal(world.steps[STOPS_STILL], world.ticks);
    assert_int_equal(world.stood_for, world.ticks);
}

/* Above 2 % of uncertain readings threads are stopped; from then on until they are below 1 %. */
static void windows_begin_and_end_stopping_at_different_shares(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SESSION_STOP_AUTO);
    tick(&world);
    assert_true(world.stops.is_still);
    run(&world, 5);
    assert_false(world.stops.is_still);
    world.uncertain = 0.015;
    run(&world, 20);
    assert_false(world.stops.is_still);
    world.uncertain = 0.2;
    run(&world, 5);
    assert_true(world.stops.is_still);
    world.uncertain = 0;
    run(&world, 20);
    assert_false(world.stops.is_still);
    const uint64_t still = world.steps[STOPS_STILL];
    run(&world, 20);
    assert_int_equal(world.steps[STOPS_STILL], still);
}

static void a_share_between_the_two_keeps_what_is_done(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SESSION_STOP_AUTO);
    /* Stopping, with so many readings that one more or less does not cross a limit. */
    world.stops.readings = 1e6;
    for (unsigned i = 0; i < 10; i++) {
        world.stops.uncertain = 0.015 * world.stops.readings;
        world.stops.window_ends_ns = 0;
        tick(&world);
        assert_true(world.stops.is_still);
    }
}

/* The decision of a window does not depend on its own readings. */
static void a_window_is_decided_before_it_begins(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SESSION_STOP_AUTO);
    run(&world, 5);
    const uint64_t before_ns = world.stops.window_ends_ns;
    while (world.stops.window_ends_ns == before_ns)
        tick(&world);
    const uint64_t ends_ns = world.stops.window_ends_ns;
    world.uncertain = 1;
    while (world.now_ns + TICK_NS < ends_ns) {
        tick(&world);
        assert_false(world.stops.is_still);
    }
    tick(&world);
    assert_true(world.stops.is_still);
}

/* Whatever a stop takes: at no time more than the limit, but for a debt of a second and a half and the stop
 * that exceeded it. */
static void stops_never_take_more_than_their_share(void **state)
{
    static const uint64_t stops_ns[] = { 1000, 50000, 100000, 999999, 20000000, 700000000 };
    static const double uncertain[] = { 0, 0.5 };
    (void)state;
    for (size_t i = 0; i < sizeof stops_ns / sizeof *stops_ns; i++)
        for (size_t j = 0; j < sizeof uncertain / sizeof *uncertain; j++) {
            struct world world;
            begin(&world, SESSION_STOP_AUTO);
            world.stop_ns = stops_ns[i];
            world.uncertain = uncertain[j];
            for (unsigned n = 0; n < 60000; n++) {
                tick(&world);
                const double limit_ns =
                    SHARE * ((double)(world.now_ns - START_NS) + 1.5 * NS_PER_S);
                assert_true((double)world.stopped_ns <= limit_ns + (double)world.stop_ns);
            }
            assert_true(world.steps[STOPS_STILL] > 0);
        }
}

/* In any second, whatever single stops take. */
static void no_second_has_more_than_the_share_and_one_stop(void **state)
{
    enum { TICKS = 60000, SECOND = 1000 };
    static const uint64_t longest_ns[] = { 100000, 1000000, 6000000, 40000000 };
    uint64_t *const taken_ns = calloc(TICKS, sizeof *taken_ns);
    (void)state;
    for (size_t i = 0; i < sizeof longest_ns / sizeof *longest_ns; i++) {
        struct random random;
        struct world world;
        uint64_t sum_ns = 0;
        begin(&world, SESSION_STOP_AUTO);
        random_init(&random, 3);
        world.uncertain = 0.5;
        for (unsigned n = 0; n < TICKS; n++) {
            const uint64_t before_ns = world.stopped_ns;
            world.stop_ns = random_below(&random, 20) ? 30000 : longest_ns[i];
            tick(&world);
            taken_ns[n] = world.stopped_ns - before_ns;
            sum_ns += taken_ns[n] - (n >= SECOND ? taken_ns[n - SECOND] : 0);
            assert_true((double)sum_ns <= SHARE * 1e9 + (double)longest_ns[i]);
        }
    }
    free(taken_ns);
}

static void stops_take_most_of_their_share(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SESSION_STOP_AUTO);
    world.uncertain = 0.5;
    for (unsigned n = 0; n < 60000; n++) {
        world.stop_ns = n % 100 ? 40000 : 3000000;
        tick(&world);
    }
    assert_true((double)world.stopped_ns > 0.7 * SHARE * (double)(world.now_ns - START_NS));
    assert_true(world.steps[STOPS_MOVING] < world.ticks / 4);
}

static double stops_a_second(double share, uint64_t stop_ns)
{
    enum { SECONDS = 20 };
    struct world world;
    begin(&world, SESSION_STOP_AUTO);
    world.stops.share = share;
    world.uncertain = 1;
    world.stop_ns = stop_ns;
    run(&world, SECONDS);
    const uint64_t before = world.steps[STOPS_STILL];
    run(&world, SECONDS);
    return (double)(world.steps[STOPS_STILL] - before) / SECONDS;
}

/* Then they take less than their share. */
static void quick_stops_are_no_more_frequent_than_others(void **state)
{
    (void)state;
    const double quick = stops_a_second(SHARE, 1000);
    assert_true(quick > 335 && quick < 365);
    assert_true(fabs(stops_a_second(SHARE, 22000) - quick) < 20);
    assert_true(fabs(stops_a_second(SHARE / 4, 1000) - quick / 4) < 10);
}

/* Time in which nothing was stopped does not allow many stops at once. */
static void what_was_not_used_is_not_saved_up(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SESSION_STOP_AUTO);
    world.uncertain = 0.5;
    run(&world, 2);
    world.now_ns += 3600 * NS_PER_S;
    world.stopped_ns = 0;
    run(&world, 1);
    assert_true((double)world.stopped_ns <= 2 * SHARE * 1e9);
}

/* Each reading says how many ticks it stands for, whichever way threads are read. */
static void every_tick_is_stood_for_once(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SESSION_STOP_AUTO);
    for (unsigned i = 0; i < 40; i++) {
        uint64_t pending = world.ticks - world.stood_for;
        world.uncertain = i % 4 < 2 ? 0 : 0.5;
        world.stop_ns = i % 3 ? 90000 : NS_PER_MS;
        for (unsigned n = 0; n < 1000; n++) {
            const uint64_t now_ns = world.now_ns + TICK_NS;
            const struct stops_turn turn = tick(&world);
            assert_int_equal(turn.ticks, ++pending);
            assert_int_equal(turn.since_ns, now_ns - (pending - 1) * TICK_NS);
            if (turn.step != STOPS_SKIP)
                pending = 0;
            assert_int_equal(world.stops.skipped.ticks, pending);
        }
    }
    for (enum stops_step step = STOPS_SKIP; step <= STOPS_STILL; step++)
        assert_true(world.steps[step] > 0);
}

/* A skipped tick that is read after all stands for itself, and those before it are left to be repeated. */
static void a_skipped_tick_is_taken_back(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SESSION_STOP_AUTO);
    world.uncertain = 1;
    run(&world, 3);
    while (world.stops.skipped.ticks < 2)
        tick(&world);
    const uint32_t skipped = world.stops.skipped.ticks;
    const struct stops_turn turn = stops_take_back(&world.stops, world.now_ns);
    assert_int_equal(turn.step, STOPS_MOVING);
    assert_int_equal(turn.ticks, 1);
    assert_int_equal(turn.since_ns, world.now_ns);
    assert_int_equal(world.stops.skipped.ticks, skipped - 1);
}

/* A reading that failed stands for nothing: the next one stands for what was skipped before both. */
static void a_reading_that_failed_takes_no_skipped_ticks(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SESSION_STOP_AUTO);
    world.uncertain = 0.5;
    run(&world, 2);
    while (world.stops.skipped.ticks < 2)
        tick(&world);
    while (world.now_ns += TICK_NS, stops_next(&world.stops, world.now_ns).step == STOPS_SKIP)
        continue;
    const uint32_t skipped = world.stops.skipped.ticks;
    assert_true(skipped >= 2);
    const struct stops_turn turn = tick(&world);
    assert_int_equal(turn.ticks, skipped + 1);
}

/* Ticks are read at instants that do not depend on what the thread does, though only a thread that runs is
 * stopped: it is seen to wait as much as it does. */
static void waiting_counts_for_what_it_is(void **state)
{
    static const uint64_t periods_ns[] = { 3, 5, 10, 40, 1000, 5000 };
    (void)state;
    for (size_t i = 0; i < sizeof periods_ns / sizeof *periods_ns; i++) {
        struct world world;
        begin(&world, SESSION_STOP_AUTO);
        world.uncertain = 0.5;
        world.stop_ns = 45000;
        world.period_ns = periods_ns[i] * NS_PER_MS + 7919;
        world.wait_ns = world.period_ns / 5;
        run(&world, 400);
        const double share = (double)world.waited / (double)world.ticks;
        assert_true(share > 0.195 && share < 0.205);
    }
}

/* The known time of a stop is kept after an hour without one. */
static void a_long_rest_changes_no_gap(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SESSION_STOP_AUTO);
    world.uncertain = 0.5;
    world.stop_ns = 200000;
    run(&world, 10);
    world.period_ns = world.wait_ns = 1;
    run(&world, 3600);
    assert_in_range(world.stops.gap_ns, 10 * NS_PER_MS, 25 * NS_PER_MS);
    world.period_ns = 0;
    world.steps[STOPS_STILL] = 0;
    run(&world, 10);
    assert_in_range(world.steps[STOPS_STILL], 350, 450);
}

/* Once in a while the host takes the processor away from a stopped thread. */
static void a_long_stop_leaves_no_hole(void **state)
{
    enum { STOP_NS = 40000, LONG_NS = 4000000, MOST_TICKS = 30 };
    struct world world;
    (void)state;
    begin(&world, SESSION_STOP_AUTO);
    world.uncertain = 0.5;
    world.stop_ns = STOP_NS;
    run(&world, 2);
    for (unsigned i = 0; i < 20; i++) {
        stops_note_stop(&world.stops, LONG_NS, world.now_ns);
        world.stopped_ns += LONG_NS;
        for (unsigned n = 0; n < 1000; n++)
            assert_in_range(tick(&world).ticks, 1, MOST_TICKS);
    }
    /* While the last second has no room for a stop, threads are read while they move. */
    assert_true(world.steps[STOPS_MOVING] < world.ticks / 3);
}

/* Stops must not leave the profile without samples until they are paid for. */
static void after_a_very_long_stop_threads_are_read_while_they_move(void **state)
{
    enum { MOST_TICKS = 24 };
    struct world world;
    (void)state;
    begin(&world, SESSION_STOP_AUTO);
    world.uncertain = 0.5;
    run(&world, 2);
    stops_note_stop(&world.stops, NS_PER_S, world.now_ns);
    const uint64_t still = world.steps[STOPS_STILL];
    for (unsigned n = 0; n < 95000; n++)
        assert_in_range(tick(&world).ticks, 1, MOST_TICKS);
    assert_int_equal(world.steps[STOPS_STILL], still);
    run(&world, 30);
    assert_true(world.stops.is_still);
}

/* A few stops show when they no longer take long. */
static void where_stops_take_long_threads_are_read_while_they_move(void **state)
{
    enum { MOST_TICKS = 45 };
    struct world world;
    (void)state;
    begin(&world, SESSION_STOP_AUTO);
    world.uncertain = 0.5;
    world.stop_ns = NS_PER_MS;
    for (unsigned n = 0; n < 60000; n++)
        assert_in_range(tick(&world).ticks, 1, MOST_TICKS);
    assert_false(world.stops.is_still);
    assert_true(world.steps[STOPS_STILL] > 300);
    world.stop_ns = 50000;
    run(&world, 30);
    assert_true(world.stops.is_still);
}

/* The first stops are all followed by a reading of moving threads, later ones by chance. */
static void one_stop_in_four_is_probed(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SESSION_STOP_AUTO);
    world.uncertain = 1;
    while (world.steps[STOPS_STILL] < 8)
        tick(&world);
    assert_int_equal(world.probes, 8);
    run(&world, 100);
    assert_in_range(world.probes, world.steps[STOPS_STILL] / 5, world.steps[STOPS_STILL] / 3);
    begin(&world, SESSION_STOP_ALWAYS);
    run(&world, 3);
    assert_int_equal(world.probes, 0);
}

static void after_a_refusal_threads_are_read_while_they_move_for_a_second(void **state)
{
    struct world world;
    (void)state;
    begin(&world, SESSION_STOP_AUTO);
    world.uncertain = 1;
    run(&world, 2);
    const uint64_t still = world.steps[STOPS_STILL], moving = world.steps[STOPS_MOVING];
    stops_refuse(&world.stops, world.now_ns);
    for (unsigned i = 0; i < 999; i++)
        tick(&world);
    assert_int_equal(world.steps[STOPS_STILL], still);
    assert_int_equal(world.steps[STOPS_MOVING], moving + 999);
    run(&world, 1);
    assert_true(world.steps[STOPS_STILL] > still);
}

/* Threads are stopped even if stops take so long, or have used so much, that others would be
 * read while they move. */
static void threads_that_cannot_be_read_while_they_move_are_read_stopped_only(void **state)
{
    static const uint64_t stop_ns[] = { 20000, 100000, 5000000 };
    struct world world;
    (void)state;
    for (size_t i = 0; i < sizeof stop_ns / sizeof *stop_ns; i++) {
        begin(&world, SESSION_STOP_AUTO);
        world.stops.needs_stops = true;
        world.stop_ns = stop_ns[i];
        run(&world, 20);
        assert_int_equal(world.steps[STOPS_MOVING] + world.probes, 0);
        assert_true(world.steps[STOPS_STILL] > 20);
        assert_true((double)world.stopped_ns < 1.2 * SHARE * (double)(world.now_ns - START_NS));
        stops_refuse(&world.stops, world.now_ns);
        assert_int_equal(tick(&world).step, STOPS_MOVING);
    }
}

TEST_GROUP(cmocka_unit_test(never_and_always_are_kept),
           cmocka_unit_test(threads_that_cannot_be_read_while_they_move_are_read_stopped_only),
           cmocka_unit_test(windows_begin_and_end_stopping_at_different_shares),
           cmocka_unit_test(a_share_between_the_two_keeps_what_is_done),
           cmocka_unit_test(a_window_is_decided_before_it_begins),
           cmocka_unit_test(stops_never_take_more_than_their_share),
           cmocka_unit_test(stops_take_most_of_their_share),
           cmocka_unit_test(no_second_has_more_than_the_share_and_one_stop),
           cmocka_unit_test(quick_stops_are_no_more_frequent_than_others),
           cmocka_unit_test(what_was_not_used_is_not_saved_up),
           cmocka_unit_test(every_tick_is_stood_for_once),
           cmocka_unit_test(a_skipped_tick_is_taken_back),
           cmocka_unit_test(a_reading_that_failed_takes_no_skipped_ticks),
           cmocka_unit_test(waiting_counts_for_what_it_is),
           cmocka_unit_test(a_long_rest_changes_no_gap),
           cmocka_unit_test(a_long_stop_leaves_no_hole),
           cmocka_unit_test(after_a_very_long_stop_threads_are_read_while_they_move),
           cmocka_unit_test(where_stops_take_long_threads_are_read_while_they_move),
           cmocka_unit_test(one_stop_in_four_is_probed),
           cmocka_unit_test(after_a_refusal_threads_are_read_while_they_move_for_a_second))
