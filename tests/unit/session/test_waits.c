/* Causes, from calls, descriptors and Python code. */
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/process/system_call.h"
#include "sampler/session/fold/wait_site.h"
#include "sampler/session/fold/waits.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

#define CALL(name) .call = { .number = SYS_##name, .is_known = true }
#define CALL_ON(name, first, second) \
    .call = { .number = SYS_##name, .is_known = true, .args = { first, second } }
#define POLL_ONE(events_)          \
    .call = { .number = SYS_ppoll, \
              .is_known = true,    \
              .has_polled = true,  \
              .events = (events_), \
              .args = { 0, 1 } }
#define SITE(...) .site = { .is_known = true, .in_native = VALUE_UNKNOWN, __VA_ARGS__ }

static const struct row {
    struct system_call call;
    struct wait_site site;
    enum descriptor_kind kind;
    enum wait_cause cause;
} rows[] = {
    { CALL(clock_nanosleep), .cause = WAIT_SLEEP },
    { CALL_ON(pselect6, 0, 0), .cause = WAIT_SLEEP },
    { CALL_ON(pselect6, 5, 0), .cause = WAIT_EVENT_LOOP },
    { CALL_ON(ppoll, 0, 0), .cause = WAIT_SLEEP },
    { CALL_ON(ppoll, 0, 3), .cause = WAIT_EVENT_LOOP },
    { CALL(epoll_pwait), .cause = WAIT_EVENT_LOOP },
    { CALL(epoll_pwait), SITE(.selector = true), .cause = WAIT_EVENT_LOOP },
    { CALL(epoll_pwait), SITE(.selector = true, .child = true), .cause = WAIT_PIPE },
    { POLL_ONE(POLLIN), .kind = DESCRIPTOR_SOCKET, .cause = WAIT_NETWORK_READ },
    { POLL_ONE(POLLOUT), .kind = DESCRIPTOR_SOCKET, .cause = WAIT_NETWORK_WRITE },
    { POLL_ONE(POLLIN), SITE(.selector = true), .kind = DESCRIPTOR_SOCKET,
      .cause = WAIT_EVENT_LOOP },
    { POLL_ONE(POLLIN), SITE(.selector = true), .kind = DESCRIPTOR_PIPE, .cause = WAIT_PIPE },
    { POLL_ONE(POLLIN), .kind = DESCRIPTOR_PROCESS, .cause = WAIT_CHILD },
    { POLL_ONE(POLLIN), .kind = DESCRIPTOR_UNKNOWN, .cause = WAIT_EVENT_LOOP },
    { CALL(read), .kind = DESCRIPTOR_SOCKET, .cause = WAIT_NETWORK_READ },
    { CALL(write), .kind = DESCRIPTOR_SOCKET, .cause = WAIT_NETWORK_WRITE },
    { CALL(read), .kind = DESCRIPTOR_PIPE, .cause = WAIT_PIPE },
    { CALL(read), .kind = DESCRIPTOR_FILE, .cause = WAIT_DISK },
    { CALL(read), .kind = DESCRIPTOR_TERMINAL, .cause = WAIT_TERMINAL },
    { CALL(read), .kind = DESCRIPTOR_UNKNOWN, .cause = WAIT_UNKNOWN },
    { CALL(read), .kind = DESCRIPTOR_DEVICE, .cause = WAIT_UNKNOWN },
    { POLL_ONE(POLLIN), .kind = DESCRIPTOR_DEVICE, .cause = WAIT_UNKNOWN },
    { POLL_ONE(POLLIN), SITE(.selector = true), .kind = DESCRIPTOR_DEVICE,
      .cause = WAIT_EVENT_LOOP },
    { POLL_ONE(POLLIN), .kind = DESCRIPTOR_FILE, .cause = WAIT_EVENT_LOOP },
    { CALL(openat), .cause = WAIT_DISK },
    { CALL(openat), .kind = DESCRIPTOR_PIPE, .cause = WAIT_PIPE },
    { CALL(preadv2), .cause = WAIT_DISK },
    { CALL(fcntl), .cause = WAIT_LOCK },
    { CALL(recvfrom), .cause = WAIT_NETWORK_READ },
    { CALL(sendto), .cause = WAIT_NETWORK_WRITE },
    { CALL(connect), .cause = WAIT_NETWORK_WRITE },
    { CALL(accept4), .cause = WAIT_EVENT_LOOP },
    { CALL(fsync), .cause = WAIT_DISK },
    { CALL(flock), .cause = WAIT_LOCK },
    { CALL(wait4), .cause = WAIT_CHILD },
    { CALL(ioctl), .kind = DESCRIPTOR_GPU, .cause = WAIT_GPU },
    { CALL(ioctl), .kind = DESCRIPTOR_DEVICE, .cause = WAIT_UNKNOWN },
    { POLL_ONE(POLLIN), .kind = DESCRIPTOR_GPU, .cause = WAIT_GPU },
    { POLL_ONE(POLLIN), SITE(.selector = true), .kind = DESCRIPTOR_GPU, .cause = WAIT_GPU },
    { CALL(getpid), .cause = WAIT_UNKNOWN },
    { CALL(futex), .cause = WAIT_UNKNOWN },
    { CALL(futex), SITE(.condition = true), .cause = WAIT_QUEUE },
    { CALL(futex), SITE(.condition = true, .lock = true), .cause = WAIT_QUEUE },
    { CALL(futex), SITE(.lock = true), .cause = WAIT_LOCK },
    { CALL(futex), SITE(.condition = true, .worker = true), .cause = WAIT_WORKER },
    { CALL(futex), SITE(.worker = true), .cause = WAIT_WORKER },
    { CALL(futex), .site = { .is_native = true }, .cause = WAIT_WORKER },
    { CALL(read), .site = { .is_native = true }, .kind = DESCRIPTOR_FILE, .cause = WAIT_DISK },
    { CALL(futex), SITE(.condition = true, .gets = true), .cause = WAIT_QUEUE },
    { CALL(futex), SITE(.condition = true, .gets = true, .at_head = true),
      .cause = WAIT_WORKER },
    { CALL(futex), SITE(.condition = true, .at_head = true), .cause = WAIT_QUEUE },
    { CALL(futex), SITE(.condition = true, .event = true), .cause = WAIT_QUEUE },
    { CALL(futex), SITE(.condition = true, .event = true, .at_head = true),
      .cause = WAIT_SLEEP },
    { CALL(futex), SITE(.condition = true, .joins = true), .cause = WAIT_QUEUE },
    { CALL(futex), SITE(.condition = true, .joins = true, .is_main = true),
      .cause = WAIT_THREADS },
    { CALL(futex), SITE(.condition = true, .gets = true, .is_main = true),
      .cause = WAIT_QUEUE },
    { CALL(read), SITE(.gets = true, .connection = true, .at_head = true),
      .kind = DESCRIPTOR_PIPE, .cause = WAIT_WORKER },
    { CALL(read), SITE(.gets = true, .connection = true), .kind = DESCRIPTOR_PIPE,
      .cause = WAIT_PIPE },
    { CALL(futex), .site = { .is_known = true, .in_native = VALUE_NO }, .cause = WAIT_GIL },
    { CALL(futex), .site = { .in_native = VALUE_NO }, .cause = WAIT_UNKNOWN },
    { CALL(read), SITE(.worker = true, .connection = true), .kind = DESCRIPTOR_PIPE,
      .cause = WAIT_WORKER },
    { CALL(read), SITE(.worker = true), .kind = DESCRIPTOR_FILE, .cause = WAIT_DISK },
    { .call = { .number = SYS_fsync }, .cause = WAIT_UNKNOWN },
};

static void calls_and_code_give_causes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct wait_descriptor descriptor = { rows[i].kind, "" };
        const enum wait_cause cause = waits_cause(&rows[i].call, &rows[i].site, &descriptor);
        if (cause != rows[i].cause)
            fail_msg("row %zu: %s instead of %s", i, wait_cause_text(cause),
                     wait_cause_text(rows[i].cause));
    }
}

