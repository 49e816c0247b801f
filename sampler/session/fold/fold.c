#include "sampler/session/fold/fold.h"

#include "sampler/cpython/threads/sub_interpreter_stacks.h"
#include "sampler/session/fold/context_marks.h"
#include "sampler/session/fold/fold_native.h"
#include "sampler/session/fold/sampled_thread.h"
#include "sampler/session/fold/task_fold.h"

enum err_code fold_init(struct fold *fold, struct profile *profile, struct leaves *leaves,
                        struct thread_cpus *cpus, const struct session_options *options,
                        int pid, const char *name, struct err *err)
{
    *fold = (struct fold){ .cpus = cpus, .no_gc = options->no_gc };
    return frame_nodes_init(&fold->nodes, profile, leaves, options, pid, name, err);
}

/* The number of frames below the mark of the garbage collector; NOWHERE: it does not run in this
 * thread. From 3.15 on the interpreter says in which frame it was started. */
static const size_t NOWHERE = SIZE_MAX;

static size_t find_gc(const struct stack *stack, struct thread_state *info)
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

/* Did the thread run, or wait, and is that known?  The state of an earlier reading says nothing. */
static bool is_known(const struct thread_reading *reading, enum three_valued runs)
{
    return (reading->is_stopped || reading->is_asked) && reading->runs == runs;
}

/* Adds the mark above the innermost frame.  A thread that runs without frames is no idle thread: the interpreter starts or ends
 * in it, or C code works there. */
static enum err_code add_end(struct frame_nodes *nodes, const struct thread_reading *reading,
                             const struct leaf *leaf, node_id *node)
{
    const struct stack *const stack = &reading->thread->stack;
    enum err_code rc = ERR_OK;
    frame_id mark = 0;
    if (stack->certainty == STACK_TRUNCATED)
        mark = nodes->truncated;
    else if (stack->count == 0 && !is_known(reading, VALUE_YES))
        mark = nodes->idle;
    else if (stack->count == 0)
        rc = frame_nodes_mark(nodes, "<native>", &mark, NULL);
    else if (leaf->callee)
        rc = frame_nodes_named_mark(nodes, leaf->callee, &mark, NULL);
    else if (nodes->native && leaf->in_native == VALUE_YES)
        mark = nodes->callback;
    else
        return ERR_OK;
    return rc ? rc : frame_nodes_add_mark(nodes, mark, node);
}

/* Adds the Python frames.  If the tables are full, the sample counts at the nearest caller that has a node. */
static enum err_code find_node(struct fold *fold, const struct thread_reading *reading,
                               size_t gc, struct sample *sample)
{
    struct frame_nodes *const nodes = &fold->nodes;
    struct stack *const stack = &reading->thread->stack;
    struct leaf *const leaf = &sampled_thread_of(reading->thread)->leaf;
    node_id node = 0;
    size_t first = 0;
    enum err_code rc =
        fold->tasks ? task_fold_begin(fold->tasks, stack, &first, &node) : ERR_OK;
    if (!rc)
        rc = frame_nodes_add_stack(nodes, stack, first, gc, &node);
    if (!rc)
        rc = frame_nodes_set_spot(nodes, stack, leaf, node);
    /* The collector runs in the end of the interpreter, too, outside of all frames. */
    if (!rc && (gc || stack->count || stack->certainty == STACK_TRUNCATED))
        rc = add_end(nodes, reading, leaf, &node);
    if (!rc && gc == stack->count)
        rc = frame_nodes_add_mark(nodes, nodes->gc, &node);
    sample->node = node;
    sample->is_overflowed = rc == ERR_LIMIT;
    if (!rc || sample->is_overflowed)
        stack->tag = gc == NOWHERE && !rc && stack->count && !fold->tasks && !leaf->is_unsettled
                         ? node + 1
                         : 0;
    stack->native_tag = 0;
    return sample->is_overflowed ? ERR_OK : rc;
}

