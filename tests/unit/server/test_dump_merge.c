#include <string.h>

#include "server/sessions/dump_merge.h"
#include "tests/support/test.h"

static void add(struct dump_merge *merge, const char *name, const char *state,
                const char *lines, bool is_idle)
{
    const struct dump_merge_thread thread = { .name = name,
                                              .state = state,
                                              .lines = lines,
                                              .is_main = strcmp(name, "MainThread") == 0,
                                              .is_idle_worker = is_idle };
    assert_int_equal(dump_merge_thread(merge, &thread, NULL), ERR_OK);
}

static void add_detailed(struct dump_merge *merge, const char *name, const char *detailed)
{
    const struct dump_merge_thread thread = { .name = name,
                                              .state = "running",
                                              .lines = "    load (data.py:4)\n",
                                              .detailed = detailed };
    assert_int_equal(dump_merge_thread(merge, &thread, NULL), ERR_OK);
}

static void begin(struct dump_merge *merge, pid_t pid, int32_t rank)
{
    assert_int_equal(dump_merge_process(merge, pid, rank, "3.13.5", NULL, NULL), ERR_OK);
}

static void assert_written(struct dump_merge *merge, bool shows_idle, const char *expected)
{
    struct buffer out = { 0 };
    assert_int_equal(dump_merge_write(merge, shows_idle, &out, NULL), ERR_OK);
    assert_string_equal(buffer_string(&out), expected);
    buffer_deinit(&out);
    dump_merge_deinit(merge);
}

static void variables_are_those_of_the_first_that_has_some(void **state)
{
    struct dump_merge merge;
    (void)state;
    assert_int_equal(dump_merge_init(&merge, NULL), ERR_OK);
    begin(&merge, 100, -1);
    add_detailed(&merge, "worker-1", NULL);
    add_detailed(&merge, "worker-2", "    load (data.py:4)\n      locals:\n        i: 2\n");
    begin(&merge, 101, -1);
    add_detailed(&merge, "worker-3", "    load (data.py:4)\n      locals:\n        i: 3\n");
    assert_written(&merge, false,
                   "2 processes, Python 3.13.5\n"
                   "\n2 of 2 processes · worker-1 … -3 (3 threads): running\n"
                   "  processes 100, 101\n"
                   "  variables of worker-2 in process 100\n"
                   "    load (data.py:4)\n      locals:\n        i: 2\n");
}

static void the_odd_one_of_eight_ranks_comes_first(void **state)
{
    struct dump_merge merge;
    (void)state;
    assert_int_equal(dump_merge_init(&merge, NULL), ERR_OK);
    begin(&merge, 100, -1);
    add(&merge, "MainThread", "idle: child process",
        "    wait (launch.py:9)\n    main (launch.py:3)\n", false);
    for (int rank = 7; rank >= 0; rank--) {
        begin(&merge, 200 - 3 * rank, rank);
        if (rank == 5)
            add(&merge, "MainThread", "running",
                "    load (data.py:4)\n    main (train.py:3)\n", false);
        else
            add(&merge, "MainThread", "blocked: network read",
                "    all_reduce (train.py:7)\n    main (train.py:3)\n", false);
    }
    assert_written(&merge, false,
                   "9 processes, Python 3.13.5\n"
                   "\n1 of 9 processes · MainThread: idle: child process\n"
                   "  process 100\n"
                   "    wait (launch.py:9)\n    main (launch.py:3)\n"
                   "\n1 of 9 processes · MainThread: running\n"
                   "  rank 5\n"
                   "    load (data.py:4)\n    main (train.py:3)\n"
                   "\n7 of 9 processes · MainThread: blocked: network read\n"
                   "  ranks 0-4, 6, 7\n"
                   "    all_reduce (train.py:7)\n    main (train.py:3)\n");
}

static void workers_of_a_pool_stand_once_and_idle_ones_in_a_line(void **state)
{
    struct dump_merge merge;
    (void)state;
    for (int shows_idle = 0; shows_idle < 2; shows_idle++) {
        assert_int_equal(dump_merge_init(&merge, NULL), ERR_OK);
        for (int pid = 10; pid < 12; pid++) {
            begin(&merge, pid, 0);
            add(&merge, "ThreadPoolExecutor-0_9", "running", "    work (a.py:1)\n", false);
            add(&merge, "ThreadPoolExecutor-0_10", "running", "    work (a.py:1)\n", false);
            add(&merge, "ThreadPoolExecutor-0_11", "idle: idle worker", "    get (q.py:1)\n",
                true);
        }
        assert_written(&merge, shows_idle,
                       shows_idle
                           ? "2 processes, Python 3.13.5\n"
                             "\n2 of 2 processes · ThreadPoolExecutor-0_11: idle: idle worker\n"
                             "  processes 10, 11\n    get (q.py:1)\n"
                             "\n2 of 2 processes · ThreadPoolExecutor-0_9 … _10 (4 threads): "
                             "running\n  processes 10, 11\n    work (a.py:1)\n"
                           : "2 processes, Python 3.13.5\n"
                             "\n2 of 2 processes · ThreadPoolExecutor-0_9 … _10 (4 threads): "
                             "running\n  processes 10, 11\n    work (a.py:1)\n"
                             "\n2 threads idle in ThreadPoolExecutor: --idle shows them\n");
    }
}

