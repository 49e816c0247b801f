#define _GNU_SOURCE
#include "sampler/session/remote/beside.h"

#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/threads/sub_interpreter_stacks.h"
#include "sampler/session/fold/thread_cpu.h"

/* A processor that the profiler itself waits for so long is no place to be: others' real-time threads may keep it, and a
 * target may crowd it. */
static const uint64_t SLOW_NS = 50 * NS_PER_MS, REST_NS = 5 * NS_PER_S;

static void put_first(struct thread **threads, size_t first, size_t index)
{
    struct thread *const moved = threads[first];
    threads[first] = threads[index];
    threads[index] = moved;
}

/* Puts some of those first that have lacked a processor of late, of many a random part; returns how many. */
static size_t choose_crowded(struct thread_cpus *cpus, struct thread **threads, size_t count,
                             uint64_t now_ns, struct random *random)
{
    size_t crowded = 0;
    for (size_t i = 0; i < count; i++)
        if (threads[i]->tag && !sub_stacks_are_several(threads[i]) &&
            thread_cpus_is_crowded(cpus, threads[i]->tag - 1u, now_ns))
            put_first(threads, crowded++, i);
    const size_t chosen = crowded < BESIDE_MAX_THREADS ? crowded : BESIDE_MAX_THREADS;
    for (size_t i = 0; i < chosen; i++)
        put_first(threads, i, i + random_below(random, crowded - i));
    return chosen;
}

size_t beside_begin(struct beside *beside, struct thread_cpus *cpus, int pid,
                    struct thread **threads, size_t count, struct random *random)
{
    int processor;
    cpu_set_t only;
    const uint64_t now_ns = clock_now_ns();
    beside->count = 0;
    beside->is_there = false;
    if (now_ns < beside->rests_until_ns)
        return 0;
    const size_t crowded = choose_crowded(cpus, threads, count, now_ns, random);
    if (!crowded || sched_getaffinity(0, sizeof beside->allowed, &beside->allowed))
        return 0;
    /* A profiler that may run on every processor there is now may also use those that come later. */
    if (CPU_COUNT(&beside->allowed) >= sysconf(_SC_NPROCESSORS_ONLN))
        memset(&beside->allowed, 0xff, sizeof beside->allowed);
    if (!thread_cpus_processor(cpus, threads[0]->tag - 1u, &processor) || processor < 0 ||
        processor >= CPU_SETSIZE || !CPU_ISSET((size_t)processor, &beside->allowed))
        return 0;
    CPU_ZERO(&only);
    CPU_SET((size_t)processor, &only);
    beside->is_there = true;
    if (sched_setaffinity(0, sizeof only, &only) || sched_getcpu() != processor)
        return 0;
    beside->since_ns = clock_now_ns();
    if (beside->since_ns - now_ns > SLOW_NS)
        beside->rests_until_ns = beside->since_ns + REST_NS;
    /* A thread is held if it is ready to run, but on no processor, because its processor is this one. */
    for (size_t i = 0; i < crowded; i++) {
        struct thread *const thread = threads[i];
        int now_at;
        const uint64_t arrivals = thread_cpus_arrivals(cpus, thread->tag - 1u);
        if (!arrivals || !thread_cpus_processor(cpus, thread->tag - 1u, &now_at) ||
            now_at != processor ||
            thread_cpus_ask(cpus, thread->tag - 1u, pid, thread->host_tid, NULL) != VALUE_YES)
            continue;
        put_first(threads, beside->count, i);
        beside->items[beside->count++] = (struct beside_thread){ thread, arrivals };
    }
    return beside->count;
}

bool beside_has_held(const struct beside *beside, const struct thread_cpus *cpus,
                     const struct thread *thread)
{
    for (size_t i = 0; i < beside->count; i++)
        if (beside->items[i].thread == thread)
            return thread_cpus_arrivals(cpus, thread->tag - 1u) == beside->items[i].arrivals;
    return false;
}

void beside_end(struct beside *beside, struct thread_cpus *cpus)
{
    if (!beside->is_there)
        return;
    beside->is_there = false;
    (void)sched_setaffinity(0, sizeof beside->allowed, &beside->allowed);
    const uint64_t ns = clock_now_ns() - beside->since_ns;
    for (size_t i = 0; i < beside->count; i++)
        thread_cpus_note_hold(cpus, beside->items[i].thread->tag - 1u, ns);
}
