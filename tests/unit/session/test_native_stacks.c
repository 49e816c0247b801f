/* Both engines hand on the registers and the C stack of a thread: those that ptrace shows of it.  The linker puts the
 * fold_reading of this file before that of fold.c. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/native/native_copy.h"
#include "sampler/process/process.h"
#include "sampler/process/procfs.h"
#include "sampler/process/stopper.h"
#include "sampler/session.h"
#include "sampler/session/fold/fold.h"
#include "tests/support/test.h"

enum {
    MAIN,
    WORKER,
    WITH_ARRAY,
    WITH_LARGE_ARRAY,
    SLEEPERS,
    SETTLE_US = 300000,
    POLL_US = 10000,
    MAX_POLLS = 3000,
    SYSCALL_BYTES = 2, /* of the instruction that a thread goes back by to wait again */
};

struct seen {
    int32_t tid;
    unsigned samples, with_native; /* since they were cleared */
    struct native_copy copy;
    unsigned char bytes[UNWIND_MAX_SPANS][NATIVE_COPY_BYTES];
};

static struct victim {
    int pid, output_fd;
    int order_fds[SLEEPERS];
    uint64_t stack_start;
    struct process_memory memory;
} victim;
static struct seen seen[SLEEPERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of `seen` */

enum err_code __real_fold_reading(struct fold *fold, const struct thread_reading *reading);
enum err_code __wrap_fold_reading(struct fold *fold, const struct thread_reading *reading);

static void keep(struct seen *to, const struct native_copy *copy)
{
    to->with_native++;
    to->copy = *copy;
    for (size_t i = 0; i < copy->stack.span_count; i++) {
        const struct native_span *const span = &copy->stack.spans[i];
        assert_in_range(span->count, 1, NATIVE_COPY_BYTES);
        memcpy(to->bytes[i], span->bytes, span->count);
        to->copy.stack.spans[i].bytes = to->bytes[i];
    }
}

enum err_code __wrap_fold_reading(struct fold *fold, const struct thread_reading *reading)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SLEEPERS; i++)
        if (seen[i].tid == reading->thread->host_tid) {
            seen[i].samples++;
            if (reading->native)
                keep(&seen[i], reading->native);
        }
    pthread_mutex_unlock(&lock);
    return __real_fold_reading(fold, reading);
}

static void read_threads(FILE *output)
{
    for (size_t i = 0; i < SLEEPERS; i++) {
        unsigned index, tid;
        assert_int_equal(fscanf(output, "%u %u", &index, &tid), 2);
        assert_in_range(index, 0, SLEEPERS - 1);
        seen[index].tid = (int32_t)tid;
    }
}

static void start_victim(void)
{
    char texts[SLEEPERS][16];
    char *argv[SLEEPERS + 4] = { (char[]){ PYTHON },
                                 (char[]){ TEST_SOURCE_DIR "/unit/session/sleepers.py" },
                                 (char[]){ UNTOUCHED } };
    int output[2], orders[SLEEPERS][2];
    struct procfs_identity identity;
    struct err err = { 0 };
    memset(seen, 0, sizeof seen);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    for (size_t i = 0; i < SLEEPERS; i++) {
        assert_int_equal(pipe(orders[i]), 0);
        assert_int_equal(fcntl(orders[i][1], F_SETFD, FD_CLOEXEC), 0);
        snprintf(texts[i], sizeof texts[i], "%d", orders[i][0]);
        argv[3 + i] = texts[i];
    }
    victim.pid = fork();
    assert_true(victim.pid >= 0);
    if (victim.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(output[1], STDOUT_FILENO);
        execv(argv[0], argv);
        _exit(127);
    }
    close(output[1]);
    for (size_t i = 0; i < SLEEPERS; i++) {
        close(orders[i][0]);
        victim.order_fds[i] = orders[i][1];
    }
    FILE *const file = fdopen(output[0], "r");
    assert_non_null(file);
    read_threads(file);
    fclose(file);
    process_memory_init(&victim.memory, victim.pid);
    assert_ok(procfs_identify(victim.pid, &identity, &err), &err);
    victim.stack_start = identity.stack_start;
}

static void end_victim(void)
{
    kill(victim.pid, SIGKILL);
    assert_int_equal(waitpid(victim.pid, NULL, 0), victim.pid);
    for (size_t i = 0; i < SLEEPERS; i++)
        close(victim.order_fds[i]);
}

static bool all_are_seen(void)
{
    bool are_seen = true;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SLEEPERS; i++)
        are_seen = are_seen && seen[i].samples;
    pthread_mutex_unlock(&lock);
    return are_seen;
}

/* Samples threads that have moved since, and sleep again. */
static void sample(struct session_options options)
{
    struct session *session = NULL;
    struct err err = { 0 };
    options.pids[0] = victim.pid;
    options.pid_count = 1;
    options.rate_hz = 200;
    options.all_threads = true;
    options.stop =
        options.engine == SESSION_ENGINE_KERNEL ? SESSION_STOP_NEVER : SESSION_STOP_ALWAYS;
    assert_ok(session_start(&options, &session, &err), &err);
    for (size_t i = 0; i < SLEEPERS; i++)
        assert_int_equal(write(victim.order_fds[i], "", 1), 1);
    usleep(SETTLE_US);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SLEEPERS; i++)
        seen[i].samples = seen[i].with_native = 0;
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; i < MAX_POLLS && !all_are_seen(); i++)
        usleep(POLL_US);
    session_destroy(session);
    assert_true(all_are_seen());
}

