#include "sampler/session/fold/fold.h"

#include <string.h>

#include "sampler/cpython/objects/code_place.h"
#include "sampler/cpython/threads/sub_interpreter_stacks.h"
#include "sampler/session/fold/context_marks.h"
#include "sampler/session/fold/fold_native.h"
#include "sampler/session/fold/fold_spots.h"
#include "sampler/session/fold/task_fold.h"
#include "sampler/session/origins.h"

enum err_code fold_named_mark(struct fold *fold, str_id name, frame_id *out, struct err *err)
{
    function_id function;
    const enum err_code rc =
        profile_function(fold->profile, name, fold->no_file, 0, &function, err);
    return rc ? rc : profile_frame(fold->profile, function, 0, out, err);
}

enum err_code fold_mark(struct fold *fold, const char *name, frame_id *out, struct err *err)
{
    struct strtab *const strings = profile_strings(fold->profile);
    str_id name_id;
    const enum err_code rc = strtab_intern(strings, name, strlen(name), &name_id, err);
    return rc ? rc : fold_named_mark(fold, name_id, out, err);
}

enum err_code fold_mark_native(struct fold *fold, struct err *err)
{
    fold->native = true;
    return fold_mark(fold, "<native>", &fold->callback, err);
}

static enum err_code make_marks(struct fold *fold, struct err *err)
{
    enum err_code rc = fold_mark(fold, "<idle native thread>", &fold->idle, err);
    if (!rc)
        rc = fold_mark(fold, "<truncated>", &fold->truncated, err);
    if (!rc && !fold->no_gc)
        rc = fold_mark(fold, "<GC>", &fold->gc, err);
    return !rc && fold->native ? fold_mark_native(fold, err) : rc;
}

enum err_code fold_init(struct fold *fold, struct profile *profile, struct leaves *leaves,
                        struct thread_cpus *cpus, const struct sampler_options *options,
                        int pid, const char *name, struct err *err)
{
    str_id name_id;
    *fold = (struct fold){ .profile = profile,
                           .cpus = cpus,
                           .pid = pid,
                           .codes = leaves->codes,
                           .leaves = leaves,
                           .native = options->native != SAMPLER_NATIVE_OFF,
                           .no_gc = options->no_gc,
                           .opcodes = options->opcodes };
    leaves->wants_opcodes = options->opcodes;
    enum err_code rc =
        strtab_intern(profile_strings(profile), name, strlen(name), &name_id, err);
    if (!rc)
        rc = strtab_intern(profile_strings(profile), "~", 1, &fold->no_file, err);
    if (!rc)
        rc = profile_process(profile, pid, name_id, &fold->process, err);
    return rc ? rc : make_marks(fold, err);
}

/* Tags hold the id plus one, so that 0 means "not yet". */
enum err_code fold_function(struct fold *fold, struct code *code, function_id *out)
{
    if (!code->tag) {
        str_id file = code->file;
        enum err_code rc = ERR_OK;
        /* A file of the target may be called as that of marks is. */
        if (file == fold->no_file)
            rc = strtab_intern(profile_strings(fold->profile), "./~", 3, &file, NULL);
        if (!rc)
            rc = profile_function(fold->profile, code->name, file, code->first_line, out, NULL);
        if (rc)
            return rc;
        origins_note(fold->origins, fold->profile, *out, fold->origin);
        code->tag = *out + 1;
    }
    *out = code->tag - 1;
    return ERR_OK;
}

static enum err_code frame_of(struct fold *fold, const struct walk_frame *frame, frame_id *out)
{
    struct code_place *const place = code_place(fold->codes, frame->code, frame->instr);
    function_id function;
    if (!place)
        return ERR_NOMEM;
    if (!place->tag) {
        enum err_code rc = fold_function(fold, code_at(fold->codes, frame->code), &function);
        if (!rc)
            rc = profile_frame(fold->profile, function, place->location.line, out, NULL);
        if (rc)
            return rc;
        place->tag = *out + 1;
    }
    *out = place->tag - 1;
    return ERR_OK;
}

static enum err_code add_mark(struct fold *fold, frame_id mark_id, node_id *node)
{
    return profile_node(fold->profile, *node, mark_id, node, NULL);
}

enum err_code fold_add_frame(struct fold *fold, const struct walk_frame *frame,
                             bool is_outermost, node_id *node)
{
    frame_id id;
    enum err_code rc = ERR_OK;
    if (code_at(fold->codes, frame->code)->is_shim)
        return ERR_OK;
    /* The outermost frame is always entered from C. */
    if (fold->native && frame->entered_from_c && !is_outermost)
        rc = add_mark(fold, fold->callback, node);
    if (!rc)
        rc = frame_of(fold, frame, &id);
    return rc ? rc : profile_node(fold->profile, *node, id, node, NULL);
}

