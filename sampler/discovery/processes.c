#define _GNU_SOURCE
#include "sampler/processes.h"

#include <stdlib.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/discovery/examiners.h"
#include "sampler/process/process_scan.h"
#include "sampler/process/procfs.h"

/* For processes that are not Python, only every fourth scan checks for another program. */
enum { OTHERS_CHECKED_EVERY = 4 };

/* When the host started, which is where start times count from: it stays the same until the clock is set. */
static void find_boot(struct processes *processes)
{
    const uint64_t boot_ns = clock_wall_ns() - clock_boot_ns(), known_ns = processes->boot_ns;
    const uint64_t off_ns = boot_ns > known_ns ? boot_ns - known_ns : known_ns - boot_ns;
    if (off_ns > NS_PER_S)
        processes->boot_ns = boot_ns;
}

enum err_code processes_create(struct processes **out, struct err *err)
{
    pthread_condattr_t monotonic;
    struct processes *const processes = calloc(1, sizeof *processes);
    if (!processes)
        return err_nomem(err);
    processes->files = known_files_create();
    if (!processes->files) {
        free(processes);
        return err_nomem(err);
    }
    pthread_mutex_init(&processes->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&processes->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    atomic_init(&processes->is_ending, false);
    processes->users = 1;

    find_boot(processes);
    *out = processes;
    return ERR_OK;
}

void processes_hide_arguments(struct processes *processes)
{
    processes->hides_arguments = true;
}

void processes_destroy(struct processes *processes)
{
    if (!processes)
        return;
    pthread_mutex_lock(&processes->lock);
    atomic_store(&processes->is_ending, true);
    pthread_cond_broadcast(&processes->changed);
    examiners_leave(processes);
}

static int compare_pids(const void *a, const void *b)
{
    const int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/* Lists the processes of the host, by pid: keeps known entries and adds new ones. */
static enum err_code scan_processes(struct processes *processes, struct err *err)
{
    struct pid_list pids = { 0 };
    size_t count = 0, old = 0;
    const int own = (int)getpid();
    enum err_code rc = process_scan_all(&pids, err);
    if (!rc)
        qsort(pids.items, pids.count, sizeof *pids.items, compare_pids);
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
static bool renew_entry(struct processes *processes, struct process_entry *entry,
                        uint64_t now_ns)
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

static enum err_code refresh_entries(struct processes *processes, struct err *err)
{
    const uint64_t now_ns = clock_now_ns();
    if (processes->scanned_ns && now_ns - processes->scanned_ns < PROCESSES_REST_NS)
        return ERR_OK;
    const enum err_code rc = scan_processes(processes, err);
    if (rc)
        return rc;
    processes->summary.number++;

    /* Reads all entries again; drops processes that have ended since the scan. */
    size_t left = 0;
    for (size_t i = 0; i < processes->count; i++) {
        struct process_entry *const entry = processes->items[i];
        if (renew_entry(processes, entry, now_ns))
            processes->items[left++] = entry;
        else
            process_entry_destroy(entry);
    }
    processes->count = left;

    examiners_queue_due(processes, now_ns);
    processes->scanned_ns = now_ns;
    processes->summary.at_ns = clock_wall_ns();
    find_boot(processes);
    return ERR_OK;
}

static bool is_listed(const struct finding *finding)
{
    return finding->is_python && finding->is_permitted;
}

static processes_provider *provider; /* NULL: this process */

void processes_provide(processes_provider *other)
{
    provider = other;
}

enum err_code processes_visit(struct processes *processes, processes_visitor visit,
                              void *context, struct processes_summary *out, struct err *err)
{
    if (provider)
        return provider(visit, context, out, err);
    pthread_mutex_lock(&processes->lock);
    const enum err_code rc = refresh_entries(processes, err);
    if (!rc) {
        /* Counts also what examiners have found since the scan. */
        struct processes_summary *const summary = &processes->summary;
        summary->count = summary->not_permitted = summary->examining = 0;
        for (size_t i = 0; i < processes->count; i++) {
            const struct finding *const finding = &processes->items[i]->finding;
            summary->examining += !processes->items[i]->is_examined;
            summary->count += is_listed(finding);
            summary->not_permitted += finding->is_python && !finding->is_permitted;
        }
    }
    for (size_t i = 0; !rc && visit && i < processes->count; i++)
        if (is_listed(&processes->items[i]->finding)) {
            const struct process_info info = process_entry_info(
                processes->items[i], processes->summary.at_ns, processes->boot_ns);
            visit(context, &info);
        }
    if (!rc)
        *out = processes->summary;
    pthread_mutex_unlock(&processes->lock);
    return rc;
}

enum err_code processes_descends(pid_t pid, pid_t ancestor, struct err *err)
{
    struct procfs_identity identity;
    pid_t at = pid;
    for (int i = 0; i < PROCESSES_MAX_GENERATIONS && at > 1; i++) {
        const enum err_code rc = procfs_identify(at, &identity, err);
        if (rc)
            return rc;
        at = identity.parent;
        if (at == ancestor)
            return ERR_OK;
    }
    return err_set(err, ERR_PERM, "process %d is no descendant of the program", (int)pid);
}
