#include "server/sessions/leave.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/thread.h"

/* Threads that nobody joins may be just ending. */
enum { HELD_AGAIN_MS = 10, ENDING_MOST = 10 };

/* The end of the process: who holds it, when it is due, and its status. */
static atomic_int holds, wanted_ms, wanted_status;
static atomic_bool has_watch; /* the thread that ends us late */

static void sleep_ms(int milliseconds)
{
    const struct timespec time = clock_timespec((unsigned)milliseconds * NS_PER_MS);
    (void)nanosleep(&time, NULL);
}

static void *end_late(void *context)
{
    (void)context;
    sleep_ms(atomic_load(&wanted_ms));
    while (atomic_load(&holds) > 0)
        sleep_ms(HELD_AGAIN_MS);
    /* A sanitizer would complain of threads that are not joined, which is why we are late. */
    syscall(SYS_exit_group, atomic_load(&wanted_status));
    return NULL;
}

void leave_within(int milliseconds, int status)
{
    atomic_store(&wanted_ms, milliseconds);
    atomic_store(&wanted_status, status);
    if (thread_start(NULL, end_late, NULL) == 0)
        atomic_store(&has_watch, true);
}

/* 0: unknown. */
static int count_threads(void)
{
    int count = 0;
    DIR *const folder = opendir("/proc/self/task");
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        count += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count;
}

_Noreturn void leave(int status)
{
    const int own = 1 + atomic_load(&has_watch);
    for (int i = 0; i < ENDING_MOST && count_threads() > own; i++)
        sleep_ms(HELD_AGAIN_MS);
    if (count_threads() <= own)
        exit(status);
    fflush(stdout);
    _exit(status);
}

void leave_hold(void)
{
    atomic_fetch_add(&holds, 1);
}

void leave_release(void)
{
    atomic_fetch_sub(&holds, 1);
}
