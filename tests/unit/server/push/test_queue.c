#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "sampler/base/clock.h"
#include "server/push/queue.h"
#include "tests/support/test.h"

enum { BODY_BYTES = 100000, FILE_BYTES = 1 << 20 };

static void add(struct queue *queue, unsigned number)
{
    char *const body = malloc(BODY_BYTES);
    assert_non_null(body);
    memset(body, (int)(number & 0x7f), BODY_BYTES);
    memcpy(body, &number, sizeof number);
    assert_true(queue_add(queue, body, BODY_BYTES));
    free(body);
}

static unsigned take(struct queue *queue)
{
    unsigned number = 0;
    size_t bytes = 0;
    char *const body = queue_take(queue, clock_now_ns() + NS_PER_S, &bytes);
    assert_non_null(body);
    assert_int_equal(bytes, BODY_BYTES);
    memcpy(&number, body, sizeof number);
    for (size_t i = sizeof number; i < BODY_BYTES; i++)
        assert_int_equal(body[i], number & 0x7f);
    free(body);
    queue_done(queue);
    return number;
}

static struct queue_counts counts_of(struct queue *queue)
{
    struct queue_counts counts;
    queue_count(queue, &counts);
    return counts;
}

static void bodies_come_in_order_from_memory_and_file(void **state)
{
    struct queue *queue = NULL;
    struct err err = { 0 };
    unsigned next = 0, wanted = 0;
    (void)state;
    assert_ok(queue_create(FILE_BYTES, &queue, &err), &err);
    /* More than memory takes; then the file is used over its end, again and again. */
    while (counts_of(queue).file_bytes == 0)
        add(queue, next++);
    assert_true(counts_of(queue).bytes > QUEUE_MEMORY_BYTES);
    for (size_t round = 0; round < 200; round++) {
        for (size_t i = 0; i < 1 + round % 4 && counts_of(queue).file_bytes < FILE_BYTES / 2;
             i++)
            add(queue, next++);
        assert_int_equal(take(queue), wanted++);
    }
    while (wanted < next)
        assert_int_equal(take(queue), wanted++);
    assert_int_equal(counts_of(queue).lost, 0);
    assert_int_equal(counts_of(queue).bytes, 0);
    queue_destroy(queue);
}

static void a_full_queue_loses_its_oldest_bodies(void **state)
{
    enum { COUNT = 100 };
    struct queue *queue = NULL;
    struct err err = { 0 };
    (void)state;
    assert_ok(queue_create(FILE_BYTES, &queue, &err), &err);
    for (unsigned i = 0; i < COUNT; i++) {
        add(queue, i);
        assert_true(counts_of(queue).bytes <= QUEUE_MEMORY_BYTES + FILE_BYTES);
    }
    const uint64_t lost = counts_of(queue).lost;
    assert_true(lost > 0);
    assert_int_equal(counts_of(queue).bodies, COUNT - lost);
    for (unsigned i = (unsigned)lost; i < COUNT; i++)
        assert_int_equal(take(queue), i);
    queue_destroy(queue);
}

static void a_body_that_never_fits_is_lost_itself(void **state)
{
    struct queue *queue = NULL;
    struct err err = { 0 };
    char *const body = calloc(1, QUEUE_MEMORY_BYTES + 1);
    (void)state;
    assert_ok(queue_create(0, &queue, &err), &err);
    add(queue, 1);
    assert_false(queue_add(queue, body, QUEUE_MEMORY_BYTES + 1));
    assert_int_equal(counts_of(queue).lost, 2);
    free(body);
    queue_destroy(queue);
}

