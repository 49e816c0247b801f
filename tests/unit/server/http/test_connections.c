#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "sampler/base/clock.h"
#include "server/http/connections.h"
#include "tests/support/test.h"

/* "127.0.0.1" or "2001:db8::1"; NULL: a Unix socket's user 1000. */
static struct network network_at(const char *text)
{
    struct sockaddr_in four = { .sin_family = AF_INET };
    struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
    struct network network;
    if (!text) {
        network_of_user(1000, &network);
    } else if (strchr(text, ':')) {
        assert_int_equal(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
        network_of((const struct sockaddr *)&six, &network);
    } else {
        assert_int_equal(inet_pton(AF_INET, text, &four.sin_addr), 1);
        network_of((const struct sockaddr *)&four, &network);
    }
    return network;
}

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct connections));
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

/* The place of a new one, for which `goes` had to go. */
static size_t open_at(struct connections *all, const char *address, uint64_t now_ns,
                      size_t goes)
{
    const struct network network = network_at(address);
    size_t gone = 0;
    const size_t at = connections_open(all, &network, 3, now_ns, &gone);
    assert_int_equal(gone, goes);
    return at;
}

static void neighbours_are_one_network(void **state)
{
    static const struct {
        const char *a, *b;
        int is_same;
    } rows[] = {
        { "192.0.2.1", "192.0.2.255", 1 },
        { "192.0.2.1", "192.0.3.1", 0 },
        { "127.0.0.1", "127.255.0.9", 1 },
        { "127.0.0.1", "::1", 1 },
        { "192.0.2.1", "::ffff:192.0.2.77", 1 },
        { "127.0.0.1", "::ffff:127.0.0.2", 1 },
        { "2001:db8:0:1::1", "2001:db8:0:1:ffff::2", 1 },
        { "2001:db8:0:1::1", "2001:db8:0:2::1", 0 },
        { "2001:db8::1", "192.0.2.1", 0 },
        { "127.0.0.1", NULL, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct network a = network_at(rows[i].a), b = network_at(rows[i].b);
        assert_int_equal(memcmp(&a, &b, sizeof a) == 0, rows[i].is_same);
    }
    struct network one, other;
    network_of_user(0, &one);
    network_of_user(1000, &other);
    assert_memory_not_equal(&one, &other, sizeof one);
    network_of(NULL, &one);
}

static void the_stranger_who_waited_longest_goes(void **state)
{
    struct connections *const all = *state;
    static const struct {
        const char *address;
        size_t most;
    } rows[] = { { "192.0.2.1", CONNECTIONS_MAX_STRANGERS_OF_NETWORK },
                 { NULL, CONNECTIONS_MAX_STRANGERS_OF_NETWORK },
                 { "2001:db8::1", CONNECTIONS_MAX_STRANGERS_OF_NETWORK },
                 { "127.0.0.1", CONNECTIONS_MAX_STRANGERS_OF_LOOPBACK } };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        memset(all, 0, sizeof *all);
        const size_t other = open_at(all, "203.0.113.1", 0, CONNECTIONS_NONE);
        const size_t first = open_at(all, rows[row].address, 1, CONNECTIONS_NONE);
        const size_t second = open_at(all, rows[row].address, 2, CONNECTIONS_NONE);
        for (size_t i = 2; i < rows[row].most; i++)
            open_at(all, rows[row].address, 2 + i, CONNECTIONS_NONE);
        /* One that has had an answer since has not waited. */
        connections_enter(all, first, CONNECTION_ANSWER, 1000);
        connections_finish(all, first, 1001);
        open_at(all, rows[row].address, 2000, second);
        assert_int_equal(all->items[second].phase, CONNECTION_ENDING);
        assert_int_equal(all->items[other].phase, CONNECTION_HEADER);
        /* A connection that must end does not count, and does not come back. */
        connections_enter(all, second, CONNECTION_HEADER, 3000);
        assert_int_equal(all->items[second].phase, CONNECTION_ENDING);
        connections_close(all, second);
        assert_int_equal(open_at(all, rows[row].address, 4000, second + 1), second);
    }
}

