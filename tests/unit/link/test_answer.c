#include <string.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/link/answer.h"
#include "sampler/link/link.h"
#include "sampler/link/request.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

/* Passes an answer whose writer's nth allocation fails, and returns what arrives of it. */
static enum err_code pass(unsigned nth, enum err_code code, const struct buffer *contents,
                          const struct err *why, struct err *err)
{
    const struct link_patience patience = { .cancel_fd = -1 };
    struct buffer arrived = { 0 };
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    failing_alloc_at(nth);
    answer_send(ends[1], code, contents, why);
    failing_alloc_never();
    close(ends[1]);
    const enum err_code rc = link_receive_answer(ends[0], &patience, &arrived, err);
    if (!rc)
        assert_memory_equal(arrived.data, contents->data, contents->length);
    close(ends[0]);
    buffer_deinit(&arrived);
    return rc;
}

static void an_answer_needs_no_memory(void **state)
{
    struct buffer contents = { 0 };
    (void)state;
    buffer_sized_text(&contents, "what was asked for");
    assert_int_equal(pass(0, ERR_OK, &contents, NULL, NULL), ERR_OK);
    assert_false(failing_alloc_happened());
    buffer_deinit(&contents);
}

static void an_error_needs_no_memory(void **state)
{
    struct err why = { 0 }, err = { 0 };
    (void)state;
    (void)err_set(&why, ERR_PERM, "no");
    assert_int_equal(pass(0, ERR_PERM, NULL, &why, &err), ERR_PERM);
    assert_false(failing_alloc_happened());
    assert_string_equal(err.message, "no");
}

static void contents_that_are_short_are_no_memory(void **state)
{
    struct buffer contents = { 0 };
    struct err err = { 0 };
    (void)state;
    failing_alloc_at(0);
    buffer_sized_text(&contents, "what was asked for");
    assert_int_equal(pass(0, ERR_OK, &contents, NULL, &err), ERR_NOMEM);
    assert_string_equal(err.message, "out of memory");
    buffer_deinit(&contents);
}

TEST_GROUP(cmocka_unit_test(an_answer_needs_no_memory),
           cmocka_unit_test(an_error_needs_no_memory),
           cmocka_unit_test(contents_that_are_short_are_no_memory))
