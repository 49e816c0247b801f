#define _GNU_SOURCE
#include "sampler/kernel/engine.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/kernel/clocks.h"
#include "sampler/kernel/decode.h"
#include "sampler/kernel/fault_events.h"
#include "sampler/kernel/program.h"
#include "sampler/kernel/refusal.h"

/* Longer absences are always reported. */
static const uint64_t MIN_AWAY_NS = 10 * NS_PER_MS;
static const uint64_t MAX_DRAIN_NS = 100 * NS_PER_MS;
/* Between two samples of pages of a thread in the long run; scripts/bench --only memory-events says what one takes. */
static const uint64_t MIN_PAGE_NS = 500 * NS_PER_US;

struct kernel {
    struct program program;
    struct ring_buffer *ring;
    struct clocks clocks;
    struct fault_events faults;
    unsigned events; /* KERNEL_EVENT_ bits of the session that uses the engine */
    int epoll;       /* says when the program calls; -1: none */
    uint64_t period_ns;
    uint64_t damaged; /* records */
    uint64_t drain_until_ns;
    uint32_t taken;              /* records */
    bool is_behind;              /* the last drain has left records */
    uint64_t started_ns;         /* by the session that uses the engine */
    struct kernel_counts before; /* counted by then */
    kernel_record_fn on_record;
    void *context;
    enum err_code outcome;
};

static int take_record(void *context, void *data, size_t bytes)
{
    struct kernel *const kernel = context;
    struct kernel_record record;
    const void *spans;
    if (!kernel_decode(data, bytes, &record, &spans)) {
        kernel->damaged++;
        return 0;
    }
    if (record.time_ns < kernel->started_ns)
        return 0;
    kernel->outcome = kernel->on_record(kernel->context, &record, spans);
    /* Otherwise records that come as fast as they are taken never end. */
    enum { RECORDS_PER_CHECK = 16 };
    kernel->is_behind =
        ++kernel->taken % RECORDS_PER_CHECK == 0 && clock_now_ns() > kernel->drain_until_ns;
    return kernel->outcome || kernel->is_behind ? -1 : 0;
}

bool kernel_is_built(void)
{
    return true;
}

enum err_code kernel_open(const struct kernel *lender, struct kernel **out, struct err *err)
{
    struct kernel *const kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return err_nomem(err);
    const int cpus = libbpf_num_possible_cpus();
    clocks_init(&kernel->clocks, cpus < 1 ? 1 : (size_t)cpus);
    fault_events_init(&kernel->faults, kernel->clocks.processors);
    kernel->epoll = -1;
    enum err_code rc = program_load(&kernel->program, lender ? &lender->program : NULL,
                                    kernel->clocks.processors, err);
    if (!rc) {
        kernel->program.switches->min_away_ns = MIN_AWAY_NS;

        /* Edge-triggered: that there are records is no reason to wake up. */
        struct epoll_event event = { .events = EPOLLIN | EPOLLET };
        kernel->epoll = epoll_create1(EPOLL_CLOEXEC);
        rc = kernel->epoll < 0 || epoll_ctl(kernel->epoll, EPOLL_CTL_ADD,
                                            bpf_map__fd(kernel->program.ring), &event)
                 ? refusal_explain(err, errno, "the ring buffer")
                 : ERR_OK;
    }
    if (!rc) {
        const char *const refused =
            clocks_open(&kernel->clocks, bpf_program__fd(kernel->program.on_tick));
        rc = refused ? refusal_explain(err, errno, refused) : ERR_OK;
    }
    if (!rc) {
        const char *const refused =
            fault_events_open(&kernel->faults, bpf_program__fd(kernel->program.on_fault));
        rc = refused ? refusal_explain(err, errno, refused) : ERR_OK;
    }
    if (rc)
        kernel_close(kernel);
    else
        *out = kernel;
    return rc;
}

void kernel_close(struct kernel *kernel)
{
    if (!kernel)
        return;
    clocks_close(&kernel->clocks);
    fault_events_close(&kernel->faults);
    if (kernel->epoll >= 0)
        close(kernel->epoll);
    ring_buffer__free(kernel->ring);
    program_unload(&kernel->program);
    free(kernel);
}

static enum err_code put_item(const struct bpf_map *map, int key, const void *value)
{
    const uint32_t id = (uint32_t)key;
    if (bpf_map_update_elem(bpf_map__fd(map), &id, value, BPF_ANY) == 0)
        return ERR_OK;
    return errno == ENOMEM ? ERR_NOMEM : ERR_LIMIT;
}

static void drop_item(const struct bpf_map *map, int key)
{
    const uint32_t id = (uint32_t)key;
    (void)bpf_map_delete_elem(bpf_map__fd(map), &id);
}

