#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/process/thread_ids.h"
#include "tests/support/test.h"

static int32_t own_tid(void)
{
    return (int32_t)syscall(SYS_gettid);
}

/* A thread that lives until a byte comes. */
struct companion {
    pthread_t thread;
    int order[2], answer[2];
    int32_t tid;
};

static void *accompany(void *context)
{
    struct companion *const companion = context;
    char byte = 0;
    companion->tid = own_tid();
    if (write(companion->answer[1], &byte, 1) == 1)
        (void)!read(companion->order[0], &byte, 1);
    return NULL;
}

static void start(struct companion *companion)
{
    char byte;
    assert_int_equal(pipe(companion->order), 0);
    assert_int_equal(pipe(companion->answer), 0);
    assert_int_equal(pthread_create(&companion->thread, NULL, accompany, companion), 0);
    assert_int_equal(read(companion->answer[0], &byte, 1), 1);
}

static void end(struct companion *companion)
{
    assert_int_equal(write(companion->order[1], "", 1), 1);
    assert_int_equal(pthread_join(companion->thread, NULL), 0);
    for (int i = 0; i < 2; i++) {
        close(companion->order[i]);
        close(companion->answer[i]);
    }
    /* It may be there for a moment after it was joined. */
    for (int i = 0; i < 5000 && thread_ids_has(getpid(), companion->tid); i++)
        usleep(1000);
}

static void a_process_has_its_own_threads_only(void **state)
{
    struct companion companion;
    struct thread_ids ids;
    (void)state;
    start(&companion);
    thread_ids_init(&ids, getpid());
    assert_true(thread_ids_has(getpid(), own_tid()));
    assert_true(thread_ids_has(getpid(), companion.tid));
    assert_int_equal(thread_ids_find(&ids, companion.tid), companion.tid);
    const int32_t foreign[] = { 1, getppid(), 0, -1, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        assert_false(thread_ids_has(getpid(), foreign[i]));
        assert_int_equal(thread_ids_find(&ids, foreign[i]), 0);
    }
    /* A thread's id is none of a process. */
    assert_false(thread_ids_has(companion.tid, companion.tid));
    end(&companion);
    assert_false(thread_ids_has(getpid(), companion.tid));
    assert_int_equal(thread_ids_find(&ids, companion.tid), 0);
    thread_ids_deinit(&ids);
}

static void threads_are_counted(void **state)
{
    struct companion companion;
    struct thread_ids ids;
    (void)state;
    thread_ids_init(&ids, getpid());
    const size_t before = thread_ids_count(&ids);
    assert_true(before > 0);
    start(&companion);
    assert_int_equal(thread_ids_count(&ids), before + 1);
    end(&companion);
    thread_ids_init(&ids, INT32_MAX);
    assert_int_equal(thread_ids_count(&ids), 0);
}

/* The first process of a new pid namespace, with a second thread; says both ids. */
static _Noreturn void be_first(int answer)
{
    struct companion companion;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    start(&companion);
    const int32_t tids[] = { own_tid(), companion.tid };
    if (write(answer, tids, sizeof tids) != sizeof tids)
        _exit(1);
    for (;;)
        pause();
}

static void a_process_in_a_pid_namespace_has_its_threads_by_their_numbers_there(void **state)
{
    int answer[2], pids[2];
    int32_t tids[2];
    struct thread_ids ids;
    (void)state;
    assert_int_equal(pipe(answer), 0);
    assert_int_equal(pipe(pids), 0);
    const pid_t outside = fork();
    if (outside == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const pid_t child = unshare(CLONE_NEWPID) ? -1 : fork();
        if (child == 0)
            be_first(answer[1]);
        if (write(pids[1], &child, sizeof child) != sizeof child)
            _exit(1);
        pause();
        _exit(0);
    }
    pid_t pid = -1;
    assert_int_equal(read(pids[0], &pid, sizeof pid), sizeof pid);
    if (pid > 0) {
        assert_int_equal(read(answer[0], tids, sizeof tids), sizeof tids);
        assert_int_equal(tids[0], 1);
        thread_ids_init(&ids, pid);
        assert_int_equal(thread_ids_inner_pid(pid), 1);
        assert_int_equal(thread_ids_find(&ids, 1), pid);
        const int32_t other = thread_ids_find(&ids, tids[1]);
        assert_true(other > 0 && other != pid && thread_ids_has(pid, other));
        /* Their numbers here are none there, and nobody else's are. */
        assert_int_equal(thread_ids_find(&ids, pid), 0);
        assert_int_equal(thread_ids_find(&ids, other), 0);
        assert_int_equal(thread_ids_find(&ids, own_tid()), 0);
        thread_ids_begin(&ids);
        assert_int_equal(thread_ids_find(&ids, tids[1]), other);
        thread_ids_deinit(&ids);
        kill(pid, SIGKILL);
    }
    kill(outside, SIGKILL);
    waitpid(outside, NULL, 0);
    for (int i = 0; i < 2; i++) {
        close(answer[i]);
        close(pids[i]);
    }
    if (pid <= 0) {
        puts("skipped: only root makes pid namespaces");
        skip();
    }
}

TEST_GROUP(
    cmocka_unit_test(a_process_has_its_own_threads_only), cmocka_unit_test(threads_are_counted),
    cmocka_unit_test(a_process_in_a_pid_namespace_has_its_threads_by_their_numbers_there))
