#include "server/leave.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/clock.h"

enum { HELD_AGAIN_MS = 10 };

/* Of the process, as its end is. */
static atomic_int holds, wanted_ms, wanted_status;

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
    _exit(atomic_load(&wanted_status));
}

void leave_within(int milliseconds, int status)
{
    pthread_t thread;
    sigset_t all, before;
    atomic_store(&wanted_ms, milliseconds);
    atomic_store(&wanted_status, status);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, end_late, NULL) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void leave_hold(void)
{
    atomic_fetch_add(&holds, 1);
}

void leave_release(void)
{
    atomic_fetch_sub(&holds, 1);
}
