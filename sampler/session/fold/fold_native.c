#include "sampler/session/fold/fold_native.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/native/native_copy.h"
#include "sampler/native/tail_call.h"
#include "sampler/native/unwind.h"
#include "sampler/process/process.h"
#include "sampler/session/fold/frame_nodes.h"
#include "sampler/session/fold/sampled_thread.h"
#include "sampler/session/fold/task_fold.h"
#include "sampler/session/native/native_merge.h"
#include "sampler/session/native/native_names.h"
#include "sampler/session/native/native_runs.h"

static const size_t NONE = SIZE_MAX;
enum {
    FIRST_ROOM = 256,
    MAX_CALL_STEPS = 4, /* from the evaluation function to a built-in */
};

struct fold_native {
    struct frame_nodes *nodes;
    struct unwinder unwinder;
    struct native_names names;
    struct native_run_list runs;
    struct native_merge merge;
    struct tail_calls tail_calls;
    frame_id gap, separate;
    /* The walk of the stack that is folded. */
    struct native_walk walk;
    struct native_name *named;
    enum native_role *roles;
    size_t room; /* for so many frames */
};

/* Makes room for the frames of a stack. */
static enum err_code make_room(struct fold_native *native, size_t frames)
{
    struct native_frame *const walked = realloc(native->walk.frames, frames * sizeof *walked);
    if (walked)
        native->walk.frames = walked;
    struct native_name *const named = realloc(native->named, frames * sizeof *named);
    if (named)
        native->named = named;
    enum native_role *const roles = realloc(native->roles, frames * sizeof *roles);
    if (roles)
        native->roles = roles;
    if (!walked || !named || !roles)
        return ERR_NOMEM;
    native->room = frames;
    return ERR_OK;
}

enum err_code fold_native_create(struct process *process, struct frame_nodes *nodes,
                                 remote_addr anchor, struct fold_native **out, struct err *err)
{
    struct fold_native *const native = calloc(1, sizeof *native);
    if (!native)
        return err_nomem(err);
    enum err_code rc =
        unwinder_init(&native->unwinder, &process->memory.memory, process->pid, err);
    if (rc) {
        free(native);
        return rc;
    }
    const struct native_names_profile to = { nodes->profile, nodes->origins, nodes->origin };
    native->nodes = nodes;
    native_names_init(&native->names, to, process, &native->unwinder, anchor);
    rc = make_room(native, FIRST_ROOM);
    if (!rc)
        rc = native_names_gap(&native->names, &native->gap);
    if (!rc)
        rc = frame_nodes_mark(nodes, "<native stack>", &native->separate, err);
    if (rc)
        fold_native_destroy(native);
    else
        *out = native;
    return rc;
}

void fold_native_destroy(struct fold_native *native)
{
    if (!native)
        return;
    native_names_deinit(&native->names);
    unwinder_deinit(&native->unwinder);
    native_runs_deinit(&native->runs);
    native_merge_deinit(&native->merge);
    free(native->walk.frames);
    free(native->named);
    free(native->roles);
    free(native);
}

size_t fold_native_bytes(const struct fold_native *native)
{
    if (!native)
        return 0;
    const size_t frame_bytes =
        sizeof *native->walk.frames + sizeof *native->named + sizeof *native->roles;
    return sizeof *native - sizeof native->unwinder + unwinder_bytes(&native->unwinder) +
           native_names_bytes(&native->names) + native->room * frame_bytes;
}

/* All that the node of a sample depends on, besides its Python frames. */
static uint64_t key_of(const struct fold_native *native)
{
    const struct native_walk *const walk = &native->walk;
    uint64_t key = hash_word((uint64_t)walk->end << 8 | walk->cause, HASH_SEED);
    for (size_t i = 0; i < walk->count; i++) {
        const struct native_frame *const frame = &walk->frames[i];
        key = hash_word(frame->pc, key);
        key = hash_word(frame->sp, key);
        key = hash_word(frame->cfa, key);
        key =
            hash_word((uint64_t)frame->image << 8 | (frame->kind << 1) | frame->is_exact, key);
    }
    for (size_t i = 0; i < native->runs.count; i++)
        key = hash_word(native->runs.items[i].entry, key);
    return key;
}

