#include "tests/unit/cpython/made/fake_python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/objects/opcodes.h"
#include "tests/unit/cpython/made/offsets.h"

enum {
    WORD = sizeof(uint64_t),
    GUARD_BYTES = 4096,
    C_STACK_BYTES = 1 << 16,
    RUNTIME_BYTES = 4096, /* more than we read of it */
    INTERP_BYTES = 16384, /* the same */
    CHUNK_HEADER_BYTES = 24,
    OWNED_BY_THREAD = 0,
    OWNED_BY_GENERATOR = 1,
    OWNED_BY_C_STACK = 3,
};

static const remote_addr FIRST_ADDR = 0x7f0000000000;

static const struct layout *layout_of(const struct fake_python *python)
{
    return &python->runtime.layout;
}

static _Noreturn void broken(const char *what)
{
    fprintf(stderr, "fake_python: %s\n", what);
    abort();
}

static void put_word(struct fake_python *python, remote_addr addr, uint64_t value)
{
    fake_memory_put_u64(&python->memory, addr, value);
}

static uint64_t word_at(const struct fake_python *python, remote_addr addr)
{
    return fake_memory_u64(&python->memory, addr);
}

remote_addr fake_alloc(struct fake_python *python, size_t bytes)
{
    const remote_addr addr = python->next;
    fake_memory_map(&python->memory, addr, bytes);
    python->next += (bytes + 15) / 16 * 16 + GUARD_BYTES;
    return addr;
}

void fake_python_init(struct fake_python *python, unsigned minor)
{
    struct offsets table;
    *python = (struct fake_python){ .minor = minor, .next = FIRST_ADDR };
    fake_memory_init(&python->memory);
    enum err_code rc;
    struct layout *const layout = &python->runtime.layout;
    if (minor < 13) {
        rc = layout_of_version(0x03000000 | minor << 16 | 0x1f0, layout, NULL);
    } else {
        offsets_fill(&table, minor);
        rc = layout_of_debug_offsets(&table, sizeof table, layout, NULL);
    }
    if (rc)
        broken("no such layout");
    python->runtime.addr = fake_alloc(python, RUNTIME_BYTES);
    if (minor >= 13)
        fake_memory_put(&python->memory, python->runtime.addr, &table, sizeof table);
    python->code_type = fake_type(python, "code");
}

void fake_python_deinit(struct fake_python *python)
{
    fake_memory_deinit(&python->memory);
}

uint32_t fake_str_state(unsigned kind, bool compact, bool ascii)
{
    return kind << 2 | (uint32_t)compact << 5 | (uint32_t)ascii << 6;
}

static remote_addr make_str(struct fake_python *python, uint32_t state, size_t head_bytes,
                            const void *characters, size_t count, size_t width)
{
    const struct layout *const layout = layout_of(python);
    const remote_addr addr = fake_alloc(python, head_bytes + (count + 1) * width);
    put_word(python, addr + layout->unicode_length, count);
    fake_memory_put_u32(&python->memory, addr + layout->unicode_state, state);
    fake_memory_put(&python->memory, addr + head_bytes, characters, count * width);
    return addr;
}

remote_addr fake_str(struct fake_python *python, const char *ascii)
{
    return make_str(python, fake_str_state(FAKE_STR_1BYTE, true, true),
                    layout_of(python)->unicode_ascii_bytes, ascii, strlen(ascii), 1);
}

remote_addr fake_wide_str(struct fake_python *python, enum fake_kind kind,
                          const void *characters, size_t count)
{
    return make_str(python, fake_str_state(kind, true, false),
                    layout_of(python)->unicode_compact_bytes, characters, count, kind);
}

remote_addr fake_bytes(struct fake_python *python, const void *data, size_t count)
{
    const struct layout *const layout = layout_of(python);
    const remote_addr addr = fake_alloc(python, layout->bytes_data + count + 1);
    put_word(python, addr + layout->bytes_length, count);
    fake_memory_put(&python->memory, addr + layout->bytes_data, data, count);
    return addr;
}

remote_addr fake_type(struct fake_python *python, const char *name)
{
    const remote_addr type = fake_alloc(python, 1024),
                      text = fake_alloc(python, strlen(name) + 1);
    fake_memory_put(&python->memory, text, name, strlen(name) + 1);
    put_word(python, type + layout_of(python)->type_name, text);
    return type;
}

