/*
 * cpu_world - threads that run or rest, and what thread_cpu counts of them.  The kernel accounts for the threads; the
 * test says how much time has passed.
 */
#ifndef TESTS_UNIT_SESSION_CPU_WORLD_H
#define TESTS_UNIT_SESSION_CPU_WORLD_H

#include <stdatomic.h>
#include <stdint.h>

#include "sampler/profile/views/states.h"
#include "sampler/session/fold/thread_cpu.h"

struct cpu_world {
    struct profile *profile;
    struct thread_cpus cpus;
    thread_id thread;
    node_id node;
    bool in_request;
    uint64_t now_ns;
};

void cpu_world_begin(struct cpu_world *world, enum session_mode mode);
void cpu_world_end(struct cpu_world *world);
const struct quality *cpu_world_quality(const struct cpu_world *world);

enum cpu { CPU_ON, CPU_OFF, CPU_UNKNOWN };

/* The id of a thread that does so, and ends with the test; CPU_UNKNOWN: 0. */
int32_t cpu_world_tid(enum cpu cpu);
/* The body of a thread that stores its id and runs forever. */
void *cpu_world_spin(void *tid);

/* A sample that stands for this many ticks, for the test to change. */
struct sample cpu_world_sample(struct cpu_world *world, int32_t tid, uint32_t times);
void cpu_world_take(struct cpu_world *world, int32_t tid, state_bits state, bool is_still);
/* One sample of a thread that moves, with this state.  The first one opens its account. */
void cpu_world_move(struct cpu_world *world, enum cpu cpu, state_bits state);
/* The sums of all that was counted. */
struct state_sums cpu_world_sums(struct cpu_world *world);

#endif /* TESTS_UNIT_SESSION_CPU_WORLD_H */