static enum err_code name_frames(struct fold_native *native, bool has_jit, uint64_t now_ns)
{
    const struct native_walk *const walk = &native->walk;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < walk->count && !rc; i++) {
        native->named[i] = (struct native_name){ .frame = native->gap };
        if (walk->frames[i].kind != NATIVE_GAP)
            rc = native_names_find(&native->names, &walk->frames[i], now_ns, &native->named[i]);

        const struct native_name *const name = &native->named[i];
        native->roles[i] = name->is_evaluation             ? NATIVE_ROLE_EVALUATION
                           : name->is_switch               ? NATIVE_ROLE_SWITCH
                           : name->is_switcher             ? NATIVE_ROLE_SWITCHER
                           : name->is_instruction          ? NATIVE_ROLE_INSTRUCTION
                           : name->is_jit_entry            ? NATIVE_ROLE_JIT_ENTRY
                           : name->is_generated && has_jit ? NATIVE_ROLE_GENERATED
                                                           : NATIVE_ROLE_NONE;
    }
    return rc;
}

/* A coroutine that has a part of the C stack for itself begins there: further out is what another one has left. */
static void cut_coroutine(struct fold_native *native)
{
    struct native_walk *const walk = &native->walk;
    size_t start = 0;
    while (start < walk->count && !native->named[start].is_coroutine_start)
        start++;
    if (start == walk->count)
        return;
    while (start + 1 < walk->count && native->named[start + 1].is_coroutine_start)
        start++;
    walk->count = start + 1;
    walk->end = NATIVE_COMPLETE;
    walk->gaps = 0;
    for (size_t i = 0; i < walk->count; i++)
        walk->gaps += walk->frames[i].kind == NATIVE_GAP;
    if (!walk->gaps)
        walk->cause = NATIVE_COMPLETE;
}

/* A walk through the merged frames. */
struct adder {
    struct fold_native *native;
    struct frame_nodes *nodes;
    struct stack *stack;
    struct leaf *leaf;
    size_t first, gc; /* Python frames: the first that is shown; those below the collector */
    size_t callee;    /* the merged frame that the known callee is */
    bool adds_callee; /* the callee stands right below the innermost Python frame */
    node_id *node;
};

/* Is the frame that of the known callee, or of what that jumps to at its end?  calls: how many calls lie between it
 * and the innermost Python frame. */
static bool implements_callee(struct adder *a, size_t index, size_t calls)
{
    struct fold_native *const native = a->native;
    const remote_addr function = native->walk.frames[index].function, code = a->leaf->code;
    if (!code || !function)
        return false;
    /* Compiled Python code has its name behind its wrapper. */
    if (function == code)
        return !native->named[index].is_wrapper;
    return calls < MAX_CALL_STEPS &&
           tail_call_leads_to(&native->tail_calls, &native->unwinder.images,
                              &native->unwinder.blocks, code, function);
}

/* Which of the merged frames below the innermost Python frame implements the callee? */
static void find_callee(struct adder *a)
{
    const struct native_merge *const merge = &a->native->merge;
    size_t from = merge->count;
    a->callee = NONE;
    while (from && merge->frames[from - 1].kind != MERGED_PYTHON)
        from--;
    if (!a->leaf->callee || !from)
        return;
    /* Code of the JIT does not write where it is before each call, so the callee may have returned. */
    a->adds_callee = merge->in_jit != VALUE_YES;
    for (size_t i = from; i < merge->count && a->callee == NONE; i++) {
        if (merge->frames[i].kind != MERGED_NATIVE)
            continue;
        if (implements_callee(a, merge->frames[i].index, i - from))
            a->callee = i;
        a->adds_callee =
            a->adds_callee && a->native->named[merge->frames[i].index].is_interpreter;
    }
    if (a->callee == NONE) {
        /* Behind a function that passes calls on to built-ins, the callee is the frame behind it. */
        for (size_t i = from; i + 1 < merge->count && merge->frames[i].kind == MERGED_NATIVE;
             i++) {
            const struct native_name *const name = &a->native->named[merge->frames[i].index];
            if (name->is_c_caller) {
                a->callee = merge->frames[i + 1].kind == MERGED_NATIVE ? i + 1 : NONE;
                break;
            }
            if (!name->is_call_step)
                break;
        }
    }
    a->adds_callee = a->adds_callee && a->callee == NONE;
}

