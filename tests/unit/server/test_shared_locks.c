#include <string.h>

#include "sampler/base/buffer.h"
#include "server/sessions/shared_locks.h"
#include "tests/support/test.h"

static str_id keep(struct shared_locks *shared, const char *text)
{
    str_id id = 0;
    assert_int_equal(strtab_intern(&shared->strings, text, strlen(text), &id, NULL), ERR_OK);
    return id;
}

static struct lock_use use_of(uint64_t inode)
{
    return (struct lock_use){ .object = 16,
                              .is_waited = true,
                              .may_be_held = true,
                              .has_owner = true,
                              .place = { .inode = inode } };
}

/* A thread of another process that is in a `with` block of the lock. */
static void hold(struct shared_locks *shared, uint64_t inode, const char *name)
{
    const struct lock_use use = { .object = 32,
                                  .type = keep(shared, "multiprocessing.Lock"),
                                  .function = keep(shared, "work"),
                                  .file = keep(shared, "app\x1b.py"),
                                  .line = 7,
                                  .expression = keep(shared, "self.lock"),
                                  .place = { .inode = inode } };
    const struct lock_report report = {
        .pid = 12, .tid = 13, .uses = &use, .count = 1, .task.name = keep(shared, name)
    };
    lock_graph_note(&shared->graph, &report, 0, 1);
}

static void assert_filled(const struct shared_locks *shared, const char *gap,
                          const char *expected)
{
    struct buffer text = { 0 }, out = { 0 };
    buffer_printf(&text, "waits%s.", gap);
    assert_true(shared_locks_has_gap(text.data, text.length));
    assert_int_equal(shared_locks_fill(shared, text.data, text.length, &out, NULL), ERR_OK);
    assert_string_equal(buffer_string(&out), expected);
    buffer_deinit(&text);
    buffer_deinit(&out);
}

static void a_gap_is_filled_when_the_holder_is_known(void **state)
{
    struct shared_locks shared;
    char gap[SHARED_GAP_BYTES], same[SHARED_GAP_BYTES], json[SHARED_GAP_BYTES];
    const struct lock_use wait = use_of(5);
    (void)state;
    assert_int_equal(shared_locks_init(&shared, NULL), ERR_OK);
    assert_true(shared_locks_holder_gap(&shared, &wait, false, gap));
    assert_true(shared_locks_holder_gap(&shared, &wait, false, same));
    assert_true(shared_locks_holder_gap(&shared, &wait, true, json));
    assert_string_equal(gap, same);
    assert_filled(&shared, gap, "waits, held by another process.");
    assert_filled(&shared, json, "waitsnull.");
    hold(&shared, 6, "OtherThread");
    assert_filled(&shared, gap, "waits, held by another process.");
    hold(&shared, 5, "Main\x01h0\x02Thread");
    assert_filled(&shared, gap,
                  "waits, held by process 12 Main\\x01h0\\x02Thread at work (app\\x1b.py:7).");
    assert_filled(&shared, json,
                  "waits{\"pid\":12,\"tid\":13,\"task\":null,\"expression\":\"self.lock\","
                  "\"type\":\"multiprocessing.Lock\",\"object\":\"0x20\",\"function\":\"work\","
                  "\"file\":\"app\\u001b.py\",\"line\":7}.");
    shared_locks_deinit(&shared);
}

static void a_semaphore_that_nobody_has_is_held_by_nobody(void **state)
{
    struct shared_locks shared;
    char gap[SHARED_GAP_BYTES];
    struct lock_use wait = use_of(5);
    (void)state;
    wait.has_owner = false;
    assert_int_equal(shared_locks_init(&shared, NULL), ERR_OK);
    assert_true(shared_locks_holder_gap(&shared, &wait, false, gap));
    assert_filled(&shared, gap, "waits.");
    shared_locks_deinit(&shared);
}

static void a_lock_of_one_process_has_no_gap(void **state)
{
    struct shared_locks shared;
    char gap[SHARED_GAP_BYTES];
    const struct lock_use own = use_of(0);
    struct lock_use end = use_of(5);
    (void)state;
    end.may_be_held = false;
    assert_int_equal(shared_locks_init(&shared, NULL), ERR_OK);
    assert_false(shared_locks_holder_gap(&shared, &own, false, gap));
    assert_false(shared_locks_holder_gap(&shared, &end, false, gap));
    assert_false(shared_locks_holder_gap(NULL, &end, false, gap));
    shared_locks_deinit(&shared);
}

static void more_locks_than_there_is_room_for_have_no_gap(void **state)
{
    struct shared_locks shared;
    char gap[SHARED_GAP_BYTES];
    (void)state;
    assert_int_equal(shared_locks_init(&shared, NULL), ERR_OK);
    for (uint64_t inode = 1; inode <= SHARED_LOCKS_MAX_GAPS; inode++) {
        const struct lock_use wait = use_of(inode);
        assert_true(shared_locks_holder_gap(&shared, &wait, false, gap));
    }
    const struct lock_use one_more = use_of(SHARED_LOCKS_MAX_GAPS + 1), known = use_of(1);
    assert_false(shared_locks_holder_gap(&shared, &one_more, false, gap));
    assert_true(shared_locks_holder_gap(&shared, &known, false, gap));
    shared_locks_deinit(&shared);
}

/* Nobody waits in a thread that is not there. */
static void processes_that_have_gone_on_are_no_deadlock(void **state)
{
    struct shared_locks shared;
    struct buffer text = { 0 }, filled = { 0 };
    char gap[SHARED_GAP_BYTES];
    (void)state;
    assert_int_equal(shared_locks_init(&shared, NULL), ERR_OK);
    for (pid_t pid = 1; pid <= 2; pid++) {
        const struct lock_use uses[] = {
            { .is_waited = true, .place = { .inode = (uint64_t)pid } },
            { .place = { .inode = (uint64_t)(3 - pid) } },
        };
        const struct lock_report report = { .pid = INT32_MAX - pid,
                                            .tid = INT32_MAX - pid,
                                            .uses = uses,
                                            .count = 2,
                                            .switches = 9 };
        lock_graph_note(&shared.graph, &report, 0, 1);
    }
    assert_int_equal(shared_locks_solve(&shared, NULL), ERR_OK);
    assert_int_equal(lock_graph_count_cycles(&shared.graph), 1);
    assert_int_equal(shared.deadlock_count, 0);
    shared_locks_put_deadlocks(&shared, &text);
    assert_int_equal(text.length, 0);
    shared_locks_deadlocks_gap(INT32_MAX - 1, gap);
    assert_int_equal(shared_locks_fill(&shared, gap, strlen(gap), &filled, NULL), ERR_OK);
    assert_string_equal(buffer_string(&filled), "[]");
    buffer_deinit(&filled);
    shared_locks_deinit(&shared);
}

TEST_GROUP(cmocka_unit_test(a_gap_is_filled_when_the_holder_is_known),
           cmocka_unit_test(a_semaphore_that_nobody_has_is_held_by_nobody),
           cmocka_unit_test(a_lock_of_one_process_has_no_gap),
           cmocka_unit_test(more_locks_than_there_is_room_for_have_no_gap),
           cmocka_unit_test(processes_that_have_gone_on_are_no_deadlock))
