#include "server/sessions/epoch_pace.h"
#include "tests/support/test.h"

static void the_first_rows_are_known_at_once(void **state)
{
    struct epoch_pace pace = { 0 };
    (void)state;
    assert_int_equal(epoch_pace_rows(&pace, 0, 1), 0);
    assert_int_equal(epoch_pace_rows(&pace, 3, 2), 3);
    assert_int_equal(epoch_pace_rows(&pace, 3, 3), 3);
}

/* A row every tenth of a second, for the ten minutes that many of them would last. */
static void viewers_begin_again_ever_more_rarely(void **state)
{
    struct epoch_pace pace = { 0 };
    uint32_t known = 0, changes = 0;
    uint64_t last_ns = 0;
    (void)state;
    for (uint32_t rows = 1; rows <= 6000; rows++) {
        const uint64_t now_ns = rows * (NS_PER_S / 10);
        const uint32_t before = known;
        known = epoch_pace_rows(&pace, rows, now_ns);
        if (known == before)
            continue;
        assert_int_equal(known, rows);
        if (changes == 1)
            assert_int_equal(now_ns - last_ns, EPOCH_PACE_LEAST_NS);
        if (changes > 6)
            assert_int_equal(now_ns - last_ns, EPOCH_PACE_MOST_NS);
        changes++;
        last_ns = now_ns;
    }
    assert_int_equal(changes, 15);
}

TEST_GROUP(cmocka_unit_test(the_first_rows_are_known_at_once),
           cmocka_unit_test(viewers_begin_again_ever_more_rarely))
