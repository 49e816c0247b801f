#include "sampler/process/cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CPU_NOT_OPENED = -2 };

static int open_task_file(int pid, int tid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", pid, tid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static bool read_text(int fd, char *text, size_t room)
{
    const ssize_t n = pread(fd, text, room - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static bool read_account(const struct cpu_meter *meter, uint64_t *run_ns, uint64_t *queued_ns,
                         uint64_t *arrivals)
{
    char text[96], *end;
    if (!read_text(meter->run_fd, text, sizeof text))
        return false;
    *run_ns = strtoull(text, &end, 10);
    *queued_ns = strtoull(end, &end, 10);
    *arrivals = strtoull(end, NULL, 10);
    return true;
}

bool cpu_meter_open(struct cpu_meter *meter, int pid, int tid)
{
    uint64_t arrivals;
    *meter = (struct cpu_meter){ .run_fd = -1, .call_fd = CPU_NOT_OPENED, .state_fd = -1 };
    if (tid <= 0)
        return false;
    meter->run_fd = open_task_file(pid, tid, "schedstat");
    if (meter->run_fd >= 0 && read_account(meter, &meter->run_ns, &meter->queued_ns, &arrivals))
        return true;
    cpu_meter_close(meter);
    return false;
}

void cpu_meter_close(struct cpu_meter *meter)
{
    if (meter->run_fd >= 0)
        close(meter->run_fd);
    if (meter->call_fd >= 0)
        close(meter->call_fd);
    if (meter->state_fd >= 0)
        close(meter->state_fd);
    meter->run_fd = meter->call_fd = meter->state_fd = -1;
}

bool cpu_meter_read(struct cpu_meter *meter, uint64_t *ran_ns_out, uint64_t *queued_ns_out)
{
    uint64_t run_ns, queued_ns, arrivals;
    if (meter->run_fd < 0 || !read_account(meter, &run_ns, &queued_ns, &arrivals))
        return false;
    *queued_ns_out = queued_ns > meter->queued_ns ? queued_ns - meter->queued_ns : 0;
    meter->queued_ns = queued_ns;
    if (!ran_ns_out)
        return true;
    *ran_ns_out = run_ns > meter->run_ns ? run_ns - meter->run_ns : 0;
    meter->run_ns = run_ns;
    return true;
}

/* The third field of stat and what follows it; NULL: unknown. */
static const char *read_state(int fd, char *text, size_t room)
{
    if (fd < 0 || !read_text(fd, text, room))
        return NULL;
    /* The thread's name may hold parentheses and spaces, so the last parenthesis ends it. */
    const char *const end = strrchr(text, ')');
    return end && end[1] == ' ' ? end + 2 : NULL;
}

bool cpu_meter_is_runnable(struct cpu_meter *meter, int pid, int tid, bool *runnable_out,
                           struct system_call *call_out)
{
    char text[256];
    if (call_out)
        *call_out = (struct system_call){ 0 };
    if (meter->call_fd == CPU_NOT_OPENED)
        meter->call_fd = open_task_file(pid, tid, "syscall");
    if (meter->call_fd >= 0 && read_text(meter->call_fd, text, sizeof text)) {
        *runnable_out = strncmp(text, "running", strlen("running")) == 0;
        if (call_out && !*runnable_out)
            system_call_read(text, call_out);
        return true;
    }
    /* The thread that was opened has ended, and another one may have its number. */
    if (meter->call_fd >= 0 && errno == ESRCH)
        return false;
    if (meter->state_fd < 0)
        meter->state_fd = open_task_file(pid, tid, "stat");
    const char *const state = read_state(meter->state_fd, text, sizeof text);
    if (!state)
        return false;
    *runnable_out = *state == 'R';
    return true;
}

bool cpu_processor_of(int pid, int tid, int *processor_out)
{
    enum { STATE_FIELD = 3, PROCESSOR_FIELD = 39 };
    char text[1024], *end;
    const int fd = open_task_file(pid, tid, "stat");
    const char *at = read_state(fd, text, sizeof text);
    if (fd >= 0)
        close(fd);
    for (int field = STATE_FIELD; at && field < PROCESSOR_FIELD; field++)
        at = (at = strchr(at, ' ')) ? at + 1 : NULL;
    if (!at)
        return false;
    *processor_out = (int)strtol(at, &end, 10);
    return end != at;
}

uint64_t cpu_meter_arrivals(const struct cpu_meter *meter)
{
    uint64_t run_ns, queued_ns, arrivals;
    return meter->run_fd >= 0 && read_account(meter, &run_ns, &queued_ns, &arrivals) ? arrivals
                                                                                     : 0;
}
