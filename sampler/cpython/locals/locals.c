#include "sampler/cpython/locals/locals.h"

#include <inttypes.h>
#include <string.h>

#include "sampler/base/frame_variables.h"
#include "sampler/base/hash.h"
#include "sampler/base/plain_text.h"
#include "sampler/cpython/objects/dict.h"
#include "sampler/cpython/objects/object.h"

enum {
    WORD = sizeof(uint64_t),
    MAX_SLOTS = 4 * LOCALS_MAX_VARIABLES, /* of a frame */
    DICT_AMONG = 4 * LOCALS_MAX_VARIABLES,
};

/* Flags of code objects (Include/cpython/code.h). */
enum { CODE_OPTIMIZED = 1, CODE_VARARGS = 4, CODE_VARKEYWORDS = 8 };
/* Kinds of variables from 3.11 on (Include/internal/pycore_code.h). */
enum { KIND_CELL = 0x40, KIND_FREE = 0x80 };
/* Low bits of a variable from 3.14 on (Include/internal/pycore_stackref.h). */
enum { TAG_MASK = 3, TAG_INT = 3, TAG_BITS = 2, EXECUTABLE_TAGS = 7 };

void locals_init(struct locals *locals, struct code_table *codes)
{
    *locals = (struct locals){ .codes = codes, .names = { .code = CODE_NONE } };
    object_texts_init(&locals->texts, codes->memory, codes->layout);
}

void locals_deinit(struct locals *locals)
{
    buffer_deinit(&locals->value);
}

/* Reads the items of a tuple, at most `most`.  *count_out: how many it has; 0 also: it cannot be read. */
static enum err_code read_tuple(const struct locals *locals, remote_addr tuple, size_t most,
                                uint64_t *items, uint64_t *count_out)
{
    struct memory *const memory = locals->codes->memory;
    const struct layout *const layout = locals->codes->layout;
    *count_out = 0;
    enum err_code rc =
        tuple ? memory_read_u64(memory, tuple + object_first_field(layout), count_out)
              : ERR_CORRUPT;
    const size_t wanted = *count_out < most ? (size_t)*count_out : most;
    if (!rc && wanted)
        rc = memory_read(memory, tuple + object_tuple_items(layout), items, wanted * WORD);
    if (rc)
        *count_out = 0;
    return rc;
}

/* Reads a name of Python code.  false: it cannot be read, or the compiler made it. */
static bool read_name(struct locals *locals, remote_addr object, char out[LOCALS_NAME_BYTES])
{
    struct object_bytes *const scratch = &locals->codes->scratch;
    if (object_read_str_start(locals->codes->memory, locals->codes->layout, object,
                              LOCALS_NAME_BYTES, scratch) ||
        !scratch->count || scratch->bytes[0] == '.')
        return false;
    scratch->bytes[scratch->count] = '\0';
    plain_text_copy(out, LOCALS_NAME_BYTES, (const char *)scratch->bytes);
    return true;
}

/* A code object's groups of variables, in the order of their slots. */
struct groups {
    uint64_t items[MAX_SLOTS];
    unsigned char kinds[MAX_SLOTS];
    size_t count;   /* that are here */
    uint64_t slots; /* that a frame has */
};

/* From 3.11 on one tuple has all names, and as many bytes say their kinds. */
static enum err_code read_all_names(const struct locals *locals, const struct code *code,
                                    const unsigned char *copy, struct groups *out)
{
    const struct layout *const layout = locals->codes->layout;
    uint64_t count;
    enum err_code rc = read_tuple(locals, field_u64(copy, layout->code_varnames), MAX_SLOTS,
                                  out->items, &count);
    out->slots = code_variables(code);
    if (!rc && count != out->slots)
        rc = ERR_CORRUPT;
    out->count = count < MAX_SLOTS ? (size_t)count : MAX_SLOTS;
    if (!rc && out->count)
        rc = memory_read(locals->codes->memory,
                         field_u64(copy, layout->code_kinds) + layout->bytes_data, out->kinds,
                         out->count);
    return rc;
}

