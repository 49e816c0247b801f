/* Engines that sessions take turns in, over an engine that only remembers what happened to it. */
#include <stdbool.h>
#include <stdlib.h>

#include "sampler/kernel/engine.h"
#include "sampler/kernel/kernel_engine_pool.h"
#include "tests/support/test.h"

struct kernel {
    const struct kernel *lender;
    bool is_running;
    double rate_hz;
};

static size_t opened, most_open;
static bool refuses_start;

enum err_code kernel_open(const struct kernel *lender, struct kernel **out, struct err *err)
{
    if (opened == most_open)
        return err_set(err, ERR_PERM, "made up: not permitted");
    struct kernel *const kernel = calloc(1, sizeof *kernel);
    assert_non_null(kernel);
    kernel->lender = lender;
    opened++;
    *out = kernel;
    return ERR_OK;
}

void kernel_close(struct kernel *kernel)
{
    if (!kernel)
        return;
    assert_false(kernel->is_running);
    opened--;
    free(kernel);
}

enum err_code kernel_start(struct kernel *kernel, double rate_hz, unsigned events,
                           struct err *err)
{
    (void)events;
    if (refuses_start)
        return err_set(err, ERR_UNSUPPORTED, "made up: no ring");
    assert_false(kernel->is_running);
    kernel->is_running = true;
    kernel->rate_hz = rate_hz;
    return ERR_OK;
}

void kernel_stop(struct kernel *kernel)
{
    assert_true(kernel->is_running);
    kernel->is_running = false;
}

static struct kernel_engine_pool *open_engines(size_t wanted, size_t possible)
{
    struct kernel_engine_pool *engines = NULL;
    most_open = possible;
    refuses_start = false;
    assert_int_equal(kernel_engine_pool_open(wanted, &engines, NULL), ERR_OK);
    return engines;
}

static void each_session_has_an_engine_of_its_own(void **state)
{
    struct kernel_engine_pool *const engines = open_engines(2, 8);
    struct kernel *first = NULL, *second = NULL, *third = NULL;
    struct err err = { 0 };
    (void)state;
    assert_int_equal(opened, 2);
    assert_int_equal(kernel_engine_pool_take(engines, 100, KERNEL_EVENT_TIME, &first, NULL),
                     ERR_OK);
    assert_int_equal(kernel_engine_pool_check(engines, NULL), ERR_OK);
    assert_int_equal(kernel_engine_pool_take(engines, 200, KERNEL_EVENT_TIME, &second, NULL),
                     ERR_OK);
    assert_ptr_not_equal(first, second);
    assert_true(first->rate_hz == 100 && second->rate_hz == 200);
    assert_int_equal(kernel_engine_pool_check(engines, NULL), ERR_LIMIT);
    assert_int_equal(kernel_engine_pool_take(engines, 100, KERNEL_EVENT_TIME, &third, &err),
                     ERR_LIMIT);
    assert_string_equal(err.message, "other sessions use all 2 kernel engines");
    kernel_engine_pool_give_back(engines, first);
    assert_false(first->is_running);
    assert_int_equal(kernel_engine_pool_take(engines, 300, KERNEL_EVENT_TIME, &third, NULL),
                     ERR_OK);
    assert_ptr_equal(third, first);
    kernel_engine_pool_give_back(engines, second);
    kernel_engine_pool_give_back(engines, third);
    kernel_engine_pool_close(engines);
    assert_int_equal(opened, 0);
}

static void the_first_engine_lends_its_room(void **state)
{
    struct kernel_engine_pool *const engines = open_engines(2, 8);
    struct kernel *first = NULL, *second = NULL;
    (void)state;
    assert_int_equal(kernel_engine_pool_take(engines, 100, KERNEL_EVENT_TIME, &first, NULL),
                     ERR_OK);
    assert_int_equal(kernel_engine_pool_take(engines, 100, KERNEL_EVENT_TIME, &second, NULL),
                     ERR_OK);
    assert_null(first->lender);
    assert_ptr_equal(second->lender, first);
    kernel_engine_pool_give_back(engines, first);
    kernel_engine_pool_give_back(engines, second);
    kernel_engine_pool_close(engines);
}

