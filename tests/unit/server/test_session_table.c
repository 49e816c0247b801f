/* The table of sessions when it is full. */
#include "server/sessions/sessions.h"
#include "tests/support/test.h"

static const struct session_words no_words = { .name = "" };

static enum err_code begin(struct sessions *sessions, struct session_entry **out)
{
    return sessions_begin(sessions, SESSION_CAPTURE, NULL, NULL, &no_words, out, NULL);
}

/* One that has ended. */
static void add_ended(struct sessions *sessions)
{
    const struct err why = { .message = "over" };
    struct session_entry *entry;
    assert_int_equal(begin(sessions, &entry), ERR_OK);
    session_entry_fail(entry, &why);
    session_release(entry);
}

static bool has(struct sessions *sessions, const char *id)
{
    struct session_entry *const entry = sessions_find(sessions, id);
    session_release(entry);
    return entry;
}

static void the_oldest_that_has_ended_makes_room(void **state)
{
    struct sessions *sessions;
    (void)state;
    assert_int_equal(sessions_create(&sessions, NULL), ERR_OK);
    for (size_t i = 0; i < SESSIONS_MAX; i++)
        add_ended(sessions);
    assert_true(has(sessions, "1"));
    add_ended(sessions);
    assert_false(has(sessions, "1"));
    struct session_entry *const held = sessions_find(sessions, "2");
    assert_non_null(held);
    add_ended(sessions);
    assert_true(has(sessions, "2"));
    assert_false(has(sessions, "3"));
    session_release(held);
    sessions_destroy(sessions);
}

static void those_that_have_not_ended_stay(void **state)
{
    struct sessions *sessions;
    struct session_entry *entry, *items[SESSIONS_MAX];
    (void)state;
    assert_int_equal(sessions_create(&sessions, NULL), ERR_OK);
    for (size_t i = 0; i < SESSIONS_MAX; i++)
        assert_int_equal(begin(sessions, &items[i]), ERR_OK);
    assert_int_equal(begin(sessions, &entry), ERR_LIMIT);
    for (size_t i = 0; i < SESSIONS_MAX; i++)
        session_release(items[i]);
    assert_int_equal(begin(sessions, &entry), ERR_LIMIT);
    sessions_remove(sessions, items[0]);
    assert_int_equal(begin(sessions, &entry), ERR_OK);
    sessions_destroy(sessions);
}

TEST_GROUP(cmocka_unit_test(the_oldest_that_has_ended_makes_room),
           cmocka_unit_test(those_that_have_not_ended_stay))
