#include "sampler/session/fold/frame_nodes.h"

#include <string.h>

#include "sampler/cpython/objects/code_place.h"
#include "sampler/session/origins.h"

/* Tags of a frame: its node and its spot, plus 1. */
enum { OF_NODE, OF_SPOT };

enum err_code frame_nodes_named_mark(struct frame_nodes *nodes, str_id name, frame_id *out,
                                     struct err *err)
{
    function_id function;
    const enum err_code rc =
        profile_function(nodes->profile, name, nodes->no_file, 0, &function, err);
    return rc ? rc : profile_frame(nodes->profile, function, 0, out, err);
}

enum err_code frame_nodes_mark(struct frame_nodes *nodes, const char *name, frame_id *out,
                               struct err *err)
{
    struct strtab *const strings = profile_strings(nodes->profile);
    str_id name_id;
    const enum err_code rc = strtab_intern(strings, name, strlen(name), &name_id, err);
    return rc ? rc : frame_nodes_named_mark(nodes, name_id, out, err);
}

enum err_code frame_nodes_mark_native(struct frame_nodes *nodes, struct err *err)
{
    nodes->native = true;
    return frame_nodes_mark(nodes, "<native>", &nodes->callback, err);
}

enum err_code frame_nodes_init(struct frame_nodes *nodes, struct profile *profile,
                               struct leaves *leaves, const struct session_options *options,
                               int pid, const char *name, struct err *err)
{
    struct strtab *const strings = profile_strings(profile);
    str_id name_id;
    *nodes = (struct frame_nodes){ .profile = profile,
                                   .leaves = leaves,
                                   .codes = leaves->codes,
                                   .pid = pid,
                                   .native = options->native != SESSION_NATIVE_OFF,
                                   .opcodes = options->opcodes };
    leaves->wants_opcodes = options->opcodes;
    enum err_code rc = strtab_intern(strings, name, strlen(name), &name_id, err);
    if (!rc)
        rc = strtab_intern(strings, "~", 1, &nodes->no_file, err);
    if (!rc)
        rc = profile_process(profile, pid, name_id, &nodes->process, err);
    if (!rc)
        rc = frame_nodes_mark(nodes, "<idle native thread>", &nodes->idle, err);
    if (!rc)
        rc = frame_nodes_mark(nodes, "<truncated>", &nodes->truncated, err);
    if (!rc && !options->no_gc)
        rc = frame_nodes_mark(nodes, "<GC>", &nodes->gc, err);
    return !rc && nodes->native ? frame_nodes_mark_native(nodes, err) : rc;
}

/* Tags hold the id plus one, so that 0 means "not yet". */
static enum err_code find_function(struct frame_nodes *nodes, struct code *code,
                                   function_id *out)
{
    if (!code->tag) {
        str_id file = code->file;
        enum err_code rc = ERR_OK;
        /* A file of the target may be called as that of marks is. */
        if (file == nodes->no_file)
            rc = strtab_intern(profile_strings(nodes->profile), "./~", 3, &file, NULL);
        if (!rc)
            rc =
                profile_function(nodes->profile, code->name, file, code->first_line, out, NULL);
        if (rc)
            return rc;
        origins_note(nodes->origins, nodes->profile, *out, nodes->origin);
        code->tag = *out + 1;
    }
    *out = code->tag - 1;
    return ERR_OK;
}

static enum err_code find_frame(struct frame_nodes *nodes, const struct walk_frame *frame,
                                frame_id *out)
{
    struct code_place *const place = code_place(nodes->codes, frame->code, frame->instr);
    function_id function;
    if (!place)
        return ERR_NOMEM;
    if (!place->tag) {
        enum err_code rc = find_function(nodes, code_at(nodes->codes, frame->code), &function);
        if (!rc)
            rc = profile_frame(nodes->profile, function, place->location.line, out, NULL);
        if (rc)
            return rc;
        place->tag = *out + 1;
    }
    *out = place->tag - 1;
    return ERR_OK;
}

enum err_code frame_nodes_add_mark(struct frame_nodes *nodes, frame_id mark, node_id *node)
{
    return profile_node(nodes->profile, *node, mark, node, NULL);
}

enum err_code frame_nodes_add(struct frame_nodes *nodes, const struct walk_frame *frame,
                              bool is_outermost, node_id *node)
{
    frame_id id;
    enum err_code rc = ERR_OK;
    if (code_at(nodes->codes, frame->code)->is_shim)
        return ERR_OK;
    /* The outermost frame is always entered from C. */
    if (nodes->native && frame->entered_from_c && !is_outermost)
        rc = frame_nodes_add_mark(nodes, nodes->callback, node);
    if (!rc)
        rc = find_frame(nodes, frame, &id);
    return rc ? rc : profile_node(nodes->profile, *node, id, node, NULL);
}

