#include "sampler/native/rule.h"
#include "sampler/native/rule_cache.h"
#include "tests/support/test.h"

static void equal_rules_are_kept_once(void **state)
{
    struct rules rules;
    struct rule rule = rule_initial;
    uint32_t a, b, c;
    (void)state;
    rules_init(&rules);
    assert_int_equal(rules_intern(&rules, &rule, &a), ERR_OK);
    rule.saved[MACHINE_R15] = -16;
    assert_int_equal(rules_intern(&rules, &rule, &b), ERR_OK);
    assert_int_equal(rules_intern(&rules, &rule_initial, &c), ERR_OK);
    assert_int_equal(a, c);
    assert_int_not_equal(a, b);
    assert_int_equal(rules.items[b].saved[MACHINE_R15], -16);
    rules_deinit(&rules);
}

static void a_full_set_of_rules_can_be_cleared(void **state)
{
    struct rules rules;
    struct rule rule = rule_initial;
    uint32_t id;
    (void)state;
    rules_init(&rules);
    for (int32_t i = 0; i < RULES_MAX; i++) {
        rule.offset = i;
        assert_int_equal(rules_intern(&rules, &rule, &id), ERR_OK);
    }
    rule.offset = RULES_MAX;
    assert_int_equal(rules_intern(&rules, &rule, &id), ERR_LIMIT);
    rule.offset = 0;
    assert_int_equal(rules_intern(&rules, &rule, &id), ERR_OK);
    rules_clear(&rules);
    rule.offset = RULES_MAX;
    assert_int_equal(rules_intern(&rules, &rule, &id), ERR_OK);
    assert_int_equal(id, 0);
    assert_true(rules_bytes(&rules) < 1 << 17);
    rules_deinit(&rules);
}

static struct rule_place place_of(uint32_t number)
{
    return (struct rule_place){ 1 + number % 7, number * 13, number, number };
}

static void the_cache_grows_to_its_limit_and_keeps_what_is_new(void **state)
{
    const uint32_t all = RULE_CACHE_MAX_SETS * RULE_CACHE_WAYS * 4;
    struct rule_cache cache;
    (void)state;
    assert_int_equal(rule_cache_init(&cache, NULL), ERR_OK);
    for (uint32_t i = 0; i < all; i++) {
        const struct rule_place place = place_of(i);
        assert_null(rule_cache_find(&cache, place.image, place.offset));
        rule_cache_add(&cache, &place);
        const struct rule_place *const found =
            rule_cache_find(&cache, place.image, place.offset);
        assert_non_null(found);
        assert_int_equal(found->rule, i);
        if (i == 100)
            assert_true(rule_cache_bytes(&cache) < 1 << 14);
    }
    assert_int_equal(cache.set_count, RULE_CACHE_MAX_SETS);
    uint32_t recent = 0, old = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        const struct rule_place a = place_of(i), b = place_of(all - 1 - i);
        old += rule_cache_find(&cache, a.image, a.offset) != NULL;
        recent += rule_cache_find(&cache, b.image, b.offset) != NULL;
    }
    assert_int_equal(old, 0);
    assert_true(recent > 990);
    rule_cache_clear(&cache);
    const struct rule_place last = place_of(all - 1);
    assert_null(rule_cache_find(&cache, last.image, last.offset));
    rule_cache_deinit(&cache);
}

static void a_growing_cache_forgets_little(void **state)
{
    struct rule_cache cache;
    uint32_t found = 0;
    (void)state;
    assert_int_equal(rule_cache_init(&cache, NULL), ERR_OK);
    for (uint32_t i = 0; i < 4000; i++) {
        const struct rule_place place = place_of(i);
        rule_cache_add(&cache, &place);
    }
    for (uint32_t i = 0; i < 4000; i++) {
        const struct rule_place place = place_of(i);
        found += rule_cache_find(&cache, place.image, place.offset) != NULL;
    }
    assert_in_range(found, 3600, 4000);
    rule_cache_deinit(&cache);
}

TEST_GROUP(cmocka_unit_test(equal_rules_are_kept_once),
           cmocka_unit_test(a_full_set_of_rules_can_be_cleared),
           cmocka_unit_test(the_cache_grows_to_its_limit_and_keeps_what_is_new),
           cmocka_unit_test(a_growing_cache_forgets_little))
