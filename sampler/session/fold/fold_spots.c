#include "sampler/session/fold/fold_spots.h"

#include <string.h>

#include "sampler/cpython/objects/code_place.h"

static enum err_code opcode_name(struct fold *fold, unsigned opcode, str_id *out)
{
    const char *const name = fold->leaves->opcodes[opcode].name;
    enum err_code rc = ERR_OK;
    if (name && !fold->opcode_names[opcode])
        rc = strtab_intern(profile_strings(fold->profile), name, strlen(name),
                           &fold->opcode_names[opcode], NULL);
    *out = fold->opcode_names[opcode];
    return rc;
}

/* `caller` is the spot of the caller, plus 1. */
static enum err_code find_spot(struct fold *fold, const struct walk_frame *frame, int opcode,
                               uint32_t caller, spot_id *out)
{
    const struct code_place *const at = code_place(fold->codes, frame->code, frame->instr);
    struct profile_spot spot;
    if (!at)
        return ERR_NOMEM;
    spot = (struct profile_spot){ .line = at->location.line,
                                  .end_line = at->location.end_line,
                                  .column = at->location.column,
                                  .end_column = at->location.end_column,
                                  .caller = caller };
    enum err_code rc = fold_function(fold, code_at(fold->codes, frame->code), &spot.function);
    if (!rc && opcode != LEAF_NO_OPCODE)
        rc = opcode_name(fold, (unsigned)opcode, &spot.opcode);
    if (!rc && opcode != LEAF_NO_OPCODE)
        rc = opcode_name(fold, fold->leaves->opcodes[opcode].base, &spot.base);
    return rc ? rc : profile_spot(fold->profile, &spot, out, NULL);
}

size_t fold_tagged_frames(const struct stack *stack, size_t count, unsigned which,
                          uint32_t *tag)
{
    *tag = 0;
    for (size_t i = count < stack->count ? count : stack->count; i-- > 0;)
        if (stack->frames[i].tags[which]) {
            *tag = stack->frames[i].tags[which];
            return i + 1;
        }
    return 0;
}

/* The spot that the innermost frame was called from, plus 1. */
static enum err_code find_caller(struct fold *fold, const struct stack *stack, uint32_t *out)
{
    enum err_code rc = ERR_OK;
    const size_t callers = stack->count - 1;
    for (size_t i = fold_tagged_frames(stack, callers, FOLD_SPOT, out);
         i + 1 < stack->count && !rc; i++) {
        struct walk_frame *const frame = &stack->frames[i];
        spot_id spot;
        int opcode;
        if (code_at(fold->codes, frame->code)->is_shim)
            continue;
        rc = leaf_waiting_opcode(fold->leaves, frame, &opcode);
        if (!rc)
            rc = find_spot(fold, frame, opcode, *out, &spot);
        *out = frame->tags[FOLD_SPOT] = rc ? 0 : spot + 1;
    }
    return rc;
}

enum err_code fold_set_spot(struct fold *fold, struct thread *thread, node_id node)
{
    const struct stack *const stack = &thread->stack;
    spot_id spot;
    if (!fold->opcodes || stack->count == 0 || stack->certainty == STACK_TRUNCATED)
        return ERR_OK;
    const struct walk_frame *const frame = &stack->frames[stack->count - 1];
    if (code_at(fold->codes, frame->code)->is_shim)
        return ERR_OK;
    uint32_t caller;
    enum err_code rc = find_caller(fold, stack, &caller);
    if (!rc)
        rc = find_spot(fold, frame, thread->leaf.opcode, caller, &spot);
    if (rc == ERR_LIMIT)
        return ERR_OK;
    if (!rc) {
        thread->leaf.tags[0] = spot + 1;
        thread->leaf.tags[1] = node;
    }
    return rc;
}
