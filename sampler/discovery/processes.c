#define _GNU_SOURCE
#include "sampler/processes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/thread.h"
#include "sampler/discovery/finding.h"
#include "sampler/discovery/process_entry.h"
#include "sampler/discovery/turns.h"
#include "sampler/process/process_scan.h"
#include "sampler/process/process_stats.h"

/* Processes to be examined are in a queue.  An examiner is a thread that takes the next process,
 * examines it without a lock, and stores the finding if the process still exists and executes the
 * same program.  One examiner works at a time.  An examiner that does not return for
 * PROCESSES_STUCK_NS hangs in the kernel: it is abandoned, and another one replaces it.
 *
 * Owners take turns in the queue, and rest when their processes took long.  An owner whose processes
 * hang PROCESSES_HANG_MAX examiners gets no turn until one of these returns. */
enum { PROCESSES_EXAMINERS = 17, PROCESSES_HANG_MAX = 4 };

/* For processes that are not Python, only every fourth scan checks for another program. */
enum { OTHERS_CHECKED_EVERY = 4 };

/* A process that hung an examiner is examined again after this. */
static const uint64_t HANGS_AGAIN_NS = 600 * NS_PER_S;

struct examiner {
    struct processes *processes;
    bool is_there;     /* the thread exists */
    bool is_abandoned; /* it hangs */
    int pid;           /* of the process that it examines; 0: none */
    unsigned uid;
    uint64_t serial, since_ns;
};

struct processes {
    pthread_mutex_t lock;         /* guards everything that is not atomic */
    struct process_entry **items; /* by pid */
    size_t count;
    uint64_t scanned_ns, boot_ns; /* since 1970 */
    uint64_t serials;
    struct processes_summary summary;
    bool hides_arguments; /* does not change once there is an examiner */

    size_t users; /* the caller and the examiners; the last one frees */
    atomic_bool is_ending;
    pthread_cond_t changed;  /* the queue, or is_ending */
    struct turn_item *queue; /* processes to examine, in turn */
    size_t queue_count;
    struct debts debts;
    struct examiner examiners[PROCESSES_EXAMINERS];
    struct known_files *files;
};

