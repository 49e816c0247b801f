/* The threads of this process, and the memory of an interpreter that claims to run them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/threads/os_threads.h"
#include "sampler/cpython/threads/sub_interpreter_stacks.h"
#include "sampler/cpython/threads/threads.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/thread_world.h"

enum {
    THREADS = 3, /* of the operating system */
    PTHREAD_BYTES = 1024,
#if defined __aarch64__
    OF_TID = 208,
#else
    OF_TID = 720,
#endif
    FOREIGN = 1, /* the id of the first process of this host */
    GONE = INT32_MAX,
};

static int32_t tids[THREADS];
static pthread_t others[THREADS];
static pthread_barrier_t all_run;
static pthread_mutex_t may_end = PTHREAD_MUTEX_INITIALIZER;

struct world {
    struct thread_world made;
    struct os_threads threads;
};

static void *live(void *context)
{
    *(int32_t *)context = (int32_t)syscall(SYS_gettid);
    pthread_barrier_wait(&all_run);
    pthread_mutex_lock(&may_end);
    pthread_mutex_unlock(&may_end);
    return NULL;
}

static int start_threads(void **state)
{
    (void)state;
    tids[0] = (int32_t)getpid();
    pthread_barrier_init(&all_run, NULL, THREADS);
    pthread_mutex_lock(&may_end);
    for (size_t i = 1; i < THREADS; i++)
        if (pthread_create(&others[i], NULL, live, &tids[i]))
            return -1;
    pthread_barrier_wait(&all_run);
    return 0;
}

static int end_threads(void **state)
{
    (void)state;
    pthread_mutex_unlock(&may_end);
    for (size_t i = 1; i < THREADS; i++)
        pthread_join(others[i], NULL);
    return 0;
}

/* The C library's structure of a thread. */
static remote_addr add_pthread(struct world *world, int32_t tid)
{
    const remote_addr at = fake_alloc(&world->made.python, PTHREAD_BYTES);
    fake_memory_put_u32(&world->made.python.memory, at + OF_TID, (uint32_t)tid);
    return at;
}

static struct fake_thread *add(struct world *world, remote_addr interp, int32_t tid,
                               int32_t pthread_tid)
{
    return thread_world_add(&world->made, interp, add_pthread(world, pthread_tid), tid);
}

static void in_every_version(void (*test)(struct world *world))
{
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world world;
        thread_world_init(&world.made, minor);
        os_threads_init(&world.threads, &world.made.list, getpid());
        test(&world);
        os_threads_deinit(&world.threads);
        thread_world_deinit(&world.made);
    }
}

static void match(struct world *world)
{
    assert_int_equal(thread_list_walk(&world->made.list), ERR_OK);
    sub_stacks_find(&world->made.list);
    assert_int_equal(os_threads_match(&world->threads), ERR_OK);
}