static void known_ones_are_no_strangers(void **state)
{
    struct connections *const all = *state;
    for (size_t i = 0; i < CONNECTIONS_MAX_KNOWN_OF_NETWORK; i++) {
        const size_t at = open_at(all, "192.0.2.1", i, CONNECTIONS_NONE);
        assert_int_equal(connections_know(all, at, CLIENT_OPERATOR), CONNECTIONS_NONE);
        assert_int_equal(connections_know(all, at, CLIENT_OPERATOR), CONNECTIONS_NONE);
        connections_finish(all, at, i);
    }
    /* One more of them: the one that was idle for longest goes, not one that is being answered. */
    connections_enter(all, 0, CONNECTION_ANSWER, 0);
    const size_t one_more = open_at(all, "192.0.2.1", 9999, CONNECTIONS_NONE);
    assert_int_equal(connections_know(all, one_more, CLIENT_OPERATOR), 1);
    for (size_t i = 0; i < CONNECTIONS_MAX_KNOWN_OF_NETWORK + 1; i++)
        connections_enter(all, i, CONNECTION_ANSWER, 0);
    const size_t last = open_at(all, "192.0.2.1", 9999, CONNECTIONS_NONE);
    assert_int_equal(connections_know(all, last, CLIENT_OPERATOR), last);
}

static const char *numbered(size_t i)
{
    static char text[32];
    snprintf(text, sizeof text, "2001:db8:%zx::1", i);
    return text;
}

static void strangers_of_everywhere_leave_room_for_known_ones(void **state)
{
    struct connections *const all = *state;
    for (size_t i = 0; i < CONNECTIONS_MAX_STRANGERS; i++)
        open_at(all, numbered(i), i, CONNECTIONS_NONE);
    for (size_t i = 0; i < CONNECTIONS_MAX - CONNECTIONS_MAX_STRANGERS; i++) {
        const size_t at = open_at(all, numbered(1000 + i), 5000 + i, 0);
        connections_close(all, 0);
        assert_int_equal(connections_know(all, at, CLIENT_OPERATOR), CONNECTIONS_NONE);
        open_at(all, numbered(2000), 0, CONNECTIONS_NONE);
        assert_int_equal(all->items[0].phase, CONNECTION_HEADER);
    }
    assert_int_equal(all->used, CONNECTIONS_MAX);
}

static void a_full_house_lets_its_idle_go(void **state)
{
    struct connections *const all = *state;
    size_t places[CONNECTIONS_MAX];
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        places[i] = open_at(all, numbered(i), i, CONNECTIONS_NONE);
        connections_know(all, places[i], CLIENT_OPERATOR);
        connections_enter(all, places[i], CONNECTION_ANSWER, i);
    }
    connections_finish(all, places[7], 8000);
    /* The idle one goes for a stranger, the stranger for the next. */
    const size_t guest = open_at(all, "192.0.2.1", 9000, places[7]);
    const size_t next = open_at(all, "198.51.100.1", 9001, guest);
    connections_know(all, next, CLIENT_OPERATOR);
    connections_enter(all, next, CONNECTION_ANSWER, 9001);
    /* Nobody can go but the one who comes. */
    open_at(all, "198.51.100.1", 9002, next + 1);
}

static void busy_viewers_keep_no_operator_out(void **state)
{
    struct connections *const all = *state;
    size_t at = CONNECTIONS_NONE;
    for (size_t i = 0; i < CONNECTIONS_MAX_VIEWERS_OF_NETWORK; i++) {
        at = open_at(all, "192.0.2.1", i, CONNECTIONS_NONE);
        assert_int_equal(connections_know(all, at, CLIENT_VIEWER), CONNECTIONS_NONE);
        connections_enter(all, at, CONNECTION_ANSWER, i);
    }
    at = open_at(all, "192.0.2.1", 5000, CONNECTIONS_NONE);
    assert_int_equal(connections_know(all, at, CLIENT_VIEWER), at);
    connections_close(all, at);
    /* So do those of everywhere. */
    for (size_t i = CONNECTIONS_MAX_VIEWERS_OF_NETWORK; i < CONNECTIONS_MAX_VIEWERS; i++) {
        at = open_at(all, numbered(i), i, CONNECTIONS_NONE);
        assert_int_equal(connections_know(all, at, CLIENT_VIEWER), CONNECTIONS_NONE);
        connections_enter(all, at, CONNECTION_ANSWER, i);
    }
    at = open_at(all, "198.51.100.1", 5000, CONNECTIONS_NONE);
    assert_int_equal(connections_know(all, at, CLIENT_VIEWER), at);
    connections_close(all, at);
    for (size_t i = CONNECTIONS_MAX_VIEWERS_OF_NETWORK; i < CONNECTIONS_MAX_KNOWN_OF_NETWORK;
         i++) {
        at = open_at(all, "192.0.2.1", 5000 + i, CONNECTIONS_NONE);
        assert_int_equal(connections_know(all, at, CLIENT_OPERATOR), CONNECTIONS_NONE);
        connections_enter(all, at, CONNECTION_ANSWER, 5000 + i);
    }
    /* The next operator takes the place of the viewer who has waited longest. */
    at = open_at(all, "192.0.2.1", 9000, CONNECTIONS_NONE);
    assert_int_equal(connections_know(all, at, CLIENT_OPERATOR), 0);
}