static void code_of_libraries_is_known(void **state)
{
    const unsigned plain = wait_site_of_code("main", "/srv/app.py");
    const unsigned condition =
        wait_site_of_code("Condition.wait", "/usr/lib/python3.13/threading.py");
    const unsigned worker =
        wait_site_of_code("_worker", "/usr/lib/python3.8/concurrent/futures/thread.py");
    (void)state;
    assert_int_not_equal(plain, condition);
    assert_int_not_equal(worker, condition);
    assert_int_not_equal(worker, plain);
    assert_int_equal(wait_site_of_code("wait", "/x/threading.py"), condition);
    assert_int_not_equal(wait_site_of_code("Event.wait", "/x/threading.py"), condition);
    assert_int_not_equal(wait_site_of_code("Queue.get", "/x/queue.py"), plain);
    assert_int_equal(wait_site_of_code("get", "/x/my_queue.py"), plain);
    assert_int_equal(wait_site_of_code("get", "queue.py"), plain);
    assert_int_not_equal(wait_site_of_code("Thread.run", "/x/threading.py"), plain);
    assert_int_equal(wait_site_of_code("", ""), plain);
}

static void workers_of_pools_that_wait_in_depth_are_known(void **state)
{
    static const struct {
        const char *name, *file;
    } workers[] = {
        { "_process_worker", "/v/site-packages/joblib/externals/loky/process_executor.py" },
        { "wait_result_broken_or_wakeup", "/v/site-packages/loky/process_executor.py" },
        { "main", "/v/site-packages/loky/backend/resource_tracker.py" },
        { "Worker.workloop", "/v/site-packages/billiard/pool.py" },
        { "TaskHandler.body", "/v/site-packages/billiard/pool.py" },
        { "WorkerThread.run", "/v/site-packages/anyio/_backends/_asyncio.py" },
        { "OutStream._watch_pipe_fd", "/v/site-packages/ipykernel/iostream.py" },
        { "HistorySavingThread.run", "/v/site-packages/IPython/core/history.py" },
        { "AsyncProcess._immediate_exit_when_closed.<locals>.monitor_parent",
          "/v/site-packages/distributed/process.py" },
        { "worker", "/usr/lib/python3.8/multiprocessing/pool.py" },
        { "Queue._feed", "/usr/lib/python3.13/multiprocessing/queues.py" },
        { "main", "/usr/lib/python3.13/multiprocessing/resource_tracker.py" },
    };
    const unsigned worker =
        wait_site_of_code("_worker", "/usr/lib/python3.13/concurrent/futures/thread.py");
    const unsigned join = wait_site_of_code("Thread.join", "/usr/lib/python3.13/threading.py");
    (void)state;
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++)
        assert_int_equal(wait_site_of_code(workers[i].name, workers[i].file), worker);
    assert_int_not_equal(join, worker);
    assert_int_equal(wait_site_of_code("SemLock.__enter__", "/v/billiard/synchronize.py"),
                     wait_site_of_code("acquire", "/v/multiprocessing/synchronize.py"));
    assert_int_equal(wait_site_of_code("queue_get", "/v/site-packages/dask/local.py"), join);
    assert_int_equal(wait_site_of_code("_wait_for_tstate_lock", "/usr/lib/threading.py"), join);
    assert_int_equal(wait_site_of_code("_shutdown", "/usr/lib/python3.8/threading.py"), join);
}