enum err_code kernel_add_process(struct kernel *kernel, int pid,
                                 const struct kernel_process *process)
{
    /* The number is unique among all engines, because they share what is known of code
     * objects. */
    static atomic_uint serial;
    struct kernel_process described = *process;
    described.serial = atomic_fetch_add(&serial, 1) + 1;
    /* At first, every fingerprint is read: nobody knows yet whether the process frees code objects. */
    described.changed_ns = clock_now_ns();
    const uint32_t id = (uint32_t)pid;
    const struct kernel_resident nothing = { 0 };
    /* One that is there stays: the process is described again. */
    (void)bpf_map_update_elem(bpf_map__fd(kernel->program.residents), &id, &nothing,
                              BPF_NOEXIST);
    return put_item(kernel->program.processes, pid, &described);
}

void kernel_remove_process(struct kernel *kernel, int pid)
{
    drop_item(kernel->program.processes, pid);
    drop_item(kernel->program.residents, pid);
}

/* All zero: there is none. */
static struct kernel_thread find_thread(const struct kernel *kernel, int tid)
{
    const uint32_t id = (uint32_t)tid;
    struct kernel_thread thread;
    return bpf_map_lookup_elem(bpf_map__fd(kernel->program.threads), &id, &thread) == 0
               ? thread
               : (struct kernel_thread){ 0 };
}

/* The counters of the program stay as they are. */
enum err_code kernel_add_thread(struct kernel *kernel, int tid,
                                const struct kernel_thread *thread)
{
    struct kernel_thread added = *thread;
    const struct kernel_thread known = find_thread(kernel, tid);
    added.came_ns = clock_now_ns();
    added.lost_instants = known.lost_instants;
    added.lost_away_ns = known.lost_away_ns;
    added.faults = known.faults;
    added.returned = known.returned;
    added.fault_pace = known.fault_pace;
    added.return_pace = known.return_pace;
    added.lost = known.lost;
    return put_item(kernel->program.threads, tid, &added);
}

void kernel_remove_thread(struct kernel *kernel, int tid)
{
    drop_item(kernel->program.threads, tid);
}

uint64_t kernel_left_ns(const struct kernel *kernel, int tid)
{
    return find_thread(kernel, tid).left_ns;
}

uint64_t kernel_woken_ns(const struct kernel *kernel, int tid)
{
    return find_thread(kernel, tid).woken_ns;
}

struct kernel_losses kernel_losses(const struct kernel *kernel, int tid)
{
    const struct kernel_thread thread = find_thread(kernel, tid);
    return (struct kernel_losses){ thread.lost_instants, thread.lost_away_ns, thread.lost };
}

uint64_t kernel_returned_pages(const struct kernel *kernel, int pid)
{
    const uint32_t id = (uint32_t)pid;
    struct kernel_resident resident;
    return bpf_map_lookup_elem(bpf_map__fd(kernel->program.residents), &id, &resident) == 0
               ? resident.returned
               : 0;
}

void kernel_forget(struct kernel *kernel)
{
    kernel->program.switches->forgets++;
}

void kernel_set_rate(struct kernel *kernel, double rate_hz)
{
    kernel->period_ns = (uint64_t)((double)NS_PER_S / rate_hz);
    kernel->program.switches->period_ns = kernel->period_ns;
    kernel->program.switches->page_ns =
        kernel->period_ns > MIN_PAGE_NS ? kernel->period_ns : MIN_PAGE_NS;
    clocks_set(&kernel->clocks, kernel->period_ns);
}

uint64_t kernel_period_ns(const struct kernel *kernel)
{
    return kernel->period_ns;
}

uint64_t kernel_min_away_ns(const struct kernel *kernel)
{
    (void)kernel;
    return MIN_AWAY_NS;
}

static uint64_t sum_counter(const struct kernel *kernel, uint32_t counter)
{
    uint64_t values[KERNEL_MAX_CPUS], total = 0;
    if (bpf_map_lookup_elem(bpf_map__fd(kernel->program.counters), &counter, values))
        return 0;
    for (size_t i = 0; i < kernel->clocks.processors; i++)
        total += values[i];
    return total;
}

/* Costs nothing without page faults. */
static void pace_faults(struct kernel *kernel, uint64_t now_ns)
{
    if (!(kernel->events & KERNEL_EVENTS_OF_FAULTS))
        return;
    fault_events_pace(&kernel->faults, sum_counter(kernel, KERNEL_COUNT_FAULTS), now_ns);
    kernel->program.switches->fault_period = kernel->faults.period;
}

enum err_code kernel_drain(struct kernel *kernel, kernel_record_fn on_record, void *context)
{
    kernel->on_record = on_record;
    kernel->context = context;
    kernel->outcome = ERR_OK;
    kernel->is_behind = false;
    const uint64_t now_ns = clock_now_ns();
    kernel->drain_until_ns = now_ns + MAX_DRAIN_NS;
    if (kernel->events & KERNEL_EVENT_TIME)
        clocks_vary(&kernel->clocks, now_ns);
    pace_faults(kernel, now_ns);
    (void)ring_buffer__consume(kernel->ring);
    /* Not sooner: a call for records that have been taken by now wakes nobody up, but would be the last one. */
    kernel->program.switches->is_woken = 0;
    return kernel->outcome;
}

