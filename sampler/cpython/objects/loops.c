#include "sampler/cpython/objects/loops.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct step {
    const struct opcode *base;
    uint32_t unit, next, oparg;
};

/* In order. */
struct steps {
    struct step *items;
    size_t count;
};

enum { MAX_PASSES = 64 };

/* Marks of an instruction. */
enum mark {
    MARK_AFTER = 1,  /* can come after the instruction that is asked about */
    MARK_BEFORE = 2, /* can come before it */
    MARK_ROUND = 4,  /* can come before it in one round of the loop */
};

struct loop {
    const struct steps *steps;
    size_t here, first;
    unsigned char *marks;
};

static bool begins_with(const struct step *step, const char *name)
{
    return strncmp(step->base->name, name, strlen(name)) == 0;
}

static bool is_opcode(const struct step *step, const char *name)
{
    return strcmp(step->base->name, name) == 0;
}

/* EXTENDED_ARG is part of the instruction that follows. */
static bool decode_steps(const struct bytecode *code, struct steps *out)
{
    uint32_t extended = 0, begin = 0;
    out->items = malloc(((size_t)code->unit_count + 1) * sizeof *out->items);
    if (!out->items)
        return false;
    for (uint32_t unit = 0; unit < code->unit_count;) {
        const unsigned char *const bytes = code->units + (size_t)unit * BYTECODE_UNIT_BYTES;
        const struct opcode *const form = &code->opcodes[bytes[0]];
        struct step step = { .base = &code->opcodes[form->base],
                             .unit = begin,
                             .next = unit + 1 + form->caches,
                             .oparg = extended << 8 | bytes[1] };
        if (!step.base->name)
            return false;
        unit = step.next;
        extended = is_opcode(&step, "EXTENDED_ARG") ? step.oparg : 0;
        if (extended)
            continue;
        begin = unit;
        out->items[out->count++] = step;
    }
    return true;
}

/* The step that has the unit; steps->count: none. */
static size_t find_step(const struct steps *steps, int64_t unit)
{
    size_t low = 0, high = steps->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (steps->items[middle].next <= unit)
            low = middle + 1;
        else
            high = middle;
    }
    return unit < 0 ? steps->count : low;
}

/* The target of the step's jump; steps->count: none. The loops of `await` are none. */
static size_t jump_of(const struct steps *steps, const struct step *step)
{
    if (step->base->flags & OPCODE_JUMPS)
        return find_step(steps, (int64_t)step->next + step->oparg);
    if (step->base->flags & OPCODE_JUMPS_BACK && !is_opcode(step, "JUMP_BACKWARD_NO_INTERRUPT"))
        return find_step(steps, (int64_t)step->next - step->oparg);
    return steps->count;
}

static bool is_marked(const struct loop *loop, size_t at, enum mark mark)
{
    return at < loop->steps->count && loop->marks[at] & mark;
}

/* One pass over what may follow a step.  true: something was marked. */
static bool mark_pass(struct loop *loop, enum mark mark)
{
    const struct steps *const steps = loop->steps;
    bool is_new = false;
    for (size_t k = 0; k < steps->count; k++) {
        /* Backwards, marks go the other way. */
        const size_t i = mark == MARK_AFTER ? k : steps->count - 1 - k;
        const struct step *const step = &steps->items[i];
        const size_t jump = jump_of(steps, step);
        const size_t next = step->base->flags & OPCODE_ENDS ? steps->count : i + 1;
        const size_t targets[] = { jump, next };
        for (size_t t = 0; t < 2; t++) {
            const size_t to = targets[t];
            const bool leads = mark == MARK_ROUND && to == loop->first;
            const size_t from = mark == MARK_AFTER ? i : to, into = mark == MARK_AFTER ? to : i;
            if (to >= steps->count || leads || is_marked(loop, into, mark) ||
                !(is_marked(loop, from, mark) || from == loop->here))
                continue;
            loop->marks[into] |= (unsigned char)mark;
            is_new = true;
        }
    }
    return is_new;
}

static bool mark_all(struct loop *loop, enum mark mark)
{
    for (int i = 0; i < MAX_PASSES; i++)
        if (!mark_pass(loop, mark))
            return true;
    return false;
}

/* Instructions that come both before and after this one are in a loop with it.  The first of them that is jumped back to
 * begins the outermost loop. */
static enum loop_place find_loop(struct loop *loop)
{
    const struct steps *const steps = loop->steps;
    loop->first = steps->count;
    if (!mark_all(loop, MARK_AFTER) || !mark_all(loop, MARK_BEFORE))
        return LOOP_UNKNOWN;
    for (size_t i = 0; i < steps->count; i++) {
        const size_t to = steps->items[i].base->flags & OPCODE_JUMPS_BACK
                              ? jump_of(steps, &steps->items[i])
                              : steps->count;
        const enum mark both = MARK_AFTER | MARK_BEFORE;
        if (to < loop->first && (loop->marks[i] & both) == both)
            loop->first = to;
    }
    if (loop->first == steps->count)
        return LOOP_NONE;
    return loop->first == loop->here || mark_all(loop, MARK_ROUND) ? LOOP_INSIDE : LOOP_UNKNOWN;
}

