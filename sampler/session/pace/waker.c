#define _GNU_SOURCE
#include "sampler/session/pace/waker.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/clock.h"

/* The shortest slice that the kernel gives. */
static const uint64_t SLICE_NS = 100000;

/* The kernel's struct sched_attr.  The C library of Debian 12 does not declare it, and the kernel's
 * header conflicts with <sched.h>. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns,
        period_ns; /* under the default policy runtime_ns is the slice */
};

void waker_hasten(void)
{
    /* The thread wakes up within about 1 us of its deadline instead of 50 us. */
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
    struct attributes attr = { .size = sizeof attr };
    if (syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0u) ||
        attr.policy != (uint32_t)SCHED_OTHER)
        return;
    attr.runtime_ns = SLICE_NS;
    /* If the kernel refuses, the thread wakes up as soon as the kernel lets it. */
    (void)syscall(SYS_sched_setattr, 0, &attr, 0u);
}

void waker_init(struct waker *waker)
{
    for (int i = 0; i < WAKER_TIMERS; i++)
        waker->timers[i] =
            (struct waker_timer){ timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), 0 };
}

void waker_deinit(struct waker *waker)
{
    for (int i = 0; i < WAKER_TIMERS; i++)
        if (waker->timers[i].fd > 0)
            close(waker->timers[i].fd);
    *waker = (struct waker){ 0 };
}

static struct waker_timer *find(struct waker *waker, uint64_t at_ns)
{
    for (int i = 0; i < WAKER_TIMERS; i++)
        if (waker->timers[i].at_ns == at_ns)
            return &waker->timers[i];
    return NULL;
}

/* A timer that is not set, or set for an instant that has passed. */
static struct waker_timer *find_free(struct waker *waker)
{
    const uint64_t now_ns = clock_now_ns();
    for (int i = 0; i < WAKER_TIMERS; i++)
        if (waker->timers[i].at_ns <= now_ns)
            return &waker->timers[i];
    return NULL;
}

static bool set(struct waker_timer *timer, uint64_t at_ns)
{
    const struct itimerspec spec = { .it_value = clock_timespec(at_ns) };
    if (timer->fd < 0 || timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &spec, NULL))
        return false;
    timer->at_ns = at_ns;
    return true;
}

void waker_prepare(struct waker *waker, uint64_t at_ns)
{
    struct waker_timer *const free = find_free(waker);
    if (free)
        (void)set(free, at_ns);
}

static void sleep_plainly(uint64_t at_ns)
{
    const struct timespec at = clock_timespec(at_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
    }
}

void waker_sleep(struct waker *waker, uint64_t at_ns)
{
    struct waker_timer *timer = find(waker, at_ns);
    uint64_t expirations;
    if (!timer) {
        timer = find_free(waker);
        if (!timer || !set(timer, at_ns)) {
            sleep_plainly(at_ns);
            return;
        }
    }
    ssize_t n;
    do
        n = read(timer->fd, &expirations, sizeof expirations);
    while (n < 0 && errno == EINTR);
    timer->at_ns = 0;
    if (n < 0)
        sleep_plainly(at_ns);
}
