#include <errno.h>
#include <string.h>

#include "sampler/capture/bytes.h"
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
                   .mode = SAMPLER_MODE_GIL,
                   .native = SAMPLER_NATIVE_FULL,
                   .hides_arguments = true,
                   .async = SAMPLER_ASYNC_ALL,
                   .engine = SAMPLER_ENGINE_REMOTE,
                   .stop = SAMPLER_STOP_NEVER,
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
    { .kind = LINK_LIST },
    { .kind = LINK_READ, .session = 7, .source = "source", .source_bytes = 6 },
    { .kind = LINK_USAGE },
    { .kind = LINK_PING },
};

enum { REQUESTS = sizeof requests / sizeof *requests };

static enum err_code decode(const struct bytes *message, size_t bytes, struct link_request *out)
{
    unsigned char *const copy = guard_copy(message->data, bytes);
    struct cursor cursor = cursor_of(copy, bytes);
    const enum err_code rc = link_request_decode(&cursor, out, NULL);
    guard_free(copy, bytes);
    return rc;
}

static void a_request_is_read_as_it_was_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < REQUESTS; i++) {
        struct bytes message = { 0 }, again = { 0 };
        struct link_request read;
        link_request_encode(&requests[i], &message);
        assert_true(message.count <= LINK_MAX_REQUEST_BYTES);
        struct cursor cursor = cursor_of(message.data, message.count);
        assert_int_equal(link_request_decode(&cursor, &read, NULL), ERR_OK);
        link_request_encode(&read, &again);
        assert_int_equal(message.count, again.count);
        assert_memory_equal(message.data, again.data, again.count);
        bytes_deinit(&message);
        bytes_deinit(&again);
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
        struct bytes message = { 0 };
        struct link_request read;
        link_request_encode(&requests[i], &message);
        for (size_t bytes = 0; bytes < message.count; bytes++)
            assert_int_equal(decode(&message, bytes, &read), ERR_INVALID);
        bytes_u8(&message, 0);
        assert_int_equal(decode(&message, message.count, &read), ERR_INVALID);
        bytes_deinit(&message);
    }
}

static void another_version_kind_or_choice_is_refused(void **state)
{
    static const unsigned char messages[][4] = { { LINK_VERSION + 1, LINK_LIST },
                                                 { LINK_VERSION, LINK_NONE },
                                                 { LINK_VERSION, LINK_KINDS } };
    struct link_request read, wrong = requests[0];
    struct bytes message = { 0 };
    (void)state;
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        struct cursor cursor = cursor_of(messages[i], 2);
        assert_int_equal(link_request_decode(&cursor, &read, NULL), ERR_INVALID);
    }
    wrong.options.mode = (enum sampler_mode)(SAMPLER_MODE_EXCEPTION + 1);
    link_request_encode(&wrong, &message);
    assert_int_equal(decode(&message, message.count, &read), ERR_INVALID);
    bytes_deinit(&message);
}

static void numbers_that_are_not_finite_are_zero(void **state)
{
    const struct link_request request = { .kind = LINK_SET_RATE, .value = HUGE_VAL };
    struct bytes message = { 0 };
    struct link_request read;
    (void)state;
    link_request_encode(&request, &message);
    assert_int_equal(decode(&message, message.count, &read), ERR_OK);
    assert_true(read.value == 0);
    bytes_deinit(&message);
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
    const struct processes_summary summary = { .at_ns = 5, .number = 6, .count = 3 };
    struct processes_summary read;
    struct bytes list = { 0 };
    size_t count = 0;
    (void)state;
    link_summary_encode(&summary, &list);
    for (int i = 0; i < 3; i++) {
        const struct process_info info = { .pid = 40 + i,
                                           .argc = (size_t)i,
                                           .argv = words,
                                           .python = "3.12.1",
                                           .user = "somebody",
                                           .cpu_percent = -1 };
        link_process_encode(&info, &list);
    }
    struct cursor cursor = cursor_of(list.data, list.count);
    assert_int_equal(link_list_decode(&cursor, count_process, &count, &read, NULL), ERR_OK);
    assert_int_equal(count, 3);
    assert_int_equal(read.number, 6);
    cursor = cursor_of(list.data, list.count - 1);
    count = 0;
    assert_int_equal(link_list_decode(&cursor, count_process, &count, &read, NULL),
                     ERR_CORRUPT);
    bytes_deinit(&list);
}