static enum err_code find_thread(struct fold *fold, struct thread *thread, thread_id *out)
{
    struct thread *const outermost = sub_stacks_outermost(thread);
    if (!outermost->tag) {
        const struct profile_thread row = {
            .process = fold->nodes.process,
            .tid = outermost->host_tid,
            .ident = outermost->head.ident,
            .name = outermost->name,
            .is_main = outermost->is_main,
        };
        const enum err_code rc = profile_thread(fold->nodes.profile, &row, out, NULL);
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
    struct quality *const quality = profile_quality(fold->nodes.profile);
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
static state_bits state_of(const struct fold *fold, const struct thread_state *info,
                           enum three_valued in_native)
{
    const unsigned bits =
        flag_bits(info->has_gil, STATE_HAS_GIL, STATE_UNKNOWN_HAS_GIL) |
        flag_bits(info->waits_gil, STATE_WAITS_GIL, STATE_UNKNOWN_WAITS_GIL) |
        flag_bits(info->in_gc, STATE_IN_GC, STATE_UNKNOWN_IN_GC) |
        flag_bits(info->has_exception, STATE_HAS_EXCEPTION, STATE_UNKNOWN_HAS_EXCEPTION) |
        flag_bits(in_native, STATE_IN_NATIVE, STATE_UNKNOWN_IN_NATIVE) |
        (fold->nodes.leaves->layout->has_jit ? STATE_UNKNOWN_IN_JIT : 0);
    return (state_bits)bits;
}

/* An unchanged stack keeps its leaf. */
static bool keeps_leaf(const struct stack *stack)
{
    return stack->is_unchanged && (stack->tag || stack->native_tag);
}

enum err_code fold_read_leaf(struct fold *fold, const struct thread *thread)
{
    struct sampled_thread *const sampled = sampled_thread_of(thread);
    sampled->has_leaf = true;
    return keeps_leaf(&thread->stack)
               ? ERR_OK
               : leaf_read(fold->nodes.leaves, &thread->stack, &sampled->leaf);
}

/* Why a sample that counts has no native frames.  Of a thread that was not asked, it is unknown whether it waited. */
static uint64_t *cause_of_none(const struct thread_reading *reading, struct quality *quality)
{
    if (reading->thread->stack.certainty == STACK_TRUNCATED)
        return &quality->native_none_truncated;
    if (is_known(reading, VALUE_NO))
        return &quality->native_none_waiting;
    return reading->is_stopped ? &quality->native_none_copy : &quality->native_none_unstopped;
}

/* Finds the node, with the native frames that came with the reading.  An unchanged stack keeps its node too, unless the
 * collector runs now. */
static enum err_code place_sample(struct fold *fold, const struct thread_reading *reading,
                                  size_t gc, struct sample *sample)
{
    struct stack *const stack = &reading->thread->stack;
    struct sampled_thread *const sampled = sampled_thread_of(reading->thread);
    struct quality *const quality = profile_quality(fold->nodes.profile);
    enum err_code rc = sampled->has_leaf ? ERR_OK : fold_read_leaf(fold, reading->thread);
    if (fold->native_stacks)
        sample->native = (struct native_outcome){ .counter = &quality->native_none,
                                                  .gap = cause_of_none(reading, quality) };
    if (!rc && reading->keeps_native && stack->native_tag && gc == NOWHERE) {
        sample->node = stack->native_tag - 1;
        sample->native = sampled->native;
    } else if (!rc && fold->native_stacks && reading->native &&
               stack->certainty != STACK_TRUNCATED) {
        rc = fold_native_node(fold->native_stacks, fold->tasks, reading, gc, &sample->node,
                              &sample->native);
        sample->is_overflowed = rc == ERR_LIMIT;
        rc = sample->is_overflowed ? ERR_OK : rc;
    } else if (!rc && keeps_leaf(stack) && stack->tag && gc == NOWHERE) {
        sample->node = stack->tag - 1;
    } else if (!rc) {
        rc = find_node(fold, reading, gc, sample);
    }
    stack->is_placed =
        !rc && stack->certainty != STACK_TRUNCATED && !sampled->leaf.is_unsettled;
    /* A tag is one more than the spot, and 0 for none. */
    sample->spot = sampled->leaf.tags[0] - 1u;
    sample->spot_node = sampled->leaf.tags[1];
    return rc;
}

/* Adds what the thread does in the kernel, to which the node that the stack keeps does not belong. */
static enum err_code add_kernel(const struct fold *fold, const struct kernel_path *path,
                                struct sample *sample)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < path->count && !sample->is_overflowed && !rc; i++) {
        rc = profile_node(fold->nodes.profile, sample->node, path->frames[i], &sample->node,
                          NULL);
        sample->is_overflowed = rc == ERR_LIMIT;
    }
    return sample->is_overflowed ? ERR_OK : rc;
}

/* The parts of a sample that do not depend on the stack. */
static struct sample sample_of(const struct fold *fold, const struct thread_reading *reading)
{
    struct quality *const quality = profile_quality(fold->nodes.profile);
    return (struct sample){ .pid = fold->nodes.pid,
                            .tid = reading->thread->host_tid,
                            .motion = motion_counter(quality, reading->motion),
                            .spot = PROFILE_NO_SPOT,
                            .is_asked = reading->is_stopped || reading->is_asked,
                            .runs = reading->runs,
                            .runnable = reading->runnable,
                            .call = reading->call,
                            .threads = fold->threads,
                            .times = reading->times,
                            .since_ns = reading->since_ns,
                            .now_ns = reading->now_ns };
}

