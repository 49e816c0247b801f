#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/process/procfs.h"
#include "tests/support/test.h"
#include "tests/unit/process/child.h"

static void a_file_is_read_whole_and_ends_in_nul(void **state)
{
    char *text;
    size_t bytes;
    struct err err = { 0 };
    (void)state;
    assert_ok(procfs_read(getpid(), "status", &text, &bytes, &err), &err);
    assert_int_equal(strlen(text), bytes);
    assert_non_null(strstr(text, "Threads:"));
    free(text);
}

static void a_file_larger_than_a_page_is_read_whole(void **state)
{
    char *text;
    size_t bytes;
    struct err err = { 0 };
    (void)state;
    assert_ok(procfs_read(getpid(), "smaps", &text, &bytes, &err), &err);
    assert_true(bytes > 8192);
    assert_int_equal(strlen(text), bytes);
    assert_int_equal(text[bytes - 1], '\n');
    free(text);
}

static void a_missing_process_is_gone(void **state)
{
    char *text = NULL, letter = '?', name[PROCFS_COMM_BYTES] = "?";
    size_t bytes = 0;
    uint64_t start = 1;
    struct err err = { 0 };
    (void)state;
    assert_int_equal(procfs_read(INT32_MAX, "stat", &text, &bytes, &err), ERR_GONE);
    assert_non_null(strstr(err.message, "2147483647"));
    assert_int_equal(procfs_start_time(INT32_MAX, &start, NULL), ERR_GONE);
    assert_int_equal(procfs_state(INT32_MAX, &letter, NULL), ERR_GONE);
    assert_int_equal(procfs_executable(INT32_MAX, &text, NULL), ERR_GONE);
    assert_int_equal(procfs_thread_name(getpid(), INT32_MAX, name, NULL), ERR_GONE);
    assert_null(text);
    assert_int_equal(start, 1);
    assert_int_equal(letter, '?');
    assert_string_equal(name, "?");
}

static void fields_count_from_the_last_parenthesis_of_the_name(void **state)
{
    static const char *const names[] = {
        "plain", "a) Z 1 2 (b", ") ) )", "((((", "a b c d", ""
    };
    char before[16] = "";
    uint64_t start, again;
    (void)state;
    prctl(PR_GET_NAME, before);
    assert_int_equal(procfs_start_time(getpid(), &start, NULL), ERR_OK);
    assert_true(start > 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char letter = '?';
        prctl(PR_SET_NAME, names[i]);
        assert_int_equal(procfs_start_time(getpid(), &again, NULL), ERR_OK);
        assert_int_equal(again, start);
        assert_int_equal(procfs_state(getpid(), &letter, NULL), ERR_OK);
        assert_int_equal(letter, 'R');
    }
    prctl(PR_SET_NAME, before);
}

static int end_at_once(void *context)
{
    (void)context;
    return 0;
}

static void a_process_that_ended_is_a_zombie(void **state)
{
    struct child child;
    char letter;
    (void)state;
    child_start(&child, end_at_once, NULL);
    assert_int_equal(procfs_state(child.pid, &letter, NULL), ERR_OK);
    assert_int_not_equal(letter, 'Z');
    child_go_on(&child);
    child_await_zombie(&child);
    assert_int_equal(procfs_state(child.pid, &letter, NULL), ERR_OK);
    assert_int_equal(letter, 'Z');
    child_reap(&child);
    assert_int_equal(procfs_state(child.pid, &letter, NULL), ERR_GONE);
    child_end(&child);
}

struct named {
    const char *name;
    int tid;
    sem_t named, seen;
};

static void *carry_name(void *context)
{
    struct named *const named = context;
    prctl(PR_SET_NAME, named->name);
    named->tid = (int)syscall(SYS_gettid);
    sem_post(&named->named);
    while (sem_wait(&named->seen))
        ;
    return NULL;
}

static void each_thread_has_a_name(void **state)
{
    static const char *const names[] = { "worker (1)", "x", "fifteen letters" };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct named named = { .name = names[i] };
        pthread_t thread;
        char name[PROCFS_COMM_BYTES];
        sem_init(&named.named, 0, 0);
        sem_init(&named.seen, 0, 0);
        assert_int_equal(pthread_create(&thread, NULL, carry_name, &named), 0);
        while (sem_wait(&named.named))
            ;
        assert_int_equal(procfs_thread_name(getpid(), named.tid, name, NULL), ERR_OK);
        assert_string_equal(name, names[i]);
        sem_post(&named.seen);
        pthread_join(thread, NULL);
        sem_destroy(&named.named);
        sem_destroy(&named.seen);
    }
}

static void our_own_executable_is_known(void **state)
{
    char *path;
    struct err err = { 0 };
    (void)state;
    assert_ok(procfs_executable(getpid(), &path, &err), &err);
    assert_int_equal(path[0], '/');
    assert_non_null(strstr(path, "test_process"));
    free(path);
}

TEST_GROUP(cmocka_unit_test(a_file_is_read_whole_and_ends_in_nul),
           cmocka_unit_test(a_file_larger_than_a_page_is_read_whole),
           cmocka_unit_test(a_missing_process_is_gone),
           cmocka_unit_test(fields_count_from_the_last_parenthesis_of_the_name),
           cmocka_unit_test(a_process_that_ended_is_a_zombie),
           cmocka_unit_test(each_thread_has_a_name),
           cmocka_unit_test(our_own_executable_is_known))