static enum err_code add_frame(struct adder *a, frame_id frame)
{
    return frame_nodes_add_mark(a->nodes, frame, a->node);
}

static enum err_code add_callee(struct adder *a)
{
    frame_id frame;
    const enum err_code rc = frame_nodes_named_mark(a->nodes, a->leaf->callee, &frame, NULL);
    return rc ? rc : add_frame(a, frame);
}

/* Does the frame only call the one after it, which has the same name? */
static bool is_wrapper(const struct adder *a, size_t at)
{
    const struct native_merge *const merge = &a->native->merge;
    const struct native_name *const name = &a->native->named[merge->frames[at].index];
    return name->is_wrapper && at + 1 < merge->count &&
           merge->frames[at + 1].kind == MERGED_NATIVE &&
           a->native->named[merge->frames[at + 1].index].frame == name->frame;
}

static enum err_code add_merged(struct adder *a, size_t at)
{
    const struct merged_frame *const frame = &a->native->merge.frames[at];
    switch (frame->kind) {
    case MERGED_PYTHON: {
        /* Native frames show where C code calls Python, so no mark does. */
        const struct stack *const stack = a->stack;
        enum err_code rc =
            frame_nodes_add(a->nodes, &stack->frames[frame->index], true, a->node);
        if (!rc && frame->index + 1 == stack->count)
            rc = frame_nodes_set_spot(a->nodes, a->stack, a->leaf, *a->node);
        if (!rc && frame->index + 1 == a->gc)
            rc = add_frame(a, a->nodes->gc);
        if (!rc && frame->index + 1 == stack->count && a->adds_callee)
            rc = add_callee(a);
        return rc;
    }
    case MERGED_GAP: return add_frame(a, a->native->gap);
    case MERGED_SEPARATE: return add_frame(a, a->native->separate);
    case MERGED_NATIVE: break;
    }
    if (at == a->callee)
        return add_callee(a);
    const struct native_name *const name = &a->native->named[frame->index];
    return name->is_trampoline || is_wrapper(a, at) ? ERR_OK : add_frame(a, name->frame);
}

/* True if the frame starts a thread or the interpreter, outside of all else. */
static bool is_start(const struct adder *a, size_t at)
{
    const struct merged_frame *const frame = &a->native->merge.frames[at];
    const struct native_name *const name = &a->native->named[frame->index];
    if (frame->kind != MERGED_NATIVE || at + 1 == a->native->merge.count)
        return false;
    return name->is_start || (name->is_main && frame[1].kind == MERGED_NATIVE &&
                              a->native->named[frame[1].index].is_interpreter);
}

/* Below the node of a task, what is outside of the task's first frame is left out. */
static size_t find_first(const struct adder *a)
{
    const struct native_merge *const merge = &a->native->merge;
    size_t at = 0;
    while (at < merge->count && is_start(a, at))
        at++;
    if (!*a->node)
        return at + 1 < merge->count ? at : 0;
    while (at < merge->count &&
           (merge->frames[at].kind != MERGED_PYTHON || merge->frames[at].index < a->first))
        at++;
    return at;
}

static uint64_t *counter_of_gap(enum native_end cause, struct quality *quality)
{
    switch (cause) {
    case NATIVE_NO_RULE: return &quality->native_gaps_no_table;
    case NATIVE_CUT:
    case NATIVE_FAULT: return &quality->native_gaps_copy;
    case NATIVE_NO_REGISTER: return &quality->native_gaps_register;
    case NATIVE_GOES_ON:
    case NATIVE_COMPLETE:
    case NATIVE_STRANGE_RULE:
    case NATIVE_NO_IMAGE:
    case NATIVE_DEEP:
    case NATIVE_COSTLY:
    case NATIVE_CONTRADICTION:
    case NATIVE_ENDS_COUNT: break;
    }
    return &quality->native_gaps_other;
}

