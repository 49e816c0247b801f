#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "server/source/expression.h"
#include "server/source/expressions.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

/* A line, of which `from` to `to` are marked by «»; without them only the line is known. */
struct row {
    const char *line, *expected;
    bool is_held;
};

static void check(const struct row *row)
{
    char source[4096] = "first\n", found[EXPRESSION_MAX_LINE + 1];
    struct lock_text at = { .line = 2, .end_line = 2, .column = -1, .end_column = -1 };
    const size_t begin = strlen(source);
    size_t length = begin;
    for (const char *from = row->line; *from;) {
        if (strncmp(from, "«", 2) == 0)
            at.column = (int32_t)(length - begin);
        else if (strncmp(from, "»", 2) == 0)
            at.end_column = (int32_t)(length - begin);
        else
            source[length++] = *from;
        from += strncmp(from, "«", 2) == 0 || strncmp(from, "»", 2) == 0 ? 2 : 1;
    }
    at.end_line += at.column >= 0 && at.end_column < 0;
    source[length++] = '\n';
    const struct strtab_string expression = expression_find(source, length, &at, row->is_held);
    snprintf(found, sizeof found, "%.*s", (int)expression.length, expression.text);
    if (strcmp(found, row->expected) != 0)
        fail_msg("%s: \"%s\", not \"%s\"", row->line, found, row->expected);
}

