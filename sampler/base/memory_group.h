/*
 * memory_group - the control group that limits the memory of a process, of version 1 or 2.
 *
 * The limit of a process is the smallest one of its group and of those around it.  Within a container the folder may show only the
 * group itself, whatever its path is.
 *
 * A process may be in a group whose name its owner chose: the name only chooses among folders of control groups.
 *
 * Threads: any.
 */
#ifndef SAMPLER_BASE_MEMORY_GROUP_H
#define SAMPLER_BASE_MEMORY_GROUP_H

#include <limits.h>
#include <stdint.h>

/* The folder of control groups; another one is for tests. */
#define MEMORY_GROUP_FOLDER "/sys/fs/cgroup"

enum memory_group_version { MEMORY_GROUP_2, MEMORY_GROUP_1, MEMORY_GROUP_VERSIONS };

struct memory_group {
    uint64_t limit;        /* bytes; 0: there is none, or it cannot be read */
    char folder[PATH_MAX]; /* of the group with that limit */
    enum memory_group_version version;
};

/* of: the file that names the groups of the process: /proc/PID/cgroup. */
void memory_group_find(const char *folder, const char *of, struct memory_group *out);

#endif /* SAMPLER_BASE_MEMORY_GROUP_H */