/* As fold_add_frame; a frame keeps its node while it and its callers stay the same. */
static enum err_code add_cached_frame(struct fold *fold, struct walk_frame *frame,
                                      bool is_outermost, node_id *node)
{
    const enum err_code rc = fold_add_frame(fold, frame, is_outermost, node);
    if (!rc)
        frame->tags[FOLD_NODE] = *node + 1;
    return rc;
}

/* The outer frames, at most `count`, that have their nodes, and the node of the innermost of them. */
static size_t cached_frames(const struct stack *stack, size_t count, node_id *node)
{
    uint32_t tag;
    const size_t known = fold_tagged_frames(stack, count, FOLD_NODE, &tag);
    if (known)
        *node = tag - 1;
    return known;
}

/* The number of frames below the mark of the garbage collector; NOWHERE: it does not run in this
 * thread. From 3.15 on the interpreter says in which frame it was started. */
static const size_t NOWHERE = SIZE_MAX;

static size_t gc_place(const struct stack *stack, struct thread_state *info)
{
    if (!info->gc_frame)
        return info->in_gc == VALUE_YES ? stack->count : NOWHERE;
    for (size_t i = stack->count; i-- > 0;)
        if (stack->frames[i].addr == info->gc_frame) {
            info->in_gc = VALUE_YES;
            return i + 1;
        }
    if (stack->certainty != STACK_TRUNCATED)
        info->in_gc = VALUE_NO;
    return NOWHERE;
}

/* A thread that runs is no idle thread: the interpreter starts or ends in it, or C code works there.  The state of an
 * earlier sample says nothing. */
static enum err_code add_without_frames(struct fold *fold, const struct thread *thread,
                                        node_id *node)
{
    frame_id native;
    if (!(thread->is_stopped || thread->is_asked) || thread->runs != VALUE_YES)
        return add_mark(fold, fold->idle, node);
    const enum err_code rc = fold_mark(fold, "<native>", &native, NULL);
    return rc ? rc : add_mark(fold, native, node);
}

/* Adds the mark above the innermost frame. */
static enum err_code add_end(struct fold *fold, const struct thread *thread, node_id *node)
{
    frame_id callee;
    if (thread->stack.certainty == STACK_TRUNCATED)
        return add_mark(fold, fold->truncated, node);
    if (thread->stack.count == 0)
        return add_without_frames(fold, thread, node);
    if (!thread->leaf.callee)
        return fold->native && thread->leaf.in_native == VALUE_YES
                   ? add_mark(fold, fold->callback, node)
                   : ERR_OK;
    const enum err_code rc = fold_named_mark(fold, thread->leaf.callee, &callee, NULL);
    return rc ? rc : add_mark(fold, callee, node);
}

/* The collector and the awaiters of a task come and go while frames stay the same, so frames above
 * their marks do not keep their node. */
static enum err_code add_frames(struct fold *fold, struct stack *stack, size_t gc,
                                node_id *node)
{
    size_t first = 0;
    enum err_code rc = fold->tasks ? task_fold_begin(fold->tasks, stack, &first, node) : ERR_OK;
    const size_t cached = rc || *node ? 0 : gc;
    const size_t known = cached_frames(stack, cached, node);
    for (size_t i = known ? known : first; i < stack->count && !rc; i++) {
        if (i == gc)
            rc = add_mark(fold, fold->gc, node);
        if (!rc && i < cached)
            rc = add_cached_frame(fold, &stack->frames[i], i == first, node);
        else if (!rc)
            rc = fold_add_frame(fold, &stack->frames[i], i == first, node);
    }
    return rc;
}

/* If the tables are full, the sample counts at the nearest caller that has a node. */
static enum err_code node_of(struct fold *fold, struct thread *thread, size_t gc,
                             struct sample *sample)
{
    struct stack *const stack = &thread->stack;
    node_id node = 0;
    enum err_code rc = add_frames(fold, stack, gc, &node);
    if (!rc)
        rc = fold_set_spot(fold, thread, node);
    /* The collector runs in the end of the interpreter, too, outside of all frames. */
    if (!rc && (gc || stack->count || stack->certainty == STACK_TRUNCATED))
        rc = add_end(fold, thread, &node);
    if (!rc && gc == stack->count)
        rc = add_mark(fold, fold->gc, &node);
    sample->node = node;
    sample->is_overflowed = rc == ERR_LIMIT;
    if (!rc || sample->is_overflowed)
        stack->tag =
            gc == NOWHERE && !rc && stack->count && !fold->tasks && !thread->leaf.is_unsettled
                ? node + 1
                : 0;
    stack->native_tag = 0;
    return sample->is_overflowed ? ERR_OK : rc;
}

