#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/strtab.h"
#include "sampler/base/utf8.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

#define REPLACEMENT "\xef\xbf\xbd"
#define ELLIPSIS    "\xe2\x80\xa6"

static int begin(void **state)
{
    struct strtab *const tab = malloc(sizeof *tab);
    struct err err = { 0 };
    assert_ok(strtab_init(tab, &err), &err);
    *state = tab;
    return 0;
}

static int end(void **state)
{
    strtab_deinit(*state);
    free(*state);
    return 0;
}

/* The text lies before an unmapped page, so that no byte behind it is read unnoticed. */
static str_id intern(struct strtab *tab, const char *text, size_t length)
{
    struct err err = { 0 };
    str_id id;
    unsigned char *const copy = guard_copy(text, length);
    assert_ok(strtab_intern(tab, (const char *)copy, length, &id, &err), &err);
    guard_free(copy, length);
    return id;
}

static void expect(const struct strtab *tab, str_id id, const char *text, size_t length)
{
    const struct strtab_string string = strtab_get(tab, id);
    assert_int_equal(string.length, length);
    assert_memory_equal(string.text, text, length);
    assert_int_equal(string.text[length], 0);
}

static void expect_repaired(struct strtab *tab, const char *text, const char *repaired)
{
    expect(tab, intern(tab, text, strlen(text)), repaired, strlen(repaired));
}

static void id_0_is_the_empty_string(void **state)
{
    assert_int_equal(intern(*state, "", 0), 0);
    expect(*state, 0, "", 0);
}

static void equal_bytes_give_the_same_id(void **state)
{
    const str_id a = intern(*state, "handle", 6);
    assert_int_equal(intern(*state, "handler", 7), a + 1);
    assert_int_equal(intern(*state, "handle", 6), a);
    assert_int_equal(intern(*state, "handler", 6), a);
    assert_int_equal(intern(*state, "Handle", 6), a + 2);
}

static void ids_are_dense(void **state)
{
    char text[16];
    for (str_id i = 1; i < 5000; i++)
        assert_int_equal(intern(*state, text, (size_t)sprintf(text, "name %u", i)), i);
    for (str_id i = 1; i < 5000; i++)
        assert_int_equal(intern(*state, text, (size_t)sprintf(text, "name %u", i)), i);
}

static void text_stays_put_while_table_grows(void **state)
{
    struct strtab *const tab = *state;
    const str_id id = intern(tab, "stays", 5);
    const char *const before = strtab_get(tab, id).text;
    for (unsigned i = 0; i < 20000; i++) {
        char text[128];
        str_id other;
        struct err err = { 0 };
        const int length = sprintf(text, "%*u", 8 + (int)(i % 100), i);
        assert_ok(strtab_intern(tab, text, (size_t)length, &other, &err), &err);
    }
    assert_ptr_equal(strtab_get(tab, id).text, before);
    assert_string_equal(before, "stays");
}

static void nul_bytes_are_part_of_the_text(void **state)
{
    const str_id a = intern(*state, "a", 1);
    const str_id b = intern(*state, "a\0", 2);
    const str_id c = intern(*state, "a\0b", 3);
    const str_id d = intern(*state, "\0", 1);
    assert_true(a != b && b != c && a != c && d != 0 && d != a);
    expect(*state, c, "a\0b", 3);
    assert_int_equal(intern(*state, "a\0b", 3), c);
}

static void bytes_that_are_not_text_are_replaced_one_by_one(void **state)
{
    expect_repaired(*state, "\xff", REPLACEMENT);
    expect_repaired(*state, "a\x80z", "a" REPLACEMENT "z");
    expect_repaired(*state, "\xe2\x82", REPLACEMENT REPLACEMENT);
    expect_repaired(*state, "\xe2\x82(", REPLACEMENT REPLACEMENT "(");
    expect_repaired(*state, "\xc0\xaf", REPLACEMENT REPLACEMENT);
    expect_repaired(*state, "caf\xe9", "caf" REPLACEMENT);
}

