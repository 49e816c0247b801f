#include "sampler/cpython/objects/bytecode.h"

#include <stdlib.h>
#include <string.h>

enum { UNKNOWN = -1, MAX_PASSES = 16, MAX_DEPTH = 1 << 24 };

struct walker {
    const struct bytecode *code;
    int32_t *depths; /* before each unit; UNKNOWN at first */
    int extended_arg;
    bool again; /* a unit already passed has got a depth: walk again */
};

struct step {
    const struct opcode *base;
    uint8_t opcode; /* the base form */
    uint32_t oparg;
    uint32_t next; /* unit */
};

static void reach_unit(struct walker *w, int64_t from, int64_t unit, int64_t depth)
{
    if (unit < 0 || unit >= w->code->unit_count || depth < 0 || depth > MAX_DEPTH ||
        w->depths[unit] != UNKNOWN)
        return;
    w->depths[unit] = (int32_t)depth;
    w->again = w->again || unit <= from;
}

/* Reads a number of the exception table: six bits a byte, highest first.  Bit 6 says that more bytes
 * follow, bit 7 marks the first number of an entry.  false: the table ends. */
static bool read_number(const struct bytecode *code, size_t *at, int64_t *out)
{
    enum { VALUE = 0x3f, MORE = 0x40, MAX_BYTES = 6 };
    int64_t value = 0;
    for (int i = 0; i < MAX_BYTES && *at < code->handler_bytes; i++) {
        const unsigned char byte = code->handlers[(*at)++];
        value = value << 6 | (byte & VALUE);
        if (!(byte & MORE)) {
            *out = value;
            return true;
        }
    }
    return false;
}

static struct step step_at(const struct walker *w, uint32_t unit, uint32_t extended)
{
    const unsigned char *const bytes = w->code->units + (size_t)unit * BYTECODE_UNIT_BYTES;
    const struct opcode *const form = &w->code->opcodes[bytes[0]];
    return (struct step){ .base = &w->code->opcodes[form->base],
                          .opcode = form->base,
                          .oparg = extended << 8 | bytes[1],
                          .next = unit + 1 + form->caches };
}

static enum err_code walk_code(struct walker *w, uint32_t wanted, struct step *out)
{
    const struct bytecode *const code = w->code;
    if (code->unit_count > BYTECODE_MAX_UNITS)
        return ERR_LIMIT;
    w->depths = malloc(((size_t)code->unit_count + 1) * sizeof *w->depths);
    if (!w->depths)
        return ERR_NOMEM;
    for (uint32_t i = 0; i < code->unit_count; i++)
        w->depths[i] = UNKNOWN;
    w->extended_arg = opcodes_find(code->opcodes, "EXTENDED_ARG");
    reach_unit(w, -1, 0, 0);

    /* A handler begins with the depth of its entry, plus the exception and, if the entry says so, the
     * instruction that raised it. */
    int64_t start, length, target, depth_lasti;
    size_t at = 0;
    while (read_number(w->code, &at, &start) && read_number(w->code, &at, &length) &&
           read_number(w->code, &at, &target) && read_number(w->code, &at, &depth_lasti))
        reach_unit(w, -1, target, (depth_lasti >> 1) + (depth_lasti & 1) + 1);

    bool met = false;
    w->again = true;
    for (int i = 0; i < MAX_PASSES && w->again; i++) {
        uint32_t extended = 0;
        w->again = met = false;
        for (uint32_t unit = 0; unit < w->code->unit_count;) {
            const struct step step = step_at(w, unit, extended);
            if (unit == wanted) {
                *out = step;
                met = true;
            }

            const int64_t depth = w->depths[unit];
            if (depth != UNKNOWN && step.base->name && !step.base->effect.unknown) {
                const int64_t after = depth + opcode_effect(step.base, step.oparg);
                const int64_t jumped = after + step.base->jump_effect;
                if (step.base->flags & OPCODE_JUMPS)
                    reach_unit(w, unit, (int64_t)step.next + step.oparg, jumped);
                if (step.base->flags & OPCODE_JUMPS_BACK)
                    reach_unit(w, unit, (int64_t)step.next - step.oparg, jumped);
                if (!(step.base->flags & OPCODE_ENDS))
                    reach_unit(w, unit, step.next, after);
            }

            extended = step.opcode == w->extended_arg ? step.oparg : 0;
            unit = step.next;
        }
    }
    return met && w->depths[wanted] != UNKNOWN ? ERR_OK : ERR_NOT_FOUND;
}

