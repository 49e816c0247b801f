#define _GNU_SOURCE
#include "sampler/discovery/process_entry.h"

#include <stdlib.h>
#include <unistd.h>

#include "sampler/base/clock.h"

struct process_entry *process_entry_create(int pid)
{
    struct process_entry *const entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    entry->pid = pid;
    entry->cpu_percent = -1;
    finding_init(&entry->finding);
    return entry;
}

void process_entry_destroy(struct process_entry *entry)
{
    if (entry)
        finding_close(&entry->finding);
    free(entry);
}

bool process_entry_renew(struct process_entry *entry, uint64_t now_ns)
{
    struct process_stats stats;
    if (process_stats_read(entry->pid, &stats, NULL) || stats.state == 'Z' ||
        stats.state == 'X')
        return false;
    if (entry->measured_ns && (!process_stats_same_program(&stats, &entry->stats) ||
                               !finding_holds(&entry->finding, entry->pid))) {
        finding_close(&entry->finding);
        entry->is_examined = entry->is_taken = entry->has_uid = false;
        entry->serial = entry->again_ns = entry->measured_ns = 0;
        entry->cpu_percent = -1;
    }

    const uint64_t passed_ns = now_ns - entry->measured_ns;
    if (entry->measured_ns && passed_ns && stats.cpu_ticks >= entry->stats.cpu_ticks)
        entry->cpu_percent = 100.0 * (double)(stats.cpu_ticks - entry->stats.cpu_ticks) /
                             (double)sysconf(_SC_CLK_TCK) /
                             ((double)passed_ns / (double)NS_PER_S);
    entry->measured_ns = now_ns;
    entry->stats = stats;
    return true;
}

struct process_info process_entry_info(const struct process_entry *entry, uint64_t at_ns,
                                       uint64_t boot_ns)
{
    const struct finding *const finding = &entry->finding;
    const struct process *const process = &finding->process;
    const uint64_t started_at_ns =
        boot_ns + entry->stats.start_ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
    return (struct process_info){
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
        .pod = *finding->container.pod ? finding->container.pod : NULL,
        .threads = entry->stats.threads,
        .cpu_percent = entry->cpu_percent,
        .rss_bytes = entry->stats.rss_bytes,
        .started_at_ns = started_at_ns,
        .uptime_ns = at_ns > started_at_ns ? at_ns - started_at_ns : 0,
        .reason = *finding->reason ? finding->reason : NULL,
    };
}
