#include "sampler/session/remote/asleep.h"

#include "sampler/cpython/threads/threads.h"
#include "sampler/session/fold/thread_cpu.h"
#include "sampler/session/native/native_copies.h"
#include "sampler/session/target.h"

static bool is_at(const struct thread *thread, const struct system_call *call)
{
    return thread->asleep_sp == call->sp && thread->asleep_ip == call->ip;
}

void asleep_begin(const struct target *target, const struct thread *thread)
{
    struct system_call call;
    if (thread->tag)
        (void)thread_cpus_sleeps(target->fold.cpus, thread->tag - 1u, &call);
}

void asleep_find(struct target *target, struct thread *thread)
{
    const bool is_first = thread->host_tid == target->process.pid;
    const bool is_begun = target->options->stop == SAMPLER_STOP_ALWAYS;
    struct system_call call, after;
    if (!target->fold.native_stacks || thread->is_stopped ||
        (!thread->stack.is_unchanged && !is_begun) || !thread->tag ||
        !thread_cpus_sleeps(target->fold.cpus, thread->tag - 1u, &call))
        return;
    const bool is_again = (thread->stack.still & (thread->stack.still - 1)) == 0;
    thread->keeps_native = thread->stack.native_tag && is_at(thread, &call) && !is_again;
    if (thread->keeps_native)
        return;
    const struct native_copy *const copy =
        native_copies_read_waiting(&target->waiting, &target->process.memory.memory, &call,
                                   is_first ? target->stack_start : 0);
    thread->asleep_sp = call.sp;
    thread->asleep_ip = call.ip;
    if (copy && thread_cpus_sleeps(target->fold.cpus, thread->tag - 1u, &after) &&
        is_at(thread, &after))
        thread->native = copy;
}

void asleep_forget(struct thread *thread)
{
    thread->native = NULL;
    thread->keeps_native = false;
}