static void lone_surrogates_are_replaced(void **state)
{
    expect_repaired(*state, "\xed\xa0\x80x", REPLACEMENT REPLACEMENT REPLACEMENT "x");
    expect_repaired(*state, "\xed\xbf\xbf", REPLACEMENT REPLACEMENT REPLACEMENT);
}

static void repaired_text_equals_text_that_was_so(void **state)
{
    const str_id id = intern(*state, "\xff", 1);
    assert_int_equal(intern(*state, "\xfe", 1), id);
    assert_int_equal(intern(*state, REPLACEMENT, 3), id);
}

static void text_of_the_greatest_length_is_kept_whole(void **state)
{
    char *const text = malloc(STRTAB_MAX_LENGTH);
    memset(text, 'w', STRTAB_MAX_LENGTH);
    const str_id id = intern(*state, text, STRTAB_MAX_LENGTH);
    expect(*state, id, text, STRTAB_MAX_LENGTH);
    /* Text goes on to be kept beside a block of its own. */
    expect(*state, intern(*state, "next", 4), "next", 4);
    free(text);
}

static void over_long_text_is_cut_at_a_character(void **state)
{
    enum { LENGTH = STRTAB_MAX_LENGTH + 100 };
    static const char *const fillers[] = { "w", "\xc3\xa9", "\xe2\x82\xac",
                                           "\xf0\x9f\x94\xa5" };
    char *const text = malloc(LENGTH);
    for (size_t i = 0; i < sizeof fillers / sizeof *fillers; i++) {
        const size_t step = strlen(fillers[i]);
        size_t length = 0;
        for (; length + step <= LENGTH; length += step)
            memcpy(text + length, fillers[i], step);
        const struct strtab_string cut = strtab_get(*state, intern(*state, text, length));
        assert_in_range(cut.length, STRTAB_MAX_LENGTH - 8, STRTAB_MAX_LENGTH);
        assert_true(utf8_is_valid(cut.text, cut.length));
        assert_memory_equal(cut.text, text, cut.length - 3);
        assert_memory_equal(cut.text + cut.length - 3, ELLIPSIS, 3);
    }
    free(text);
}

static void text_that_grows_when_repaired_is_cut_too(void **state)
{
    char *const text = malloc(STRTAB_MAX_LENGTH);
    memset(text, 0xff, STRTAB_MAX_LENGTH);
    const struct strtab_string cut =
        strtab_get(*state, intern(*state, text, STRTAB_MAX_LENGTH));
    assert_in_range(cut.length, STRTAB_MAX_LENGTH - 8, STRTAB_MAX_LENGTH);
    assert_true(utf8_is_valid(cut.text, cut.length));
    assert_memory_equal(cut.text + cut.length - 6, REPLACEMENT ELLIPSIS, 6);
    free(text);
}

static void a_full_table_still_finds_what_it_has(void **state)
{
    struct strtab *const tab = *state;
    struct err err = { 0 };
    str_id id = 99;
    const str_id kept = intern(tab, "kept", 4);
    tab->strings.max_count = tab->strings.count;
    assert_int_equal(strtab_intern(tab, "new", 3, &id, &err), ERR_LIMIT);
    assert_int_equal(id, 99);
    assert_int_equal(intern(tab, "kept", 4), kept);
    expect(tab, kept, "kept", 4);
}

static void a_full_table_does_not_grow(void **state)
{
    struct strtab *const tab = *state;
    char text[256];
    memset(text, 'x', sizeof text);
    tab->strings.max_count = tab->strings.count;
    (void)!strtab_intern(tab, "first", 5, &(str_id){ 0 }, NULL);
    const size_t bytes = strtab_bytes(tab);
    for (unsigned i = 0; i < 2000; i++) {
        str_id id;
        sprintf(text, "%u", i);
        assert_int_equal(strtab_intern(tab, text, sizeof text, &id, NULL), ERR_LIMIT);
    }
    assert_int_equal(strtab_bytes(tab), bytes);
}

