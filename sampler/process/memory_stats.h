/*
 * memory_stats - the memory and page faults of a process, as /proc shows them to every user.
 *
 * RSS is what statm says: it costs the kernel a few additions.  Kernels from 6.2 to 6.16 leave out what processors have counted and not
 * added yet, up to some MB on machines with many of them.  smaps_rollup is exact everywhere, but walks all page tables.
 *
 * Units: bytes.
 */
#ifndef SAMPLER_PROCESS_MEMORY_STATS_H
#define SAMPLER_PROCESS_MEMORY_STATS_H

#include <stdbool.h>
#include <stdint.h>

/* false: it cannot be read, or the process has no memory, as a zombie. */
bool memory_stats_rss(int pid, uint64_t *bytes_out);
/* The page faults of all its threads so far, those that ended too. */
bool memory_stats_faults(int pid, uint64_t *minor_out, uint64_t *major_out);
bool memory_stats_swap(int pid, uint64_t *bytes_out);

/* Parse the texts of /proc/PID/statm, stat and status.  The process chooses its name in the last two. */
bool memory_stats_parse_rss(const char *statm, uint64_t *bytes_out);
bool memory_stats_parse_faults(const char *stat, uint64_t *minor_out, uint64_t *major_out);
bool memory_stats_parse_swap(const char *status, uint64_t *bytes_out);

#endif /* SAMPLER_PROCESS_MEMORY_STATS_H */