static void marked_text_is_the_lock_or_a_call_of_its_method(void **state)
{
    static const struct row rows[] = {
        { "    «self._pool_lock.acquire()»", "self._pool_lock", false },
        { "    x = «self.locks[key(1)].acquire(timeout=f(2))» or y", "self.locks[key(1)]",
          false },
        { "    «pool.submit(f).result()»", "pool.submit(f)", false },
        { "    with «self.lock»:", "self.lock", false },
        { "    with «self.lock»:", "self.lock", true },
        { "    with a, «b.lock()» as c:", "b.lock()", false },
        { "    with («a.get()», b):", "a.get()", false },
        { "    with open(«q.get()») as f:", "q", false },
        { "    async with «self.lock»:", "self.lock", false },
        { "    «await self.lock.acquire()»", "self.lock", false },
        { "    «await self.task»", "self.task", false },
        { "    «await asyncio.wait_for(lock.acquire(), 5)»", "lock", false },
        { "    «await wait_for(self.task, timeout)»", "self.task", false },
        { "    «await asyncio.gather(a, b)»", "", false },
        { "    «acquire(lock)»", "", false },
        { "    «super().get()»", "", false },
        { "    «queue.get(timeout=", "queue", false },
        { "    a = [«q.put(x)» for q in s]", "q", false },
        { "    «lock['it''s )'].acquire()»", "lock['it''s )']", false },
        { "    «été.acquire()»", "été", false },
        /* Up to 3.12, the whole statement. */
        { "    «with self.lock:", "self.lock", false },
        { "    «with self.lock as x: pass»", "self.lock", true },
        { "    «async with self.lock, other:", "", false },
        { "    «with (self.lock):", "self.lock", false },
        { "    «with (self.a, self.b):", "", true },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(&rows[i]);
}

static void a_line_alone_is_read_if_it_can_mean_one_lock_only(void **state)
{
    static const struct row rows[] = {
        { "    self._pool_lock.acquire()", "self._pool_lock", false },
        { "    return not self.locks[key(1)].acquire(f(2))", "self.locks[key(1)]", false },
        { "    if (a or b).acquire():", "(a or b)", false },
        { "    with self.lock:  # the lock.get()", "self.lock", false },
        { "    with self.lock as x:", "self.lock", true },
        { "    with self.a, self.b:", "", false },
        { "    with self.lock: q.get()", "", false },
        { "    with self.lock: q.get()", "self.lock", true },
        { "    with open(q.get()):", "", false },
        { "    q.put(r.get())", "", false },
        { "    x = await self.task", "self.task", false },
        { "    x = await f(task)", "", false },
        { "    await asyncio.wait({task})", "", false },
        { "    f()", "", false },
        { "    q.get(", "q", false },
        { "    lock = 1", "", true },
        { "", "", false },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(&rows[i]);
}

static void what_does_not_fit_the_text_is_no_expression(void **state)
{
    static const struct row rows[] = {
        { "    se«lf.lock»", "", false },
        { "    x = \"«a.get()»", "", false },
        { "    )«a.get()»", "", false },
        { "    \"\"\"«a.get()»", "", false },
    };
    const struct lock_text beyond = { .line = 9, .column = -1 };
    char longest[EXPRESSION_MAX_LINE + 64];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(&rows[i]);
    assert_int_equal(expression_find("a.get()\n", 8, &beyond, false).length, 0);
    memset(longest, 'a', sizeof longest);
    memcpy(longest + EXPRESSION_MAX_BYTES + 1, ".get()\n", 7);
    const struct lock_text at = { .line = 1, .column = -1 };
    assert_int_equal(expression_find(longest, EXPRESSION_MAX_BYTES + 8, &at, false).length, 0);
    assert_int_equal(expression_find(longest + 1, EXPRESSION_MAX_BYTES + 7, &at, false).length,
                     EXPRESSION_MAX_BYTES);
    longest[EXPRESSION_MAX_BYTES + 7] = ' ';
    assert_int_equal(expression_find(longest, sizeof longest, &at, false).length, 0);
}

static void any_bytes_can_be_read(void **state)
{
    static const char *const pieces[] = { "with ", "await ", "(", ")",       "[",
                                          "]",     ".",      ",", "get",     "as",
                                          ":",     "\"",     "'", "\\",      "#",
                                          "a",     "async ", " ", "asyncio", "wait_for" };
    enum { COUNT = sizeof pieces / sizeof *pieces };
    (void)state;
    srand(1);
    for (int i = 0; i < 20000; i++) {
        char text[512];
        size_t length = 0;
        for (int k = 1 + rand() % 40; k > 0; k--) {
            const char *const piece = pieces[rand() % COUNT];
            memcpy(text + length, piece, strlen(piece));
            length += strlen(piece);
        }
        unsigned char *const source = guard_alloc(length);
        memcpy(source, text, length);
        const struct lock_text at = { .line = 1,
                                      .end_line = 1 + rand() % 2,
                                      .column = rand() % 40 - 1,
                                      .end_column = rand() % 80 - 1 };
        const struct strtab_string found =
            expression_find((char *)source, length, &at, rand() % 2);
        assert_true(found.length <= EXPRESSION_MAX_BYTES);
        guard_free(source, length);
    }
}

struct acquire_row {
    const char *expression, *source; /* of which the function begins at line 2 */
    int32_t to, expected;
};

static void a_call_of_acquire_is_found_above_the_line_that_a_stack_is_at(void **state)
{
    static const struct acquire_row rows[] = {
        { "self.lock", "\ndef f(self):\n self.lock.acquire()\n wait()\n", 4, 3 },
        { "self.lock", "\ndef f(self):\n self.lock.acquire()\n wait()\n", 2, 0 },
        { "self.lock", "\ndef f(self):\n if self.lock.acquire(timeout=1):\n  wait()\n", 4, 3 },
        { "self.lock", "\nasync def f(self):\n await self.lock.acquire()\n await x\n", 4, 3 },
        { "self.lock", "\ndef f(self):\n self.lock.acquire()\n self.lock.release()\n wait()\n",
          5, 0 },
        { "self.lock", "self.lock.acquire()\ndef f(self):\n wait()\n", 3, 0 },
        { "self.lock", "\ndef f(self):\n # self.lock.acquire()\n wait()\n", 4, 0 },
        { "self.lock", "\ndef f(self):\n myself.lock.acquire()\n wait()\n", 4, 0 },
        { "self.lock", "\ndef f(self):\n x.self.lock.acquire()\n wait()\n", 4, 0 },
        { "self.lock", "\ndef f(self):\n self.lock2.acquire()\n wait()\n", 4, 0 },
        { "LOCK", "LOCK = Lock()\ndef f():\n LOCK.acquire()\n wait()\n", 4, 3 },
        { "LOCK", "LOCK = Lock()\ndef f():\n with LOCK:\n  LOCK.acquire()\n", 4, 4 },
        { "LOCK", "\ndef f():\n LOCK.acquire()\n wait()\n", 4, 0 },
        { "LOCK", "LOCK = Lock()\ndef f(LOCK):\n LOCK.acquire()\n wait()\n", 4, 0 },
        { "LOCK", "LOCK = Lock()\ndef f():\n LOCK = g()\n LOCK.acquire()\n wait()", 5, 0 },
        { "self.lock", "\n@d\ndef f(self):\n def g():\n  self.lock.acquire()\n wait()\n", 6,
          0 },
        { "self.lock", "\ndef f(self):\n def g():\n  x()\n\n self.lock.acquire()\n wait()\n", 7,
          6 },
        { "LOCK", "", 5, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t length = strlen(rows[i].source);
        unsigned char *const source = guard_alloc(length);
        memcpy(source, rows[i].source, length);
        const struct strtab_string expression = { rows[i].expression,
                                                  (uint32_t)strlen(rows[i].expression) };
        const int32_t found =
            expression_find_acquire((char *)source, length, expression, 2, rows[i].to);
        if (found != rows[i].expected)
            fail_msg("row %zu: line %d, not %d", i, (int)found, (int)rows[i].expected);
        guard_free(source, length);
    }
}

/* A reader that has no time at first; the context says how often. */
static enum err_code read_late(void *context, const struct profile_snapshot *snapshot,
                               const function_id *functions, size_t count, struct buffer *out,
                               struct source_state *state_out, struct source_place *place_out,
                               struct err *err)
{
    unsigned *const late = context;
    (void)snapshot;
    (void)functions;
    (void)count;
    (void)state_out;
    (void)place_out;
    buffer_text(out, "with door:");
    if (*late == 0)
        return ERR_OK;
    --*late;
    return err_set(err, ERR_LIMIT, "it takes too long");
}

static void the_functions_of_a_module_are_not_its_own_lines(void **state)
{
    static const char source[] = "LOCK = Lock()\ndef f():\n LOCK.acquire()\nwait()\n"
                                 "LOCK.acquire()\nwait()\n";
    const struct strtab_string expression = { "LOCK", 4 };
    (void)state;
    assert_int_equal(expression_find_acquire(source, strlen(source), expression, 0, 4), 0);
    assert_int_equal(expression_find_acquire(source, strlen(source), expression, 0, 6), 5);
}

static void a_file_that_took_too_long_is_read_again_but_not_for_ever(void **state)
{
    struct profile *const profile = made_profile();
    const struct lock_use use = { .file = made_string(profile, "made.py"),
                                  .text = { 1, 1, 5, 9 } };
    (void)state;
    made_node(profile, "main");
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    for (unsigned tries = 1; tries <= 5; tries += 4) {
        unsigned late = tries;
        const struct source_reader reader = { .read = read_late, .context = &late };
        struct expressions expressions;
        expressions_init(&expressions, &reader, &snapshot);
        const struct strtab_string found = expressions_find(&expressions, &use);
        assert_int_equal(found.length, tries == 1 ? strlen("door") : 0);
        assert_memory_equal(found.text, "door", found.length);
        assert_int_equal(late, tries == 1 ? 0 : 2);
        expressions_deinit(&expressions);
    }
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

TEST_GROUP(cmocka_unit_test(a_file_that_took_too_long_is_read_again_but_not_for_ever),
           cmocka_unit_test(a_call_of_acquire_is_found_above_the_line_that_a_stack_is_at),
           cmocka_unit_test(the_functions_of_a_module_are_not_its_own_lines),
           cmocka_unit_test(marked_text_is_the_lock_or_a_call_of_its_method),
           cmocka_unit_test(a_line_alone_is_read_if_it_can_mean_one_lock_only),
           cmocka_unit_test(what_does_not_fit_the_text_is_no_expression),
           cmocka_unit_test(any_bytes_can_be_read))
