/*
 * state - which of its states a thread is in.  A part of stacks.bpf.c.
 *
 * A thread that enters another interpreter gets a state there, among the newest ones of that interpreter.  It has left
 * it when the state is gone or runs nothing.  Of several states that run something, the thread is in the one whose
 * frames were called from the innermost place on the C stack, where the entry frames are; if that is unknown, in the
 * one of the newest interpreter.
 *
 * Of a process that lends states to other threads than those that have made them, the numbers in a state say nothing: it is of the
 * thread on whose C stack its entry frame lies.
 */
#ifndef SAMPLER_KERNEL_STATE_BPF_H
#define SAMPLER_KERNEL_STATE_BPF_H

#include "sampler/kernel/area.bpf.h"
#include "sampler/kernel/task.bpf.h"

enum {
    MAX_STATES = 8,  /* of an interpreter, among which the thread's is searched */
    MAX_LENT = 64,   /* of a process that lends states */
    MAX_CALLS = 512, /* of frames by each other, among which the entry frame is searched */
};

struct call_search {
    struct area *area;
    __u64 frame;
};

static long step_to_entry(__u32 i, void *context)
{
    struct call_search *const search = context;
    const struct kernel_process *const process = &search->area->process;
    unsigned char owner = 0;
    if (!search->frame || bpf_probe_read_user(&owner, sizeof owner,
                                              (void *)(search->frame + process->frame_owner))) {
        search->frame = 0;
        return 1;
    }
    if (owner >= process->entry_owner)
        return 1;
    if (i + 1 == MAX_CALLS ||
        bpf_probe_read_user(&search->frame, sizeof search->frame,
                            (void *)(search->frame + process->frame_previous)))
        search->frame = 0;
    return !search->frame;
}

/* The address on the C stack at which a state's innermost frames were called; 0: unknown. */
static __noinline __u64 place_of_state(struct area *a, __u64 addr)
{
    if (!a)
        return 0;
    struct call_search search = { a, 0 };
    bpf_probe_read_user(&search.frame, sizeof search.frame,
                        (void *)(addr + a->process.tstate_frame));
    bpf_loop(MAX_CALLS, step_to_entry, &search, 0);
    return search.frame;
}

/* After a fork that Python does not know of, states that were made before have the ids of the parent's threads. */
static __noinline int is_of_thread(struct area *a, __u64 addr)
{
    __u32 tid = 0;
    __u64 pthread = 0;
    if (!a)
        return 0;
    if (a->process.lends_states) {
        /* The C library puts a thread's descriptor above its stack.  The first thread's lies elsewhere. */
        const __u64 place = place_of_state(a, addr);
        return place > a->sp && (place < a->pthread || a->sp > a->pthread);
    }
    bpf_probe_read_user(&tid, sizeof tid, (void *)(addr + a->process.tstate_tid));
    bpf_probe_read_user(&pthread, sizeof pthread, (void *)(addr + a->process.tstate_pthread));
    return tid == a->native_tid || (pthread && pthread == a->pthread);
}

static __noinline int is_in_state(struct area *a, __u64 addr)
{
    __u64 frame = 0, base = 0;
    if (!a || !is_of_thread(a, addr))
        return 0;
    const struct kernel_process *const process = &a->process;
    bpf_probe_read_user(&frame, sizeof frame, (void *)(addr + process->tstate_frame));
    if (process->tstate_base)
        bpf_probe_read_user(&base, sizeof base, (void *)(addr + process->tstate_base));
    return frame && frame != base;
}

static __noinline int runs_inside(struct area *a, __u64 addr, __u64 other)
{
    const __u64 place = place_of_state(a, addr), other_place = place_of_state(a, other);
    return place && other_place && place < other_place;
}

struct state_search {
    struct area *area;
    __u64 interpreter, addr;
};

/* A thread has one state in an interpreter, unless states are lent. */
static long search_state(__u32 i, void *context)
{
    struct state_search *const search = context;
    struct area *const a = search->area;
    const int lends = a->process.lends_states != 0;
    if (!search->addr || (i >= MAX_STATES && !lends))
        return 1;
    if (is_in_state(a, search->addr)) {
        if (!a->record.tstate || runs_inside(a, search->addr, a->record.tstate)) {
            a->record.tstate = search->addr;
            a->record.interpreter = search->interpreter;
        }
        if (!lends)
            return 1;
    }
    return bpf_probe_read_user(&search->addr, sizeof search->addr,
                               (void *)(search->addr + a->process.tstate_next)) != 0;
}

static long search_in(__u32 i, void *context)
{
    struct area *const a = ((struct walk *)context)->area;
    const struct kernel_process *const process = &a->process;
    __u64 index = i;
    if (index >= process->interpreter_count)
        return 1;
    barrier_var(index);
    struct state_search search = { a,
                                   process->interpreters[index & (KERNEL_MAX_INTERPRETERS - 1)],
                                   0 };
    /* It has been in this one before it entered another. */
    if (search.interpreter == a->outer_interpreter && !process->lends_states)
        return 1;
    bpf_probe_read_user(&search.addr, sizeof search.addr,
                        (void *)(search.interpreter + process->interp_threads));
    bpf_loop(MAX_LENT, search_state, &search, 0);
    return 0;
}

/* The stack pointer of the current thread in its own code. */
static __always_inline __u64 stack_pointer(void)
{
    void *const found = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
    return bpf_core_field_exists(struct pt_regs, ip) ? ((struct pt_regs *)found)->sp
           : bpf_core_field_exists(struct pt_regs___aarch64, pc)
               ? ((struct pt_regs___aarch64 *)found)->sp
               : 0;
}

static void find_state(struct area *a, const struct kernel_thread *thread)
{
    const struct kernel_process *const process = &a->process;
    struct walk walk = { a };
    a->tstate = thread->tstate;
    a->window = thread->window;
    a->main_window = thread->main_window;
    a->generation_at = thread->generation;
    a->native_tid = thread->native_tid;
    a->pthread = thread->pthread;
    a->outer_interpreter = thread->interpreter;
    if (!process->interpreter_count)
        return;
    if (process->lends_states)
        a->sp = stack_pointer();
    bpf_loop(KERNEL_MAX_INTERPRETERS, search_in, &walk, 0);
    if (a->record.tstate &&
        (a->record.tstate == a->tstate ||
         (is_in_state(a, a->tstate) && runs_inside(a, a->tstate, a->record.tstate))))
        a->record.tstate = a->record.interpreter = 0;
    if (!a->record.tstate)
        return;
    a->tstate = a->record.tstate;
    a->window = a->record.interpreter + process->interp_window;
    if (!a->main_window && a->record.interpreter != thread->interpreter)
        a->main_window = thread->window;
    a->generation_at =
        process->interp_generation ? a->record.interpreter + process->interp_generation : 0;
}

#endif /* SAMPLER_KERNEL_STATE_BPF_H */
