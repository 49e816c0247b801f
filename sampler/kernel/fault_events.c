#define _GNU_SOURCE
#include "sampler/kernel/fault_events.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/base/clock.h"

enum { MAX_HZ = 4000, FIRST_PERIOD = 4, MAX_PERIOD = 1 << 10 };
static const uint64_t PACE_NS = 40 * NS_PER_MS;

void fault_events_init(struct fault_events *faults, size_t processors)
{
    *faults = (struct fault_events){
        .processors = processors < KERNEL_MAX_CPUS ? processors : KERNEL_MAX_CPUS,
    };
    for (size_t cpu = 0; cpu < KERNEL_MAX_CPUS; cpu++)
        faults->events[cpu] = -1;
}

const char *fault_events_open(struct fault_events *faults, int program)
{
    struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof attr,
                                    .config = PERF_COUNT_SW_PAGE_FAULTS,
                                    .sample_period = FIRST_PERIOD,
                                    .disabled = 1 };
    size_t opened = 0;
    for (size_t cpu = 0; cpu < faults->processors; cpu++) {
        const int fd = faults->events[cpu] =
            (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
        if (fd < 0 && errno == ENODEV)
            continue;
        if (fd < 0)
            return "perf_event_open of page faults";
        if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program))
            return "a program at page faults";
        opened++;
    }
    errno = ENODEV;
    return opened ? NULL : "an event for page faults";
}

void fault_events_close(struct fault_events *faults)
{
    for (size_t cpu = 0; cpu < faults->processors; cpu++)
        if (faults->events[cpu] >= 0)
            close(faults->events[cpu]);
}

static bool ask_events(const struct fault_events *faults, unsigned long request,
                       uint64_t *argument)
{
    bool is_done = true;
    for (size_t cpu = 0; cpu < faults->processors; cpu++)
        if (faults->events[cpu] >= 0)
            is_done &= ioctl(faults->events[cpu], request, argument) == 0;
    return is_done;
}

static bool set_period(struct fault_events *faults, uint32_t period)
{
    uint64_t wanted = period;
    faults->period = period;
    return ask_events(faults, PERF_EVENT_IOC_PERIOD, &wanted);
}

bool fault_events_run(struct fault_events *faults, uint64_t count, uint64_t now_ns)
{
    faults->count = count;
    faults->counted_ns = now_ns;
    return set_period(faults, FIRST_PERIOD) && ask_events(faults, PERF_EVENT_IOC_ENABLE, NULL);
}

void fault_events_halt(const struct fault_events *faults)
{
    (void)ask_events(faults, PERF_EVENT_IOC_DISABLE, NULL);
}

uint32_t fault_events_period(uint32_t period, uint64_t events, uint64_t ns)
{
    const uint64_t most = MAX_HZ * ns / NS_PER_S;
    while (events > most && period < MAX_PERIOD) {
        period *= 2;
        events /= 2;
    }
    return events < most / 8 && period > 1 ? period / 2 : period;
}

void fault_events_pace(struct fault_events *faults, uint64_t count, uint64_t now_ns)
{
    if (now_ns < faults->counted_ns + PACE_NS)
        return;
    const uint32_t period =
        fault_events_period(faults->period, count - faults->count, now_ns - faults->counted_ns);
    faults->count = count;
    faults->counted_ns = now_ns;
    if (period != faults->period)
        (void)set_period(faults, period);
}

/* The text of a small file of /sys; "": there is none. */
static void read_setting(const char *path, char *out, size_t bytes)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t count = fd >= 0 ? read(fd, out, bytes - 1) : 0;
    out[count > 0 ? count : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

struct huge_pages fault_events_huge(uint32_t page_bytes)
{
    char enabled[64], size[32];
    read_setting("/sys/kernel/mm/transparent_hugepage/enabled", enabled, sizeof enabled);
    read_setting("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", size, sizeof size);
    const uint64_t bytes = strtoull(size, NULL, 10);
    const bool is_off = !*enabled || strstr(enabled, "[never]");
    if (is_off || bytes <= page_bytes || bytes > 1ull << 30 || (bytes & (bytes - 1)))
        return (struct huge_pages){ 0 };
    return (struct huge_pages){ .pages = (uint32_t)(bytes / page_bytes),
                                .is_everywhere = strstr(enabled, "[always]") != NULL };
}