enum err_code bytecode_position(const struct bytecode *code, uint32_t unit,
                                struct instruction *out)
{
    struct walker w = { .code = code };
    struct step step;
    const enum err_code rc = walk_code(&w, unit, &step);
    if (!rc)
        *out = (struct instruction){ .opcode = step.opcode,
                                     .oparg = step.oparg,
                                     .depth = w.depths[unit] };
    free(w.depths);
    return rc;
}

/* An entry of the exception table. */
struct handler {
    int64_t start, length, target, depth_lasti;
};

static bool find_handler(const struct bytecode *code, int64_t unit, struct handler *out)
{
    size_t at = 0;
    while (read_number(code, &at, &out->start) && read_number(code, &at, &out->length) &&
           read_number(code, &at, &out->target) && read_number(code, &at, &out->depth_lasti))
        if (unit >= out->start && unit - out->start < out->length)
            return true;
    return false;
}

/* The handler of `with` stores the exception and calls the exit function. */
static bool is_with_handler(const struct bytecode *code, int64_t target)
{
    static const char *const names[] = { "PUSH_EXC_INFO", "WITH_EXCEPT_START" };
    const struct walker w = { .code = code };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (target < 0 || target >= code->unit_count)
            return false;
        const struct step step = step_at(&w, (uint32_t)target, 0);
        if (!step.base->name || strcmp(step.base->name, names[i]) != 0)
            return false;
        target = step.next;
    }
    return true;
}

/* The compiler leaves the jump back to the start of a loop out of the table, though a thread may wait for the GIL there.  Returns
 * where it leads, and the unit itself of any other instruction. */
static int64_t follow_jump_back(const struct bytecode *code, uint32_t unit)
{
    const struct walker w = { .code = code };
    const int extended_arg = opcodes_find(code->opcodes, "EXTENDED_ARG");
    uint32_t extended = 0;
    for (uint32_t at = 0; at < code->unit_count;) {
        const struct step step = step_at(&w, at, extended);
        const bool is_prefix = step.opcode == extended_arg;
        if (at >= unit && !is_prefix)
            return step.base->flags & OPCODE_JUMPS_BACK ? (int64_t)step.next - step.oparg
                                                        : (int64_t)unit;
        extended = is_prefix ? step.oparg : 0;
        at = step.next;
    }
    return unit;
}

size_t bytecode_with_blocks(const struct bytecode *code, uint32_t unit,
                            struct with_block *blocks, size_t most)
{
    enum { MAX_LEVELS = 64 };
    struct handler handler;
    size_t count = 0;
    int64_t at = follow_jump_back(code, unit);
    for (int i = 0; i < MAX_LEVELS && count < most && find_handler(code, at, &handler); i++) {
        if ((handler.depth_lasti & 1) && is_with_handler(code, handler.target) &&
            handler.depth_lasti >> 1 <= MAX_DEPTH)
            blocks[count++] = (struct with_block){ (uint32_t)(handler.depth_lasti >> 1),
                                                   (uint32_t)handler.target };
        at = handler.target;
    }
    return count;
}

int64_t bytecode_deepest(const struct bytecode *code)
{
    struct walker w = { .code = code };
    struct step first;
    int64_t deepest = -1;
    if (code->unit_count && !walk_code(&w, 0, &first))
        for (uint32_t unit = 0; unit < code->unit_count; unit++)
            if (w.depths[unit] > deepest)
                deepest = w.depths[unit];
    free(w.depths);
    return deepest;
}

bool bytecode_has(const struct bytecode *code, uint8_t opcode)
{
    const struct walker w = { .code = code };
    for (uint32_t unit = 0; unit < code->unit_count;) {
        const struct step step = step_at(&w, unit, 0);
        if (step.base->name && step.opcode == opcode)
            return true;
        unit = step.next;
    }
    return false;
}

uint32_t bytecode_start(const struct bytecode *code, uint32_t unit)
{
    const struct walker w = { .code = code };
    uint32_t start = 0;
    for (uint32_t next = 0; next <= unit && next < code->unit_count;) {
        start = next;
        next = step_at(&w, start, 0).next;
    }
    return start;
}