static void fewer_engines_than_wanted_will_do(void **state)
{
    struct kernel_engine_pool *const engines = open_engines(3, 1);
    struct kernel *first = NULL;
    struct err err = { 0 };
    (void)state;
    assert_int_equal(kernel_engine_pool_take(engines, 100, KERNEL_EVENT_TIME, &first, NULL),
                     ERR_OK);
    assert_int_equal(kernel_engine_pool_check(engines, &err), ERR_LIMIT);
    assert_string_equal(err.message, "another session uses the kernel engine");
    kernel_engine_pool_give_back(engines, first);
    kernel_engine_pool_close(engines);
}

static void without_engines_the_reason_is_that_of_the_kernel(void **state)
{
    struct kernel_engine_pool *const engines = open_engines(3, 0);
    struct kernel *kernel = NULL;
    struct err err = { 0 };
    (void)state;
    assert_int_equal(kernel_engine_pool_check(engines, NULL), ERR_PERM);
    assert_int_equal(kernel_engine_pool_take(engines, 100, KERNEL_EVENT_TIME, &kernel, &err),
                     ERR_PERM);
    assert_string_equal(err.message, "made up: not permitted");
    kernel_engine_pool_give_back(engines, kernel);
    kernel_engine_pool_close(engines);
    kernel_engine_pool_close(NULL);
}

static void an_engine_that_does_not_start_stays_idle(void **state)
{
    struct kernel_engine_pool *const engines = open_engines(1, 8);
    struct kernel *kernel = NULL;
    (void)state;
    refuses_start = true;
    assert_int_equal(kernel_engine_pool_take(engines, 100, KERNEL_EVENT_TIME, &kernel, NULL),
                     ERR_UNSUPPORTED);
    refuses_start = false;
    assert_int_equal(kernel_engine_pool_take(engines, 100, KERNEL_EVENT_TIME, &kernel, NULL),
                     ERR_OK);
    kernel_engine_pool_give_back(engines, kernel);
    kernel_engine_pool_close(engines);
}

static void an_engine_that_is_given_up_is_closed_and_says_why(void **state)
{
    struct kernel_engine_pool *const engines = open_engines(2, 2);
    struct kernel *first = NULL, *second = NULL, *third = NULL;
    struct err err = { 0 };
    (void)state;
    assert_int_equal(kernel_engine_pool_take(engines, 100, KERNEL_EVENT_TIME, &first, NULL),
                     ERR_OK);
    kernel_engine_pool_give_up(engines, first, "made up: files");
    assert_int_equal(opened, 1);
    assert_int_equal(kernel_engine_pool_take(engines, 100, KERNEL_EVENT_TIME, &second, NULL),
                     ERR_OK);
    assert_int_equal(kernel_engine_pool_take(engines, 100, KERNEL_EVENT_TIME, &third, &err),
                     ERR_LIMIT);
    assert_string_equal(err.message, "another session uses the kernel engine");
    kernel_engine_pool_give_up(engines, second, "made up: more files");
    assert_int_equal(opened, 0);
    assert_int_equal(kernel_engine_pool_check(engines, &err), ERR_UNSUPPORTED);
    assert_string_equal(err.message, "made up: more files");
    kernel_engine_pool_close(engines);
}

TEST_GROUP(cmocka_unit_test(each_session_has_an_engine_of_its_own),
           cmocka_unit_test(the_first_engine_lends_its_room),
           cmocka_unit_test(fewer_engines_than_wanted_will_do),
           cmocka_unit_test(without_engines_the_reason_is_that_of_the_kernel),
           cmocka_unit_test(an_engine_that_does_not_start_stays_idle),
           cmocka_unit_test(an_engine_that_is_given_up_is_closed_and_says_why))
