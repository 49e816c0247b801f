#include "sampler/fold.h"

#include <string.h>

static enum err_code synthetic(struct fold *fold, const char *name, frame_id *out,
                               struct err *err)
{
    struct strtab *const strings = profile_strings(fold->profile);
    str_id name_id, file_id;
    function_id function;
    enum err_code rc = strtab_intern(strings, name, strlen(name), &name_id, err);
    if (!rc)
        rc = strtab_intern(strings, "~", 1, &file_id, err);
    if (!rc)
        rc = profile_function(fold->profile, name_id, file_id, 0, &function, err);
    if (!rc)
        rc = profile_frame(fold->profile, function, 0, out, err);
    return rc;
}

enum err_code fold_init(struct fold *fold, struct profile *profile, struct code_table *codes,
                        int32_t pid, const char *name, struct err *err)
{
    str_id name_id;
    *fold = (struct fold){ .profile = profile, .codes = codes };
    lanes_init(&fold->lanes, profile, pid);
    enum err_code rc =
        strtab_intern(profile_strings(profile), name, strlen(name), &name_id, err);
    if (!rc)
        rc = profile_process(profile, pid, name_id, &fold->process, err);
    if (!rc)
        rc = synthetic(fold, "<idle native thread>", &fold->idle, err);
    if (!rc)
        rc = synthetic(fold, "<truncated>", &fold->truncated, err);
    return rc;
}

void fold_deinit(struct fold *fold)
{
    lanes_deinit(&fold->lanes);
}

void fold_set_mode(struct fold *fold, enum sampler_mode mode)
{
    fold->lanes.mode = mode;
}

/* Tags hold the id plus one, so that 0 means "not yet". */
static enum err_code function_of(struct fold *fold, struct code *code, function_id *out)
{
    if (!code->tag) {
        const enum err_code rc = profile_function(fold->profile, code->name, code->file,
                                                  code->first_line, out, NULL);
        if (rc)
            return rc;
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
        enum err_code rc = function_of(fold, code_at(fold->codes, frame->code), &function);
        if (!rc)
            rc = profile_frame(fold->profile, function, place->location.line, out, NULL);
        if (rc)
            return rc;
        place->tag = *out + 1;
    }
    *out = place->tag - 1;
    return ERR_OK;
}

/* The node of a frame under that of its caller; both keep it while they stay as they are. */
static enum err_code node_of_frame(struct fold *fold, struct walk_frame *frame, node_id *node)
{
    frame_id id;
    enum err_code rc = ERR_OK;
    if (!frame->tag) {
        rc = frame_of(fold, frame, &id);
        if (!rc)
            rc = profile_node(fold->profile, *node, id, node, NULL);
        if (!rc)
            frame->tag = *node + 1;
    } else
        *node = frame->tag - 1;
    return rc;
}

static enum err_code node_of(struct fold *fold, struct stack *stack, node_id *out)
{
    enum err_code rc = ERR_OK;
    node_id node = 0;
    if (stack->is_unchanged && stack->tag) {
        *out = stack->tag - 1;
        return ERR_OK;
    }
    for (size_t i = 0; i < stack->count && !rc; i++)
        rc = node_of_frame(fold, &stack->frames[i], &node);
    if (!rc && stack->certainty == STACK_TRUNCATED)
        rc = profile_node(fold->profile, node, fold->truncated, &node, NULL);
    else if (!rc && stack->count == 0)
        rc = profile_node(fold->profile, node, fold->idle, &node, NULL);
    if (!rc) {
        *out = node;
        stack->tag = node + 1;
    }
    return rc;
}

static enum err_code thread_of(struct fold *fold, struct thread *thread, thread_id *out)
{
    if (!thread->tag) {
        const struct profile_thread row = {
            .process = fold->process,
            .tid = thread->host_tid,
            .ident = thread->head.ident,
            .name = thread->name,
            .is_main = thread->is_main,
        };
        const enum err_code rc = profile_thread(fold->profile, &row, out, NULL);
        if (rc)
            return rc;
        thread->tag = *out + 1;
    }
    *out = thread->tag - 1;
    return ERR_OK;
}

static uint64_t *certainty_counter(struct quality *quality, enum stack_certainty certainty)
{
    switch (certainty) {
    case STACK_EXACT: break;
    case STACK_REPAIRED: return &quality->repaired;
    case STACK_RETRIED: return &quality->retried;
    case STACK_TRUNCATED: return &quality->truncated;
    }
    return &quality->exact;
}

static void count_failure(struct quality *quality, enum err_code failure)
{
    if (failure == ERR_GONE)
        quality->failed_gone++;
    else if (failure == ERR_FAULT)
        quality->failed_fault++;
    else if (failure == ERR_PERM)
        quality->failed_perm++;
    else
        quality->failed_corrupt++;
}

static state_bits fact_bits(enum fact fact, state_bits yes, state_bits unknown)
{
    return fact == FACT_YES ? yes : fact == FACT_UNKNOWN ? unknown : 0;
}

/* All facts but the CPU; what runs in C code is not known. */
static state_bits state_of(struct thread_facts facts)
{
    const unsigned bits =
        fact_bits(facts.has_gil, STATE_HAS_GIL, STATE_UNKNOWN_HAS_GIL) |
        fact_bits(facts.waits_gil, STATE_WAITS_GIL, STATE_UNKNOWN_WAITS_GIL) |
        fact_bits(facts.in_gc, STATE_IN_GC, STATE_UNKNOWN_IN_GC) |
        fact_bits(facts.has_exception, STATE_HAS_EXCEPTION, STATE_UNKNOWN_HAS_EXCEPTION) |
        STATE_UNKNOWN_IN_NATIVE;
    return (state_bits)bits;
}

enum err_code fold_thread(struct fold *fold, struct thread *thread, struct thread_facts facts,
                          enum err_code failure, uint64_t now_ns)
{
    struct quality *const quality = profile_quality(fold->profile);
    if (failure) {
        count_failure(quality, failure);
        return ERR_OK;
    }
    struct sighting sighting = { .tid = thread->host_tid,
                                 .state = state_of(facts),
                                 .certainty =
                                     certainty_counter(quality, thread->stack.certainty),
                                 .is_still = thread->stack.is_unchanged,
                                 .now_ns = now_ns };
    enum err_code rc = thread_of(fold, thread, &sighting.thread);
    if (!rc && lanes_may_keep(&fold->lanes, sighting.state))
        rc = node_of(fold, &thread->stack, &sighting.node);
    return rc ? rc : lanes_add(&fold->lanes, &sighting);
}

enum err_code fold_flush(struct fold *fold, uint64_t now_ns)
{
    return lanes_flush(&fold->lanes, now_ns);
}