static enum err_code thread_of(struct fold *fold, struct thread *thread, thread_id *out)
{
    struct thread *const outermost = sub_stacks_outermost(thread);
    if (!outermost->tag) {
        const struct profile_thread row = {
            .process = fold->process,
            .tid = outermost->host_tid,
            .ident = outermost->head.ident,
            .name = outermost->name,
            .is_main = outermost->is_main,
        };
        const enum err_code rc = profile_thread(fold->profile, &row, out, NULL);
        if (rc)
            return rc;
        outermost->tag = *out + 1;
    }
    thread->tag = outermost->tag;
    *out = thread->tag - 1;
    return ERR_OK;
}

static uint64_t *certainty_counter(struct quality *quality, enum stack_certainty certainty)
{
    switch (certainty) {
    case STACK_EXACT: break;
    case STACK_RETRIED: return &quality->retried;
    case STACK_TRUNCATED: return &quality->truncated;
    }
    return &quality->exact;
}

/* NULL: not counted. */
static uint64_t *motion_counter(struct quality *quality, enum thread_motion motion)
{
    switch (motion) {
    case THREAD_STILL: break;
    case THREAD_MOVING: return &quality->moving;
    case THREAD_STOPPED: return &quality->stopped;
    }
    return NULL;
}

void fold_count_failure(struct fold *fold, enum err_code failure, uint32_t times)
{
    struct quality *const quality = profile_quality(fold->profile);
    if (failure == ERR_GONE)
        quality->failed_gone += times;
    else if (failure == ERR_FAULT)
        quality->failed_fault += times;
    else if (failure == ERR_PERM)
        quality->failed_perm += times;
    else
        quality->failed_corrupt += times;
}

static state_bits flag_bits(enum three_valued value, state_bits yes, state_bits unknown)
{
    return value == VALUE_YES ? yes : value == VALUE_UNKNOWN ? unknown : 0;
}

/* The state without the CPU.  Only a native stack shows whether the JIT's code runs. */
static state_bits state_of(const struct fold *fold, struct thread_state info,
                           enum three_valued in_native)
{
    const unsigned bits =
        flag_bits(info.has_gil, STATE_HAS_GIL, STATE_UNKNOWN_HAS_GIL) |
        flag_bits(info.waits_gil, STATE_WAITS_GIL, STATE_UNKNOWN_WAITS_GIL) |
        flag_bits(info.in_gc, STATE_IN_GC, STATE_UNKNOWN_IN_GC) |
        flag_bits(info.has_exception, STATE_HAS_EXCEPTION, STATE_UNKNOWN_HAS_EXCEPTION) |
        flag_bits(in_native, STATE_IN_NATIVE, STATE_UNKNOWN_IN_NATIVE) |
        (fold->leaves->layout->has_jit ? STATE_UNKNOWN_IN_JIT : 0);
    return (state_bits)bits;
}

/* As node_of, with the native frames that came with the sample. */
static enum err_code native_node_of(struct fold *fold, struct thread *thread, size_t gc,
                                    struct sample *sample)
{
    const enum err_code rc = fold_native_node(fold->native_stacks, fold, thread, gc,
                                              sample->now_ns, &sample->node, &sample->native);
    sample->is_overflowed = rc == ERR_LIMIT;
    return sample->is_overflowed ? ERR_OK : rc;
}

/* An unchanged stack keeps its leaf. */
static bool is_known(const struct stack *stack)
{
    return stack->is_unchanged && (stack->tag || stack->native_tag);
}

enum err_code fold_read_leaf(struct fold *fold, struct thread *thread)
{
    thread->has_leaf = true;
    return is_known(&thread->stack) ? ERR_OK
                                    : leaf_read(fold->leaves, &thread->stack, &thread->leaf);
}

/* Why a sample that counts has no native frames.  Of a thread that was not asked, it is unknown whether it waited. */
static uint64_t *cause_of_none(const struct thread *thread, struct quality *quality)
{
    if (thread->stack.certainty == STACK_TRUNCATED)
        return &quality->native_none_truncated;
    if ((thread->is_stopped || thread->is_asked) && thread->runs == VALUE_NO)
        return &quality->native_none_waiting;
    return thread->is_stopped ? &quality->native_none_copy : &quality->native_none_unstopped;
}

