#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/link/request.h"
#include "tests/support/test.h"

static const struct link_request requests[] = {
    { .kind = LINK_START,
      .options = { .pids = { 1, 4711 },
                   .pid_count = 2,
                   .waits = true,
                   .subprocesses = true,
                   .rate_hz = 997.5,
                   .duration_ns = 1ull << 40,
                   .since_ns = 1ull << 41,
                   .all_threads = true,
                   .mode = SESSION_MODE_GIL,
                   .native = SESSION_NATIVE_FULL,
                   .hides_arguments = true,
                   .async = SESSION_ASYNC_ALL,
                   .engine = SESSION_ENGINE_REMOTE,
                   .stop = SESSION_STOP_NEVER,
                   .max_stop_percent = 2,
                   .memory_bytes = 1 << 20,
                   .max_cpu_percent = 0.5 } },
    { .kind = LINK_CHECK_ENGINE, .options = { .all = true, .rate_hz = 19 } },
    { .kind = LINK_STOP, .session = UINT64_MAX },
    { .kind = LINK_PAUSE, .session = 7, .paused = true },
    { .kind = LINK_SET_RATE, .session = 7, .value = 10 },
    { .kind = LINK_SET_CPU, .session = 7, .value = 0.25 },
    { .kind = LINK_RECORD_NATIVE, .session = 7 },
    { .kind = LINK_JOIN, .session = 7, .pid = 4711 },
    { .kind = LINK_ADMIT, .pid = 4711 },
    { .kind = LINK_FACTS, .pid = 4711 },
    { .kind = LINK_LIST },
    { .kind = LINK_READ, .session = 7, .source = "source", .source_bytes = 6 },
    { .kind = LINK_USAGE },
    { .kind = LINK_PING },
};

enum { REQUESTS = sizeof requests / sizeof *requests };

static enum err_code decode(const struct buffer *message, size_t bytes,
                            struct link_request *out)
{
    unsigned char *const copy = guard_copy(message->data, bytes);
    const enum err_code rc = link_request_decode(copy, bytes, out, NULL);
    guard_free(copy, bytes);
    return rc;
}

static void a_request_is_read_as_it_was_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < REQUESTS; i++) {
        struct buffer message = { 0 }, again = { 0 };
        struct link_request read;
        link_request_encode(&requests[i], &message);
        assert_true(message.length <= LINK_MAX_REQUEST_BYTES);
        assert_int_equal(link_request_decode(message.data, message.length, &read, NULL),
                         ERR_OK);
        link_request_encode(&read, &again);
        assert_int_equal(message.length, again.length);
        assert_memory_equal(message.data, again.data, again.length);
        buffer_deinit(&message);
        buffer_deinit(&again);
    }
}

static void there_is_a_request_of_every_kind(void **state)
{
    bool is_there[LINK_KINDS] = { [LINK_NONE] = true };
    (void)state;
    for (size_t i = 0; i < REQUESTS; i++)
        is_there[requests[i].kind] = true;
    for (size_t i = 0; i < LINK_KINDS; i++)
        assert_true(is_there[i]);
}

static void a_request_that_was_cut_or_is_longer_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < REQUESTS; i++) {
        struct buffer message = { 0 };
        struct link_request read;
        link_request_encode(&requests[i], &message);
        for (size_t bytes = 0; bytes < message.length; bytes++)
            assert_int_equal(decode(&message, bytes, &read), ERR_INVALID);
        buffer_u8(&message, 0);
        assert_int_equal(decode(&message, message.length, &read), ERR_INVALID);
        buffer_deinit(&message);
    }
}

/* Claims of a process that has been taken over. */
static void nothing_out_of_its_bounds_is_taken(void **state)
{
    static const unsigned char two = 2;
    struct link_request wrong[14], read;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        wrong[i] = requests[0];
    (void)state;
    wrong[0].kind = LINK_NONE;
    wrong[1].kind = LINK_KINDS;
    wrong[2].pid = -1;
    wrong[3].options.pid_count = SESSION_MAX_PROCESSES + 1;
    wrong[4].options.pids[1] = -1;
    wrong[5].options.mode = (enum session_mode)(SESSION_MODE_EXCEPTION + 1);
    wrong[6].options.native = (enum session_native)(SESSION_NATIVE_FULL + 1);
    wrong[7].options.async = (enum session_async)(SESSION_ASYNC_ALL + 1);
    wrong[8].options.engine = (enum session_engine)(SESSION_ENGINE_REMOTE + 1);
    wrong[9].options.stop = (enum session_stop)(SESSION_STOP_ALWAYS + 1);
    memset(wrong[10].options.context, 'x', sizeof wrong[10].options.context);
    memcpy(&wrong[11].options.waits, &two, 1);
    memcpy(&wrong[12].paused, &two, 1);
    memcpy(&wrong[13].options.locks, &two, 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct buffer message = { 0 };
        buffer_append(&message, &wrong[i], sizeof wrong[i]);
        assert_int_equal(decode(&message, message.length, &read), ERR_INVALID);
        buffer_deinit(&message);
    }
}

static void pointers_are_neither_sent_nor_taken(void **state)
{
    static const char *const secret = "secret";
    struct link_request request = requests[0], read;
    struct buffer message = { 0 };
    (void)state;
    request.options.sink = (const void *)secret;
    request.options.engines = (struct kernel_engine_pool *)(uintptr_t)secret;
    request.options.is_cancelled = (const void *)secret;
    link_request_encode(&request, &message);
    assert_null(memmem(message.data, message.length, &secret, sizeof secret));
    memcpy(message.data, &request, sizeof request);
    assert_int_equal(decode(&message, message.length, &read), ERR_OK);
    assert_true(!read.options.sink && !read.options.engines && !read.options.is_cancelled);
    buffer_deinit(&message);
}

