#define _GNU_SOURCE
#include "sampler/session/children/child_tracker.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/open_files.h"
#include "sampler/base/thread.h"
#include "sampler/permission.h"
#include "sampler/process/process_scan.h"
#include "sampler/session/children/adopted_search.h"
#include "sampler/session/children/child_table.h"
#include "sampler/session/target.h"

struct released {
    int pid;
    uint64_t start_time;
    enum err_code why; /* ERR_OK: it may be searched at once */
};

struct child_tracker {
    struct strtab *strings;
    enum session_mode mode;
    pthread_t thread;
    bool has_thread;
    /* Written with the mutex held, read without it. */
    atomic_bool has_ready;
    atomic_bool is_ending; /* child_tracker_destroy was called */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    bool has_ended;
    bool is_left; /* child_tracker_destroy did not wait: the thread frees the tracker */
    struct target *ready[SESSION_MAX_PROCESSES];
    size_t ready_count;
    struct released released[SESSION_MAX_PROCESSES];
    size_t released_count;
    bool is_settling; /* a released target may have children that are not followed yet */
    size_t targets;   /* handed over and not released, including those of the start */
    size_t others;    /* followed, but no targets */
    struct child_tracker_counts counts;

    /* Used by the thread only. */
    struct child_table children;
    enum process_scan_method scan_method;
    pid_t adopter;
    int newest_fd; /* /proc/loadavg; -1: there is none */
    char newest[16];
    struct adopted_search adopted;
    bool is_blind;          /* newest_fd does not show new processes */
    uint64_t list_until_ns; /* new processes may appear in lists until then */
    uint64_t listed_ns, scanned_ns, cost_ns;
};

/* How often the tracker asks whether the host has new processes. */
static const uint64_t POLL_NS = 15 * NS_PER_MS;
/* A new process has an id before its parent lists it. */
static const uint64_t LISTED_NS = 50 * NS_PER_MS;
/* How often children are listed if the id of the newest process is not known, and if it is. */
static const uint64_t BLIND_NS = 80 * NS_PER_MS, ANYWAY_NS = NS_PER_S;
/* Pauses between searches of a process without an interpreter: a program that embeds Python
 * starts one late. */
static const uint64_t FIRST_PAUSE_NS = 10 * NS_PER_MS, LAST_PAUSE_NS = 30 * NS_PER_S;

enum { SHARE = 100, TRY_SHARE = 20, AGE_SHARE = 4 };

/* The time of a CPU clock; 0: it cannot be read. */
static uint64_t cpu_ns_of(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t))
        return 0;
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Does the host have new processes since the last call? */
static bool has_newer(struct child_tracker *tracker)
{
    char text[128];
    const ssize_t length =
        tracker->newest_fd < 0 ? -1 : pread(tracker->newest_fd, text, sizeof text - 1, 0);
    if (length <= 0) {
        tracker->is_blind = true;
        return false;
    }
    text[length] = '\0';
    const char *const last = strrchr(text, ' ');
    if (!last || strncmp(tracker->newest, last, sizeof tracker->newest - 1) == 0)
        return false;
    snprintf(tracker->newest, sizeof tracker->newest, "%s", last);
    return true;
}

/* Once for each process.  Call it with the mutex. */
static void count_once(struct child *child, uint64_t *counter)
{
    *counter += !child->is_counted;
    child->is_counted = true;
}

static void count_children(struct child_tracker *tracker, struct child *child,
                           uint64_t *counter)
{
    pthread_mutex_lock(&tracker->mutex);
    count_once(child, counter);
    pthread_mutex_unlock(&tracker->mutex);
}

/* Marks the targets that the sampling thread has released or refused. */
static void take_released(struct child_tracker *tracker, uint64_t now_ns)
{
    struct child_tracker_counts *const counts = &tracker->counts;
    pthread_mutex_lock(&tracker->mutex);
    for (size_t i = 0; i < tracker->released_count; i++) {
        const struct released *const released = &tracker->released[i];
        struct child *const child = child_table_find(&tracker->children, released->pid);
        if (!child || child->identity.start_time != released->start_time)
            continue;
        child->is_target = false;
        child->since_ns = now_ns;
        child->try_ns = now_ns + (released->why ? LAST_PAUSE_NS : 0);
        if (released->why)
            count_once(child,
                       released->why == ERR_PERM ? &counts->not_permitted : &counts->over);
    }
    if (tracker->released_count > 0) {
        tracker->is_settling = true;
        adopted_search_settle(&tracker->adopted);
    }
    tracker->released_count = 0;
    pthread_mutex_unlock(&tracker->mutex);
}

