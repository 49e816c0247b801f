#include <string.h>

#include "sampler/base/clock.h"
#include "server/access/logins.h"
#include "tests/support/test.h"

#define HOUR_NS  (3600 * NS_PER_S)
#define START_NS (5 * HOUR_NS)

struct cookie {
    char text[DIGEST_SECRET_LENGTH + 1];
};

static int setup(void **state)
{
    return logins_create((struct logins **)state, NULL) == ERR_OK ? 0 : -1;
}

static int teardown(void **state)
{
    logins_destroy(*state);
    return 0;
}

static struct cookie add(struct logins *logins, uint64_t now_ns)
{
    struct cookie cookie;
    assert_int_equal(logins_add(logins, now_ns, cookie.text, NULL), ERR_OK);
    return cookie;
}

static bool is_good(struct logins *logins, const struct cookie *cookie, uint64_t now_ns)
{
    return logins_find(logins, cookie->text, DIGEST_SECRET_LENGTH, now_ns);
}

static bool is_changed(struct logins *logins, const struct cookie *cookie, uint64_t now_ns,
                       struct cookie *out)
{
    return logins_change(logins, cookie->text, DIGEST_SECRET_LENGTH, now_ns, out->text);
}

static void each_login_has_a_cookie_of_its_own(void **state)
{
    struct cookie a = add(*state, START_NS), b = add(*state, START_NS);
    assert_string_not_equal(a.text, b.text);
    assert_true(is_good(*state, &a, START_NS));
    assert_true(is_good(*state, &b, START_NS));
    logins_end(*state, a.text, DIGEST_SECRET_LENGTH, START_NS);
    assert_false(is_good(*state, &a, START_NS));
    assert_true(is_good(*state, &b, START_NS));
    assert_false(logins_find(*state, b.text, DIGEST_SECRET_LENGTH - 1, START_NS));
    assert_false(logins_find(*state, "", 0, START_NS));
    b.text[0] = b.text[0] == '0' ? '1' : '0';
    assert_false(is_good(*state, &b, START_NS));
}

static void a_login_ends_when_it_is_not_used(void **state)
{
    const struct cookie cookie = add(*state, START_NS);
    uint64_t now_ns = START_NS;
    for (int i = 0; i < 3; i++) {
        now_ns += LOGINS_IDLE_S * NS_PER_S - 1;
        assert_true(is_good(*state, &cookie, now_ns));
    }
    assert_false(is_good(*state, &cookie, now_ns + LOGINS_IDLE_S * NS_PER_S));
}

static void a_login_ends_after_a_week_whatever_happens(void **state)
{
    struct cookie cookie = add(*state, START_NS), next;
    uint64_t now_ns = START_NS;
    int changes = 0;
    for (; now_ns < START_NS + LOGINS_LIFE_S * NS_PER_S; now_ns += HOUR_NS) {
        assert_true(is_good(*state, &cookie, now_ns));
        if (is_changed(*state, &cookie, now_ns, &next)) {
            cookie = next;
            changes++;
        }
    }
    assert_int_equal(changes, (LOGINS_LIFE_S - 1) / LOGINS_CHANGE_S);
    assert_false(is_good(*state, &cookie, now_ns));
    assert_false(is_changed(*state, &cookie, now_ns, &next));
}

static void the_old_cookie_is_good_for_a_minute_more(void **state)
{
    const uint64_t change_ns = START_NS + LOGINS_CHANGE_S * NS_PER_S;
    const uint64_t overlap_ns = LOGINS_OVERLAP_S * NS_PER_S;
    const struct cookie old = add(*state, START_NS);
    struct cookie new, other;
    assert_false(is_changed(*state, &old, change_ns - 1, &new));
    assert_true(is_changed(*state, &old, change_ns, &new));
    /* Requests under way bring the old one, and get no third. */
    assert_true(is_good(*state, &old, change_ns + 1));
    assert_false(is_changed(*state, &old, change_ns + 1, &other));
    assert_true(is_good(*state, &new, change_ns + 2));
    assert_false(is_changed(*state, &new, change_ns + 2, &other));
    assert_true(is_good(*state, &old, change_ns + 1 + overlap_ns));
    assert_false(is_good(*state, &old, change_ns + 2 + overlap_ns));
    assert_true(is_good(*state, &new, change_ns + 2 + overlap_ns));
}

static void a_lost_answer_logs_nobody_out(void **state)
{
    const uint64_t change_ns = START_NS + LOGINS_CHANGE_S * NS_PER_S;
    const uint64_t later_ns = change_ns + LOGINS_OVERLAP_S * NS_PER_S;
    const struct cookie old = add(*state, START_NS);
    struct cookie lost, new;
    assert_true(is_changed(*state, &old, change_ns, &lost));
    assert_true(is_good(*state, &old, later_ns));
    assert_true(is_changed(*state, &old, later_ns, &new));
    assert_false(is_good(*state, &lost, later_ns));
    assert_true(is_good(*state, &new, later_ns));
}

/* Requests at a time come to the lock in another order than they read the clock. */
static void a_request_that_comes_late_is_let_in(void **state)
{
    const struct cookie cookie = add(*state, START_NS), other = add(*state, START_NS);
    struct cookie changed;
    assert_true(is_good(*state, &cookie, START_NS + 2));
    assert_true(is_good(*state, &cookie, START_NS + 1));
    assert_false(is_changed(*state, &cookie, START_NS - 1, &changed));
    assert_true(is_good(*state, &cookie, START_NS + LOGINS_IDLE_S * NS_PER_S + 1));
    assert_false(is_good(*state, &other, START_NS + LOGINS_IDLE_S * NS_PER_S + 1));
}

static void the_table_is_bounded(void **state)
{
    struct cookie cookies[LOGINS_MAX];
    for (size_t i = 0; i < LOGINS_MAX; i++)
        cookies[i] = add(*state, START_NS + i);
    assert_true(is_good(*state, &cookies[0], START_NS + LOGINS_MAX));
    add(*state, START_NS + LOGINS_MAX + 1);
    assert_true(is_good(*state, &cookies[0], START_NS + LOGINS_MAX + 2));
    assert_false(is_good(*state, &cookies[1], START_NS + LOGINS_MAX + 2));
    assert_true(is_good(*state, &cookies[2], START_NS + LOGINS_MAX + 2));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
TEST_GROUP(TEST(each_login_has_a_cookie_of_its_own), TEST(a_login_ends_when_it_is_not_used),
           TEST(a_login_ends_after_a_week_whatever_happens),
           TEST(the_old_cookie_is_good_for_a_minute_more), TEST(a_lost_answer_logs_nobody_out),
           TEST(a_request_that_comes_late_is_let_in), TEST(the_table_is_bounded))