/* Unit n is on line first_line + n. */
static remote_addr line_per_unit(struct fake_python *python, uint32_t units)
{
    unsigned char *const table = malloc(2 * (size_t)units);
    if (!table)
        broken("no memory");
    for (uint32_t i = 0; i < units; i++) {
        table[2 * i] = 0x80 | 13 << 3;
        table[2 * i + 1] = i ? 2 : 0;
    }
    const remote_addr addr = fake_bytes(python, table, 2 * (size_t)units);
    free(table);
    return addr;
}

enum { DEFAULT_UNITS = 16, DEFAULT_WORDS = 4 };

static void put_instructions(struct fake_python *python, remote_addr code, uint32_t units)
{
    static const struct {
        uint32_t unit;
        const char *name;
    } places[] = {
        { FAKE_CALL_AT, "CALL" },
        { FAKE_FOR_ITER_AT, "FOR_ITER" },
        { FAKE_YIELD_AT, "YIELD_VALUE" },
        { FAKE_RETURN_AT, "RETURN_VALUE" },
    };
    const struct opcode *const opcodes = opcodes_of(3u << 24 | python->minor << 16);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const int number = opcodes_find(opcodes, places[i].name);
        if (number < 0)
            broken("no such instruction");
        if (places[i].unit < units)
            fake_memory_put_u8(&python->memory, fake_instr(python, code, places[i].unit),
                               (uint8_t)number);
    }
}

static void fill_code(struct fake_python *python, remote_addr addr,
                      const struct fake_code *code)
{
    const struct layout *const layout = layout_of(python);
    struct fake_memory *const memory = &python->memory;
    const uint32_t units = code->units ? code->units : DEFAULT_UNITS;
    const uint32_t words = code->words ? code->words : DEFAULT_WORDS;
    put_word(python, addr + layout->object_type, python->code_type);
    put_word(python, addr + layout->bytes_length, units);
    put_word(python, addr + layout->code_qualname,
             fake_str(python, code->name ? code->name : "f"));
    put_word(python, addr + layout->code_filename,
             fake_str(python, code->file ? code->file : "f.py"));
    put_word(python, addr + layout->code_linetable,
             code->table ? fake_bytes(python, code->table, code->table_bytes)
                         : line_per_unit(python, units));
    fake_memory_put_u32(memory, addr + layout->code_firstlineno,
                        (uint32_t)(code->first_line ? code->first_line : 1));
    fake_memory_put_u32(memory, addr + layout->code_firsttraceable, FAKE_FIRST_TRACEABLE);
    if (layout->code_framesize) {
        fake_memory_put_u32(memory, addr + layout->code_framesize,
                            (layout->frame_bytes - WORD) / WORD + words);
        /* co_version follows; 3.11 has none. */
        fake_memory_put_u32(memory, addr + layout->code_framesize + 12, ++python->code_version);
    } else {
        fake_memory_put_u32(memory, addr + layout->code_nlocalsplus, words - 2);
        fake_memory_put_u32(memory, addr + layout->code_stacksize, 2);
    }
    put_instructions(python, addr, units);
}

remote_addr fake_code(struct fake_python *python, const struct fake_code *code)
{
    /* Another of the default size may take its place. */
    const uint32_t units = code->units > DEFAULT_UNITS ? code->units : DEFAULT_UNITS;
    const remote_addr addr =
        fake_alloc(python, layout_of(python)->code_bytes + (size_t)units * 2);
    fill_code(python, addr, code);
    return addr;
}

remote_addr fake_function(struct fake_python *python, const char *name)
{
    return fake_code(python, &(struct fake_code){ .name = name });
}

void fake_code_replace(struct fake_python *python, remote_addr addr,
                       const struct fake_code *code)
{
    fill_code(python, addr, code);
}

uint32_t fake_code_words(const struct fake_python *python, remote_addr code)
{
    const struct layout *const layout = layout_of(python);
    uint32_t a = 0, b = 0;
    if (layout->code_framesize) {
        memcpy(&a, fake_memory_at(&python->memory, code + layout->code_framesize, 4), 4);
        return a;
    }
    memcpy(&a, fake_memory_at(&python->memory, code + layout->code_nlocalsplus, 4), 4);
    memcpy(&b, fake_memory_at(&python->memory, code + layout->code_stacksize, 4), 4);
    return (layout->frame_bytes - 1) / WORD + a + b;
}

remote_addr fake_instr(const struct fake_python *python, remote_addr code, uint32_t unit)
{
    return code + layout_of(python)->code_instructions + (uint64_t)unit * 2;
}