static struct waits *made_waits(struct profile *profile, bool names_peers)
{
    struct waits *waits;
    struct err err = { 0 };
    assert_ok(waits_create(profile, names_peers, &waits, &err), &err);
    return waits;
}

static void a_cause_is_a_mark_below_the_stack(void **state)
{
    struct profile *const profile = made_profile();
    struct waits *const waits = made_waits(profile, true);
    const struct system_call call = { .number = SYS_clock_nanosleep, .is_known = true };
    const struct wait_site site = { 0 };
    const node_id main = made_node(profile, "main"), other = made_node(profile, "other");
    const wait_id wait =
        waits_find(waits, getpid(), getpid(), NULL, &call, &site, clock_now_ns());
    const node_id node = waits_node(waits, wait, main);
    struct wait_text text;
    (void)state;
    assert_int_not_equal(wait, 0);
    assert_int_equal(waits_find(waits, getpid(), getpid(), NULL, &call, &site, clock_now_ns()),
                     wait);
    assert_int_equal(waits_node(waits, wait, main), node);
    assert_int_not_equal(waits_node(waits, wait, other), node);
    assert_int_equal(waits_node(waits, 0, main), main);
    assert_false(waits_lacks_peer(waits, wait));
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    const struct profile_node row = profile_node_at(&snapshot, node);
    assert_int_equal(row.parent, main);
    assert_true(
        wait_of_function(&snapshot, profile_frame_at(&snapshot, row.frame).function, &text));
    assert_int_equal(text.cause, WAIT_SLEEP);
    profile_snapshot_release(&snapshot);
    waits_destroy(waits);
    profile_destroy(profile);
}

static void nothing_is_known_of_a_thread_that_runs(void **state)
{
    struct profile *const profile = made_profile();
    struct waits *const waits = made_waits(profile, true);
    const struct wait_site site = { 0 };
    (void)state;
    assert_int_equal(
        waits_find(waits, getpid(), getpid(), NULL, &(struct system_call){ 0 }, &site, 1), 0);
    waits_destroy(waits);
    waits_destroy(NULL);
    profile_destroy(profile);
}

TEST_GROUP(cmocka_unit_test(calls_and_code_give_causes),
           cmocka_unit_test(code_of_libraries_is_known),
           cmocka_unit_test(workers_of_pools_that_wait_in_depth_are_known),
           cmocka_unit_test(a_cause_is_a_mark_below_the_stack),
           cmocka_unit_test(nothing_is_known_of_a_thread_that_runs))