bool kernel_is_behind(const struct kernel *kernel)
{
    return kernel->is_behind;
}

bool kernel_wait(struct kernel *kernel, uint64_t until_ns)
{
    struct epoll_event event;
    const uint64_t now_ns = clock_now_ns();
    const uint64_t left_ms =
        until_ns > now_ns ? (until_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS : 0;
    return epoll_wait(kernel->epoll, &event, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX) > 0;
}

bool kernel_is_filling(const struct kernel *kernel)
{
    return kernel->program.switches->is_woken & KERNEL_WOKEN_BY_MANY;
}

static struct kernel_counts count_all(const struct kernel *kernel)
{
    return (struct kernel_counts){ .ticks = sum_counter(kernel, KERNEL_COUNT_TICKS),
                                   .lost = sum_counter(kernel, KERNEL_COUNT_LOST),
                                   .faulted = sum_counter(kernel, KERNEL_COUNT_FAULTED),
                                   .damaged = kernel->damaged,
                                   .taken_ns = sum_counter(kernel, KERNEL_COUNT_NS) };
}

void kernel_count(const struct kernel *kernel, struct kernel_counts *out)
{
    const struct kernel_counts now = count_all(kernel), before = kernel->before;
    const uint64_t ticks = now.ticks - before.ticks;
    *out = (struct kernel_counts){
        .ticks = ticks,
        .lost = now.lost - before.lost,
        .faulted = now.faulted - before.faulted,
        .damaged = now.damaged - before.damaged,
        .taken_ns = kernel->clocks.interrupt_ns
                        ? now.taken_ns - before.taken_ns + ticks * kernel->clocks.interrupt_ns
                        : 0,
    };
}

static void empty_map(const struct bpf_map *map)
{
    const int fd = bpf_map__fd(map);
    uint32_t id;
    while (bpf_map_get_next_key(fd, NULL, &id) == 0 && bpf_map_delete_elem(fd, &id) == 0)
        continue;
}

static enum err_code skip_record(void *context, const struct kernel_record *record,
                                 const void *spans)
{
    (void)context;
    (void)record;
    (void)spans;
    return ERR_OK;
}

/* Begins to count page faults. */
static bool run_faults(struct kernel *kernel)
{
    struct kernel_switches *const switches = kernel->program.switches;
    const struct huge_pages huge = fault_events_huge(switches->page_bytes);
    switches->huge_pages = huge.pages;
    switches->is_huge_everywhere = huge.is_everywhere;
    const bool is_done = fault_events_run(
        &kernel->faults, sum_counter(kernel, KERNEL_COUNT_FAULTS), kernel->started_ns);
    switches->fault_period = kernel->faults.period;
    return is_done;
}

enum err_code kernel_start(struct kernel *kernel, double rate_hz, unsigned events,
                           struct err *err)
{
    const bool counts_time = events & KERNEL_EVENT_TIME;
    refusal_forget();
    kernel->events = events;
    kernel->ring =
        ring_buffer__new(bpf_map__fd(kernel->program.ring), take_record, kernel, NULL);
    if (!kernel->ring)
        return refusal_explain(err, errno, "the ring buffer");
    kernel_set_rate(kernel, rate_hz);
    /* Programs that still ran when the last session ended may have left records. */
    (void)!kernel_drain(kernel, skip_record, NULL);
    kernel->started_ns = clock_now_ns();
    kernel->before = count_all(kernel);
    kernel->program.switches->page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
    kernel->program.switches->events = events & KERNEL_EVENTS_OF_PAGES;
    kernel->program.switches->is_on = counts_time || (events & KERNEL_EVENT_SWITCHES);
    enum err_code rc = ERR_OK;
    if ((counts_time && !clocks_run(&kernel->clocks)) ||
        ((events & KERNEL_EVENTS_OF_FAULTS) && !run_faults(kernel)))
        rc = refusal_explain(err, errno, "a perf event");
    if (!rc && (events & KERNEL_EVENT_RETURNED))
        rc = program_follow_memory(&kernel->program, err);
    if (rc)
        kernel_stop(kernel);
    return rc;
}

void kernel_stop(struct kernel *kernel)
{
    clocks_halt(&kernel->clocks);
    fault_events_halt(&kernel->faults);
    program_leave_memory(&kernel->program);
    kernel->program.switches->is_on = kernel->program.switches->events = 0;
    ring_buffer__free(kernel->ring);
    kernel->ring = NULL;
    empty_map(kernel->program.threads);
    empty_map(kernel->program.processes);
    empty_map(kernel->program.residents);
}
