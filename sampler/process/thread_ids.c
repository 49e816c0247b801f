#define _GNU_SOURCE
#include "sampler/process/thread_ids.h"

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/base/vec.h"
#include "sampler/process/procfs.h"
#include "sampler/process/stored_process.h"

struct levels {
    int count;         /* of pid namespaces that the thread is in; 0: unknown */
    int32_t innermost; /* the thread's id in the innermost of them */
};

/* Parses the line "NSpid:\t4711\t17": the host's id first, the innermost last. */
static struct levels read_levels(int pid, const char *file)
{
    struct levels levels = { 0, 0 };
    SCOPED_FREE char *status = NULL;
    size_t bytes;
    if (procfs_read(pid, file, &status, &bytes, NULL))
        return levels;
    const char *at = strstr(status, "\nNSpid:");
    if (!at)
        return levels;
    at += strlen("\nNSpid:");
    for (char *end; *at && *at != '\n'; at = end) {
        const long id = strtol(at, &end, 10);
        if (end == at)
            break;
        levels.count++;
        levels.innermost = (int32_t)id;
    }
    return levels;
}

static int32_t read_inner(int pid, int32_t host)
{
    char file[48];
    snprintf(file, sizeof file, "task/%d/status", host);
    return read_levels(pid, file).innermost;
}

void thread_ids_init(struct thread_ids *ids, int pid)
{
    *ids = (struct thread_ids){ .pid = pid };
}

void thread_ids_deinit(struct thread_ids *ids)
{
    free(ids->items);
    *ids = (struct thread_ids){ .pid = 0 };
}

void thread_ids_begin(struct thread_ids *ids)
{
    ids->is_listed = false;
}

static int by_host(const void *a, const void *b)
{
    const struct thread_id *const x = a, *const y = b;
    return (x->host > y->host) - (x->host < y->host);
}

int32_t thread_ids_find(struct thread_ids *ids, int32_t tid)
{
    if (tid <= 0)
        return 0;
    if (stored_process_find(ids->pid))
        return thread_ids_has(ids->pid, tid) ? tid : 0;
    if (!ids->levels)
        ids->levels = read_levels(ids->pid, "status").count;
    if (ids->levels <= 1)
        return thread_ids_has(ids->pid, tid) ? tid : 0;
    if (!ids->is_listed) {
        /* Lists the threads.  Of those that were listed before, what the kernel said then is kept. */
        char path[32];
        struct thread_id *items = NULL;
        size_t count = 0, room = 0;
        snprintf(path, sizeof path, "/proc/%d/task", ids->pid);
        DIR *const tasks = opendir(path);
        for (const struct dirent *task; tasks && (task = readdir(tasks)) != NULL;) {
            struct thread_id id = { .host = (int32_t)strtol(task->d_name, NULL, 10) };
            if (id.host <= 0 || !VEC_RESERVE(items, room, count + 1))
                continue;
            const struct thread_id *const known =
                ids->count ? bsearch(&id, ids->items, ids->count, sizeof id, by_host) : NULL;
            id.inner = known ? known->inner : read_inner(ids->pid, id.host);
            items[count++] = id;
        }
        if (tasks)
            closedir(tasks);
        if (count)
            qsort(items, count, sizeof *items, by_host);
        free(ids->items);
        ids->items = items;
        ids->count = count;
        ids->room = room;
        ids->is_listed = true;
    }
    for (size_t i = 0; i < ids->count; i++)
        /* The thread may have ended, and another one may have its number on this host. */
        if (ids->items[i].inner == tid && read_inner(ids->pid, ids->items[i].host) == tid)
            return ids->items[i].host;
    return 0;
}

size_t thread_ids_count(const struct thread_ids *ids)
{
    enum { LINKS_OF_EMPTY_FOLDER = 2 };
    const struct stored_process *const stored = stored_process_find(ids->pid);
    char path[32];
    struct stat folder;
    if (stored)
        return stored->thread_count;
    snprintf(path, sizeof path, "/proc/%d/task", ids->pid);
    return stat(path, &folder) == 0 && folder.st_nlink > LINKS_OF_EMPTY_FOLDER
               ? (size_t)folder.st_nlink - LINKS_OF_EMPTY_FOLDER
               : 0;
}

/* The kernel looks for a thread before it asks for the right to send it a signal, but a sandbox around us may refuse the
 * question itself. */
static bool is_answered(void)
{
    static atomic_int answered; /* 0: not asked yet; 1: no; 2: yes */
    int known = atomic_load_explicit(&answered, memory_order_relaxed);
    if (!known) {
        known = syscall(SYS_tgkill, getpid(), INT32_MAX, 0) != 0 && errno == ESRCH ? 2 : 1;
        atomic_store_explicit(&answered, known, memory_order_relaxed);
    }
    return known == 2;
}

bool thread_ids_has(int pid, int32_t tid)
{
    const struct stored_process *const stored = stored_process_find(pid);
    char path[48];
    if (tid <= 0 || stored)
        return tid > 0 && stored->has_thread(stored, tid);
    if (is_answered())
        return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno != ESRCH;
    snprintf(path, sizeof path, "/proc/%d/task/%d", pid, tid);
    return access(path, F_OK) == 0;
}

int32_t thread_ids_first(int pid)
{
    const struct stored_process *const stored = stored_process_find(pid);
    return stored ? stored->pid : (int32_t)pid;
}

int32_t thread_ids_inner_pid(int pid)
{
    if (stored_process_find(pid))
        return thread_ids_first(pid);
    const struct levels levels = read_levels(pid, "status");
    return levels.count > 1 ? levels.innermost : (int32_t)pid;
}
