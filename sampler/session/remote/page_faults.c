#include "sampler/session/remote/page_faults.h"

#include "sampler/base/clock.h"
#include "sampler/process/process_stats.h"

static const uint64_t PAUSE_NS = NS_PER_S / 5;

uint64_t page_faults_since(struct page_faults *faults, int pid, uint64_t now_ns)
{
    struct process_stats stats;
    const bool is_first = !faults->due_ns;
    const uint64_t before = faults->count;
    if (now_ns < faults->due_ns)
        return 0;
    faults->due_ns = now_ns + PAUSE_NS;
    if (process_stats_read(pid, &stats, NULL) || stats.minor_faults < before)
        return 0;
    faults->count = stats.minor_faults;
    return is_first ? 0 : stats.minor_faults - before;
}