static void check_registers(const struct native_registers *registers,
                            const struct native_registers *expected)
{
    assert_int_equal(registers->sp, expected->sp);
    if (registers->ip != expected->ip - SYSCALL_BYTES &&
        registers->ip != expected->ip + SYSCALL_BYTES)
        assert_int_equal(registers->ip, expected->ip);
    assert_int_equal(registers->outer_sp, expected->outer_sp);
    assert_memory_equal(registers->saved, expected->saved, sizeof expected->saved);
}

static void check_memory(const struct native_stack *stack)
{
    static unsigned char now[NATIVE_COPY_BYTES];
    for (size_t i = 0; i < stack->span_count; i++) {
        const struct native_span *const span = &stack->spans[i];
        assert_int_equal(memory_read(&victim.memory.memory, span->addr, now, span->count),
                         ERR_OK);
        assert_memory_equal(span->bytes, now, span->count);
    }
}

/* Against what ptrace shows of the thread, which has not run since. */
static void check_state(size_t index)
{
    const struct seen *const sleeper = &seen[index];
    const struct native_stack *const stack = &sleeper->copy.stack;
    struct stopper stopper;
    struct process process;
    struct native_registers expected;
    remote_addr descriptor;
    assert_true(sleeper->with_native);
    assert_int_equal(process_open(&process, victim.pid, NULL), ERR_OK);
    stopper_init(&stopper);
    assert_int_equal(
        stopper_stop(&stopper, &process, &sleeper->tid, 1, clock_now_ns() + 10 * NS_PER_S),
        ERR_OK);
    process_close(&process);
    assert_true(stopper_holds(&stopper, sleeper->tid));
    assert_int_equal(machine_read_registers(sleeper->tid, &expected, &descriptor), ERR_OK);
    check_registers(&sleeper->copy.registers, &expected);
    check_memory(stack);
    stopper_deinit(&stopper);
    assert_int_equal(stack->base, index == MAIN ? victim.stack_start : descriptor);
    assert_true(stack->span_count);
    const struct native_span *const last = &stack->spans[stack->span_count - 1];
    assert_int_equal(stack->spans[0].addr, expected.sp - MACHINE_RED_ZONE_BYTES);
    assert_int_equal(last->addr + last->count, stack->base);
}

static void check_shape(size_t index, size_t spans, bool is_cut, bool is_faulted)
{
    assert_int_equal(seen[index].copy.stack.span_count, spans);
    assert_int_equal(seen[index].copy.is_cut, is_cut);
    assert_int_equal(seen[index].copy.is_faulted, is_faulted);
}

static void the_remote_engine_copies_stopped_threads(void **state)
{
    (void)state;
    start_victim();
    sample((struct session_options){ .engine = SESSION_ENGINE_REMOTE,
                                     .native = SESSION_NATIVE_FULL });
    for (size_t i = 0; i < SLEEPERS; i++)
        check_state(i);
    check_shape(MAIN, 1, false, false);
    check_shape(WORKER, 1, false, false);
    check_shape(WITH_ARRAY, 1, false, false);
    check_shape(WITH_LARGE_ARRAY, 2, true, false);
    end_victim();
}

static struct kernel_engine_pool *open_engines(void)
{
    struct session_options options = { .engine = SESSION_ENGINE_KERNEL };
    struct err err = { 0 };
    assert_ok(session_open_engines(1, &options.engines, &err), &err);
    if (session_check_engine(&options, &err) == ERR_OK)
        return options.engines;
    print_message("skipped: %s\n", err.message);
    session_close_engines(options.engines);
    skip();
    return NULL;
}

static void the_kernel_engine_copies_all_threads(void **state)
{
    struct kernel_engine_pool *const engines = open_engines();
    (void)state;
    start_victim();
    sample((struct session_options){
        .engine = SESSION_ENGINE_KERNEL, .engines = engines, .native = SESSION_NATIVE_FULL });
    for (size_t i = 0; i < SLEEPERS; i++)
        check_state(i);
    check_shape(MAIN, 1, false, false);
    check_shape(WORKER, 1, false, false);
    check_shape(WITH_ARRAY, 2, false, true);
    check_shape(WITH_LARGE_ARRAY, 2, true, true);
    session_close_engines(engines);
    end_victim();
}

static void nothing_is_copied_unless_it_is_wanted(void **state)
{
    (void)state;
    start_victim();
    sample((struct session_options){ .engine = SESSION_ENGINE_REMOTE });
    for (size_t i = 0; i < SLEEPERS; i++)
        assert_int_equal(seen[i].with_native, 0);
    end_victim();
}

static void the_kernel_engine_copies_nothing_unless_it_is_wanted(void **state)
{
    struct kernel_engine_pool *const engines = open_engines();
    (void)state;
    start_victim();
    sample((struct session_options){ .engine = SESSION_ENGINE_KERNEL, .engines = engines });
    for (size_t i = 0; i < SLEEPERS; i++)
        assert_int_equal(seen[i].with_native, 0);
    session_close_engines(engines);
    end_victim();
}

TEST_GROUP(cmocka_unit_test(the_remote_engine_copies_stopped_threads),
           cmocka_unit_test(the_kernel_engine_copies_all_threads),
           cmocka_unit_test(nothing_is_copied_unless_it_is_wanted),
           cmocka_unit_test(the_kernel_engine_copies_nothing_unless_it_is_wanted))
