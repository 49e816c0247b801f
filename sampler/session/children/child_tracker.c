#define _GNU_SOURCE
#include "sampler/session/children/child_tracker.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/thread.h"
#include "sampler/session/children/child_tracker_parts.h"
#include "sampler/session/target.h"

/* A forked process has this long to execute another program before it is searched. */
static const uint64_t SETTLE_NS = 20 * NS_PER_MS;
/* child_tracker_destroy waits at most this long for the thread. */
static const uint64_t STOP_NS = 250 * NS_PER_MS;

/* false: child_tracker_destroy was called. */
static bool wait_until(struct child_tracker *tracker, uint64_t deadline_ns)
{
    const struct timespec deadline = clock_timespec(deadline_ns);
    int rc = 0;
    pthread_mutex_lock(&tracker->mutex);
    while (!atomic_load(&tracker->is_ending) && rc == 0)
        rc = pthread_cond_timedwait(&tracker->changed, &tracker->mutex, &deadline);
    const bool goes_on = !atomic_load(&tracker->is_ending);
    pthread_mutex_unlock(&tracker->mutex);
    return goes_on;
}

static void free_tracker(struct child_tracker *tracker)
{
    for (size_t i = 0; i < tracker->ready_count; i++)
        target_close(tracker->ready[i]);
    if (tracker->newest_fd >= 0)
        close(tracker->newest_fd);
    child_table_deinit(&tracker->children);
    pthread_cond_destroy(&tracker->changed);
    pthread_mutex_destroy(&tracker->mutex);
    free(tracker);
}

static void *tracker_main(void *context)
{
    struct child_tracker *const tracker = context;
    pthread_setname_np(pthread_self(), "child tracker");
    while (wait_until(tracker, child_scan_next_ns(tracker)))
        child_scan(tracker, clock_now_ns(), SETTLE_NS);
    pthread_mutex_lock(&tracker->mutex);
    const bool is_left = tracker->is_left;
    tracker->has_ended = true;
    pthread_cond_broadcast(&tracker->changed);
    pthread_mutex_unlock(&tracker->mutex);
    if (is_left)
        free_tracker(tracker);
    return NULL;
}

enum err_code child_tracker_create(struct strtab *strings, enum sampler_mode mode,
                                   pid_t adopter, struct child_tracker **out, struct err *err)
{
    pthread_condattr_t monotonic;
    struct child_tracker *const tracker = calloc(1, sizeof *tracker);
    if (!tracker)
        return err_nomem(err);
    tracker->strings = strings;
    atomic_init(&tracker->is_ending, false);
    tracker->mode = mode;
    tracker->scan_method = process_scan_method();
    tracker->adopter = adopter;
    tracker->newest_fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    /* Only processes newer than this one are compared. */
    (void)child_scan_has_newer(tracker);
    adopted_search_init(&tracker->adopted, atoi(tracker->newest));
    tracker->newest[0] = '\0';
    child_table_init(&tracker->children, CHILD_TRACKER_MAX);
    pthread_mutex_init(&tracker->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&tracker->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    *out = tracker;
    return ERR_OK;
}

/* false: the thread hangs in the kernel while it reads a process. */
static bool stop(struct child_tracker *tracker)
{
    const struct timespec deadline = clock_timespec(clock_now_ns() + STOP_NS);
    int rc = 0;
    pthread_mutex_lock(&tracker->mutex);
    atomic_store(&tracker->is_ending, true);
    pthread_cond_broadcast(&tracker->changed);
    while (tracker->has_thread && !tracker->has_ended && rc == 0)
        rc = pthread_cond_timedwait(&tracker->changed, &tracker->mutex, &deadline);
    tracker->is_left = tracker->has_thread && !tracker->has_ended;
    const bool is_left = tracker->is_left;
    if (is_left)
        pthread_detach(tracker->thread);
    pthread_mutex_unlock(&tracker->mutex);
    return !is_left;
}

void child_tracker_destroy(struct child_tracker *tracker)
{
    if (!tracker || !stop(tracker))
        return;
    if (tracker->has_thread)
        pthread_join(tracker->thread, NULL);
    free_tracker(tracker);
}

enum err_code child_tracker_follow(struct child_tracker *tracker, int pid, bool is_target,
                                   struct err *err)
{
    struct child child = { .pid = pid, .is_target = is_target, .since_ns = clock_now_ns() };
    enum err_code rc = procfs_identify(pid, &child.identity, err);
    child.try_ns = child.since_ns;
    if (!rc && (rc = child_table_add(&tracker->children, &child)))
        return err_set(err, rc, "process %d cannot be followed: %s", pid, err_text(rc));
    tracker->targets += !rc && is_target;
    return rc;
}

void child_tracker_scan_once(struct child_tracker *tracker)
{
    child_scan(tracker, clock_now_ns(), 0);
}

void child_tracker_scan_again(struct child_tracker *tracker)
{
    for (size_t i = 0; i < tracker->children.count; i++)
        if (tracker->children.items[i].is_short)
            tracker->children.items[i].try_ns = 0;
    child_tracker_scan_once(tracker);
}

enum err_code child_tracker_start(struct child_tracker *tracker, struct err *err)
{
    const int sys = thread_start(&tracker->thread, tracker_main, tracker);
    tracker->has_thread = sys == 0;
    return sys ? err_sys(err, sys, "cannot start the thread that follows processes") : ERR_OK;
}

struct target *child_tracker_take(struct child_tracker *tracker)
{
    struct target *target = NULL;
    if (!atomic_load_explicit(&tracker->has_ready, memory_order_relaxed))
        return NULL;
    pthread_mutex_lock(&tracker->mutex);
    if (tracker->ready_count > 0)
        target = tracker->ready[--tracker->ready_count];
    atomic_store(&tracker->has_ready, tracker->ready_count > 0);
    pthread_mutex_unlock(&tracker->mutex);
    return target;
}

void child_tracker_release(struct child_tracker *tracker, const struct process *process,
                           enum err_code why)
{
    pthread_mutex_lock(&tracker->mutex);
    tracker->released[tracker->released_count++] =
        (struct released){ process->pid, process->start_time, why == ERR_GONE ? ERR_OK : why };
    tracker->targets--;
    pthread_mutex_unlock(&tracker->mutex);
}

bool child_tracker_may_find_more(struct child_tracker *tracker)
{
    pthread_mutex_lock(&tracker->mutex);
    const bool may_find_more = tracker->others > 0 || tracker->ready_count > 0 ||
                               tracker->released_count > 0 || tracker->is_settling;
    pthread_mutex_unlock(&tracker->mutex);
    return may_find_more;
}

void child_tracker_counts(struct child_tracker *tracker, struct child_tracker_counts *out)
{
    pthread_mutex_lock(&tracker->mutex);
    *out = tracker->counts;
    pthread_mutex_unlock(&tracker->mutex);
}

uint64_t child_tracker_cpu_ns(struct child_tracker *tracker)
{
    clockid_t clock;
    return tracker->has_thread && !pthread_getcpuclockid(tracker->thread, &clock)
               ? child_scan_cpu_ns(clock)
               : 0;
}