static void deadlocks_come_first_and_other_programs_last(void **state)
{
    struct dump_merge merge;
    (void)state;
    assert_int_equal(dump_merge_init(&merge, NULL), ERR_OK);
    assert_int_equal(dump_merge_process(&merge, 9, -1, NULL, "sh, waits in do_wait", NULL),
                     ERR_OK);
    begin(&merge, 10, -1);
    add(&merge, "MainThread", "blocked: lock", "    move (bank.py:31)\n", false);
    dump_merge_deadlocks(&merge, "deadlock: a waits for b\ndeadlock: c waits for itself\n");
    assert_int_equal(dump_merge_process(&merge, 11, -1, NULL, "sh, waits in do_wait", NULL),
                     ERR_OK);
    assert_int_equal(dump_merge_process(&merge, 12, 3, "3.8.20", NULL, NULL), ERR_OK);
    assert_written(&merge, false,
                   "2 processes, Python 3.13.5 (1), 3.8.20 (1)\n"
                   "process 10: deadlock: a waits for b\n"
                   "process 10: deadlock: c waits for itself\n"
                   "\n1 of 2 processes · MainThread: blocked: lock\n"
                   "  process 10\n    move (bank.py:31)\n"
                   "\nprocesses 9, 11, no Python: sh, waits in do_wait\n");
}

static void stacks_that_differ_anywhere_are_two(void **state)
{
    static const char *const stacks[] = { "    b (x.py:1)\n    a (x.py:1)\n",
                                          "    b (x.py:1)\n    a (x.py:2)\n",
                                          "    b (x.py:1)\n", "" };
    struct dump_merge merge;
    (void)state;
    assert_int_equal(dump_merge_init(&merge, NULL), ERR_OK);
    begin(&merge, 1, -1);
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        for (int k = 0; k < 2; k++)
            add(&merge, "Thread-1", "running", stacks[i], false);
    add(&merge, "Thread-1", "blocked", stacks[0], false);
    assert_int_equal(merge.stack_count, 5);
    assert_int_equal(merge.line_count, 1 + 5);
    dump_merge_deinit(&merge);
}

static void long_lists_of_processes_end(void **state)
{
    struct dump_merge merge;
    struct buffer out = { 0 };
    (void)state;
    assert_int_equal(dump_merge_init(&merge, NULL), ERR_OK);
    for (int i = 0; i < 1000; i++) {
        begin(&merge, 2 * i + 1, -1);
        add(&merge, "MainThread", "running", "    a (x.py:1)\n", false);
    }
    assert_int_equal(dump_merge_write(&merge, false, &out, NULL), ERR_OK);
    assert_non_null(strstr(buffer_string(&out), "\n  processes 1, 3, 5,"));
    assert_non_null(strstr(buffer_string(&out), ", 45, 47 and 976 more\n"));
    buffer_deinit(&out);
    dump_merge_deinit(&merge);
}

static void threads_without_room_are_counted(void **state)
{
    struct dump_merge merge;
    (void)state;
    assert_int_equal(dump_merge_init(&merge, NULL), ERR_OK);
    begin(&merge, 1, -1);
    merge.thread_count = DUMP_MERGE_MAX_THREADS;
    add(&merge, "MainThread", "running", "    a (x.py:1)\n", false);
    merge.thread_count = 0;
    assert_written(&merge, false,
                   "1 process, Python 3.13.5\n"
                   "\n1 more thread: there is no room for its stack\n");
}

static void pools_are_named_without_the_numbers_of_their_threads(void **state)
{
    static const struct {
        const char *name;
        size_t length;
    } cases[] = { { "ThreadPoolExecutor-0_7", 18 },
                  { "Thread-12", 6 },
                  { "MainThread", 10 },
                  { "12", 2 },
                  { "", 0 },
                  { "worker-a-", 9 } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(dump_pool_length(cases[i].name, strlen(cases[i].name)),
                         cases[i].length);
}

TEST_GROUP(cmocka_unit_test(the_odd_one_of_eight_ranks_comes_first),
           cmocka_unit_test(variables_are_those_of_the_first_that_has_some),
           cmocka_unit_test(workers_of_a_pool_stand_once_and_idle_ones_in_a_line),
           cmocka_unit_test(deadlocks_come_first_and_other_programs_last),
           cmocka_unit_test(stacks_that_differ_anywhere_are_two),
           cmocka_unit_test(long_lists_of_processes_end),
           cmocka_unit_test(threads_without_room_are_counted),
           cmocka_unit_test(pools_are_named_without_the_numbers_of_their_threads))