static void the_real_limit_is_in_place(void **state)
{
    const struct strtab *const tab = *state;
    assert_int_equal(tab->strings.max_count, STRTAB_MAX_STRINGS);
}

/* Whatever allocation fails, the call fails as a whole and can be made again. */
static void without_memory_nothing_is_half_added(void **state)
{
    char text[32];
    unsigned failures = 0;
    for (str_id next = 1; next < 3000; next++) {
        const size_t length =
            (size_t)sprintf(text, "%s name %u", next % 7 ? "a" : "\xff", next);
        str_id id;
        for (unsigned nth = 0;; nth++) {
            failing_alloc_at(nth);
            const enum err_code rc = strtab_intern(*state, text, length, &id, NULL);
            if (!rc)
                break;
            failures++;
            assert_int_equal(rc, ERR_NOMEM);
        }
        failing_alloc_never();
        assert_int_equal(id, next);
        assert_int_equal(intern(*state, text, length), next);
    }
    assert_true(failures > 400);
}

static void a_table_without_memory_is_an_error(void **state)
{
    struct strtab tab;
    enum err_code rc;
    unsigned nth = 0;
    (void)state;
    do {
        failing_alloc_at(nth++);
        rc = strtab_init(&tab, NULL);
        failing_alloc_never();
        strtab_deinit(&tab);
    } while (rc == ERR_NOMEM);
    assert_int_equal(rc, ERR_OK);
    assert_true(nth > 3);
}

static void a_closed_table_finds_what_it_has_and_takes_nothing_new(void **state)
{
    struct err err = { 0 };
    const str_id known = intern(*state, "known", 5);
    assert_ok(strtab_close(*state, "<gone>", &err), &err);
    const str_id instead = intern(*state, "new", 3);
    expect(*state, instead, "<gone>", 6);
    assert_int_equal(intern(*state, "newer", 5), instead);
    assert_int_equal(intern(*state, "known", 5), known);
    assert_int_equal(intern(*state, "", 0), 0);
}

static void what_is_cut_off_is_gone_and_the_rest_stays(void **state)
{
    const str_id id = intern(*state, "app --password=x", 16);
    const str_id other = intern(*state, "other", 5);
    const struct strtab_string before = strtab_get(*state, id);
    strtab_cut(*state, id, 3);
    expect(*state, id, "app", 3);
    expect(*state, other, "other", 5);
    assert_memory_equal(before.text, "app\0\0\0\0\0\0\0\0\0\0\0\0\0", 17);
    strtab_cut(*state, id, 4);
    expect(*state, id, "app", 3);
    assert_int_not_equal(intern(*state, "app", 3), other);
}

#define WITH_TABLE(test) cmocka_unit_test_setup_teardown(test, begin, end)

TEST_GROUP(WITH_TABLE(id_0_is_the_empty_string), WITH_TABLE(equal_bytes_give_the_same_id),
           WITH_TABLE(ids_are_dense), WITH_TABLE(text_stays_put_while_table_grows),
           WITH_TABLE(nul_bytes_are_part_of_the_text),
           WITH_TABLE(bytes_that_are_not_text_are_replaced_one_by_one),
           WITH_TABLE(lone_surrogates_are_replaced),
           WITH_TABLE(repaired_text_equals_text_that_was_so),
           WITH_TABLE(text_of_the_greatest_length_is_kept_whole),
           WITH_TABLE(over_long_text_is_cut_at_a_character),
           WITH_TABLE(text_that_grows_when_repaired_is_cut_too),
           WITH_TABLE(a_full_table_still_finds_what_it_has),
           WITH_TABLE(a_full_table_does_not_grow), WITH_TABLE(the_real_limit_is_in_place),
           WITH_TABLE(without_memory_nothing_is_half_added),
           WITH_TABLE(a_closed_table_finds_what_it_has_and_takes_nothing_new),
           WITH_TABLE(what_is_cut_off_is_gone_and_the_rest_stays),
           cmocka_unit_test(a_table_without_memory_is_an_error))
