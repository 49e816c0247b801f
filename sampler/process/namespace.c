#include "sampler/process/namespace.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/scoped.h"
#include "sampler/process/procfs.h"

struct ids {
    int count;         /* of pid namespaces that the thread is in */
    int32_t innermost; /* the thread's id in the innermost of them */
};

/* Parses the line "NSpid:\t4711\t17": the host's id first, the innermost last. */
static struct ids read_ids(int pid, const char *file)
{
    struct ids ids = { 0, 0 };
    SCOPED_FREE char *status = NULL;
    size_t bytes;
    if (procfs_read(pid, file, &status, &bytes, NULL))
        return ids;
    const char *at = strstr(status, "\nNSpid:");
    if (!at)
        return ids;
    at += strlen("\nNSpid:");
    for (char *end; *at && *at != '\n'; at = end) {
        const long id = strtol(at, &end, 10);
        if (end == at)
            break;
        ids.count++;
        ids.innermost = (int32_t)id;
    }
    return ids;
}

static int32_t search(int pid, DIR *tasks, int32_t tid)
{
    char file[300];
    for (const struct dirent *task = readdir(tasks); task; task = readdir(tasks)) {
        const long host_tid = strtol(task->d_name, NULL, 10);
        if (host_tid <= 0)
            continue;
        snprintf(file, sizeof file, "task/%s/status", task->d_name);
        if (read_ids(pid, file).innermost == tid)
            return (int32_t)host_tid;
    }
    return 0;
}

int32_t namespace_host_tid(int pid, int32_t tid)
{
    char path[32];
    if (tid <= 0)
        return 0;
    if (read_ids(pid, "status").count <= 1)
        return tid;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *const tasks = opendir(path);
    if (!tasks)
        return 0;
    const int32_t found = search(pid, tasks, tid);
    closedir(tasks);
    return found;
}

int32_t namespace_inner_pid(int pid)
{
    const struct ids ids = read_ids(pid, "status");
    return ids.count > 1 ? ids.innermost : (int32_t)pid;
}