/* Until 3.10 the names are in three tuples. */
static enum err_code read_grouped_names(const struct locals *locals, const unsigned char *copy,
                                        struct groups *out)
{
    const struct layout *const layout = locals->codes->layout;
    const struct {
        uint32_t field;
        unsigned char kind;
    } groups[] = { { layout->code_varnames, 0 },
                   { layout->code_cellvars, KIND_CELL },
                   { layout->code_freevars, KIND_FREE } };
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < sizeof groups / sizeof *groups && !rc; i++) {
        const size_t left = MAX_SLOTS - out->count;
        uint64_t count;
        rc = read_tuple(locals, field_u64(copy, groups[i].field), left, out->items + out->count,
                        &count);
        const size_t here = count < left ? (size_t)count : left;
        memset(out->kinds + out->count, groups[i].kind, here);
        out->count += here;
        if (!rc && count > UINT32_MAX)
            rc = ERR_CORRUPT;
        out->slots += count;
    }
    return rc;
}

/* The slot of an argument.  Until 3.10 one that is in a cell has a slot of each kind, with the same name. */
static size_t find_argument(const struct groups *groups, size_t argument)
{
    for (size_t i = argument + 1; i < groups->count; i++)
        if (groups->kinds[i] == KIND_CELL && groups->items[i] == groups->items[argument])
            return i;
    return argument;
}

static void add_name(struct locals *locals, const struct groups *groups, size_t slot,
                     bool is_argument)
{
    struct locals_names *const names = &locals->names;
    struct locals_name *const name = &names->items[names->count];
    if (names->count == LOCALS_MAX_VARIABLES) {
        names->left_out++;
        return;
    }
    if (!read_name(locals, groups->items[slot], name->text))
        return;
    name->slot = (uint32_t)slot;
    name->is_argument = is_argument;
    name->is_free = (groups->kinds[slot] & KIND_FREE) != 0;
    name->is_cell = (groups->kinds[slot] & (KIND_CELL | KIND_FREE)) != 0;
    names->count++;
}

static void add_names(struct locals *locals, const struct groups *groups, size_t arguments)
{
    bool is_used[MAX_SLOTS] = { false };
    for (size_t i = 0; i < arguments && i < groups->count; i++) {
        const size_t slot = find_argument(groups, i);
        is_used[i] = is_used[slot] = true;
        add_name(locals, groups, slot, true);
    }
    for (size_t i = 0; i < groups->count; i++)
        if (!is_used[i])
            add_name(locals, groups, i, false);
}

/* Reads the names of a code object, unless they are here already. */
static enum err_code read_names(struct locals *locals, code_id id)
{
    struct locals_names *const names = &locals->names;
    const struct layout *const layout = locals->codes->layout;
    const struct code *const code = code_at(locals->codes, id);
    unsigned char copy[LAYOUT_MAX_CODE_BYTES];
    struct groups groups = { .count = 0 };
    if (names->code == id && names->clears == locals->codes->counters.clears)
        return ERR_OK;
    *names = (struct locals_names){ .code = CODE_NONE };
    enum err_code rc = memory_read(locals->codes->memory, code->addr, copy, layout->code_bytes);
    if (!rc)
        rc = layout->has_heap_frames ? read_grouped_names(locals, copy, &groups)
                                     : read_all_names(locals, code, copy, &groups);
    if (rc)
        return rc;
    names->flags = field_u32(copy, layout->code_flags);
    names->slots = (uint32_t)groups.count;
    names->left_out = (uint32_t)(groups.slots - groups.count);
    const size_t arguments = (size_t)field_u32(copy, layout->code_argcount) +
                             field_u32(copy, layout->code_kwonlyargcount) +
                             ((names->flags & CODE_VARARGS) != 0) +
                             ((names->flags & CODE_VARKEYWORDS) != 0);
    add_names(locals, &groups, arguments);
    names->code = id;
    names->clears = locals->codes->counters.clears;
    return ERR_OK;
}

/* The dictionary that a frame's names are in; 0: none, or that of the globals. */
static remote_addr find_dictionary(struct locals *locals, const struct walk_frame *frame)
{
    const struct layout *const layout = locals->codes->layout;
    uint64_t dictionary, globals;
    if (locals->names.flags & CODE_OPTIMIZED ||
        memory_read_u64(locals->codes->memory, frame->addr + layout->frame_locals,
                        &dictionary) ||
        memory_read_u64(locals->codes->memory, frame->addr + layout->frame_globals, &globals) ||
        dictionary == globals)
        return 0;
    const struct object_type *const type = object_texts_type(&locals->texts, dictionary);
    return type && type->kind == OBJECT_DICT ? dictionary : 0;
}

