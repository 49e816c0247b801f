#include "sampler/cpython/locks/lock_frames.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/cpython/locks/lock_objects.h"
#include "sampler/cpython/objects/code_bytecode.h"
#include "sampler/cpython/objects/code_place.h"
#include "sampler/cpython/objects/dict.h"

enum {
    WORD = sizeof(uint64_t),
    MAX_BLOCKS = LOCKS_MAX_BLOCKS, /* CO_MAXBLOCKS */
};

/* A frame of 3.8 to 3.10 (Include/cpython/frameobject.h): its value stack, how many blocks are active, and its first variable.
 * Blocks come before the variables. */
struct old_frame {
    uint32_t values, block_count, blocks, variables;
};
enum { OLD_BLOCK_BYTES = 12, OLD_BLOCK_HANDLER = 4, OLD_BLOCK_LEVEL = 8 };
static const struct old_frame FRAME_38 = { 64, 112, 120, 360 },
                              FRAME_310 = { 64, 104, 112, 352 };

const struct lock_text locks_no_text = { .column = -1, .end_column = -1 };

enum err_code locks_add_use(struct locks *locks, const struct walk_frame *frame,
                            const struct lock_text *text, const char *name, struct lock_use use,
                            struct lock_use *uses, size_t *count)
{
    const struct code *const code = code_at(locks->codes, frame->code);
    const struct code_place *const place = code_place(locks->codes, frame->code, frame->instr);
    if (*count == LOCK_USES_MAX)
        return ERR_OK;
    if (!place)
        return ERR_NOMEM;
    const struct location *const at = &place->location;
    use.function = code->name;
    use.file = code->file;
    use.line = at->line;
    use.text =
        text ? *text : (struct lock_text){ at->line, at->end_line, at->column, at->end_column };
    const enum err_code rc = strtab_intern(locks->strings, name, strlen(name), &use.type, NULL);
    if (!rc)
        uses[(*count)++] = use;
    return rc == ERR_LIMIT ? ERR_OK : rc;
}

/* Steps of a jump that one unit is: until 3.9 jumps count bytes. */
static uint32_t jump_steps(const struct layout *layout)
{
    return LAYOUT_MINOR(layout->version) >= 10 ? 1 : CODE_UNIT_BYTES;
}

static const struct old_frame *old_frame_of(const struct layout *layout)
{
    return LAYOUT_MINOR(layout->version) >= 10 ? &FRAME_310 : &FRAME_38;
}

remote_addr locks_variables(const struct locks *locks, const struct walk_frame *frame)
{
    const struct layout *const layout = locks->codes->layout;
    return layout->has_heap_frames ? frame->addr + old_frame_of(layout)->variables
                                   : frame->addr + layout->frame_bytes - WORD;
}

/* The values at which the exit functions of the active `with` blocks lie, the innermost first. */
static size_t find_old_blocks(const struct locks *locks, const struct walk_frame *frame,
                              struct locks_block out[MAX_BLOCKS])
{
    const struct old_frame *const at = old_frame_of(locks->codes->layout);
    unsigned char blocks[MAX_BLOCKS * OLD_BLOCK_BYTES];
    uint64_t values, counted;
    if (!lock_object_word(locks, frame->addr + at->values, &values) ||
        !lock_object_word(locks, frame->addr + at->block_count, &counted) ||
        memory_read(locks->codes->memory, frame->addr + at->blocks, blocks, sizeof blocks))
        return 0;
    const uint32_t count = (uint32_t)counted <= MAX_BLOCKS ? (uint32_t)counted : 0;
    const uint32_t unit_steps = jump_steps(locks->codes->layout);
    size_t found = 0;
    for (uint32_t i = count; i-- > 0;) {
        const uint32_t level = field_u32(blocks, i * OLD_BLOCK_BYTES + OLD_BLOCK_LEVEL);
        const uint32_t handler = field_u32(blocks, i * OLD_BLOCK_BYTES + OLD_BLOCK_HANDLER);
        /* A `try` in a `with` begins as high as that. */
        const bool is_try =
            i > 0 && field_u32(blocks, (i - 1) * OLD_BLOCK_BYTES + OLD_BLOCK_LEVEL) == level;
        if (level > 0 && !is_try)
            out[found++] = (struct locks_block){ values + (remote_addr)(level - 1) * WORD,
                                                 handler / unit_steps };
    }
    return found;
}

bool locks_old_values(const struct locks *locks, const struct walk_frame *frame,
                      remote_addr *out)
{
    struct locks_block blocks[MAX_BLOCKS];
    /* The value stack is as high as the innermost block, and what was put on it since. */
    if (!find_old_blocks(locks, frame, blocks))
        return lock_object_word(locks, frame->addr + old_frame_of(locks->codes->layout)->values,
                                out);
    *out = blocks[0].value + WORD;
    return true;
}