static void numbers_that_are_not_finite_are_zero(void **state)
{
    const struct link_request request = { .kind = LINK_SET_RATE, .value = HUGE_VAL };
    struct buffer message = { 0 };
    struct link_request read;
    (void)state;
    link_request_encode(&request, &message);
    assert_int_equal(decode(&message, message.length, &read), ERR_OK);
    assert_true(read.value == 0);
    buffer_deinit(&message);
}

static void count_process(void *context, const struct process_info *info)
{
    size_t *const count = context;
    assert_int_equal(info->pid, 40 + (int)*count);
    assert_int_equal(info->argc, *count);
    for (size_t i = 0; i < info->argc; i++)
        assert_string_equal(info->argv[i], "word");
    assert_string_equal(info->python, "3.12.1");
    assert_null(info->reason);
    assert_true(info->cpu_percent < 0);
    ++*count;
}

static void a_list_of_processes_is_read_as_it_was_written(void **state)
{
    static const char *const words[] = { "word", "word", "word" };
    const char *const *const words_at = words;
    const struct processes_summary summary = { .at_ns = 5, .number = 6, .count = 3 };
    struct processes_summary read;
    struct buffer list = { 0 };
    size_t count = 0;
    (void)state;
    buffer_append(&list, &summary, sizeof summary);
    for (int i = 0; i < 3; i++) {
        const struct process_info info = { .pid = 40 + i,
                                           .argc = (size_t)i,
                                           .argv = words,
                                           .python = "3.12.1",
                                           .user = "somebody",
                                           .cpu_percent = -1 };
        link_process_encode(&info, &list);
    }
    assert_int_equal(link_list_decode(&list, count_process, &count, &read, NULL), ERR_OK);
    assert_int_equal(count, 3);
    assert_int_equal(read.number, 6);
    assert_null(memmem(list.data, list.length, &words_at, sizeof words_at));
    list.length--;
    count = 0;
    assert_int_equal(link_list_decode(&list, count_process, &count, &read, NULL), ERR_CORRUPT);
    buffer_deinit(&list);
}

/* As an answer has it whose contents are those. */
static struct err failed_with(enum err_code code, const void *contents, size_t bytes)
{
    struct buffer answer = { 0 };
    struct err err = { 0 };
    buffer_append(&answer, contents, bytes);
    assert_int_equal(link_fail(code, &answer, &err), code);
    assert_int_equal(err.code, code);
    buffer_deinit(&answer);
    return err;
}

static void an_error_has_an_end(void **state)
{
    struct link_failure failure = { .sys = -7 };
    (void)state;
    memset(failure.message, 'x', sizeof failure.message);
    const struct err err = failed_with(ERR_PERM, &failure, sizeof failure);
    assert_int_equal(err.sys, 0);
    assert_int_equal(strlen(err.message), sizeof failure.message - 1);
}

static void an_error_for_lack_of_descriptors_names_the_process(void **state)
{
    const struct link_failure failure = { EMFILE, "cannot open" };
    (void)state;
    const struct err err = failed_with(ERR_SYS, &failure, sizeof failure);
    assert_int_equal(err.sys, EMFILE);
    assert_non_null(strstr(err.message, "the sampling process has no file descriptors left"));
    assert_non_null(strstr(err.message, "cannot open"));
}

static void an_error_without_a_sentence_has_that_of_its_code(void **state)
{
    const struct link_failure failure = { .sys = 0 };
    (void)state;
    assert_string_equal(failed_with(ERR_NOMEM, &failure, sizeof failure).message,
                        "out of memory");
    assert_string_equal(failed_with(ERR_NOMEM, "", 0).message, "out of memory");
}

static void the_head_of_an_answer_has_bounds(void **state)
{
    (void)state;
    assert_ok(link_head_check(&(struct link_head){ ERR_GONE, LINK_MAX_ANSWER_BYTES }, NULL),
              NULL);
    assert_int_equal(
        link_head_check(&(struct link_head){ ERR_OK, LINK_MAX_ANSWER_BYTES + 1 }, NULL),
        ERR_CORRUPT);
    assert_int_equal(link_head_check(&(struct link_head){ ERR_NOT_PYTHON + 1, 0 }, NULL),
                     ERR_CORRUPT);
}

TEST_GROUP(cmocka_unit_test(a_request_is_read_as_it_was_written),
           cmocka_unit_test(there_is_a_request_of_every_kind),
           cmocka_unit_test(a_request_that_was_cut_or_is_longer_is_refused),
           cmocka_unit_test(nothing_out_of_its_bounds_is_taken),
           cmocka_unit_test(pointers_are_neither_sent_nor_taken),
           cmocka_unit_test(numbers_that_are_not_finite_are_zero),
           cmocka_unit_test(a_list_of_processes_is_read_as_it_was_written),
           cmocka_unit_test(an_error_has_an_end),
           cmocka_unit_test(an_error_for_lack_of_descriptors_names_the_process),
           cmocka_unit_test(an_error_without_a_sentence_has_that_of_its_code),
           cmocka_unit_test(the_head_of_an_answer_has_bounds))
