#define _GNU_SOURCE
#include "sampler/discovery/examiners.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/thread.h"
#include "sampler/process/process_stats.h"

/* A process that hung an examiner is examined again after this. */
static const uint64_t HANGS_AGAIN_NS = 600 * NS_PER_S;

void examiners_leave(struct processes *processes)
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

/* Takes the next process whose owner does not rest.  false: try again at *until_ns_out. */
static bool take_due(struct processes *processes, struct turn_item *out, uint64_t *until_ns_out)
{
    const uint64_t now_ns = clock_now_ns();
    *until_ns_out = UINT64_MAX;
    for (size_t i = 0; i < processes->queue_count; i++) {
        /* An owner whose processes hang so many examiners has no turn. */
        const unsigned uid = processes->queue[i].uid;
        int hanging = 0;
        for (size_t j = 0; j < PROCESSES_EXAMINERS; j++)
            hanging +=
                processes->examiners[j].is_abandoned && processes->examiners[j].uid == uid;
        const uint64_t until_ns = hanging >= PROCESSES_HANG_MAX
                                      ? UINT64_MAX
                                      : debts_rest_until_ns(&processes->debts, uid, now_ns);

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

/* false: the examiner ends. */
static bool take_process(struct examiner *examiner)
{
    struct processes *const processes = examiner->processes;
    struct turn_item due;
    uint64_t until_ns;
    while (!atomic_load(&processes->is_ending) && !examiner->is_abandoned) {
        if (!take_due(processes, &due, &until_ns)) {
            const struct timespec until = clock_timespec(until_ns);
            if (until_ns == UINT64_MAX)
                pthread_cond_wait(&processes->changed, &processes->lock);
            else
                pthread_cond_timedwait(&processes->changed, &processes->lock, &until);
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

static void *run_examiner(void *context)
{
    struct examiner *const examiner = context;
    struct processes *const processes = examiner->processes;
    pthread_setname_np(pthread_self(), "examiner");
    pthread_mutex_lock(&processes->lock);
    while (take_process(examiner)) {
        const uint64_t began_ns = clock_thread_ns();
        struct finding finding;
        pthread_mutex_unlock(&processes->lock);
        finding_make(&finding, examiner->pid, examiner->uid, processes->files,
                     &processes->is_ending);
        pthread_mutex_lock(&processes->lock);
        processes->summary.examined_cpu_ns += clock_thread_ns() - began_ns;

        struct process_entry *const entry = find_entry(processes, examiner->pid);
        const uint64_t now_ns = clock_now_ns();
        debts_charge(&processes->debts, examiner->uid, now_ns - examiner->since_ns, now_ns);
        examiner->pid = 0;
        if (!entry || entry->serial != examiner->serial) {
            finding_close(&finding);
            continue;
        }
        finding_close(&entry->finding);
        entry->finding = finding;
        if (examiner->processes->hides_arguments)
            process_hide_arguments(&entry->finding.process);
        entry->again_ns = finding.again_ns;
        entry->is_examined = true;
        entry->is_taken = entry->has_uid = false;
    }
    *examiner = (struct examiner){ .is_there = false };
    examiners_leave(processes);
    return NULL;
}

static void ensure_examiner(struct processes *processes, uint64_t now_ns)
{
    struct examiner *vacant = NULL;
    for (size_t i = 0; i < PROCESSES_EXAMINERS; i++) {
        struct examiner *const examiner = &processes->examiners[i];
        if (!examiner->is_there)
            vacant = examiner;
        else if (!examiner->is_abandoned && examiner->pid && now_ns > examiner->since_ns &&
                 now_ns - examiner->since_ns > PROCESSES_STUCK_NS) {
            /* Abandons an examiner that hangs; its process is examined again later. */
            struct process_entry *const entry = find_entry(processes, examiner->pid);
            examiner->is_abandoned = true;
            if (entry && entry->serial == examiner->serial) {
                entry->again_ns = now_ns + HANGS_AGAIN_NS;
                entry->is_taken = false;
            }
        }
        if (examiner->is_there && !examiner->is_abandoned)
            return;
    }
    if (vacant) {
        /* The examiner is detached, because it may hang. */
        *vacant = (struct examiner){ .processes = processes, .is_there = true };
        vacant->is_there = thread_start(NULL, run_examiner, vacant) == 0;
        processes->users += vacant->is_there;
    }
}

void examiners_queue_due(struct processes *processes, uint64_t now_ns)
{
    struct turn_item *const queue = calloc(processes->count + 1, sizeof *queue);
    size_t count = 0;
    if (queue) {
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

    ensure_examiner(processes, now_ns);
    pthread_cond_broadcast(&processes->changed);
}