/* How many of the `count` outermost frames need no tag of this kind: those up to the innermost one that has it.  *tag:
 * that tag; 0: none has it. */
static size_t count_tagged(const struct stack *stack, size_t count, unsigned which,
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

/* The collector and the awaiters of a task come and go while frames stay the same, so frames above
 * their marks do not keep their node. */
enum err_code frame_nodes_add_stack(struct frame_nodes *nodes, struct stack *stack,
                                    size_t first, size_t gc, node_id *node)
{
    const size_t cached = *node ? 0 : gc;
    uint32_t tag;
    const size_t known = count_tagged(stack, cached, OF_NODE, &tag);
    enum err_code rc = ERR_OK;
    if (known)
        *node = tag - 1;
    for (size_t i = known ? known : first; i < stack->count && !rc; i++) {
        if (i == gc)
            rc = frame_nodes_add_mark(nodes, nodes->gc, node);
        if (!rc)
            rc = frame_nodes_add(nodes, &stack->frames[i], i == first, node);
        if (!rc && i < cached)
            stack->frames[i].tags[OF_NODE] = *node + 1;
    }
    return rc;
}

static enum err_code name_opcode(struct frame_nodes *nodes, unsigned opcode, str_id *out)
{
    const char *const name = nodes->leaves->opcodes[opcode].name;
    enum err_code rc = ERR_OK;
    if (name && !nodes->opcode_names[opcode])
        rc = strtab_intern(profile_strings(nodes->profile), name, strlen(name),
                           &nodes->opcode_names[opcode], NULL);
    *out = nodes->opcode_names[opcode];
    return rc;
}

/* `caller` is the spot of the caller, plus 1. */
static enum err_code find_spot(struct frame_nodes *nodes, const struct walk_frame *frame,
                               int opcode, uint32_t caller, spot_id *out)
{
    const struct code_place *const at = code_place(nodes->codes, frame->code, frame->instr);
    struct profile_spot spot;
    if (!at)
        return ERR_NOMEM;
    spot = (struct profile_spot){ .line = at->location.line,
                                  .end_line = at->location.end_line,
                                  .column = at->location.column,
                                  .end_column = at->location.end_column,
                                  .caller = caller };
    enum err_code rc = find_function(nodes, code_at(nodes->codes, frame->code), &spot.function);
    if (!rc && opcode != LEAF_NO_OPCODE)
        rc = name_opcode(nodes, (unsigned)opcode, &spot.opcode);
    if (!rc && opcode != LEAF_NO_OPCODE)
        rc = name_opcode(nodes, nodes->leaves->opcodes[opcode].base, &spot.base);
    return rc ? rc : profile_spot(nodes->profile, &spot, out, NULL);
}

/* The spot that the innermost frame was called from, plus 1. */
static enum err_code find_caller(struct frame_nodes *nodes, const struct stack *stack,
                                 uint32_t *out)
{
    enum err_code rc = ERR_OK;
    const size_t callers = stack->count - 1;
    for (size_t i = count_tagged(stack, callers, OF_SPOT, out); i + 1 < stack->count && !rc;
         i++) {
        struct walk_frame *const frame = &stack->frames[i];
        spot_id spot;
        int opcode;
        if (code_at(nodes->codes, frame->code)->is_shim)
            continue;
        rc = leaf_waiting_opcode(nodes->leaves, frame, &opcode);
        if (!rc)
            rc = find_spot(nodes, frame, opcode, *out, &spot);
        *out = frame->tags[OF_SPOT] = rc ? 0 : spot + 1;
    }
    return rc;
}

enum err_code frame_nodes_set_spot(struct frame_nodes *nodes, struct stack *stack,
                                   struct leaf *leaf, node_id node)
{
    uint32_t caller;
    spot_id spot;
    if (!nodes->opcodes || stack->count == 0 || stack->certainty == STACK_TRUNCATED)
        return ERR_OK;
    const struct walk_frame *const frame = &stack->frames[stack->count - 1];
    if (code_at(nodes->codes, frame->code)->is_shim)
        return ERR_OK;
    enum err_code rc = find_caller(nodes, stack, &caller);
    if (!rc)
        rc = find_spot(nodes, frame, leaf->opcode, caller, &spot);
    if (rc == ERR_LIMIT)
        return ERR_OK;
    if (!rc) {
        leaf->tags[0] = spot + 1;
        leaf->tags[1] = node;
    }
    return rc;
}
