#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/discovery/processes_parts.h"

/* What hangs is tried again after so long. */
static const uint64_t HANGS_AGAIN_NS = 600 * NS_PER_S;

/* When its turn may be: 0: now; UINT64_MAX: not while its processes hang so many examiners. */
static uint64_t rests_until_ns(const struct processes *processes, unsigned uid, uint64_t now_ns)
{
    int hanging = 0;
    for (size_t i = 0; i < PROCESSES_EXAMINERS; i++)
        hanging += processes->examiners[i].is_left && processes->examiners[i].uid == uid;
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
        struct entry *const entry = processes->items[i];
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

/* The next one whose owner does not rest.  false: *until_ns_out says when to ask again. */
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

/* false: it is to end. */
static bool take(struct examiner *examiner)
{
    struct processes *const processes = examiner->processes;
    struct turn_item due;
    uint64_t until_ns;
    while (!atomic_load(&processes->is_ending) && !examiner->is_left) {
        if (!take_due(processes, &due, &until_ns)) {
            wait_for_change(processes, until_ns);
            continue;
        }
        struct entry *const entry = processes_entry(processes, due.pid);
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

/* It counts if the process is still that program. */
static void give(struct examiner *examiner, struct finding *finding)
{
    struct processes *const processes = examiner->processes;
    struct entry *const entry = processes_entry(processes, examiner->pid);
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
    processes_leave(processes);
    return NULL;
}

/* Signals are the main thread's business; and nobody waits for it, as it may hang. */
static bool start(struct processes *processes, struct examiner *examiner)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    *examiner = (struct examiner){ .processes = processes, .is_there = true };
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    examiner->is_there = pthread_create(&thread, &attributes, run, examiner) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    processes->users += examiner->is_there;
    return examiner->is_there;
}

/* One that does not come back is left behind, and its process until later. */
static void leave_behind(struct processes *processes, struct examiner *examiner,
                         uint64_t now_ns)
{
    struct entry *const entry = processes_entry(processes, examiner->pid);
    examiner->is_left = true;
    if (entry && entry->serial == examiner->serial) {
        entry->again_ns = now_ns + HANGS_AGAIN_NS;
        entry->is_taken = false;
    }
}

static void keep_examining(struct processes *processes, uint64_t now_ns)
{
    struct examiner *vacant = NULL;
    for (size_t i = 0; i < PROCESSES_EXAMINERS; i++) {
        struct examiner *const examiner = &processes->examiners[i];
        if (!examiner->is_there)
            vacant = examiner;
        else if (!examiner->is_left && examiner->pid && now_ns > examiner->since_ns &&
                 now_ns - examiner->since_ns > PROCESSES_STUCK_NS)
            leave_behind(processes, examiner, now_ns);
        if (examiner->is_there && !examiner->is_left)
            return;
    }
    if (vacant)
        (void)start(processes, vacant);
}

void processes_queue(struct processes *processes, uint64_t now_ns)
{
    fill_queue(processes, now_ns);
    keep_examining(processes, now_ns);
    pthread_cond_broadcast(&processes->changed);
}