/* An unchanged stack keeps its node too, unless the collector runs now. */
static enum err_code place(struct fold *fold, struct thread *thread, size_t gc,
                           struct sample *sample)
{
    const struct stack *const stack = &thread->stack;
    const bool is_native =
        fold->native_stacks && thread->native && stack->certainty != STACK_TRUNCATED;
    enum err_code rc = thread->has_leaf ? ERR_OK : fold_read_leaf(fold, thread);
    struct quality *const quality = profile_quality(fold->profile);
    if (fold->native_stacks)
        sample->native = (struct native_outcome){ .counter = &quality->native_none,
                                                  .gap = cause_of_none(thread, quality) };
    if (!rc && thread->keeps_native && stack->native_tag && gc == NOWHERE)
        fold_native_keep(thread, &sample->node, &sample->native);
    else if (!rc && is_native)
        rc = native_node_of(fold, thread, gc, sample);
    else if (!rc && is_known(stack) && stack->tag && gc == NOWHERE)
        sample->node = stack->tag - 1;
    else if (!rc)
        rc = node_of(fold, thread, gc, sample);
    thread->is_placed =
        !rc && stack->certainty != STACK_TRUNCATED && !thread->leaf.is_unsettled;
    /* A tag is one more than the spot, and 0 for none. */
    sample->spot = thread->leaf.tags[0] - 1u;
    sample->spot_node = thread->leaf.tags[1];
    return rc;
}

/* The parts of a sample that do not depend on the stack. */
static struct sample sample_of(const struct fold *fold, const struct thread *thread,
                               uint64_t now_ns)
{
    return (struct sample){ .pid = fold->pid,
                            .tid = thread->host_tid,
                            .motion =
                                motion_counter(profile_quality(fold->profile), thread->motion),
                            .spot = PROFILE_NO_SPOT,
                            .is_asked = thread->is_stopped || thread->is_asked,
                            .runs = thread->runs,
                            .runnable = thread->runnable,
                            .call = thread->call,
                            .threads = fold->threads,
                            .times = thread->times,
                            .since_ns = thread->since_ns,
                            .now_ns = now_ns };
}

enum err_code fold_unknown_stack(struct fold *fold, struct thread *thread, uint64_t now_ns)
{
    const struct thread_state unknown = { .has_gil = VALUE_UNKNOWN };
    struct quality *const quality = profile_quality(fold->profile);
    struct sample sample = sample_of(fold, thread, now_ns);
    sample.state = state_of(fold, unknown, VALUE_UNKNOWN);
    sample.certainty = certainty_counter(quality, STACK_TRUNCATED);
    if (fold->native_stacks)
        sample.native.counter = &quality->native_none;
    enum err_code rc = thread_of(fold, thread, &sample.thread);
    if (rc)
        return rc;
    rc = add_mark(fold, fold->truncated, &sample.node);
    sample.is_overflowed = rc == ERR_LIMIT;
    return rc && !sample.is_overflowed ? rc : thread_cpus_add(fold->cpus, &sample);
}

enum err_code fold_thread(struct fold *fold, struct thread *thread, struct thread_state info,
                          enum err_code failure, uint64_t now_ns)
{
    struct quality *const quality = profile_quality(fold->profile);
    struct stack *const stack = &thread->stack;
    if (failure) {
        fold_count_failure(fold, failure, thread->times);
        return ERR_OK;
    }
    const size_t gc = gc_place(stack, &info);
    struct sample sample = sample_of(fold, thread, now_ns);
    sample.state = state_of(fold, info, VALUE_UNKNOWN);
    sample.certainty = certainty_counter(quality, stack->certainty);
    sample.is_still = stack->is_unchanged && !thread->is_in_new_context;
    sample.codes = fold->codes;
    sample.stack = stack;
    sample.leaf = &thread->leaf;
    enum err_code rc = thread_of(fold, thread, &sample.thread);
    if (!rc && thread_cpus_may_keep(fold->cpus, sample.state)) {
        rc = place(fold, thread, fold->no_gc ? NOWHERE : gc, &sample);
        sample.state = state_of(fold, info, thread->leaf.in_native);
        if (sample.native.in_jit != VALUE_UNKNOWN)
            sample.state = (state_bits)((sample.state & ~STATE_UNKNOWN_IN_JIT) |
                                        flag_bits(sample.native.in_jit, STATE_IN_JIT, 0));
        if (fold->contexts)
            sample.node = context_marks_node(fold->contexts, thread->context, sample.node);
    }
    thread->has_leaf = false;
    return rc ? rc : thread_cpus_add(fold->cpus, &sample);
}
