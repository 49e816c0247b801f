#include "sampler/process/namespace.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/scoped.h"
#include "sampler/process/procfs.h"

struct numbers {
    int count;      /* of namespaces the thread is in */
    int32_t inmost; /* its number in the inmost one */
};

/* The line "NSpid:\t4711\t17": the number here first, the inmost last. */
static struct numbers read_numbers(int pid, const char *file)
{
    struct numbers numbers = { 0, 0 };
    SCOPED_FREE char *status = NULL;
    size_t bytes;
    if (procfs_read(pid, file, &status, &bytes, NULL))
        return numbers;
    const char *at = strstr(status, "\nNSpid:");
    if (!at)
        return numbers;
    at += strlen("\nNSpid:");
    for (char *end; *at && *at != '\n'; at = end) {
        const long number = strtol(at, &end, 10);
        if (end == at)
            break;
        numbers.count++;
        numbers.inmost = (int32_t)number;
    }
    return numbers;
}

static int32_t search(int pid, DIR *tasks, int32_t tid)
{
    char file[300];
    for (const struct dirent *task = readdir(tasks); task; task = readdir(tasks)) {
        const long number = strtol(task->d_name, NULL, 10);
        if (number <= 0)
            continue;
        snprintf(file, sizeof file, "task/%s/status", task->d_name);
        if (read_numbers(pid, file).inmost == tid)
            return (int32_t)number;
    }
    return 0;
}

int32_t namespace_host_tid(int pid, int32_t tid)
{
    char path[32];
    if (tid <= 0)
        return 0;
    if (read_numbers(pid, "status").count <= 1)
        return tid;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *const tasks = opendir(path);
    if (!tasks)
        return 0;
    const int32_t found = search(pid, tasks, tid);
    closedir(tasks);
    return found;
}

int32_t namespace_inside(int pid)
{
    const struct numbers numbers = read_numbers(pid, "status");
    return numbers.count > 1 ? numbers.inmost : (int32_t)pid;
}