/* STORE_FAST_LOAD_FAST counts as both. */
static bool stores_local(const struct step *step)
{
    return strstr(step->base->name, "STORE_") != NULL;
}

/* Some instructions have two variables. */
static bool is_pair(const struct step *step)
{
    static const char *const names[] = { "LOAD_FAST_LOAD_FAST",
                                         "LOAD_FAST_BORROW_LOAD_FAST_BORROW",
                                         "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_opcode(step, names[i]))
            return true;
    return false;
}

/* "FAST", "NAME", "GLOBAL" and "DEREF": whose numbers those of variables are. */
static char scope_of(const struct step *step)
{
    const char *const name = strchr(step->base->name, '_');
    return name ? name[1] : '\0';
}

static bool names_variable(const struct step *step, uint32_t number)
{
    enum { HALF_BITS = 4, HALF = 15 };
    if (is_pair(step))
        return step->oparg >> HALF_BITS == number || (step->oparg & HALF) == number;
    /* The lowest bit of a global asks for a NULL beside it. */
    return (is_opcode(step, "LOAD_GLOBAL") ? step->oparg >> 1 : step->oparg) == number;
}

static bool loop_sets(const struct loop *loop, char scope, uint32_t number)
{
    const enum mark both = MARK_AFTER | MARK_BEFORE;
    for (size_t i = 0; i < loop->steps->count; i++) {
        const struct step *const step = &loop->steps->items[i];
        if ((loop->marks[i] & both) == both && stores_local(step) && scope_of(step) == scope &&
            names_variable(step, number))
            return true;
    }
    return false;
}

/* A load of what the loop does not set; it is the callable, or an argument. */
static bool is_constant(const struct loop *loop, const struct step *step)
{
    enum { HALF_BITS = 4, HALF = 15 };
    static const char *const plain[] = { "LOAD_CONST", "LOAD_SMALL_INT",
                                         "LOAD_ATTR",  "LOAD_METHOD",
                                         "PUSH_NULL",  "PRECALL",
                                         "KW_NAMES",   "NOP" };
    static const char *const variables[] = { "LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL",
                                             "LOAD_DEREF" };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (begins_with(step, plain[i]))
            return true;
    if (is_pair(step))
        return begins_with(step, "LOAD_") && !loop_sets(loop, 'F', step->oparg >> HALF_BITS) &&
               !loop_sets(loop, 'F', step->oparg & HALF);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (begins_with(step, variables[i]))
            return !loop_sets(loop, scope_of(step),
                              is_opcode(step, "LOAD_GLOBAL") ? step->oparg >> 1 : step->oparg);
    return false;
}

/* Walks back over what puts the callable and its arguments on the stack. */
static bool has_constant_arguments(const struct loop *loop)
{
    const struct step *const call = &loop->steps->items[loop->here];
    int64_t needed = 1 - opcode_effect(call->base, call->oparg);
    for (const struct step *step = call; needed > 0 && step > loop->steps->items;) {
        step--;
        if (step->base->effect.unknown || !is_constant(loop, step))
            return false;
        needed -= opcode_effect(step->base, step->oparg);
    }
    return needed == 0;
}

static bool is_head(const struct loop *loop)
{
    const struct steps *const steps = loop->steps;
    const struct step *const call = &steps->items[loop->here];
    if (!begins_with(call, "CALL") || begins_with(call, "CALL_INTRINSIC") ||
        call->base->effect.unknown || loop->here + 1 >= steps->count ||
        is_opcode(call + 1, "POP_TOP"))
        return false;
    for (size_t i = 0; i < steps->count; i++)
        if (loop->marks[i] & MARK_ROUND &&
            (stores_local(&steps->items[i]) || begins_with(&steps->items[i], "FOR_ITER")))
            return false;
    return has_constant_arguments(loop);
}

enum loop_place loops_find(const struct bytecode *code, uint32_t unit)
{
    struct steps steps = { .count = 0 };
    enum loop_place place = LOOP_UNKNOWN;
    if (code->unit_count <= LOOPS_MAX_UNITS && unit < code->unit_count &&
        decode_steps(code, &steps)) {
        struct loop loop = { .steps = &steps, .here = find_step(&steps, unit) };
        loop.marks = calloc(steps.count + 1, 1);
        if (loop.marks && loop.here < steps.count)
            place = find_loop(&loop);
        if (place == LOOP_INSIDE && is_head(&loop))
            place = LOOP_HEAD;
        free(loop.marks);
    }
    free(steps.items);
    return place;
}