static struct processes *allocate(void)
{
    pthread_condattr_t monotonic;
    struct processes *const processes = calloc(1, sizeof *processes);
    if (!processes)
        return NULL;
    processes->files = known_files_create();
    if (!processes->files) {
        free(processes);
        return NULL;
    }
    pthread_mutex_init(&processes->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&processes->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    atomic_init(&processes->is_ending, false);
    processes->users = 1;
    return processes;
}

enum err_code processes_create(struct processes **out, struct err *err)
{
    struct processes *const processes = allocate();
    struct timespec boot;
    if (!processes)
        return err_nomem(err);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    processes->boot_ns =
        clock_wall_ns() - (uint64_t)boot.tv_sec * NS_PER_S - (uint64_t)boot.tv_nsec;
    *out = processes;
    return ERR_OK;
}

void processes_hide_arguments(struct processes *processes)
{
    processes->hides_arguments = true;
}

/* Releases the lock and one user; the last user frees. */
static void leave(struct processes *processes)
{
    const bool is_last = --processes->users == 0;
    pthread_mutex_unlock(&processes->lock);
    if (!is_last)
        return;
    for (size_t i = 0; i < processes->count; i++)
        process_entry_destroy(processes->items[i]);
    free(processes->items);
    free(processes->queue);
    known_files_destroy(processes->files);
    pthread_cond_destroy(&processes->changed);
    pthread_mutex_destroy(&processes->lock);
    free(processes);
}

void processes_destroy(struct processes *processes)
{
    if (!processes)
        return;
    pthread_mutex_lock(&processes->lock);
    atomic_store(&processes->is_ending, true);
    pthread_cond_broadcast(&processes->changed);
    leave(processes);
}

static int compare_pid(const void *a, const void *b)
{
    const int pid = *(const int *)a;
    const struct process_entry *const entry = *(struct process_entry *const *)b;
    return (pid > entry->pid) - (pid < entry->pid);
}

/* NULL: none. */
static struct process_entry *find_entry(const struct processes *processes, int pid)
{
    struct process_entry **const found = processes->count
                                             ? bsearch(&pid, processes->items, processes->count,
                                                       sizeof *processes->items, compare_pid)
                                             : NULL;
    return found ? *found : NULL;
}

/* The earliest instant of the owner's turn; 0: now; UINT64_MAX: not while its processes hang so many
 * examiners. */
static uint64_t rests_until_ns(const struct processes *processes, unsigned uid, uint64_t now_ns)
{
    int hanging = 0;
    for (size_t i = 0; i < PROCESSES_EXAMINERS; i++)
        hanging += processes->examiners[i].is_abandoned && processes->examiners[i].uid == uid;
    if (hanging >= PROCESSES_HANG_MAX)
        return UINT64_MAX;
    return debts_rest_until_ns(&processes->debts, uid, now_ns);
}

static void fill_queue(struct processes *processes, uint64_t now_ns)
{
    struct turn_item *const queue = calloc(processes->count + 1, sizeof *queue);
    size_t count = 0;
    if (!queue)
        return;
    for (size_t i = 0; i < processes->count; i++) {
        struct process_entry *const entry = processes->items[i];
        if (now_ns < entry->again_ns || entry->is_taken ||
            (!entry->has_uid && process_stats_user(entry->pid, &entry->uid, NULL)))
            continue;
        entry->has_uid = true;
        queue[count++] = (struct turn_item){ .pid = entry->pid, .uid = entry->uid };
    }
    turns_sort(queue, count);
    free(processes->queue);
    processes->queue = queue;
    processes->queue_count = count;
}

/* Takes the next process whose owner does not rest.  false: try again at *until_ns_out. */
static bool take_due(struct processes *processes, struct turn_item *out, uint64_t *until_ns_out)
{
    const uint64_t now_ns = clock_now_ns();
    *until_ns_out = UINT64_MAX;
    for (size_t i = 0; i < processes->queue_count; i++) {
        const uint64_t until_ns = rests_until_ns(processes, processes->queue[i].uid, now_ns);
        if (until_ns == 0) {
            *out = processes->queue[i];
            memmove(&processes->queue[i], &processes->queue[i + 1],
                    (processes->queue_count - i - 1) * sizeof *processes->queue);
            processes->queue_count--;
            return true;
        }
        if (until_ns < *until_ns_out)
            *until_ns_out = until_ns;
    }
    return false;
}

static void wait_for_change(struct processes *processes, uint64_t until_ns)
{
    const struct timespec until = clock_timespec(until_ns);
    if (until_ns == UINT64_MAX)
        pthread_cond_wait(&processes->changed, &processes->lock);
    else
        pthread_cond_timedwait(&processes->changed, &processes->lock, &until);
}

/* false: the examiner ends. */
static bool take(struct examiner *examiner)
{
    struct processes *const processes = examiner->processes;
    struct turn_item due;
    uint64_t until_ns;
    while (!atomic_load(&processes->is_ending) && !examiner->is_abandoned) {
        if (!take_due(processes, &due, &until_ns)) {
            wait_for_change(processes, until_ns);
            continue;
        }
        struct process_entry *const entry = find_entry(processes, due.pid);
        if (!entry)
            continue;
        entry->is_taken = true;
        examiner->pid = due.pid;
        examiner->uid = due.uid;
        examiner->serial = entry->serial;
        examiner->since_ns = clock_now_ns();
        return true;
    }
    return false;
}

/* Stores the finding if the process still executes the same program. */
static void give(struct examiner *examiner, struct finding *finding)
{
    struct processes *const processes = examiner->processes;
    struct process_entry *const entry = find_entry(processes, examiner->pid);
    const uint64_t now_ns = clock_now_ns();
    debts_charge(&processes->debts, examiner->uid, now_ns - examiner->since_ns, now_ns);
    examiner->pid = 0;
    if (!entry || entry->serial != examiner->serial) {
        finding_close(finding);
        return;
    }
    finding_close(&entry->finding);
    entry->finding = *finding;
    if (examiner->processes->hides_arguments)
        process_hide_arguments(&entry->finding.process);
    entry->again_ns = finding->again_ns;
    entry->is_examined = true;
    entry->is_taken = entry->has_uid = false;
}

static void *run(void *context)
{
    struct examiner *const examiner = context;
    struct processes *const processes = examiner->processes;
    pthread_setname_np(pthread_self(), "examiner");
    pthread_mutex_lock(&processes->lock);
    while (take(examiner)) {
        const uint64_t began_ns = clock_thread_ns();
        struct finding finding;
        pthread_mutex_unlock(&processes->lock);
        finding_make(&finding, examiner->pid, examiner->uid, processes->files,
                     &processes->is_ending);
        pthread_mutex_lock(&processes->lock);
        processes->summary.examined_cpu_ns += clock_thread_ns() - began_ns;
        give(examiner, &finding);
    }
    *examiner = (struct examiner){ .is_there = false };
    leave(processes);
    return NULL;
}

/* The examiner is detached, because it may hang. */
static bool start(struct processes *processes, struct examiner *examiner)
{
    *examiner = (struct examiner){ .processes = processes, .is_there = true };
    examiner->is_there = thread_start(NULL, run, examiner) == 0;
    processes->users += examiner->is_there;
    return examiner->is_there;
}

/* Abandons an examiner that hangs; its process is examined again later. */
static void abandon(struct processes *processes, struct examiner *examiner, uint64_t now_ns)
{
    struct process_entry *const entry = find_entry(processes, examiner->pid);
    examiner->is_abandoned = true;
    if (entry && entry->serial == examiner->serial) {
        entry->again_ns = now_ns + HANGS_AGAIN_NS;
        entry->is_taken = false;
    }
}

static void ensure_examiner(struct processes *processes, uint64_t now_ns)
{
    struct examiner *vacant = NULL;
    for (size_t i = 0; i < PROCESSES_EXAMINERS; i++) {
        struct examiner *const examiner = &processes->examiners[i];
        if (!examiner->is_there)
            vacant = examiner;
        else if (!examiner->is_abandoned && examiner->pid && now_ns > examiner->since_ns &&
                 now_ns - examiner->since_ns > PROCESSES_STUCK_NS)
            abandon(processes, examiner, now_ns);
        if (examiner->is_there && !examiner->is_abandoned)
            return;
    }
    if (vacant)
        (void)start(processes, vacant);
}

/* Queues processes to examine, starts an examiner if there is none, and wakes it. */
static void queue_due(struct processes *processes, uint64_t now_ns)
{
    fill_queue(processes, now_ns);
    ensure_examiner(processes, now_ns);
    pthread_cond_broadcast(&processes->changed);
}

static int compare(const void *a, const void *b)
{
    const int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/* Lists the processes of the host, by pid: keeps known entries and adds new ones. */
static enum err_code scan(struct processes *processes, struct err *err)
{
    struct pid_list pids = { 0 };
    size_t count = 0, old = 0;
    const int own = (int)getpid();
    enum err_code rc = process_scan_all(&pids, err);
    if (!rc)
        qsort(pids.items, pids.count, sizeof *pids.items, compare);
    const size_t most = pids.count < PROCESSES_MAX ? pids.count : PROCESSES_MAX;
    struct process_entry **const items = rc ? NULL : calloc(most + 1, sizeof *items);
    if (!rc && !items)
        rc = err_nomem(err);
    for (size_t i = 0; !rc && i < most; i++) {
        while (old < processes->count && processes->items[old]->pid < pids.items[i])
            process_entry_destroy(processes->items[old++]);
        struct process_entry *entry = NULL;
        if (old < processes->count && processes->items[old]->pid == pids.items[i])
            entry = processes->items[old++];
        else if (pids.items[i] != own)
            entry = process_entry_create(pids.items[i]);
        if (entry)
            items[count++] = entry;
    }
    pid_list_deinit(&pids);
    if (rc)
        return rc;
    while (old < processes->count)
        process_entry_destroy(processes->items[old++]);
    free(processes->items);
    processes->items = items;
    processes->count = count;
    return ERR_OK;
}

/* false: the process has ended. */
static bool renew(struct processes *processes, struct process_entry *entry, uint64_t now_ns)
{
    if (entry->is_examined && !entry->finding.is_python && now_ns < entry->again_ns &&
        (processes->summary.number + (uint64_t)entry->pid) % OTHERS_CHECKED_EVERY)
        return true;
    if (!process_entry_renew(entry, now_ns))
        return false;
    if (!entry->serial)
        entry->serial = ++processes->serials;
    return true;
}

/* Reads all entries again; drops processes that have ended since the scan. */
static void renew_all(struct processes *processes, uint64_t now_ns)
{
    size_t left = 0;
    for (size_t i = 0; i < processes->count; i++) {
        struct process_entry *const entry = processes->items[i];
        if (renew(processes, entry, now_ns))
            processes->items[left++] = entry;
        else
            process_entry_destroy(entry);
    }
    processes->count = left;
}

static enum err_code refresh(struct processes *processes, struct err *err)
{
    const uint64_t now_ns = clock_now_ns();
    if (processes->scanned_ns && now_ns - processes->scanned_ns < PROCESSES_REST_NS)
        return ERR_OK;
    const enum err_code rc = scan(processes, err);
    if (rc)
        return rc;
    processes->summary.number++;
    renew_all(processes, now_ns);
    queue_due(processes, now_ns);
    processes->scanned_ns = now_ns;
    processes->summary.at_ns = clock_wall_ns();
    return ERR_OK;
}

/* Counts also what examiners have found since the scan. */
static void count(struct processes *processes)
{
    struct processes_summary *const summary = &processes->summary;
    summary->count = summary->examining = 0;
    for (size_t i = 0; i < processes->count; i++) {
        const struct process_entry *const entry = processes->items[i];
        summary->examining += !entry->is_examined;
        summary->count += entry->finding.is_python;
    }
}

enum err_code processes_visit(struct processes *processes, processes_visitor visit,
                              void *context, struct processes_summary *out, struct err *err)
{
    pthread_mutex_lock(&processes->lock);
    const enum err_code rc = refresh(processes, err);
    if (!rc)
        count(processes);
    for (size_t i = 0; !rc && visit && i < processes->count; i++)
        if (processes->items[i]->finding.is_python) {
            const struct process_info info = process_entry_info(
                processes->items[i], processes->summary.at_ns, processes->boot_ns);
            visit(context, &info);
        }
    if (!rc)
        *out = processes->summary;
    pthread_mutex_unlock(&processes->lock);
    return rc;
}