remote_addr locks_value(const struct locks *locks, const struct walk_frame *frame,
                        uint32_t depth)
{
    const struct code *const code = code_at(locks->codes, frame->code);
    return locks_variables(locks, frame) + ((remote_addr)code_variables(code) + depth) * WORD;
}

uint32_t locks_unit(const struct locks *locks, const struct walk_frame *frame)
{
    const struct code *const code = code_at(locks->codes, frame->code);
    return (uint32_t)((frame->instr - code->instructions) / CODE_UNIT_BYTES);
}

bool locks_read_code(struct locks *locks, const struct walk_frame *frame, struct bytecode *out)
{
    const struct code *const code = code_at(locks->codes, frame->code);
    if (!locks->budget || !locks->codes->opcodes || !code_holds(code, frame->instr) ||
        code_bytecode_read(locks->codes->memory, locks->codes->layout, code,
                           locks->codes->opcodes, true, &locks->room, out))
        return false;
    const size_t bytes = (size_t)out->unit_count * BYTECODE_UNIT_BYTES + out->handler_bytes;
    locks->budget -= bytes < locks->budget ? bytes : locks->budget;
    return true;
}

/* NULL: out of memory. */
static const struct locks_place *find_place(struct locks *locks, const struct walk_frame *frame)
{
    const uint32_t unit = locks_unit(locks, frame);
    if (!locks->places)
        locks->places = calloc(LOCKS_PLACES, sizeof *locks->places);
    if (!locks->places)
        return NULL;
    struct locks_place *const place =
        &locks->places[hash_mix(frame->code, unit) % LOCKS_PLACES];
    struct bytecode bytecode;
    if (place->is_known && place->code == frame->code && place->unit == unit &&
        locks->clears == locks->codes->counters.clears)
        return place;
    if (locks->clears != locks->codes->counters.clears)
        memset(locks->places, 0, LOCKS_PLACES * sizeof *locks->places);
    locks->clears = locks->codes->counters.clears;
    *place = (struct locks_place){ .code = frame->code, .unit = unit };
    place->is_known = locks_read_code(locks, frame, &bytecode);
    if (place->is_known)
        place->count = bytecode_with_blocks(&bytecode, unit, place->blocks, MAX_BLOCKS);
    return place;
}

size_t locks_find_blocks(struct locks *locks, const struct walk_frame *frame,
                         struct locks_block out[MAX_BLOCKS])
{
    if (locks->codes->layout->has_heap_frames)
        return find_old_blocks(locks, frame, out);
    const struct locks_place *const place = find_place(locks, frame);
    const size_t count = place ? place->count : 0;
    for (size_t i = 0; i < count; i++)
        out[i] = (struct locks_block){
            locks_value(locks, frame, place->blocks[i].depth - (place->blocks[i].depth > 0)),
            place->blocks[i].handler
        };
    return count;
}

/* The object whose exit function a block calls.  From 3.14 on the value is the object itself, or NULL, and the function is below it.
 * 0: none. */
static remote_addr find_object(const struct locks *locks, remote_addr at)
{
    uint64_t value;
    if (!lock_object_word(locks, at, &value))
        return 0;
    if (!(value & ~LOCK_TAG_MASK) && !lock_object_word(locks, at - WORD, &value))
        return 0;
    return lock_object_bound(locks, value);
}

/* Does the block end what is in it after a time?  It does in asyncio.timeout, and in the package that it came from. */
static bool is_timeout(const struct locks *locks, remote_addr object)
{
    static const char *const attributes[] = { "_when", "_deadline" };
    char type[LOCK_TYPE_BYTES];
    lock_object_type(locks, object, type);
    for (size_t i = 0; i < 2 && strcmp(type, "Timeout") == 0; i++) {
        char end[LOCK_TYPE_BYTES];
        remote_addr at;
        if (object_attribute(locks->codes->memory, locks->codes->layout, object, attributes[i],
                             &at))
            continue;
        lock_object_type(locks, at, end);
        return strcmp(end, "NoneType") != 0;
    }
    return false;
}

/* Finds the line of a `with` of 3.8 to 3.10: of the instruction that leads to the handler. */
static int32_t find_old_line(struct locks *locks, const struct walk_frame *frame,
                             uint32_t handler)
{
    enum { SETUP_WITH = 143, EXTENDED_ARG = 144, SETUP_ASYNC_WITH = 154, BYTE_BITS = 8 };
    const struct code *const code = code_at(locks->codes, frame->code);
    const size_t bytes = (size_t)code->units * CODE_UNIT_BYTES;
    struct object_bytes *const units = &locks->room.units;
    uint32_t argument = 0;
    if (handler > code->units || bytes > locks->budget || object_bytes_reserve(units, bytes) ||
        memory_read(locks->codes->memory, code->instructions, units->bytes, bytes))
        return 0;
    locks->budget -= bytes;
    for (uint32_t unit = 0; unit < handler; unit++) {
        const unsigned char *const at = units->bytes + (size_t)unit * CODE_UNIT_BYTES;
        argument = argument << BYTE_BITS | at[1];
        if (*at == EXTENDED_ARG)
            continue;
        if ((*at == SETUP_WITH || *at == SETUP_ASYNC_WITH) &&
            unit + 1 + argument / jump_steps(locks->codes->layout) == handler) {
            const struct code_place *const place =
                code_place(locks->codes, frame->code,
                           code->instructions + (remote_addr)unit * CODE_UNIT_BYTES);
            return place ? place->location.line : 0;
        }
        argument = 0;
    }
    return 0;
}