static void a_full_disk_costs_no_more_than_what_has_no_room(void **state)
{
    enum { COUNT = 100, MORE = 20 };
    const struct rlimit small = { FILE_BYTES / 2, RLIM_INFINITY };
    struct rlimit usual;
    struct queue *queue = NULL;
    struct err err = { 0 };
    unsigned next = 0, wanted = 0;
    (void)state;
    assert_int_equal(signal(SIGXFSZ, SIG_IGN) == SIG_ERR, 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    assert_ok(queue_create(FILE_BYTES, &queue, &err), &err);
    /* The oldest is in the file. */
    while (counts_of(queue).file_bytes == 0)
        add(queue, next++);
    while (wanted + 1 < next)
        assert_int_equal(take(queue), wanted++);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    while (counts_of(queue).lost == 0)
        add(queue, next++);
    assert_int_equal(counts_of(queue).lost, 1);
    assert_int_equal(counts_of(queue).sys, EFBIG);
    const uint64_t file_bytes = counts_of(queue).file_bytes, bodies = counts_of(queue).bodies;
    for (unsigned i = 0; i < MORE; i++)
        add(queue, next++);
    assert_int_equal(counts_of(queue).lost, 1 + MORE);
    assert_int_equal(counts_of(queue).file_bytes, file_bytes);
    assert_int_equal(counts_of(queue).bodies, bodies);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
    assert_int_equal(take(queue), wanted);
    for (unsigned i = wanted; counts_of(queue).bodies > 0;) {
        const unsigned got = take(queue);
        assert_true(got > i && got < next);
        i = got;
    }
    add(queue, next);
    assert_int_equal(take(queue), next);
    queue_destroy(queue);
}

static void small_bodies_have_a_bound_too(void **state)
{
    struct queue *queue = NULL;
    struct err err = { 0 };
    size_t bytes = 0;
    unsigned first = 0;
    (void)state;
    assert_ok(queue_create(0, &queue, &err), &err);
    for (unsigned i = 0; i <= QUEUE_MAX_BODIES; i++)
        assert_true(queue_add(queue, &i, sizeof i));
    assert_int_equal(counts_of(queue).bodies, QUEUE_MAX_BODIES);
    assert_int_equal(counts_of(queue).lost, 1);
    void *const body = queue_take(queue, clock_now_ns(), &bytes);
    memcpy(&first, body, sizeof first);
    assert_int_equal(first, 1);
    free(body);
    queue_destroy(queue);
}

static void a_body_that_was_taken_waits_until_it_is_done(void **state)
{
    struct queue *queue = NULL;
    struct err err = { 0 };
    size_t bytes = 0;
    (void)state;
    assert_ok(queue_create(0, &queue, &err), &err);
    add(queue, 1);
    free(queue_take(queue, clock_now_ns(), &bytes));
    assert_int_equal(counts_of(queue).bodies, 1);
    assert_int_equal(counts_of(queue).bytes, BODY_BYTES);
    queue_done(queue);
    assert_int_equal(counts_of(queue).bodies, 0);
    assert_int_equal(counts_of(queue).bytes, 0);
    queue_destroy(queue);
}

static void a_closed_queue_gives_what_it_has(void **state)
{
    struct queue *queue = NULL;
    struct err err = { 0 };
    size_t bytes = 0;
    (void)state;
    assert_ok(queue_create(0, &queue, &err), &err);
    assert_null(queue_take(queue, clock_now_ns(), &bytes));
    add(queue, 7);
    queue_close(queue);
    assert_false(queue_add(queue, "x", 1));
    assert_int_equal(take(queue), 7);
    assert_null(queue_take(queue, UINT64_MAX / 2, &bytes));
    queue_destroy(queue);
}

TEST_GROUP(cmocka_unit_test(bodies_come_in_order_from_memory_and_file),
           cmocka_unit_test(a_full_queue_loses_its_oldest_bodies),
           cmocka_unit_test(a_body_that_never_fits_is_lost_itself),
           cmocka_unit_test(a_full_disk_costs_no_more_than_what_has_no_room),
           cmocka_unit_test(small_bodies_have_a_bound_too),
           cmocka_unit_test(a_body_that_was_taken_waits_until_it_is_done),
           cmocka_unit_test(a_closed_queue_gives_what_it_has))
