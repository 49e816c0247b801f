#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "server/http/fair_queue.h"
#include "tests/support/test.h"

enum { ROOM = 2 * FAIR_QUEUE_WAITING + 64 };

/* A queue, and the turns that are in it. */
struct fair {
    struct fair_queue queue;
    struct fair_turn turns[ROOM];
    size_t count;
};

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct fair));
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

/* network: its number. */
static enum fair_answer enter(struct fair *fair, enum client_standing standing, uint32_t id,
                              unsigned char network, bool is_long)
{
    struct fair_turn *const turn = &fair->turns[fair->count++];
    assert_true(fair->count <= ROOM);
    turn->client = (struct client){ .standing = standing, .id = id };
    turn->client.network = (struct network){ .kind = NETWORK_IPV4, .bytes = { network } };
    turn->is_long = is_long;
    return fair_queue_enter(&fair->queue, turn);
}

static void add(struct fair *fair, enum client_standing standing, uint32_t id,
                unsigned char network)
{
    assert_int_equal(enter(fair, standing, id, network, false), FAIR_WAITS);
}

/* The client of the next turn, 0: there is none. */
static uint32_t next(struct fair *fair)
{
    const struct fair_turn *const turn = fair_queue_next(&fair->queue);
    return turn ? turn->client.id : 0;
}

static size_t run_all(struct fair *fair)
{
    size_t count = 0;
    while (fair_queue_next(&fair->queue))
        count++;
    return count;
}

static void leave_all(struct fair *fair)
{
    while (fair->queue.running)
        fair_queue_leave(&fair->queue, fair->queue.running);
}

static void a_viewer_waits_behind_himself(void **state)
{
    struct fair *const fair = *state;
    for (size_t i = 0; i < 60; i++)
        add(fair, CLIENT_VIEWER, 7, (unsigned char)i);
    assert_int_equal(run_all(fair), FAIR_QUEUE_RUNNING_OF_VIEWER);
    add(fair, CLIENT_VIEWER, 8, 1);
    assert_int_equal(next(fair), 8);
    assert_int_equal(next(fair), 0);
    assert_int_equal(fair->queue.waits[CLIENT_VIEWER], 60 - FAIR_QUEUE_RUNNING_OF_VIEWER);
    assert_int_equal(fair->queue.runs[CLIENT_VIEWER], FAIR_QUEUE_RUNNING_OF_VIEWER + 1);
    /* One goes, one comes. */
    fair_queue_leave(&fair->queue, fair->queue.running->next);
    assert_int_equal(next(fair), 7);
    assert_int_equal(next(fair), 0);
}

static void a_network_with_many_links_waits_behind_itself(void **state)
{
    struct fair *const fair = *state;
    for (uint32_t i = 1; i <= 50; i++)
        add(fair, CLIENT_VIEWER, i, 9);
    assert_int_equal(run_all(fair), FAIR_QUEUE_RUNNING_OF_NETWORK);
    add(fair, CLIENT_VIEWER, 99, 1);
    assert_int_equal(next(fair), 99);
    /* Operators behind the same proxy do not. */
    for (size_t i = 0; i < FAIR_QUEUE_RUNNING_OF_OPERATOR; i++)
        add(fair, CLIENT_OPERATOR, 0, 9);
    assert_int_equal(run_all(fair), FAIR_QUEUE_RUNNING_OF_OPERATOR);
}

static void viewers_leave_places_to_operators_who_go_first(void **state)
{
    struct fair *const fair = *state;
    for (uint32_t i = 1; i <= 200; i++)
        add(fair, CLIENT_VIEWER, i, (unsigned char)i);
    assert_int_equal(run_all(fair), FAIR_QUEUE_RUNNING_OF_VIEWERS);
    for (uint32_t i = 1001; i <= 1040; i++)
        add(fair, CLIENT_OPERATOR, i, 1);
    assert_int_equal(run_all(fair), FAIR_QUEUE_RUNNING - FAIR_QUEUE_RUNNING_OF_VIEWERS);
    /* The places of viewers that end are the operators' as long as one waits. */
    leave_all(fair);
    for (size_t i = 0; i < FAIR_QUEUE_RUNNING; i++)
        assert_in_range(next(fair), 1001, 1040);
    assert_int_equal(next(fair), 0);
}

static void an_operator_leaves_places_to_another(void **state)
{
    struct fair *const fair = *state;
    for (size_t i = 0; i < 50; i++)
        add(fair, CLIENT_OPERATOR, 1, 1);
    assert_int_equal(run_all(fair), FAIR_QUEUE_RUNNING_OF_OPERATOR);
    add(fair, CLIENT_OPERATOR, 2, 1);
    assert_int_equal(next(fair), 2);
    /* Without a login the network is the client. */
    add(fair, CLIENT_OPERATOR, 0, 1);
    add(fair, CLIENT_OPERATOR, 0, 2);
    assert_int_equal(run_all(fair), 2);
}

