#include "sampler/processes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/discovery/processes_parts.h"
#include "sampler/process/process_scan.h"

/* One that rests is asked less often whether it is still the same program. */
enum { OTHERS_ASKED_EVERY = 4 };

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
    processes->ticks_per_s = sysconf(_SC_CLK_TCK);
    *out = processes;
    return ERR_OK;
}

void processes_hide_arguments(struct processes *processes)
{
    processes->hides_arguments = true;
}

static void free_entry(struct entry *entry)
{
    if (entry)
        finding_close(&entry->finding);
    free(entry);
}

void processes_leave(struct processes *processes)
{
    const bool is_last = --processes->users == 0;
    pthread_mutex_unlock(&processes->lock);
    if (!is_last)
        return;
    for (size_t i = 0; i < processes->count; i++)
        free_entry(processes->items[i]);
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
    processes_leave(processes);
}

static void measure(const struct processes *processes, struct entry *entry,
                    const struct process_stats *stats, uint64_t now_ns)
{
    const uint64_t passed_ns = now_ns - entry->measured_ns;
    if (entry->measured_ns && passed_ns && stats->cpu_ticks >= entry->stats.cpu_ticks)
        entry->cpu_percent = 100.0 * (double)(stats->cpu_ticks - entry->stats.cpu_ticks) /
                             (double)processes->ticks_per_s /
                             ((double)passed_ns / (double)NS_PER_S);
    entry->measured_ns = now_ns;
    entry->stats = *stats;
}

static bool is_same_program(const struct process_stats *a, const struct process_stats *b)
{
    return a->start_ticks == b->start_ticks && a->stack_start == b->stack_start &&
           a->code_start == b->code_start;
}

static void forget(struct entry *entry)
{
    finding_close(&entry->finding);
    entry->is_examined = entry->is_taken = entry->has_uid = false;
    entry->serial = entry->again_ns = entry->measured_ns = 0;
    entry->cpu_percent = -1;
}

/* false: it is gone. */
static bool renew(struct processes *processes, struct entry *entry, uint64_t now_ns)
{
    struct process_stats stats;
    if (entry->is_examined && !entry->finding.is_python && now_ns < entry->again_ns &&
        (processes->summary.number + (uint64_t)entry->pid) % OTHERS_ASKED_EVERY)
        return true;
    if (process_stats_read(entry->pid, &stats, NULL) || stats.state == 'Z' ||
        stats.state == 'X')
        return false;
    if (entry->measured_ns && !is_same_program(&stats, &entry->stats))
        forget(entry);
    if (!entry->serial)
        entry->serial = ++processes->serials;
    measure(processes, entry, &stats, now_ns);
    return true;
}

static struct entry *make_entry(int pid)
{
    struct entry *const entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    entry->pid = pid;
    entry->cpu_percent = -1;
    finding_init(&entry->finding);
    return entry;
}

static int compare(const void *a, const void *b)
{
    const int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/* The entries of these processes, by pid: those there were, and new ones. */
static enum err_code take_census(struct processes *processes, struct err *err)
{
    struct pid_list pids = { 0 };
    size_t count = 0, old = 0;
    const int own = (int)getpid();
    enum err_code rc = process_scan_all(&pids, err);
    if (!rc)
        qsort(pids.items, pids.count, sizeof *pids.items, compare);
    const size_t most = pids.count < PROCESSES_MAX ? pids.count : PROCESSES_MAX;
    struct entry **const items = rc ? NULL : calloc(most + 1, sizeof *items);
    if (!rc && !items)
        rc = err_nomem(err);
    for (size_t i = 0; !rc && i < most; i++) {
        while (old < processes->count && processes->items[old]->pid < pids.items[i])
            free_entry(processes->items[old++]);
        struct entry *entry = NULL;
        if (old < processes->count && processes->items[old]->pid == pids.items[i])
            entry = processes->items[old++];
        else if (pids.items[i] != own)
            entry = make_entry(pids.items[i]);
        if (entry)
            items[count++] = entry;
    }
    pid_list_deinit(&pids);
    if (rc)
        return rc;
    while (old < processes->count)
        free_entry(processes->items[old++]);
    free(processes->items);
    processes->items = items;
    processes->count = count;
    return ERR_OK;
}

/* One that is gone between the census and now stays away. */
static void renew_all(struct processes *processes, uint64_t now_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < processes->count; i++) {
        struct entry *const entry = processes->items[i];
        if (renew(processes, entry, now_ns))
            processes->items[kept++] = entry;
        else
            free_entry(entry);
    }
    processes->count = kept;
}