static void an_error_keeps_its_code_and_sentence(void **state)
{
    struct bytes contents = { 0 };
    struct err err = { 0 }, read = { 0 };
    (void)state;
    (void)err_set(&err, ERR_PERM, "no");
    link_err_encode(&err, &contents);
    struct cursor cursor = cursor_of(contents.data, contents.count);
    link_err_decode(&cursor, ERR_PERM, &read);
    assert_int_equal(read.code, ERR_PERM);
    assert_string_equal(read.message, "no");
    bytes_deinit(&contents);
}

static void an_error_for_lack_of_descriptors_names_the_process(void **state)
{
    struct bytes contents = { 0 };
    struct err err = { 0 }, read = { 0 };
    (void)state;
    (void)err_sys(&err, EMFILE, "cannot open");
    link_err_encode(&err, &contents);
    struct cursor cursor = cursor_of(contents.data, contents.count);
    link_err_decode(&cursor, ERR_SYS, &read);
    assert_int_equal(read.sys, EMFILE);
    assert_non_null(strstr(read.message, "the sampling process has no file descriptors left"));
    assert_non_null(strstr(read.message, "cannot open"));
    bytes_deinit(&contents);
}

/* As it comes where there was no memory for one. */
static void an_error_without_a_sentence_has_that_of_its_code(void **state)
{
    struct err read = { 0 };
    (void)state;
    struct cursor cursor = cursor_of(NULL, 0);
    link_err_decode(&cursor, ERR_NOMEM, &read);
    assert_int_equal(read.code, ERR_NOMEM);
    assert_string_equal(read.message, "out of memory");
}

static void the_head_of_an_answer_has_bounds(void **state)
{
    enum err_code code;
    size_t bytes;
    unsigned char head[LINK_HEAD_BYTES];
    (void)state;
    link_head_encode(ERR_GONE, 0x01020304 & (LINK_MAX_ANSWER_BYTES - 1), head);
    assert_int_equal(link_head_decode(head, &code, &bytes, NULL), ERR_OK);
    assert_int_equal(code, ERR_GONE);
    assert_int_equal(bytes, 0x01020304 & (LINK_MAX_ANSWER_BYTES - 1));
    link_head_encode(ERR_OK, (size_t)LINK_MAX_ANSWER_BYTES + 1, head);
    assert_int_equal(link_head_decode(head, &code, &bytes, NULL), ERR_CORRUPT);
    link_head_encode((enum err_code)(ERR_NOT_PYTHON + 1), 0, head);
    assert_int_equal(link_head_decode(head, &code, &bytes, NULL), ERR_CORRUPT);
}

TEST_GROUP(cmocka_unit_test(a_request_is_read_as_it_was_written),
           cmocka_unit_test(there_is_a_request_of_every_kind),
           cmocka_unit_test(a_request_that_was_cut_or_is_longer_is_refused),
           cmocka_unit_test(another_version_kind_or_choice_is_refused),
           cmocka_unit_test(numbers_that_are_not_finite_are_zero),
           cmocka_unit_test(a_list_of_processes_is_read_as_it_was_written),
           cmocka_unit_test(an_error_keeps_its_code_and_sentence),
           cmocka_unit_test(an_error_for_lack_of_descriptors_names_the_process),
           cmocka_unit_test(an_error_without_a_sentence_has_that_of_its_code),
           cmocka_unit_test(the_head_of_an_answer_has_bounds))