/* Finds the text of the `with` whose handler this is.  From 3.11 on the handler's instructions are at it. */
static struct lock_text find_text(struct locks *locks, const struct walk_frame *frame,
                                  uint32_t handler)
{
    const struct code *const code = code_at(locks->codes, frame->code);
    struct lock_text text = { .column = -1, .end_column = -1 };
    if (locks->codes->layout->has_heap_frames) {
        text.line = text.end_line = find_old_line(locks, frame, handler);
        return text;
    }
    const struct code_place *const place = code_place(
        locks->codes, frame->code, code->instructions + (remote_addr)handler * CODE_UNIT_BYTES);
    if (place)
        text = (struct lock_text){ place->location.line, place->location.end_line,
                                   place->location.column, place->location.end_column };
    return text;
}

size_t locks_importer(const struct locks *locks, const struct walk_frame *frames, size_t at)
{
    static const char start[] = "<frozen importlib.";
    while (
        at > 0 &&
        strncmp(strtab_get(locks->strings, code_at(locks->codes, frames[at].code)->file).text,
                start, sizeof start - 1) == 0)
        at--;
    return at;
}

enum err_code locks_add_held(struct locks *locks, const struct walk_frame *frames, size_t at,
                             uint64_t let_go, struct lock_use *uses, size_t *count,
                             bool *is_timed)
{
    const struct walk_frame *const frame = &frames[at];
    struct locks_block blocks[MAX_BLOCKS];
    const size_t found = locks_find_blocks(locks, frame, blocks);
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < found && !rc; i++) {
        const remote_addr object = find_object(locks, blocks[i].value);
        const struct lock_kind *const kind = object ? lock_object_kind(locks, object) : NULL;
        struct lock_use use = { 0 };
        if (!kind) {
            *is_timed |= object && is_timeout(locks, object);
            continue;
        }
        char name[LOCK_NAME_BYTES];
        const struct lock_text text =
            kind->imports ? locks_no_text
                          : find_text(locks, frame, (uint32_t)blocks[i].handler);
        lock_object_describe(locks, object, kind, &use);
        lock_object_name(locks, kind, &use, name);
        if (use.lock != let_go && !lock_object_is_left(locks, &use))
            rc = locks_add_use(
                locks, kind->imports ? &frames[locks_importer(locks, frames, at)] : frame,
                &text, name, use, uses, count);
    }
    return rc;
}

enum err_code locks_add_import(struct locks *locks, const struct thread *thread, size_t at,
                               struct lock_use *uses, size_t *count)
{
    enum { MAX_VARIABLES = 16 };
    const struct walk_frame *const frames = thread->stack.frames;
    const size_t importer = locks_importer(locks, frames, at);
    const struct code *const code = code_at(locks->codes, frames[at].code);
    const uint32_t variables =
        code_variables(code) < MAX_VARIABLES ? code_variables(code) : MAX_VARIABLES;
    uint64_t values[MAX_VARIABLES];
    if (importer == at ||
        strcmp(strtab_get(locks->strings, code->name).text, "_find_and_load") != 0 ||
        memory_read(locks->codes->memory, locks_variables(locks, &frames[at]), values,
                    variables * WORD))
        return ERR_OK;
    for (uint32_t i = 0; i < variables; i++) {
        const remote_addr object = values[i] & ~LOCK_TAG_MASK;
        const struct lock_kind *const kind = object ? lock_object_kind(locks, object) : NULL;
        struct lock_use use = { 0 };
        char name[LOCK_NAME_BYTES];
        if (!kind || kind->imports != IMPORTS_MODULE)
            continue;
        lock_object_describe(locks, object, kind, &use);
        lock_object_name(locks, kind, &use, name);
        return use.owner_tid == thread->host_tid
                   ? locks_add_use(locks, &frames[importer], &locks_no_text, name, use, uses,
                                   count)
                   : ERR_OK;
    }
    return ERR_OK;
}

uint64_t locks_find_let_go(const struct locks *locks, const struct lock_use *wait)
{
    const struct lock_kind *const kind = lock_object_kind(locks, wait->object);
    struct lock_use whole = { 0 };
    if (!kind || !kind->inner || wait->lock != wait->object)
        return 0;
    lock_object_describe(locks, wait->object, kind, &whole);
    return whole.lock;
}