static int compare_pid(const void *a, const void *b)
{
    const int pid = *(const int *)a;
    const struct entry *const entry = *(struct entry *const *)b;
    return (pid > entry->pid) - (pid < entry->pid);
}

struct entry *processes_entry(const struct processes *processes, int pid)
{
    struct entry **const found = processes->count
                                     ? bsearch(&pid, processes->items, processes->count,
                                               sizeof *processes->items, compare_pid)
                                     : NULL;
    return found ? *found : NULL;
}

static enum err_code look(struct processes *processes, struct err *err)
{
    const uint64_t now_ns = clock_now_ns();
    if (processes->looked_ns && now_ns - processes->looked_ns < PROCESSES_REST_NS)
        return ERR_OK;
    const enum err_code rc = take_census(processes, err);
    if (rc)
        return rc;
    processes->summary.number++;
    renew_all(processes, now_ns);
    processes_queue(processes, now_ns);
    processes->looked_ns = now_ns;
    processes->summary.at_ns = clock_wall_ns();
    return ERR_OK;
}

/* What examiners have found since the look counts too. */
static void count(struct processes *processes)
{
    struct processes_summary *const summary = &processes->summary;
    summary->count = summary->examining = 0;
    for (size_t i = 0; i < processes->count; i++) {
        const struct entry *const entry = processes->items[i];
        summary->examining += !entry->is_examined;
        summary->count += entry->finding.is_python;
    }
}

static void tell_one(const struct processes *processes, const struct entry *entry,
                     processes_tell tell, void *context)
{
    const struct finding *const finding = &entry->finding;
    const struct process *const process = &finding->process;
    const uint64_t started_at_ns =
        processes->boot_ns +
        entry->stats.start_ticks * (NS_PER_S / (uint64_t)processes->ticks_per_s);
    const uint64_t at_ns = processes->summary.at_ns;
    const struct process_info facts = {
        .pid = entry->pid,
        .parent = entry->stats.parent,
        .argc = process->argc,
        .argv = (const char *const *)process->argv,
        .executable = process->executable && *process->executable ? process->executable : NULL,
        .python = *finding->python ? finding->python : NULL,
        .uid = entry->uid,
        .user = finding->user,
        .container = *finding->container.id ? finding->container.id : NULL,
        .container_name = finding->container.name,
        .threads = entry->stats.threads,
        .cpu_percent = entry->cpu_percent,
        .rss_bytes = entry->stats.rss_bytes,
        .started_at_ns = started_at_ns,
        .uptime_ns = at_ns > started_at_ns ? at_ns - started_at_ns : 0,
        .reason = *finding->reason ? finding->reason : NULL,
    };
    tell(context, &facts);
}

enum err_code processes_visit(struct processes *processes, processes_tell tell, void *context,
                              struct processes_summary *out, struct err *err)
{
    pthread_mutex_lock(&processes->lock);
    const enum err_code rc = look(processes, err);
    if (!rc)
        count(processes);
    for (size_t i = 0; !rc && tell && i < processes->count; i++)
        if (processes->items[i]->finding.is_python)
            tell_one(processes, processes->items[i], tell, context);
    if (!rc)
        *out = processes->summary;
    pthread_mutex_unlock(&processes->lock);
    return rc;
}