static void few_descriptors_are_few_connections_of_each_kind(void **state)
{
    struct connections *const all = *state;
    size_t at = CONNECTIONS_NONE;
    all->most = CONNECTIONS_MAX / 10;
    for (size_t i = 0; i < CONNECTIONS_MAX_VIEWERS_OF_NETWORK / 10; i++) {
        at = open_at(all, "192.0.2.1", i, CONNECTIONS_NONE);
        assert_int_equal(connections_know(all, at, CLIENT_VIEWER), CONNECTIONS_NONE);
        connections_finish(all, at, i);
    }
    at = open_at(all, "192.0.2.1", 5000, CONNECTIONS_NONE);
    assert_int_equal(connections_know(all, at, CLIENT_VIEWER), 0);
    for (size_t i = 0; i < CONNECTIONS_MAX_STRANGERS / 10; i++)
        open_at(all, numbered(i), 6000 + i, CONNECTIONS_NONE);
    open_at(all, numbered(1000), 9000, at + 1);
}

static void there_is_a_last_place(void **state)
{
    struct connections *const all = *state;
    struct network network = network_at("192.0.2.1");
    size_t goes = 0;
    for (size_t i = 0; i < CONNECTIONS_ROOM; i++)
        assert_true(connections_open(all, &network, 3, i, &goes) != CONNECTIONS_NONE);
    assert_int_equal(connections_open(all, &network, 3, 0, &goes), CONNECTIONS_NONE);
    assert_int_equal(goes, CONNECTIONS_NONE);
    const uint32_t serial = all->items[5].serial;
    connections_close(all, 5);
    assert_int_equal(connections_open(all, &network, 3, 0, &goes), 5);
    assert_true(all->items[5].serial != serial);
}

static enum connection_fate judge(const struct connections *all, size_t at, uint64_t now_ns)
{
    uint64_t again_ns = UINT64_MAX;
    const enum connection_fate fate = connections_judge(&all->items[at], now_ns, &again_ns);
    /* A remaining connection is checked again no sooner than needed, and ends then. */
    if (fate == CONNECTION_STAYS && again_ns != UINT64_MAX) {
        assert_true(again_ns > now_ns);
        assert_int_not_equal(connections_judge(&all->items[at], again_ns, &again_ns),
                             CONNECTION_STAYS);
    }
    return fate;
}

static void headers_have_a_deadline_whatever_trickles(void **state)
{
    struct connections *const all = *state;
    const uint64_t late_ns = CONNECTIONS_HEADER_S * NS_PER_S;
    const size_t at = open_at(all, "192.0.2.1", 100, CONNECTIONS_NONE);
    assert_int_equal(judge(all, at, late_ns + 99), CONNECTION_STAYS);
    assert_int_equal(judge(all, at, late_ns + 100), CONNECTION_IS_LATE);
    connections_enter(all, at, CONNECTION_ANSWER, 200);
    connections_finish(all, at, 300);
    /* The first line of a header gives a stranger no more time. */
    connections_begin(all, at, 5000);
    assert_int_equal(judge(all, at, late_ns + 299), CONNECTION_STAYS);
    assert_int_equal(judge(all, at, late_ns + 300), CONNECTION_IS_LATE);
}