remote_addr fake_interp(struct fake_python *python, uint64_t id)
{
    const struct layout *const layout = layout_of(python);
    const remote_addr addr = fake_alloc(python, INTERP_BYTES);
    put_word(python, addr + layout->interp_id, id);
    put_word(python, addr + layout->interp_next, python->newest_interp);
    put_word(python, python->runtime.addr + layout->runtime_interpreters_head, addr);
    python->newest_interp = addr;
    return addr;
}

static void put_entry_frame(struct fake_python *python, remote_addr frame, remote_addr previous)
{
    const struct layout *const layout = layout_of(python);
    put_word(python, frame + layout->frame_previous, previous);
    fake_memory_put_u8(&python->memory, frame + layout->frame_owner, OWNED_BY_C_STACK);
}

/* 3.15 keeps a frame below all others. */
static remote_addr base_frame(const struct fake_thread *thread)
{
    const struct layout *const layout = layout_of(thread->python);
    return layout->tstate_base_frame
               ? word_at(thread->python, thread->addr + layout->tstate_base_frame)
               : 0;
}

static remote_addr current_slot(const struct fake_thread *thread)
{
    const struct layout *const layout = layout_of(thread->python);
    if (layout->tstate_current_frame)
        return thread->addr + layout->tstate_current_frame;
    return word_at(thread->python, thread->addr + layout->tstate_cframe) +
           layout->cframe_current_frame;
}

remote_addr fake_current(const struct fake_thread *thread)
{
    return word_at(thread->python, current_slot(thread));
}

void fake_set_current(struct fake_thread *thread, remote_addr frame)
{
    put_word(thread->python, current_slot(thread), frame);
}

static remote_addr c_stack_alloc(struct fake_thread *thread, size_t bytes)
{
    thread->c_stack -= (bytes + 15) / 16 * 16;
    if (thread->c_stack < thread->c_stack_end)
        broken("the C stack is full");
    memset(fake_memory_at(&thread->python->memory, thread->c_stack, bytes), 0, bytes);
    return thread->c_stack;
}

/* A level of the evaluation loop: 3.11 and 3.12 keep the current frame there. */
static void push_cframe(struct fake_thread *thread)
{
    struct fake_python *const python = thread->python;
    const struct layout *const layout = layout_of(python);
    if (!layout->tstate_cframe)
        return;
    const remote_addr slot = thread->addr + layout->tstate_cframe;
    const remote_addr before = word_at(python, slot);
    const remote_addr cframe = c_stack_alloc(thread, layout->cframe_bytes);
    if (before)
        put_word(python, cframe + layout->cframe_current_frame,
                 word_at(python, before + layout->cframe_current_frame));
    put_word(python, cframe + layout->cframe_previous, before);
    put_word(python, slot, cframe);
}

void fake_thread_init(struct fake_thread *thread, struct fake_python *python,
                      remote_addr interp, uint64_t ident, int32_t tid)
{
    const struct layout *const layout = layout_of(python);
    memset(thread, 0, sizeof *thread);
    thread->python = python;
    thread->interp = interp;
    thread->addr = fake_alloc(python, layout->tstate_bytes);
    thread->c_stack_end = fake_alloc(python, C_STACK_BYTES);
    thread->c_stack = thread->c_stack_end + C_STACK_BYTES;
    put_word(python, thread->addr + layout->tstate_next,
             word_at(python, interp + layout->interp_threads_head));
    put_word(python, thread->addr + layout->tstate_interp, interp);
    put_word(python, thread->addr + layout->tstate_thread_id, ident);
    put_word(python, thread->addr + layout->tstate_native_thread_id, (uint64_t)tid);
    put_word(python, interp + layout->interp_threads_head, thread->addr);
    if (layout->interp_threads_main && !word_at(python, interp + layout->interp_threads_main))
        put_word(python, interp + layout->interp_threads_main, thread->addr);
    push_cframe(thread);
    if (layout->tstate_base_frame) {
        const remote_addr base = fake_alloc(python, layout->frame_bytes);
        put_entry_frame(python, base, 0);
        put_word(python, thread->addr + layout->tstate_base_frame, base);
        fake_set_current(thread, base);
    }
}

void fake_thread_end(struct fake_thread *thread)
{
    struct fake_python *const python = thread->python;
    const struct layout *const layout = layout_of(python);
    remote_addr slot = thread->interp + layout->interp_threads_head;
    while (word_at(python, slot) != thread->addr)
        slot = word_at(python, slot) + layout->tstate_next;
    put_word(python, slot, word_at(python, thread->addr + layout->tstate_next));
    fake_memory_unmap(&python->memory, thread->addr);
}