static void check_true(struct world *world)
{
    for (size_t i = 0; i < THREADS; i++)
        add(world, world->made.interp, tids[i], tids[i]);
    match(world);
    assert_int_equal(world->threads.unknown_count, 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(thread_world_find(&world->made, world->made.states[i])->host_tid,
                         tids[i]);
}

static void true_ids_count(void **state)
{
    (void)state;
    in_every_version(check_true);
}

/* Until 3.10 the interpreter has no id. */
static void check_without(struct world *world)
{
    world->made.python.runtime.layout.tstate_native_thread_id = 0;
    check_true(world);
}

static void where_the_interpreter_has_none_that_of_the_c_library_counts(void **state)
{
    (void)state;
    in_every_version(check_without);
}

/* The parent's threads had the first ids; of these, only the first thread is in the child, and it has started others. */
static void check_forked(struct world *world)
{
    struct fake_thread *const first = add(world, world->made.interp, FOREIGN, tids[0]);
    struct fake_thread *const left = add(world, world->made.interp, GONE, 0);
    struct fake_thread *const started = add(world, world->made.interp, tids[1], tids[1]);
    match(world);
    assert_int_equal(thread_world_find(&world->made, first)->host_tid, tids[0]);
    assert_true(thread_world_find(&world->made, first)->is_main);
    assert_int_equal(thread_world_find(&world->made, started)->host_tid, tids[1]);
    assert_null(thread_world_find(&world->made, left));
    assert_true(world->made.list.has_gone);
    assert_int_equal(world->threads.unknown_count, 0);
}

static void after_a_fork_in_c_the_c_library_has_the_ids(void **state)
{
    (void)state;
    in_every_version(check_forked);
}

static void check_fork_in_another(struct world *world)
{
    struct fake_thread *const main = add(world, world->made.interp, FOREIGN, 0);
    struct fake_thread *const forking = add(world, world->made.interp, GONE, tids[0]);
    match(world);
    assert_null(thread_world_find(&world->made, main));
    assert_int_equal(thread_world_find(&world->made, forking)->host_tid, tids[0]);
}

static void a_thread_other_than_the_main_one_may_call_fork(void **state)
{
    (void)state;
    in_every_version(check_fork_in_another);
}

static void check_foreign(struct world *world)
{
    struct fake_thread *const honest = add(world, world->made.interp, tids[0], tids[0]);
    struct fake_thread *const hostile = add(world, world->made.interp, FOREIGN, FOREIGN);
    match(world);
    assert_int_equal(thread_world_find(&world->made, honest)->host_tid, tids[0]);
    assert_int_equal(thread_world_find(&world->made, hostile)->host_tid, 0);
    assert_int_equal(world->threads.unknown_count, 1);
    /* Nor later. */
    assert_int_equal(os_threads_match(&world->threads), ERR_OK);
    assert_int_equal(thread_world_find(&world->made, hostile)->host_tid, 0);
    fake_memory_put_u32(&world->made.python.memory,
                        thread_world_find(&world->made, hostile)->head.ident + OF_TID,
                        (uint32_t)tids[1]);
    assert_int_equal(os_threads_match(&world->threads), ERR_OK);
    assert_int_equal(thread_world_find(&world->made, hostile)->host_tid, tids[1]);
    assert_int_equal(world->threads.unknown_count, 0);
}

static void an_id_of_another_process_never_counts(void **state)
{
    (void)state;
    in_every_version(check_foreign);
}

/* The first to name it is the wrong one. */
static void check_contested(struct world *world)
{
    struct fake_thread *const right = add(world, world->made.interp, tids[0], tids[0]);
    struct fake_thread *const wrong = add(world, world->made.interp, tids[0], tids[1]);
    struct fake_thread *const hostile = add(world, world->made.interp, tids[0], tids[0]);
    match(world);
    assert_int_equal(thread_world_find(&world->made, wrong)->host_tid, tids[1]);
    const int32_t found[] = { thread_world_find(&world->made, right)->host_tid,
                              thread_world_find(&world->made, hostile)->host_tid };
    assert_true((found[0] == tids[0] && !found[1]) || (!found[0] && found[1] == tids[0]));
    assert_int_equal(world->threads.unknown_count, 1);
}

static void no_two_states_have_one_thread(void **state)
{
    (void)state;
    in_every_version(check_contested);
}

static void check_interpreters(struct world *world)
{
    struct fake_thread *const outer = add(world, world->made.interp, tids[0], tids[0]);
    struct fake_thread *const inner =
        add(world, fake_interp(&world->made.python, 1), tids[0], tids[0]);
    match(world);
    assert_int_equal(thread_world_find(&world->made, outer)->host_tid, tids[0]);
    assert_int_equal(thread_world_find(&world->made, inner)->host_tid, tids[0]);
}

static void a_thread_has_a_state_in_each_interpreter(void **state)
{
    (void)state;
    in_every_version(check_interpreters);
}

static void *say_tid(void *context)
{
    *(int32_t *)context = (int32_t)syscall(SYS_gettid);
    return NULL;
}

static int32_t ended_tid(void)
{
    pthread_t thread;
    int32_t tid;
    assert_int_equal(pthread_create(&thread, NULL, say_tid, &tid), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (int i = 0; i < 5000 && thread_ids_has(getpid(), tid); i++)
        usleep(1000);
    return tid;
}

static void check_ended(struct world *world)
{
    add(world, world->made.interp, tids[0], tids[0]);
    struct fake_thread *const ending = add(world, world->made.interp, tids[1], tids[1]);
    match(world);
    struct thread *const thread = thread_world_find(&world->made, ending);
    thread->tag = 4711;
    /* As if that had been its own, before it ended. */
    const int32_t ended = ended_tid();
    thread->host_tid = thread->head.tid = ended;
    fake_memory_put_u32(&world->made.python.memory, thread->head.ident + OF_TID,
                        (uint32_t)ended);
    assert_int_equal(os_threads_match(&world->threads), ERR_OK);
    assert_int_equal(thread->host_tid, 0);
    assert_int_equal(thread->tag, 0);
    fake_memory_put_u32(&world->made.python.memory, thread->head.ident + OF_TID, 0);
    assert_int_equal(os_threads_match(&world->threads), ERR_OK);
    assert_null(thread_world_find(&world->made, ending));
}

static void a_thread_that_ends_loses_its_id(void **state)
{
    (void)state;
    in_every_version(check_ended);
}

/* uWSGI loads its applications, and makes states in their interpreters, before it forks. */
static void check_forked_interpreters(struct world *world)
{
    const remote_addr application = fake_interp(&world->made.python, 1);
    struct fake_thread *const outer = add(world, world->made.interp, tids[0], tids[0]);
    struct fake_thread *const inner = add(world, application, FOREIGN, tids[0]);
    struct fake_thread *const spare = add(world, application, FOREIGN, tids[0]);
    match(world);
    struct thread *const first = thread_world_find(&world->made, outer);
    struct thread *const second = thread_world_find(&world->made, inner);
    struct thread *const third = thread_world_find(&world->made, spare);
    assert_int_equal(first->host_tid, tids[0]);
    assert_int_equal(second->host_tid + third->host_tid, tids[0]);
    struct thread *const matched = second->host_tid ? second : third;
    if (world->made.python.runtime.layout.has_state_per_interpreter) {
        assert_ptr_equal(matched->later, first);
        assert_ptr_equal(sub_stacks_outermost(matched), first);
    }
    assert_false(sub_stacks_is_spare(matched));
    assert_true(sub_stacks_is_spare(matched == second ? third : second));
}

static void states_that_were_made_before_a_fork_are_of_the_same_thread(void **state)
{
    (void)state;
    in_every_version(check_forked_interpreters);
}

/* The stack of the state is as if it had just been read. */
static void call_from(struct world *world, struct thread *thread, struct walk_frame *frame,
                      remote_addr place)
{
    const uint32_t cframe = world->made.python.runtime.layout.tstate_cframe;
    thread->stack.copy.tstate_bytes = world->made.python.runtime.layout.tstate_bytes;
    *frame = (struct walk_frame){ .entry = place };
    thread->stack.frames = frame;
    thread->stack.count = place != 0;
    if (cframe)
        memcpy(thread->stack.copy.tstate + cframe, &place, sizeof place);
}

/* Two states that the first thread has made; another thread, whose C stack is known, runs in one of them. */
static void check_lent(struct world *world)
{
    enum { STACK = 0x7000 };
    const remote_addr application = fake_interp(&world->made.python, 1);
    struct walk_frame frames[2];
    bool has_moved;
    add(world, world->made.interp, tids[0], tids[0]);
    struct fake_thread *const own = add(world, world->made.interp, tids[1], tids[1]);
    struct fake_thread *const made[] = { add(world, application, tids[0], tids[0]),
                                         add(world, application, tids[0], tids[0]) };
    match(world);
    assert_int_equal(world->threads.unknown_count, 1);
    assert_true(os_threads_may_lend(&world->threads));
    assert_int_equal(c_stacks_add(&world->threads.stacks, STACK + 0x1000, tids[1]), ERR_OK);
    world->threads.stacks.items[0].from = STACK;
    /* Not read again. */
    world->threads.stacks_ns = clock_now_ns();
    world->threads.stacks_again_ns = UINT64_MAX;
    struct thread *const runs = thread_world_find(&world->made, own);
    for (size_t i = 0; i < 2; i++) {
        struct thread *const lent = thread_world_find(&world->made, made[i]);
        const int32_t before = lent->host_tid;
        /* On no stack that is known, and without frames. */
        call_from(world, lent, &frames[0], STACK + 0x2000);
        assert_int_equal(os_threads_place(&world->threads, lent, &has_moved), ERR_OK);
        assert_false(has_moved);
        call_from(world, lent, &frames[0], 0);
        assert_int_equal(os_threads_place(&world->threads, lent, &has_moved), ERR_OK);
        assert_false(has_moved);
        assert_int_equal(lent->host_tid, before);
        /* From where a frame of its own was called: a fork has left it behind. */
        call_from(world, lent, &frames[0], STACK + 8);
        call_from(world, runs, &frames[1], STACK + 8);
        assert_int_equal(os_threads_place(&world->threads, lent, &has_moved), ERR_OK);
        assert_false(has_moved);
        call_from(world, runs, &frames[1], STACK + 16);
        assert_int_equal(os_threads_place(&world->threads, lent, &has_moved), ERR_OK);
        assert_true(has_moved);
        assert_int_equal(lent->host_tid, tids[1]);
        sub_stacks_find(&world->made.list);
        assert_ptr_equal(sub_stacks_outermost(lent), runs);
        assert_ptr_equal(sub_stacks_innermost(&world->made.list, runs), lent);
        assert_int_equal(os_threads_place(&world->threads, lent, &has_moved), ERR_OK);
        assert_false(has_moved);
        call_from(world, lent, &frames[0], 0);
        assert_ptr_equal(sub_stacks_innermost(&world->made.list, lent), runs);
        call_from(world, runs, &frames[1], 0);
        runs->stack.frames = lent->stack.frames = NULL;
    }
    assert_int_equal(world->threads.unknown_count, 0);
}

static void a_state_is_of_the_thread_whose_c_stack_it_runs_on(void **state)
{
    (void)state;
    in_every_version(check_lent);
}

TEST_GROUP_WITHIN(start_threads, end_threads, cmocka_unit_test(true_ids_count),
                  cmocka_unit_test(where_the_interpreter_has_none_that_of_the_c_library_counts),
                  cmocka_unit_test(after_a_fork_in_c_the_c_library_has_the_ids),
                  cmocka_unit_test(a_thread_other_than_the_main_one_may_call_fork),
                  cmocka_unit_test(an_id_of_another_process_never_counts),
                  cmocka_unit_test(no_two_states_have_one_thread),
                  cmocka_unit_test(a_thread_has_a_state_in_each_interpreter),
                  cmocka_unit_test(a_thread_that_ends_loses_its_id),
                  cmocka_unit_test(states_that_were_made_before_a_fork_are_of_the_same_thread),
                  cmocka_unit_test(a_state_is_of_the_thread_whose_c_stack_it_runs_on))
