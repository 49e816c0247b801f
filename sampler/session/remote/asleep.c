#include "sampler/session/remote/asleep.h"

#include "sampler/session/fold/sampled_thread.h"
#include "sampler/session/fold/thread_cpu.h"
#include "sampler/session/native/native_copies.h"
#include "sampler/session/target.h"

static bool is_at(const struct sampled_thread *sampled, const struct system_call *call)
{
    return sampled->asleep_sp == call->sp && sampled->asleep_ip == call->ip;
}

void asleep_begin(const struct target *target, const struct thread *thread)
{
    struct system_call call;
    if (thread->tag)
        (void)thread_cpus_sleeps(target->fold.cpus, thread->tag - 1u, &call);
}

void asleep_find(struct target *target, struct native_copies *copies,
                 struct thread_reading *reading)
{
    const struct thread *const thread = reading->thread;
    struct sampled_thread *const sampled = sampled_thread_of(thread);
    const bool is_first = thread->host_tid == target->process.pid;
    const bool is_begun = target->options->stop == SESSION_STOP_ALWAYS;
    struct system_call call, after;
    if (!target->fold.native_stacks || reading->is_stopped ||
        (!thread->stack.is_unchanged && !is_begun) || !thread->tag ||
        !thread_cpus_sleeps(target->fold.cpus, thread->tag - 1u, &call))
        return;
    const bool is_again = (thread->stack.still & (thread->stack.still - 1)) == 0;
    reading->keeps_native = thread->stack.native_tag && is_at(sampled, &call) && !is_again;
    if (reading->keeps_native)
        return;
    const struct native_copy *const copy = native_copies_read_waiting(
        copies, &target->process.memory.memory, &call, is_first ? target->stack_start : 0);
    sampled->asleep_sp = call.sp;
    sampled->asleep_ip = call.ip;
    if (copy && thread_cpus_sleeps(target->fold.cpus, thread->tag - 1u, &after) &&
        is_at(sampled, &after))
        reading->native = copy;
}