static remote_addr chunk_slot(const struct fake_thread *thread)
{
    return thread->addr + layout_of(thread->python)->tstate_datastack_chunk;
}

static remote_addr top_slot(const struct fake_thread *thread)
{
    return thread->addr + layout_of(thread->python)->tstate_datastack_top;
}

static void push_chunk(struct fake_thread *thread, uint64_t bytes)
{
    struct fake_python *const python = thread->python;
    const remote_addr before = word_at(python, chunk_slot(thread));
    uint64_t size = FAKE_CHUNK_BYTES;
    while (size < bytes + CHUNK_HEADER_BYTES + WORD)
        size *= 2;
    if (before)
        put_word(python, before + 16,
                 (word_at(python, top_slot(thread)) - before - CHUNK_HEADER_BYTES) / WORD);
    const remote_addr chunk = fake_alloc(python, size);
    put_word(python, chunk, before);
    put_word(python, chunk + 8, size);
    put_word(python, chunk_slot(thread), chunk);
    put_word(python, top_slot(thread), chunk + CHUNK_HEADER_BYTES + (before ? 0 : WORD));
}

static remote_addr chunk_room(struct fake_thread *thread, remote_addr code)
{
    struct fake_python *const python = thread->python;
    const uint64_t bytes = (uint64_t)fake_code_words(python, code) * WORD;
    const remote_addr chunk = word_at(python, chunk_slot(thread));
    const remote_addr top = word_at(python, top_slot(thread));
    if (!chunk || top + bytes > chunk + word_at(python, chunk + 8))
        push_chunk(thread, bytes);
    const remote_addr frame = word_at(python, top_slot(thread));
    put_word(python, top_slot(thread), frame + bytes);
    return frame;
}

static bool is_from_c(enum fake_call how)
{
    return how == FAKE_CALL_FROM_C || how == FAKE_RESUME_FROM_C;
}

static bool is_resumed(enum fake_call how)
{
    return how == FAKE_RESUME || how == FAKE_RESUME_FROM_C;
}

remote_addr fake_push_room(struct fake_thread *thread, remote_addr code, enum fake_call how)
{
    struct fake_python *const python = thread->python;
    const struct layout *const layout = layout_of(python);
    if (thread->depth == FAKE_MAX_DEPTH)
        broken("the stack is full");
    struct fake_record *const record = &thread->records[thread->depth++];
    *record = (struct fake_record){ .how = how, .c_stack = thread->c_stack };
    if (layout->tstate_cframe)
        record->cframe = word_at(python, thread->addr + layout->tstate_cframe);
    record->caller = fake_current(thread);
    record->frame = is_resumed(how)
                        ? fake_alloc(python, (size_t)fake_code_words(python, code) * WORD +
                                                 layout->frame_bytes)
                        : chunk_room(thread, code);
    return record->frame;
}

static void set_saved_stack(struct fake_python *python, remote_addr frame, bool saved)
{
    const struct layout *const layout = layout_of(python);
    if (python->minor >= 14)
        put_word(python, frame + layout->frame_stack, saved ? frame + layout->frame_bytes : 0);
    else
        fake_memory_put_u32(&python->memory, frame + layout->frame_stack,
                            saved ? 3 : UINT32_MAX);
}

void fake_push_fill(struct fake_thread *thread, remote_addr frame, remote_addr code)
{
    struct fake_python *const python = thread->python;
    const struct layout *const layout = layout_of(python);
    const struct fake_record *const record = &thread->records[thread->depth - 1];
    put_word(python, frame + layout->frame_executable, code);
    put_word(python, frame + layout->frame_previous, record->caller);
    put_word(python, frame + layout->frame_instr,
             fake_instr(python, code, 0) - (python->minor < 13 ? 2 : 0));
    set_saved_stack(python, frame, false);
    fake_memory_put_u8(&python->memory, frame + layout->frame_owner,
                       is_resumed(record->how) ? OWNED_BY_GENERATOR : OWNED_BY_THREAD);
    if (layout->frame_is_entry)
        fake_memory_put_u8(&python->memory, frame + layout->frame_is_entry,
                           is_from_c(record->how));
}

/* Moves a frame to an instruction, if its code is that long. */
static void stand_at(struct fake_python *python, remote_addr frame, uint32_t unit)
{
    const struct layout *const layout = layout_of(python);
    const remote_addr code = word_at(python, frame + layout->frame_executable) & ~7ull;
    if (code && unit < word_at(python, code + layout->bytes_length))
        put_word(python, frame + layout->frame_instr, fake_instr(python, code, unit));
}

