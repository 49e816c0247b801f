#include <string.h>

#include "sampler/base/clock.h"
#include "server/api/headlines.h"
#include "tests/support/fake_session.h"
#include "tests/support/test.h"
#include "tests/unit/server/fixture.h"

#define OF_NOBODY headlines_key("7", FAKE_PID_STILL)

static bool has(struct headlines *headlines, uint64_t key)
{
    char text[SUMMARY_HEADLINE_BYTES] = "";
    const bool found = headlines_find(headlines, key, text);
    assert_true(found == (*text != '\0'));
    return found;
}

/* As if the last one had been long ago. */
static void renew_old(struct headlines *headlines, struct sessions *sessions,
                      const uint64_t *keys, size_t count)
{
    for (size_t i = 0; i < headlines->count; i++)
        headlines->items[i].made_ns = 0;
    headlines->free_ns = 0;
    headlines_renew(headlines, sessions, keys, count);
}

static void a_process_has_the_headline_of_its_session(void **state)
{
    const struct server *const server = *state;
    const uint64_t keys[] = { OF_NOBODY, headlines_key("1", FAKE_PID_STILL),
                              headlines_key("1", 1) };
    char text[SUMMARY_HEADLINE_BYTES];
    struct headlines headlines;
    headlines_init(&headlines);
    assert_false(has(&headlines, keys[1]));
    renew_old(&headlines, server->sessions, keys, 3);
    assert_true(headlines_find(&headlines, keys[1], text));
    assert_non_null(strstr(text, " % of the time"));
    assert_false(has(&headlines, OF_NOBODY));
    assert_false(has(&headlines, keys[2]));
    renew_old(&headlines, server->sessions, keys, 1);
    assert_false(has(&headlines, keys[1]));
    headlines_deinit(&headlines);
}

static void nothing_is_made_while_headlines_rest(void **state)
{
    const struct server *const server = *state;
    const uint64_t key = headlines_key("1", FAKE_PID_STILL);
    struct headlines headlines;
    headlines_init(&headlines);
    headlines.free_ns = clock_now_ns() + 1000 * NS_PER_S;
    headlines_renew(&headlines, server->sessions, &key, 1);
    assert_false(has(&headlines, key));
    const uint64_t before_ns = clock_now_ns();
    renew_old(&headlines, server->sessions, &key, 1);
    assert_true(has(&headlines, key));
    assert_true(headlines.free_ns + NS_PER_S > before_ns);
    headlines_deinit(&headlines);
}

static void the_same_profile_is_read_once(void **state)
{
    static const struct fake_frame frame = { "/srv/app.py", "other", 1, 2 };
    const struct server *const server = *state;
    const uint64_t key = headlines_key("1", FAKE_PID_STILL);
    struct headlines headlines;
    headlines_init(&headlines);
    renew_old(&headlines, server->sessions, &key, 1);
    assert_true(has(&headlines, key));
    *headlines.items->text = '!';
    renew_old(&headlines, server->sessions, &key, 1);
    assert_int_equal(*headlines.items->text, '!');
    fake_session_add(server->session, 1, &frame, 1, 0, 5);
    fake_session_seal(server->session);
    renew_old(&headlines, server->sessions, &key, 1);
    assert_int_not_equal(*headlines.items->text, '!');
    headlines_deinit(&headlines);
}

TEST_GROUP(WITH_SERVER(a_process_has_the_headline_of_its_session),
           WITH_SERVER(nothing_is_made_while_headlines_rest),
           WITH_SERVER(the_same_profile_is_read_once))