/* Counts samples of another measure than time: when they were counted, the thread ran. */
static enum err_code count_measured(struct fold *fold, enum measure measure,
                                    const struct sample *sample)
{
    const struct thread_cpus *const cpus = fold->cpus;
    const unsigned waits = STATE_UNKNOWN_ON_CPU | STATE_RUNNABLE | STATE_UNKNOWN_RUNNABLE |
                           STATE_WAITS_GIL | STATE_UNKNOWN_WAITS_GIL;
    const struct run run = {
        .thread = sample->thread,
        .state = (state_bits)((sample->state & ~waits) | STATE_ON_CPU),
        .node = sample->node,
        .spot = PROFILE_NO_SPOT,
        .count = sample->times,
        .measure = (uint8_t)measure,
        .first_ns = sample->now_ns > cpus->created_ns ? sample->now_ns - cpus->created_ns : 0,
    };
    const enum err_code rc = profile_add_measured(fold->nodes.profile, measure, run.thread,
                                                  run.state, run.node, run.count, NULL);
    if (!rc && cpus->sink)
        cpus->sink->count(cpus->sink->context, &run);
    return rc;
}

enum err_code fold_unattributed(struct fold *fold, enum measure measure, uint32_t times,
                                uint64_t now_ns)
{
    static const char name[] = "not attributed";
    struct sample sample = { .times = times, .now_ns = now_ns, .state = STATE_ALL_UNKNOWN };
    struct profile_thread row = { .process = fold->nodes.process };
    frame_id mark = 0;
    enum err_code rc = strtab_intern(profile_strings(fold->nodes.profile), name,
                                     sizeof name - 1, &row.name, NULL);
    if (!rc)
        rc = profile_thread(fold->nodes.profile, &row, &sample.thread, NULL);
    if (!rc)
        rc = frame_nodes_mark(&fold->nodes, "<not attributed>", &mark, NULL);
    if (!rc)
        rc = frame_nodes_add_mark(&fold->nodes, mark, &sample.node);
    return rc && rc != ERR_LIMIT ? rc : count_measured(fold, measure, &sample);
}

enum err_code fold_unknown_stack(struct fold *fold, const struct thread_reading *reading)
{
    const struct thread_state unknown = { .has_gil = VALUE_UNKNOWN };
    struct quality *const quality = profile_quality(fold->nodes.profile);
    struct sample sample = sample_of(fold, reading);
    sample.state = state_of(fold, &unknown, VALUE_UNKNOWN);
    sample.certainty = certainty_counter(quality, STACK_TRUNCATED);
    if (fold->native_stacks)
        sample.native.counter = &quality->native_none;
    enum err_code rc = find_thread(fold, reading->thread, &sample.thread);
    if (rc)
        return rc;
    rc = frame_nodes_add_mark(&fold->nodes, fold->nodes.truncated, &sample.node);
    sample.is_overflowed = rc == ERR_LIMIT;
    if (rc && !sample.is_overflowed)
        return rc;
    return reading->measure == MEASURE_TIME ? thread_cpus_add(fold->cpus, &sample)
                                            : count_measured(fold, reading->measure, &sample);
}

enum err_code fold_reading(struct fold *fold, const struct thread_reading *reading)
{
    struct thread *const thread = reading->thread;
    struct sampled_thread *const sampled = sampled_thread_of(thread);
    struct stack *const stack = &thread->stack;
    struct thread_state info = reading->state;
    const bool is_time = reading->measure == MEASURE_TIME;
    if (reading->failure && !is_time)
        return fold_unknown_stack(fold, reading);
    if (reading->failure) {
        fold_count_failure(fold, reading->failure, reading->times);
        return ERR_OK;
    }
    const size_t gc = find_gc(stack, &info);
    struct sample sample = sample_of(fold, reading);
    sample.state = state_of(fold, &info, VALUE_UNKNOWN);
    sample.certainty =
        certainty_counter(profile_quality(fold->nodes.profile), stack->certainty);
    sample.is_still = stack->is_unchanged && !reading->is_in_new_context;
    sample.codes = fold->nodes.codes;
    sample.stack = stack;
    sample.leaf = &sampled->leaf;
    enum err_code rc = find_thread(fold, thread, &sample.thread);
    if (!rc && (!is_time || thread_cpus_may_keep(fold->cpus, sample.state))) {
        rc = place_sample(fold, reading, fold->no_gc ? NOWHERE : gc, &sample);
        sample.state = state_of(fold, &info, sampled->leaf.in_native);
        if (sample.native.in_jit != VALUE_UNKNOWN)
            sample.state = (state_bits)((sample.state & ~STATE_UNKNOWN_IN_JIT) |
                                        flag_bits(sample.native.in_jit, STATE_IN_JIT, 0));
        rc = rc ? rc : add_kernel(fold, &reading->in_kernel, &sample);
        if (fold->contexts) {
            sample.node = context_marks_node(fold->contexts, reading->context, sample.node);
            sample.in_request = context_marks_is_value(fold->contexts, reading->context);
        }
    }
    sampled->has_leaf = false;
    if (rc)
        return rc;
    return is_time ? thread_cpus_add(fold->cpus, &sample)
                   : count_measured(fold, reading->measure, &sample);
}
