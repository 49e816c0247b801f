/* When functions were on stacks. */
#include <string.h>

#include "sampler/profile/views/matches.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

enum { MAX_FUNCTIONS = 16 };

static int begin(void **state)
{
    *state = made_profile();
    return 0;
}

static int end(void **state)
{
    profile_destroy(*state);
    return 0;
}

/* All functions of that name. */
static struct matches matches_of(struct profile *profile, const char *name, uint64_t from_s,
                                 uint64_t to_s)
{
    struct profile_snapshot snapshot = made_snapshot(profile);
    unsigned char wanted[MAX_FUNCTIONS] = { 0 };
    struct matches matches;
    struct err err = { 0 };
    assert_true(snapshot.sizes.functions <= MAX_FUNCTIONS);
    for (function_id id = 1; id < snapshot.sizes.functions; id++) {
        const str_id text = profile_function_at(&snapshot, id).name;
        wanted[id] = strcmp(profile_string(&snapshot, text).text, name) == 0;
    }
    assert_ok(matches_init(&matches, &snapshot,
                           &(struct view_query){ .from_ns = from_s * NS_PER_S,
                                                 .to_ns = to_s * NS_PER_S },
                           wanted, &err),
              &err);
    profile_snapshot_release(&snapshot);
    return matches;
}

static void expect_slot(const struct matches *matches, size_t at, uint64_t start_s,
                        uint64_t samples, uint64_t matching)
{
    assert_true(at < matches->count);
    assert_int_equal(matches->slots[at].start_ns, start_s * NS_PER_S);
    assert_int_equal(matches->slots[at].samples, samples);
    assert_int_equal(matches->slots[at].matching, matching);
}

static void a_stack_matches_once_wherever_the_function_is_on_it(void **state)
{
    const thread_id thread = made_thread(*state, 1, 1);
    made_add(*state, thread, STATE_HAS_GIL, "a;f;b;f;c", 5);
    made_add(*state, thread, 0, "a;f", 2);
    made_add(*state, thread, 0, "a;g", 3);
    made_seal(*state, 1);
    made_add(*state, thread, 0, "a;g", 4);
    made_seal(*state, 2);
    struct matches matches = matches_of(*state, "f", 0, 0);
    assert_int_equal(matches.count, 2);
    expect_slot(&matches, 0, 0, 10, 7);
    expect_slot(&matches, 1, 1, 4, 0);
    matches_deinit(&matches);
    matches = matches_of(*state, "nobody", 0, 0);
    expect_slot(&matches, 0, 0, 10, 0);
    matches_deinit(&matches);
}

static void windows_that_overlap_the_range_count(void **state)
{
    const thread_id thread = made_thread(*state, 1, 1);
    for (uint64_t s = 2; s <= 8; s += 2) {
        made_add(*state, thread, 0, "f", (uint32_t)s);
        made_seal(*state, s);
    }
    struct matches matches = matches_of(*state, "f", 3, 5);
    assert_int_equal(matches.count, 2);
    expect_slot(&matches, 0, 2, 4, 4);
    expect_slot(&matches, 1, 4, 6, 6);
    matches_deinit(&matches);
    matches = matches_of(*state, "f", 8, 0);
    assert_int_equal(matches.count, 0);
    matches_deinit(&matches);
}

static void without_memory_there_is_an_error(void **state)
{
    const unsigned char wanted[MAX_FUNCTIONS] = { 0 };
    struct matches matches;
    struct err err = { 0 };
    made_add(*state, made_thread(*state, 1, 1), 0, "f", 1);
    made_seal(*state, 1);
    struct profile_snapshot snapshot = made_snapshot(*state);
    enum err_code rc = ERR_NOMEM;
    for (unsigned nth = 0; rc; nth++) {
        failing_alloc_at(nth);
        rc = matches_init(&matches, &snapshot, &(struct view_query){ 0 }, wanted, &err);
        assert_true(rc == ERR_OK || rc == ERR_NOMEM);
    }
    failing_alloc_never();
    matches_deinit(&matches);
    profile_snapshot_release(&snapshot);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

TEST_GROUP(TEST(a_stack_matches_once_wherever_the_function_is_on_it),
           TEST(windows_that_overlap_the_range_count), TEST(without_memory_there_is_an_error))