/* A frame that is being written. */
struct writing {
    struct locals *locals;
    struct buffer *out;
    size_t end; /* of the frame's text */
    bool has_values;
    uint64_t left_out;
};

static bool is_full(const struct writing *writing)
{
    return writing->out->length > writing->end;
}

static void put_variable(struct writing *writing, const struct locals_name *name,
                         uint64_t reference)
{
    struct locals *const locals = writing->locals;
    struct object_texts *const texts = &locals->texts;
    const bool is_tagged = texts->layout->has_tagged_variables;
    const bool is_int = is_tagged && (reference & TAG_MASK) == TAG_INT;
    remote_addr object = reference & ~(uint64_t)TAG_MASK;
    const struct object_type *type = is_int ? NULL : object_texts_type(texts, object);
    if (!is_int && !object)
        return;
    if (!is_int && name->is_cell && type && type->kind == OBJECT_CELL) {
        /* A cell whose variable has no value yet. */
        if (memory_read_u64(texts->memory, object + object_first_field(texts->layout),
                            &object) ||
            !object)
            return;
        type = object_texts_type(texts, object);
    }
    if (is_full(writing) || object_texts_are_spent(texts)) {
        writing->left_out++;
        return;
    }
    char kind[OBJECT_TEXT_TYPE_BYTES];
    memcpy(kind,
           is_int ? "int"
           : type ? type->name
                  : "unreadable object",
           is_int ? sizeof "int"
           : type ? strlen(type->name) + 1
                  : sizeof "unreadable object");
    buffer_clear(&locals->value);
    if (is_int)
        buffer_printf(&locals->value, "%" PRId64, (int64_t)reference >> TAG_BITS);
    else if (writing->has_values)
        object_texts_put(texts, object, &locals->value);
    const char *const value = buffer_string(&locals->value);
    const struct variable variable = { .kind = name->is_argument ? VARIABLE_ARGUMENT
                                               : name->is_free   ? VARIABLE_FREE
                                                                 : VARIABLE_LOCAL,
                                       .name = name->text,
                                       .type = kind,
                                       .value = writing->has_values ? value : NULL };
    writing->out->failed |= value == NULL;
    if (value)
        frame_variables_put(writing->out, &variable);
}

static bool is_special(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && strncmp(name, "__", 2) == 0 && strcmp(name + length - 2, "__") == 0;
}

static void put_dictionary(struct writing *writing, remote_addr dictionary)
{
    struct locals *const locals = writing->locals;
    struct dict_entries entries;
    size_t shown = 0;
    uint64_t count = 0;
    if (memory_read_u64(locals->codes->memory,
                        dictionary + object_first_field(locals->codes->layout), &count) ||
        dict_read(locals->codes->memory, locals->codes->layout, dictionary, DICT_AMONG,
                  &entries))
        return;
    for (size_t i = 0; i < entries.count; i++) {
        struct locals_name name = { .slot = 0 };
        const struct object_type *const type =
            object_texts_type(&locals->texts, entries.items[i].key);
        if (!type || type->kind != OBJECT_STR ||
            !read_name(locals, entries.items[i].key, name.text) || is_special(name.text))
            continue;
        if (shown++ < LOCALS_MAX_VARIABLES)
            put_variable(writing, &name, entries.items[i].value);
        else
            writing->left_out++;
    }
    if (count > entries.count && count < UINT32_MAX)
        writing->left_out += count - entries.count;
    dict_entries_deinit(&entries);
}

/* Reads the variables of a frame, of which `slots` are wanted, and mixes them, and where the frame is, into a hash of all frames.
 * ERR_NOT_FOUND: another frame is there by now, or the frame is elsewhere. */