/* Does a function that the innermost Python frame has called, or that has called another one since, wait for the GPU? */
static bool is_at_gpu(const struct fold_native *native)
{
    const struct native_merge *const merge = &native->merge;
    for (size_t i = merge->count; i-- > 0 && merge->frames[i].kind != MERGED_PYTHON;)
        if (merge->frames[i].kind == MERGED_NATIVE &&
            native->named[merge->frames[i].index].is_gpu_wait)
            return true;
    return false;
}

static struct native_outcome outcome_of(const struct fold_native *native,
                                        struct quality *quality)
{
    const struct native_merge *const merge = &native->merge;
    const bool has_gaps = merge->has_gaps && !merge->is_mismatch;
    /* Whose calls they are is unknown, and from 3.12 on how many. */
    if (merge->is_switch)
        return (struct native_outcome){ .counter = &quality->native_gaps,
                                        .gap = &quality->native_gaps_switch };
    return (struct native_outcome){ .counter = merge->is_mismatch ? &quality->native_mismatched
                                               : has_gaps         ? &quality->native_gaps
                                                                  : &quality->native_complete,
                                    .gap = has_gaps
                                               ? counter_of_gap(native->walk.cause, quality)
                                               : NULL,
                                    .entries = (uint32_t)native->runs.count,
                                    .placed = (uint32_t)merge->placed,
                                    .in_jit = merge->in_jit,
                                    .at_gpu = !merge->is_mismatch && is_at_gpu(native) };
}

/* A thread whose Python frames and native frames are the same as before is where it was. */
enum err_code fold_native_node(struct fold_native *native, struct task_fold *tasks,
                               const struct thread_reading *reading, size_t gc, node_id *node,
                               struct native_outcome *outcome)
{
    struct stack *const stack = &reading->thread->stack;
    struct sampled_thread *const sampled = sampled_thread_of(reading->thread);
    const bool is_kept = gc > stack->count && !tasks;
    *node = 0;

    const struct native_copy *const copy = reading->native;
    const uint64_t now_ns = reading->now_ns;
    enum err_code rc = native_runs_find(&native->runs, stack, &copy->stack);
    for (bool is_whole = false; !rc && !is_whole;) {
        native->walk.room = native->room;
        unwinder_walk(&native->unwinder, &copy->registers, &copy->stack, native->runs.entries,
                      native->runs.entry_count, now_ns, &native->walk);
        /* A frame that begins behind a gap needs room for two frames. */
        is_whole = native->walk.end == NATIVE_COMPLETE ||
                   native->walk.count + 2 <= native->room ||
                   native->room == FOLD_NATIVE_MAX_FRAMES;
        if (!is_whole)
            rc = make_room(native, 2 * native->room);
    }

    if (rc)
        return rc;
    const uint64_t key = key_of(native);
    if (is_kept && stack->native_tag && sampled->native_key == key) {
        *node = stack->native_tag - 1;
        *outcome = sampled->native;
        return ERR_OK;
    }
    const struct native_runs runs = { native->runs.items, native->runs.count,
                                      native->runs.has_entries };
    rc = name_frames(native, native->nodes->leaves->layout->has_jit, reading->now_ns);
    cut_coroutine(native);
    if (!rc)
        rc = native_merge(&native->merge, runs, &native->walk, native->roles);
    if (rc)
        return rc;
    *outcome = outcome_of(native, profile_quality(native->nodes->profile));

    struct adder a = { .native = native,
                       .nodes = native->nodes,
                       .stack = stack,
                       .leaf = &sampled->leaf,
                       .gc = gc,
                       .node = node };
    rc = tasks ? task_fold_begin(tasks, stack, &a.first, node) : ERR_OK;
    find_callee(&a);
    if (!rc && gc == 0)
        rc = add_frame(&a, native->nodes->gc);
    for (size_t i = find_first(&a); i < native->merge.count && !rc; i++)
        rc = add_merged(&a, i);

    stack->native_tag = is_kept && !rc && !sampled->leaf.is_unsettled ? *node + 1 : 0;
    stack->tag = 0;
    sampled->native_key = key;
    sampled->native = *outcome;
    return rc;
}