static bool has_ended(const struct procfs_identity *identity)
{
    return identity->state == 'Z' || identity->state == 'X';
}

/* true: the process is new and followed from now on. */
static bool follow_new(struct child_tracker *tracker, int pid, uint64_t now_ns,
                       uint64_t settle_ns)
{
    struct child child = { .pid = pid, .since_ns = now_ns, .try_ns = now_ns + settle_ns };
    if (pid == (int)getpid() || child_table_find(&tracker->children, pid) ||
        procfs_identify(pid, &child.identity, NULL) || has_ended(&child.identity))
        return false;
    /* A target's end is seen by the sampling thread, so its number may be another's by now. */
    const struct child *const parent =
        child_table_find(&tracker->children, child.identity.parent);
    uint64_t start_time;
    if (parent && !procfs_start_time(parent->pid, &start_time, NULL) &&
        start_time != parent->identity.start_time)
        return false;

    const enum err_code rc = child_table_add(&tracker->children, &child);
    if (rc == ERR_LIMIT)
        count_children(tracker, &child, &tracker->counts.over);
    return !rc;
}

/* Follows the descendants of all followed processes.  Returns how many are new. */
static size_t discover_children(struct child_tracker *tracker, uint64_t now_ns,
                                uint64_t settle_ns)
{
    struct pid_list parents = { 0 }, children = { 0 };
    size_t found = 0;
    for (size_t i = 0; i < tracker->children.count; i++)
        if (pid_list_add(&parents, tracker->children.items[i].pid))
            break;
    if (tracker->adopter)
        (void)!pid_list_add(&parents, (int)tracker->adopter);
    while (parents.count > 0) {
        (void)!process_scan_children(tracker->scan_method, parents.items, parents.count,
                                     &children);
        parents.count = 0;
        for (size_t i = 0; i < children.count; i++)
            if (follow_new(tracker, children.items[i], now_ns, settle_ns) &&
                !pid_list_add(&parents, children.items[i]))
                found++;
        children.count = 0;
    }
    pid_list_deinit(&parents);
    pid_list_deinit(&children);
    return found;
}

static void try_one(struct child_tracker *tracker, struct child *child)
{
    struct err err = { 0 };
    const uint64_t began_ns = clock_now_ns();
    struct target *target = NULL;
    enum err_code rc = permission_ask(child->pid, NULL, NULL);
    if (rc == ERR_PERM)
        count_children(tracker, child, &tracker->counts.not_permitted);
    if (!rc)
        rc = target_open(child->pid, RUNTIME_QUICK, tracker->mode, &tracker->is_ending,
                         tracker->strings, &target, &err);

    /* A process counts as short of files until it becomes a target. */
    const bool is_short = rc && open_files_are_short(&err);
    pthread_mutex_lock(&tracker->mutex);
    tracker->counts.short_of_files += is_short && !child->is_short;
    tracker->counts.short_of_files -= !is_short && child->is_short;
    child->is_short = is_short;
    pthread_mutex_unlock(&tracker->mutex);

    if (rc == ERR_PERM || rc == ERR_UNSUPPORTED || rc == ERR_INVALID)
        count_children(tracker, child, &tracker->counts.denied);
    if (!rc && target->process.start_time == child->identity.start_time) {
        /* The parent of the first process of the tree is not followed. */
        const int parent = child->identity.parent;
        target->parent = child_table_find(&tracker->children, parent) ? parent : 0;

        pthread_mutex_lock(&tracker->mutex);
        /* Released targets that were not processed yet keep their room. */
        const bool has_room =
            tracker->targets + tracker->released_count < SESSION_MAX_PROCESSES;
        if (has_room) {
            tracker->targets++;
            tracker->ready[tracker->ready_count++] = target;
            atomic_store(&tracker->has_ready, true);
        }
        pthread_mutex_unlock(&tracker->mutex);
        if (has_room) {
            child->is_target = true;
            return;
        }

        count_children(tracker, child, &tracker->counts.over);
    }
    target_close(target);
    const uint64_t now_ns = clock_now_ns();

    /* The pause grows while the process executes the same program, and bounds the cost of searching it. */
    const uint64_t cost_ns = now_ns - began_ns;
    uint64_t pause_ns = (now_ns - child->since_ns) / AGE_SHARE;
    if (pause_ns < cost_ns * TRY_SHARE)
        pause_ns = cost_ns * TRY_SHARE;
    if (pause_ns < FIRST_PAUSE_NS)
        pause_ns = FIRST_PAUSE_NS;
    child->try_ns = now_ns + (pause_ns < LAST_PAUSE_NS ? pause_ns : LAST_PAUSE_NS);
}