static void clients_take_turns_whatever_each_has_asked(void **state)
{
    static const uint32_t wanted[] = { 1, 1, 2, 3, 1, 2, 3, 1, 2, 1, 1 };
    struct fair *const fair = *state;
    uint32_t order[sizeof wanted / sizeof *wanted];
    for (size_t i = 0; i < 6; i++)
        add(fair, CLIENT_VIEWER, 1, 1);
    order[0] = next(fair);
    for (size_t i = 0; i < 3; i++)
        add(fair, CLIENT_VIEWER, 2, 2);
    for (size_t i = 0; i < 2; i++)
        add(fair, CLIENT_VIEWER, 3, 3);
    order[1] = next(fair);
    for (size_t i = 2; i < sizeof wanted / sizeof *wanted; i++) {
        fair_queue_leave(&fair->queue, fair->queue.running);
        order[i] = next(fair);
    }
    assert_memory_equal(order, wanted, sizeof wanted);
    assert_int_equal(fair->queue.waits[CLIENT_VIEWER], 0);
}

static void so_do_the_networks_that_use_one_link(void **state)
{
    struct fair *const fair = *state;
    for (size_t i = 0; i < 100; i++)
        add(fair, CLIENT_VIEWER, 7, 1);
    run_all(fair);
    add(fair, CLIENT_VIEWER, 7, 2);
    fair_queue_leave(&fair->queue, fair->queue.running);
    fair_queue_next(&fair->queue);
    fair_queue_leave(&fair->queue, fair->queue.running);
    fair_queue_next(&fair->queue);
    assert_int_equal(fair->queue.running->client.network.bytes[0], 2);
}

static void long_ones_leave_places_to_short_ones(void **state)
{
    struct fair *const fair = *state;
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(enter(fair, CLIENT_VIEWER, 7, 1, true), FAIR_WAITS);
    assert_int_equal(run_all(fair), FAIR_QUEUE_LONG_OF_VIEWER);
    assert_int_equal(enter(fair, CLIENT_VIEWER, 7, 1, false), FAIR_WAITS);
    assert_int_equal(next(fair), 7);
    assert_false(fair->queue.running->is_long);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(enter(fair, CLIENT_OPERATOR, 7, 1, true), FAIR_WAITS);
    assert_int_equal(run_all(fair), FAIR_QUEUE_LONG_OF_OPERATOR);
}

static void who_has_too_many_waiting_is_refused_and_nobody_else(void **state)
{
    struct fair *const fair = *state;
    for (size_t i = 0; i < FAIR_QUEUE_WAITING_OF_CLIENT; i++)
        add(fair, CLIENT_VIEWER, 7, (unsigned char)i);
    assert_int_equal(enter(fair, CLIENT_VIEWER, 7, 1, false), FAIR_CLIENT_IS_FULL);
    for (uint32_t i = 0; i < FAIR_QUEUE_WAITING - FAIR_QUEUE_WAITING_OF_CLIENT; i++)
        add(fair, CLIENT_VIEWER, 1000 + i, 1);
    assert_int_equal(enter(fair, CLIENT_VIEWER, 8, 1, false), FAIR_QUEUE_IS_FULL);
    add(fair, CLIENT_OPERATOR, 1, 1);
    assert_int_equal(fair_queue_next(&fair->queue)->client.standing, CLIENT_OPERATOR);
    assert_int_equal(next(fair), 7);
    add(fair, CLIENT_VIEWER, 7, 1);
}

static void nobody_is_answered_who_has_given_up(void **state)
{
    const struct fair_turn turn = { .since_ns = 5 };
    (void)state;
    assert_false(fair_turn_is_late(&turn, 5));
    assert_false(fair_turn_is_late(&turn, 4 + FAIR_QUEUE_PATIENCE_S * NS_PER_S));
    assert_true(fair_turn_is_late(&turn, 5 + FAIR_QUEUE_PATIENCE_S * NS_PER_S));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
TEST_GROUP(TEST(a_viewer_waits_behind_himself),
           TEST(a_network_with_many_links_waits_behind_itself),
           TEST(viewers_leave_places_to_operators_who_go_first),
           TEST(an_operator_leaves_places_to_another),
           TEST(clients_take_turns_whatever_each_has_asked),
           TEST(so_do_the_networks_that_use_one_link),
           TEST(long_ones_leave_places_to_short_ones),
           TEST(who_has_too_many_waiting_is_refused_and_nobody_else),
           cmocka_unit_test(nobody_is_answered_who_has_given_up))