/* A frame that calls has gone on past its first instruction; generators are resumed by an
 * instruction made for it. */
static void stand_at_call(struct fake_python *python, remote_addr frame, enum fake_call how)
{
    const struct layout *const layout = layout_of(python);
    const remote_addr code = word_at(python, frame + layout->frame_executable) & ~7ull;
    if (how == FAKE_RESUME)
        stand_at(python, frame, FAKE_FOR_ITER_AT);
    else if (word_at(python, frame + layout->frame_instr) <=
             fake_instr(python, code, FAKE_FIRST_TRACEABLE))
        stand_at(python, frame, FAKE_CALL_AT);
}

void fake_push_enter(struct fake_thread *thread, remote_addr frame)
{
    struct fake_python *const python = thread->python;
    const struct layout *const layout = layout_of(python);
    const struct fake_record *const record = &thread->records[thread->depth - 1];
    const bool is_called = record->caller && record->caller != base_frame(thread);
    if (is_called) {
        stand_at_call(python, record->caller, record->how);
        /* A C function is called with the value stack saved from 3.14 on. */
        if (!is_from_c(record->how) || python->minor >= 14)
            set_saved_stack(python, record->caller, true);
    }
    if (is_from_c(record->how)) {
        if (python->minor >= 12) {
            const remote_addr entry = c_stack_alloc(thread, layout->frame_bytes);
            put_entry_frame(python, entry, record->caller);
            put_word(python, frame + layout->frame_previous, entry);
        }
        push_cframe(thread);
    }
    fake_set_current(thread, frame);
}

void fake_push_begin(struct fake_thread *thread, remote_addr frame, remote_addr code)
{
    put_word(thread->python, frame + layout_of(thread->python)->frame_instr,
             fake_instr(thread->python, code, FAKE_FIRST_TRACEABLE));
}

remote_addr fake_push(struct fake_thread *thread, remote_addr code, enum fake_call how)
{
    const remote_addr frame = fake_push_room(thread, code, how);
    fake_push_fill(thread, frame, code);
    fake_push_enter(thread, frame);
    fake_push_begin(thread, frame, code);
    return frame;
}

remote_addr fake_pop_leave(struct fake_thread *thread)
{
    struct fake_python *const python = thread->python;
    const struct layout *const layout = layout_of(python);
    const struct fake_record *const record = &thread->records[thread->depth - 1];
    stand_at(python, record->frame, is_resumed(record->how) ? FAKE_YIELD_AT : FAKE_RETURN_AT);
    set_saved_stack(python, record->frame, true);
    if (layout->tstate_cframe)
        put_word(python, thread->addr + layout->tstate_cframe, record->cframe);
    thread->c_stack = record->c_stack;
    fake_set_current(thread, record->caller);
    if ((!is_from_c(record->how) || python->minor >= 14) && record->caller &&
        record->caller != base_frame(thread))
        set_saved_stack(python, record->caller, false);
    return record->frame;
}

static void pop_room(struct fake_thread *thread, remote_addr frame)
{
    struct fake_python *const python = thread->python;
    const remote_addr chunk = word_at(python, chunk_slot(thread));
    const remote_addr before = word_at(python, chunk);
    if (frame != chunk + CHUNK_HEADER_BYTES) {
        put_word(python, top_slot(thread), frame);
        return;
    }
    put_word(python, top_slot(thread),
             before + CHUNK_HEADER_BYTES + word_at(python, before + 16) * WORD);
    put_word(python, chunk_slot(thread), before);
    fake_memory_unmap(&python->memory, chunk);
}

void fake_pop_clear(struct fake_thread *thread, remote_addr frame)
{
    struct fake_python *const python = thread->python;
    const struct layout *const layout = layout_of(python);
    const enum fake_call how = thread->records[thread->depth - 1].how;
    thread->depth--;
    if (is_resumed(how)) {
        /* A generator that yields keeps its frame and loses its caller. */
        put_word(python, frame + layout->frame_previous, 0);
        return;
    }
    if (python->minor >= 14)
        put_word(python, frame + layout->frame_executable, 0);
    pop_room(thread, frame);
}

void fake_pop(struct fake_thread *thread)
{
    fake_pop_clear(thread, fake_pop_leave(thread));
}

void fake_go_to(struct fake_thread *thread, remote_addr frame, uint32_t unit)
{
    struct fake_python *const python = thread->python;
    const struct layout *const layout = layout_of(python);
    const remote_addr code = word_at(python, frame + layout->frame_executable);
    put_word(python, frame + layout->frame_instr, fake_instr(python, code, unit));
}
