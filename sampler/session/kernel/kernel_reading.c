#include "sampler/session/kernel/kernel_reading.h"

#include "sampler/cpython/python_copies.h"
#include "sampler/kernel/copy_memory.h"
#include "sampler/process/cpu.h"
#include "sampler/session/fold/sampled_thread.h"
#include "sampler/session/native/native_copies.h"
#include "sampler/session/target.h"

/* A thread that waits in a system call while it is read. */
struct watch {
    struct cpu_meter meter;
    struct system_call call;
};

/* Does the thread wait?  Since watch_begin, it has not moved if it never ran. */
static bool watch_asks(const struct target *target, const struct thread *thread,
                       struct watch *watch, struct system_call *call_out)
{
    uint64_t ran_ns, queued_ns;
    bool is_ready;
    return cpu_meter_read(&watch->meter, &ran_ns, &queued_ns) && ran_ns == 0 &&
           cpu_meter_is_runnable(&watch->meter, target->process.pid, thread->host_tid,
                                 &is_ready, call_out) &&
           !is_ready && call_out->is_known && call_out->sp;
}

/* Copies the native stack of a thread that waits; NULL: it does not wait, or cannot be copied. */
static const struct native_copy *watch_begin(struct target *target, struct thread *thread,
                                             struct native_copies *copies, struct watch *watch)
{
    const bool is_first = thread->host_tid == target->process.pid;
    if (!cpu_meter_open(&watch->meter, target->process.pid, thread->host_tid) ||
        !watch_asks(target, thread, watch, &watch->call))
        return NULL;
    return native_copies_read_waiting(copies, &target->process.memory.memory, &watch->call,
                                      is_first ? target->stack_start : 0);
}

static bool watch_holds(const struct target *target, const struct thread *thread,
                        struct watch *watch)
{
    struct system_call call;
    return watch_asks(target, thread, watch, &call) && call.number == watch->call.number &&
           call.sp == watch->call.sp && call.ip == watch->call.ip;
}

/* The context of count_reading. */
struct copied {
    struct target *target;
    const struct kernel_instants *instants;
    struct copy_memory *copy; /* NULL: read from the process */
    struct watch *watch;      /* NULL: a copy, or native stacks are not wanted */
};

/* Begins a reading with what does not come from the thread's memory. Its native stack and its
 * context stay as they are. */
static struct thread_reading *begin_reading(struct thread *thread,
                                            const struct kernel_instants *instants)
{
    struct thread_reading *const reading = reading_of(thread);
    *reading = (struct thread_reading){
        .thread = thread,
        .since_ns = instants->since_ns,
        .now_ns = instants->until_ns,
        .times = instants->times,
        .measure = instants->measure,
        .motion = THREAD_STILL,
        .is_stopped = true,
        .runs = instants->runs,
        .runnable = instants->runnable,
        .call = instants->call,
        .in_kernel = instants->in_kernel,
        .native = reading->native,
        .context = reading->context,
    };
    return reading;
}

static enum err_code count_reading(void *context, struct thread *thread, enum err_code failure)
{
    const struct copied *const copied = context;
    struct target *const target = copied->target;
    if (!target_is_same(target))
        return ERR_GONE;
    struct thread_reading *const reading = begin_reading(thread, copied->instants);
    if (reading->native && copied->watch && !watch_holds(target, thread, copied->watch))
        reading->native = NULL;
    reading->failure = failure;
    reading->state = python_thread_state(target->python, thread);
    /* The record had no room for all of it: a part was read later, or before. */
    if (copied->copy && copied->copy->process && thread->stack.certainty == STACK_EXACT)
        thread->stack.certainty = STACK_RETRIED;
    if (!failure) {
        /* Only copied memory counts in a copy: by now, the process may have something else there. */
        struct copy_memory *const copy = copied->copy;
        struct memory *const process = copy ? copy->process : NULL;
        if (copy)
            copy->process = NULL;
        target_read_context(copied->target, reading, copy ? &copy->memory : NULL);
        if (copy)
            copy->process = process;
    }
    return fold_reading(&target->fold, reading);
}

enum err_code kernel_reading_take(struct target *target, struct thread *thread,
                                  struct copy_memory *copy, const struct native_copy *native,
                                  const struct kernel_instants *instants)
{
    struct copied copied = { target, instants, copy, NULL };
    const struct python_copy taken = {
        .memory = &copy->memory,
        .taken_ns = instants->until_ns,
        .is_whole = !copy->process,
        .tail = { copy->tail_ns, copy->tail_from },
    };
    copy->memory.guard = target->process.memory.memory.guard;
    reading_of(thread)->native = native;
    thread->stack.is_placed = false;
    const enum err_code rc =
        python_take_copy(target->python, thread, &taken, count_reading, &copied);
    reading_of(thread)->native = NULL;
    return rc;
}

enum err_code kernel_reading_take_same(struct target *target, struct thread *thread,
                                       struct copy_memory *copy,
                                       const struct kernel_instants *instants)
{
    struct copied copied = { target, instants, copy, NULL };
    copy->memory.guard = target->process.memory.memory.guard;
    sampled_thread_of(thread)->has_leaf = true;
    const enum err_code rc =
        python_repeat(target->python, thread, &copy->memory, count_reading, &copied);
    sampled_thread_of(thread)->has_leaf = false;
    return rc;
}

enum err_code kernel_reading_take_unknown(struct target *target, struct thread *thread,
                                          const struct kernel_instants *instants)
{
    return fold_unknown_stack(&target->fold, begin_reading(thread, instants));
}

enum err_code kernel_reading_wait(struct target *target, struct thread *thread,
                                  struct native_copies *copies,
                                  const struct kernel_instants *instants)
{
    struct watch watch;
    struct copied copied = { target, instants, NULL, NULL };
    thread->stack.is_placed = false;
    if (!target->fold.native_stacks)
        return python_read_waiting(target->python, thread, count_reading, &copied);
    copied.watch = &watch;
    reading_of(thread)->native = watch_begin(target, thread, copies, &watch);
    const enum err_code rc =
        python_read_waiting(target->python, thread, count_reading, &copied);
    reading_of(thread)->native = NULL;
    cpu_meter_close(&watch.meter);
    return rc;
}

bool kernel_reading_is_ready(const struct target *target, const struct thread *thread,
                             struct system_call *call_out)
{
    struct cpu_meter meter;
    bool is_ready = false;
    *call_out = (struct system_call){ 0 };
    (void)cpu_meter_open(&meter, target->process.pid, thread->host_tid);
    const bool is_known = cpu_meter_is_runnable(&meter, target->process.pid, thread->host_tid,
                                                &is_ready, call_out);
    cpu_meter_close(&meter);
    return is_known && is_ready;
}