static void known_ones_may_be_idle_and_then_have_the_same_deadline(void **state)
{
    struct connections *const all = *state;
    const uint64_t late_ns = CONNECTIONS_HEADER_S * NS_PER_S;
    const uint64_t idle_ns = CONNECTIONS_IDLE_S * NS_PER_S;
    const size_t at = open_at(all, "192.0.2.1", 0, CONNECTIONS_NONE);
    connections_know(all, at, CLIENT_OPERATOR);
    assert_int_equal(judge(all, at, late_ns), CONNECTION_IS_LATE);
    connections_finish(all, at, 100);
    assert_int_equal(judge(all, at, idle_ns + 99), CONNECTION_STAYS);
    assert_int_equal(judge(all, at, idle_ns + 100), CONNECTION_IS_LATE);
    connections_begin(all, at, 200);
    assert_int_equal(judge(all, at, late_ns + 199), CONNECTION_STAYS);
    assert_int_equal(judge(all, at, late_ns + 200), CONNECTION_IS_LATE);
}

static void bodies_must_get_on(void **state)
{
    struct connections *const all = *state;
    const uint64_t begin_ns = CONNECTIONS_BODY_S * NS_PER_S;
    const size_t at = open_at(all, "192.0.2.1", 0, CONNECTIONS_NONE);
    connections_enter(all, at, CONNECTION_BODY, 0);
    assert_int_equal(judge(all, at, begin_ns - 1), CONNECTION_STAYS);
    assert_int_equal(judge(all, at, begin_ns), CONNECTION_IS_LATE);
    connections_receive(all, at, CONNECTIONS_BODY_BYTES);
    connections_receive(all, at, CONNECTIONS_BODY_BYTES);
    assert_int_equal(judge(all, at, begin_ns + 2 * NS_PER_S - 1), CONNECTION_STAYS);
    assert_int_equal(judge(all, at, begin_ns + 2 * NS_PER_S), CONNECTION_IS_LATE);
}

static void response_cache_wait_for_known_ones_only(void **state)
{
    struct connections *const all = *state;
    const uint64_t late_ns = CONNECTIONS_STRANGER_S * NS_PER_S;
    const size_t at = open_at(all, "192.0.2.1", 0, CONNECTIONS_NONE);
    connections_enter(all, at, CONNECTION_ANSWER, 0);
    assert_int_equal(judge(all, at, late_ns), CONNECTION_IS_LATE);
    connections_know(all, at, CLIENT_OPERATOR);
    assert_int_equal(judge(all, at, 1000 * late_ns), CONNECTION_STAYS);
}

static void half_requests_end_and_whole_ones_are_answered(void **state)
{
    struct connections *const all = *state;
    const uint64_t while_ns = CONNECTIONS_HALF_MS * NS_PER_MS;
    const size_t at = open_at(all, "192.0.2.1", 0, CONNECTIONS_NONE);
    connections_halve(all, at, 1000);
    assert_int_equal(judge(all, at, 999 + while_ns), CONNECTION_STAYS);
    assert_int_equal(judge(all, at, 1000 + while_ns), CONNECTION_IS_HALF);
    connections_enter(all, at, CONNECTION_ANSWER, 2000);
    assert_int_equal(judge(all, at, NS_PER_S), CONNECTION_STAYS);
    /* Then the next one may lie there already. */
    connections_finish(all, at, NS_PER_S);
    assert_int_equal(judge(all, at, NS_PER_S + while_ns - 1), CONNECTION_STAYS);
    assert_int_equal(judge(all, at, NS_PER_S + while_ns), CONNECTION_IS_HALF);
    connections_close(all, at);
    assert_int_equal(judge(all, at, 1000 * NS_PER_S), CONNECTION_STAYS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
TEST_GROUP(TEST(neighbours_are_one_network), TEST(the_stranger_who_waited_longest_goes),
           TEST(known_ones_are_no_strangers),
           TEST(strangers_of_everywhere_leave_room_for_known_ones),
           TEST(a_full_house_lets_its_idle_go), TEST(busy_viewers_keep_no_operator_out),
           TEST(few_descriptors_are_few_connections_of_each_kind), TEST(there_is_a_last_place),
           TEST(headers_have_a_deadline_whatever_trickles),
           TEST(known_ones_may_be_idle_and_then_have_the_same_deadline),
           TEST(bodies_must_get_on), TEST(response_cache_wait_for_known_ones_only),
           TEST(half_requests_end_and_whole_ones_are_answered))
