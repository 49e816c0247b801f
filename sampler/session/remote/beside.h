/*
 * beside - reads threads that cannot run, because the profiler has their processor.
 *
 * Where all processors are busy, a stop takes milliseconds: a thread that is asked to stop may have to wait for a
 * processor first, and so may the profiler that is to let it go.  But the profiler, which sleeps much, gets a processor
 * soon, and takes it from whoever runs there.  If that is the processor that a thread runs on or waits for, the
 * thread stands still until the profiler sleeps again, and nobody has to stop it.
 *
 * A thread whose processor is the caller's is on none; it stays on none as long as the kernel does not count that it
 * got one.  The kernel may move it to another processor at any time, so that is asked again after the reading.
 *
 * Only threads that have lacked a processor of late are read like this: elsewhere they would be moved about, and run less.
 *
 * Ownership: the caller's storage, zeroed at first.
 * Threads: one at a time, the sampling one.
 */
#ifndef SAMPLER_SESSION_REMOTE_BESIDE_H
#define SAMPLER_SESSION_REMOTE_BESIDE_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/random.h"
#include "sampler/cpython/threads/threads.h"

struct thread_cpus;

/* Threads of a tick.  To ask the kernel where one is takes some microseconds. */
enum { BESIDE_MAX_THREADS = 8 };

struct beside {
    cpu_set_t allowed; /* the profiler's own processors, while it is kept on one of them */
    bool is_there;
    uint64_t since_ns;
    uint64_t rests_until_ns; /* after it took long to get there */
    struct beside_thread {
        struct thread *thread;
        uint64_t arrivals; /* how often it had got a processor */
    } items[BESIDE_MAX_THREADS];
    size_t count;
};

/* Goes to the processor of one of the threads that have lacked one of late; puts those that are ready to run, and now stand
 * still, first.  Returns how many these are. */
size_t beside_begin(struct beside *beside, struct thread_cpus *cpus, int pid,
                    struct thread **threads, size_t count, struct random *random);
/* Has the thread, one of those, stood still since beside_begin? */
bool beside_has_held(const struct beside *beside, const struct thread_cpus *cpus,
                     const struct thread *thread);
/* Lets the profiler run anywhere again. */
void beside_end(struct beside *beside, struct thread_cpus *cpus);

#endif /* SAMPLER_SESSION_REMOTE_BESIDE_H */