static bool is_time_to_list(struct child_tracker *tracker, uint64_t now_ns)
{
    if (has_newer(tracker)) {
        tracker->list_until_ns = now_ns + LISTED_NS;
        adopted_search_begin(&tracker->adopted);
    }
    return now_ns < tracker->list_until_ns ||
           now_ns - tracker->listed_ns >= (tracker->is_blind ? BLIND_NS : ANYWAY_NS);
}

/* Finds children and hands those that are Python over.  A new process has settle_ns to execute another
 * program before it is searched. */
static void scan_children(struct child_tracker *tracker, uint64_t now_ns, uint64_t settle_ns)
{
    const uint64_t began_ns = cpu_ns_of(CLOCK_THREAD_CPUTIME_ID);
    take_released(tracker, now_ns);

    /* Processes that have ended go; one that executes another program is searched again. */
    for (size_t i = tracker->children.count; i-- > 0;) {
        struct child *const child = &tracker->children.items[i];
        struct procfs_identity identity;
        if (child->is_target)
            continue;
        if (procfs_identify(child->pid, &identity, NULL) || has_ended(&identity) ||
            identity.start_time != child->identity.start_time) {
            child_table_drop(&tracker->children, child);
            continue;
        }
        if (identity.stack_start != child->identity.stack_start ||
            identity.code_start != child->identity.code_start)
            child->since_ns = child->try_ns = now_ns;
        child->identity = identity;
    }

    if (is_time_to_list(tracker, now_ns)) {
        const bool is_expected = now_ns < tracker->list_until_ns;
        tracker->is_blind |= discover_children(tracker, now_ns, settle_ns) > 0 && !is_expected;
        tracker->listed_ns = now_ns;
    }
    tracker->scanned_ns = clock_now_ns();
    tracker->cost_ns = cpu_ns_of(CLOCK_THREAD_CPUTIME_ID) - began_ns;

    if (adopted_search_is_due(&tracker->adopted, now_ns)) {
        /* Adopted children: new processes of the host that a followed process forked and that have another
         * parent by now.  The search has its own budget, a hundredth of a core. */
        const int newest = atoi(tracker->newest);
        struct pid_list pids = { 0 };
        if (process_scan_all(&pids, NULL))
            pids.count = 0;
        for (size_t i = 0; i < pids.count; i++)
            if (adopted_search_finds(&tracker->adopted, &tracker->children, newest,
                                     pids.items[i]))
                (void)follow_new(tracker, pids.items[i], now_ns, settle_ns);
        pid_list_deinit(&pids);

        adopted_search_end(&tracker->adopted, atoi(tracker->newest), now_ns,
                           cpu_ns_of(CLOCK_THREAD_CPUTIME_ID) - began_ns);
    }

    for (size_t i = 0; i < tracker->children.count; i++) {
        struct child *const child = &tracker->children.items[i];
        if (!child->is_target && child->try_ns <= tracker->scanned_ns)
            try_one(tracker, child);
    }

    size_t others = 0;
    for (size_t i = 0; i < tracker->children.count; i++)
        others += !tracker->children.items[i].is_target;
    pthread_mutex_lock(&tracker->mutex);
    tracker->others = others;
    tracker->is_settling = tracker->adopted.settling > 0;
    pthread_mutex_unlock(&tracker->mutex);
}

/* When the next search is due. */
static uint64_t next_scan_ns(const struct child_tracker *tracker)
{
    const uint64_t pause_ns = tracker->cost_ns * SHARE;
    const uint64_t least_ns = pause_ns < POLL_NS ? POLL_NS : pause_ns;
    return tracker->scanned_ns + (least_ns < BLIND_NS ? least_ns : BLIND_NS);
}

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
    while (wait_until(tracker, next_scan_ns(tracker)))
        scan_children(tracker, clock_now_ns(), SETTLE_NS);
    pthread_mutex_lock(&tracker->mutex);
    const bool is_left = tracker->is_left;
    tracker->has_ended = true;
    pthread_cond_broadcast(&tracker->changed);
    pthread_mutex_unlock(&tracker->mutex);
    if (is_left)
        free_tracker(tracker);
    return NULL;
}

enum err_code child_tracker_create(struct strtab *strings, enum session_mode mode,
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
    (void)has_newer(tracker);
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

void child_tracker_destroy(struct child_tracker *tracker)
{
    if (!tracker)
        return;
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
    /* A thread that hangs in the kernel while it reads a process keeps what it uses. */
    if (is_left)
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
    scan_children(tracker, clock_now_ns(), 0);
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
               ? cpu_ns_of(clock)
               : 0;
}