static enum err_code read_slots(const struct locals *locals, const struct walk_frame *frame,
                                size_t slots, uint64_t words[MAX_SLOTS], uint64_t *hash)
{
    const struct layout *const layout = locals->codes->layout;
    const struct code *const code = code_at(locals->codes, frame->code);
    uint64_t executable, at = 0;
    const struct memory_span spans[] = {
        { frame->addr + layout->frame_executable, &executable, sizeof executable },
        { frame->addr + (layout->has_heap_frames ? layout->frame_lasti : layout->frame_instr),
          &at, layout->has_heap_frames ? sizeof(uint32_t) : sizeof at },
        { frame->addr + layout->frame_variables, words, slots * WORD },
    };
    size_t arrived;
    const enum err_code rc =
        memory_readv(locals->codes->memory, spans, slots ? 3 : 2, &arrived);
    if (rc)
        return rc;
    *hash = hash_bytes(words, slots * WORD, hash_word(at, *hash));
    const bool is_here = (executable & ~(uint64_t)EXECUTABLE_TAGS) == code->addr &&
                         (layout->has_heap_frames || at == frame->instr);
    return is_here ? ERR_OK : ERR_NOT_FOUND;
}

/* *slots_out: how many of its variables have been read. */
static enum err_code put_frame(struct locals *locals, const struct walk_frame *frame,
                               bool has_values, struct buffer *out, uint32_t *slots_out,
                               uint64_t *hash)
{
    const struct code *const code = code_at(locals->codes, frame->code);
    struct writing writing = { .locals = locals,
                               .out = out,
                               .end = out->length + LOCALS_MAX_FRAME_BYTES,
                               .has_values = has_values };
    uint64_t words[MAX_SLOTS];
    const enum err_code rc = read_names(locals, frame->code);
    if (rc || read_slots(locals, frame, locals->names.slots, words, hash))
        return ERR_NOT_FOUND;
    *slots_out = locals->names.slots;
    frame_variables_begin(out, code->name, code->file);
    for (size_t i = 0; i < locals->names.count; i++)
        put_variable(&writing, &locals->names.items[i], words[locals->names.items[i].slot]);
    const remote_addr dictionary = find_dictionary(locals, frame);
    if (dictionary)
        put_dictionary(&writing, dictionary);
    frame_variables_end(out, writing.left_out + locals->names.left_out);
    return ERR_OK;
}

enum err_code locals_read(struct locals *locals, const struct thread *thread,
                          const struct locals_request *request, struct buffer *out)
{
    const struct layout *const layout = locals->codes->layout;
    const struct stack *const stack = &thread->stack;
    const size_t begin = out->length;
    uint32_t slots[LOCALS_MAX_FRAMES] = { 0 }; /* of the frames, the innermost first */
    uint64_t words[MAX_SLOTS], hash = HASH_SEED, hash_again = HASH_SEED;
    size_t count = 0;
    if (!stack->count || stack->certainty == STACK_TRUNCATED || !layout->frame_variables ||
        !layout->code_varnames || (!layout->has_heap_frames && !layout->code_kinds))
        return ERR_NOT_FOUND;
    object_texts_begin(&locals->texts, LOCALS_MAX_OBJECTS, request->end_ns);
    /* A frame whose variables cannot be read ends what is shown. */
    for (; count < stack->count && count < LOCALS_MAX_FRAMES &&
           out->length - begin < LOCALS_MAX_BYTES;
         count++) {
        const struct walk_frame *const frame = &stack->frames[stack->count - 1 - count];
        if (!code_at(locals->codes, frame->code)->is_shim &&
            put_frame(locals, frame, request->has_values, out, &slots[count], &hash))
            break;
    }
    bool is_kept = count > 0 && !memory_confirm(locals->codes->memory);
    for (size_t i = 0; i < count && is_kept && !request->is_stopped; i++)
        is_kept = !read_slots(locals, &stack->frames[stack->count - 1 - i], slots[i], words,
                              &hash_again);
    is_kept = is_kept && (request->is_stopped || hash == hash_again);
    const bool is_short = locals->texts.is_late && !request->accepts_part;
    if (out->failed)
        return ERR_NOMEM;
    if (!is_kept || is_short)
        out->length = begin;
    return !is_kept ? ERR_NOT_FOUND : is_short ? ERR_LIMIT : ERR_OK;
}
