/* The marks of contexts: how many a session keeps, and what is one value. */
#include <stdio.h>
#include <string.h>

#include "sampler/cpython/contexts/contexts.h"
#include "sampler/profile/context.h"
#include "sampler/session/fold/context_marks.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

static context_id find(struct context_marks *marks, const char *text)
{
    struct context_value value = { .kind = CONTEXT_SET };
    snprintf(value.text, sizeof value.text, "%s", text);
    return context_marks_find(marks, &value);
}

static void equal_values_have_one_mark(void **state)
{
    struct profile *const profile = made_profile();
    struct context_marks *marks;
    struct context_value unset = { .kind = CONTEXT_UNSET },
                         unknown = { .kind = CONTEXT_UNKNOWN };
    (void)state;
    assert_ok(context_marks_create(profile, "id", &marks, NULL), NULL);
    const context_id one = find(marks, "one"), two = find(marks, "two");
    assert_int_not_equal(one, 0);
    assert_int_not_equal(one, two);
    assert_int_equal(find(marks, "one"), one);
    assert_int_not_equal(context_marks_find(marks, &unset), 0);
    assert_int_not_equal(context_marks_find(marks, &unset), one);
    assert_int_equal(context_marks_find(marks, &unknown), 0);
    assert_int_equal(context_marks_node(marks, 0, 0), 0);
    assert_int_not_equal(context_marks_node(marks, one, 0), context_marks_node(marks, two, 0));
    context_marks_destroy(marks);
    profile_destroy(profile);
}

static void a_million_values_are_bounded(void **state)
{
    enum { VALUES = 1000000 };
    struct profile *const profile = made_profile();
    struct context_marks *marks;
    size_t bytes = 0;
    char text[32];
    (void)state;
    assert_ok(context_marks_create(profile, "id", &marks, NULL), NULL);
    const context_id first = find(marks, "value-0");
    context_id other = 0;
    for (unsigned i = 1; i < VALUES; i++) {
        snprintf(text, sizeof text, "value-%u", i);
        const context_id id = find(marks, text);
        assert_int_not_equal(id, 0);
        if (i == CONTEXT_VALUES_MAX) {
            bytes = profile_table_bytes(profile);
            other = id;
        }
        if (i >= CONTEXT_VALUES_MAX && id != other)
            fail();
    }
    assert_int_not_equal(other, 0);
    assert_int_equal(profile_table_bytes(profile), bytes);
    assert_int_equal(find(marks, "value-0"), first);
    context_marks_destroy(marks);
    profile_destroy(profile);
}

TEST_GROUP(cmocka_unit_test(equal_values_have_one_mark),
           cmocka_unit_test(a_million_values_are_bounded))
