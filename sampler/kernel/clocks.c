#define _GNU_SOURCE
#include "sampler/kernel/clocks.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/base/clock.h"

void clocks_init(struct clocks *clocks, size_t processors)
{
    struct random random;
    random_init_any(&random);
    periods_init(&clocks->periods, random_u64(&random));
    clocks->processors = processors < KERNEL_MAX_CPUS ? processors : KERNEL_MAX_CPUS;
    for (size_t cpu = 0; cpu < KERNEL_MAX_CPUS; cpu++)
        for (size_t i = 0; i < PERIODS; i++)
            clocks->events[cpu][i] = -1;
}

/* Opens a clock of a thread or a processor; -1: of any. */
static int open_event(pid_t pid, int cpu, uint64_t period_ns)
{
    struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof attr,
                                    .config = PERF_COUNT_SW_CPU_CLOCK,
                                    .sample_period = period_ns,
                                    .disabled = 1,
                                    .exclude_idle = 1 };
    return (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int compare_clocks(const void *a, const void *b)
{
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

/* The gaps that interrupts make in a loop of this thread that reads the clock: their median, as some are of other interrupts. */
static uint64_t measure_interrupt_ns(void)
{
    enum { FEWEST = 16, MOST = 32, PERIOD_NS = 50000, MOST_NS = 4000000, PLAIN = 64 };
    uint64_t gaps[MOST], plain_ns = UINT64_MAX;
    const int event = open_event(0, -1, PERIOD_NS);
    if (event < 0)
        return 0;
    uint64_t before_ns = clock_now_ns();
    for (size_t i = 0; i < PLAIN; i++) {
        const uint64_t now_ns = clock_now_ns();
        plain_ns = now_ns - before_ns < plain_ns ? now_ns - before_ns : plain_ns;
        before_ns = now_ns;
    }
    size_t count = 0;
    if (ioctl(event, PERF_EVENT_IOC_ENABLE, 0) == 0) {
        const uint64_t begun_ns = before_ns = clock_now_ns();
        while (count < MOST && before_ns - begun_ns < MOST_NS) {
            const uint64_t now_ns = clock_now_ns(), gap_ns = now_ns - before_ns;
            /* An interrupt takes a microsecond and more. */
            if (gap_ns > 500 + 4 * plain_ns)
                gaps[count++] = gap_ns - plain_ns;
            before_ns = now_ns;
        }
    }
    close(event);
    qsort(gaps, count, sizeof *gaps, compare_clocks);
    return count >= FEWEST ? gaps[count / 2] : 0;
}

/* The cost of an interrupt, measured once, as that takes 2 ms; 0: unknown, and measured again. */
static uint64_t interrupt_ns(void)
{
    static atomic_ullong known_ns;
    if (!atomic_load(&known_ns))
        atomic_store(&known_ns, measure_interrupt_ns());
    return atomic_load(&known_ns);
}

const char *clocks_open(struct clocks *clocks, int program)
{
    size_t opened = 0;
    for (size_t cpu = 0; cpu < clocks->processors; cpu++)
        for (size_t i = 0; i < PERIODS; i++) {
            const int fd = clocks->events[cpu][i] = open_event(-1, (int)cpu, NS_PER_S);
            if (fd < 0 && errno == ENODEV)
                break;
            if (fd < 0)
                return "perf_event_open";
            if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program))
                return "a program at a perf event";
            opened++;
        }
    clocks->interrupt_ns = opened ? interrupt_ns() : 0;
    errno = ENODEV;
    return opened ? NULL : "a clock for perf events";
}

void clocks_close(struct clocks *clocks)
{
    for (size_t cpu = 0; cpu < clocks->processors; cpu++)
        for (size_t i = 0; i < PERIODS; i++)
            if (clocks->events[cpu][i] >= 0)
                close(clocks->events[cpu][i]);
}

/* Asks clock `i` of each processor.  false: one of them refuses. */
static bool ask_clock(const struct clocks *clocks, size_t i, unsigned long request,
                      uint64_t *argument)
{
    bool is_done = true;
    for (size_t cpu = 0; cpu < clocks->processors; cpu++)
        if (clocks->events[cpu][i] >= 0)
            is_done &= ioctl(clocks->events[cpu][i], request, argument) == 0;
    return is_done;
}

static void set_clock(const struct clocks *clocks, size_t i)
{
    uint64_t period_ns = periods_of(&clocks->periods, i);
    (void)ask_clock(clocks, i, PERF_EVENT_IOC_PERIOD, &period_ns);
}

void clocks_set(struct clocks *clocks, uint64_t period_ns)
{
    periods_set(&clocks->periods, period_ns, clocks->processors);
    for (size_t i = 0; i < PERIODS; i++)
        set_clock(clocks, i);
}

bool clocks_run(const struct clocks *clocks)
{
    bool is_done = true;
    for (size_t i = 0; i < PERIODS; i++)
        is_done &= ask_clock(clocks, i, PERF_EVENT_IOC_ENABLE, NULL);
    return is_done;
}

void clocks_halt(const struct clocks *clocks)
{
    for (size_t i = 0; i < PERIODS; i++)
        (void)ask_clock(clocks, i, PERF_EVENT_IOC_DISABLE, NULL);
}

void clocks_vary(struct clocks *clocks, uint64_t now_ns)
{
    size_t changed[2];
    if (!periods_vary(&clocks->periods, now_ns, changed))
        return;
    for (size_t i = 0; i < 2; i++)
        set_clock(clocks, changed[i]);
}
