/*
 * process_entry - one process of the host: its resources, and what examining it has found.
 *
 * Ownership: process_entry_create makes, process_entry_destroy frees; NULL is fine.
 * Threads: none; processes guards its entries.
 * Units: nanoseconds; CPU as percent of one core.
 */
#ifndef SAMPLER_DISCOVERY_PROCESS_ENTRY_H
#define SAMPLER_DISCOVERY_PROCESS_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/discovery/finding.h"
#include "sampler/process/process_stats.h"
#include "sampler/processes.h"

struct process_entry {
    int pid;
    unsigned uid;
    uint64_t serial;   /* of the program that it executes; 0: not seen yet */
    uint64_t again_ns; /* when to examine it again; UINT64_MAX: never */
    struct process_stats stats;
    uint64_t measured_ns; /* of the CPU time in stats */
    double cpu_percent;
    bool has_uid;     /* read since the last examination */
    bool is_examined; /* at least once */
    bool is_taken;    /* an examiner has it now */
    struct finding finding;
};

/* NULL: memory ran out. */
struct process_entry *process_entry_create(int pid);
void process_entry_destroy(struct process_entry *entry);

/* Reads the process again; forgets what was found if it executes another program or has other users.  false: it
 * has ended. */
bool process_entry_renew(struct process_entry *entry, uint64_t now_ns);
/* at_ns, boot_ns: the scan and the start of the host, since 1970.  The result borrows the entry. */
struct process_info process_entry_info(const struct process_entry *entry, uint64_t at_ns,
                                       uint64_t boot_ns);

#endif /* SAMPLER_DISCOVERY_PROCESS_ENTRY_H */
