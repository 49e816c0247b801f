#include <string.h>

#include "sampler/cpython/layout/layout.h"

/*
 * _Py_DebugOffsets is an array of 64-bit numbers whose order differs by minor version.  Each order
 * below names, for each number after the cookie, version and free-threaded flag, the field of
 * struct layout that it fills; SKIP is a number we do not use.
 * Source: Include/internal/pycore_debug_offsets.h of 3.14 to 3.16, pycore_runtime.h of 3.13.
 */
enum { FRAME_HISTORY_BEFORE = 3, SKIP = UINT16_MAX };

#define AT(field) ((uint16_t)offsetof(struct layout, field))

#define RUNTIME_SLOTS AT(runtime_bytes), SKIP, AT(runtime_interpreters_head)
#define INTERP_HEAD_SLOTS \
    AT(interp_bytes), AT(interp_id), AT(interp_next), AT(interp_threads_head)
#define INTERP_TAIL_SLOTS                                                        \
    AT(interp_gc), AT(interp_imports_modules), SKIP, SKIP, SKIP, AT(interp_gil), \
        AT(interp_gil_enabled), AT(interp_gil_locked), AT(interp_gil_holder)
#define TSTATE_HEAD_SLOTS \
    AT(tstate_bytes), SKIP, AT(tstate_next), AT(tstate_interp), AT(tstate_current_frame)
#define TSTATE_TAIL_SLOTS \
    AT(tstate_thread_id), AT(tstate_native_thread_id), AT(tstate_datastack_chunk), SKIP
#define FRAME_SLOTS                                                             \
    AT(frame_bytes), AT(frame_previous), AT(frame_executable), AT(frame_instr), \
        AT(frame_variables), AT(frame_owner)
#define CODE_SLOTS                                                                  \
    AT(code_bytes), AT(code_filename), SKIP, AT(code_qualname), AT(code_linetable), \
        AT(code_firstlineno), AT(code_argcount), AT(code_varnames), AT(code_kinds), \
        AT(code_instructions)
#define OBJECT_SLOTS     AT(object_bytes), AT(object_type)
#define TYPE_SLOTS       SKIP, AT(type_name), SKIP, SKIP
#define SEQUENCE_SLOTS   SKIP, SKIP, SKIP, SKIP, SKIP, SKIP
#define SET_SLOTS        SKIP, SKIP, SKIP, SKIP
#define DICT_SLOTS       SKIP, AT(dict_keys), AT(dict_values)
#define FLOAT_LONG_SLOTS SKIP, SKIP, SKIP, SKIP, SKIP
#define BYTES_SLOTS      SKIP, AT(bytes_length), AT(bytes_data)
#define UNICODE_SLOTS    SKIP, AT(unicode_state), AT(unicode_length), AT(unicode_ascii_bytes)
#define GEN_SLOTS        SKIP, SKIP, AT(gen_frame)

static const uint16_t order_3_13[] = {
    RUNTIME_SLOTS,     INTERP_HEAD_SLOTS, INTERP_TAIL_SLOTS,
    TSTATE_HEAD_SLOTS, TSTATE_TAIL_SLOTS, FRAME_SLOTS,
    CODE_SLOTS,        OBJECT_SLOTS,      TYPE_SLOTS,
    SEQUENCE_SLOTS,    DICT_SLOTS,        FLOAT_LONG_SLOTS,
    BYTES_SLOTS,       UNICODE_SLOTS,     SKIP,
    AT(gc_collecting),
};

static const uint16_t order_3_14[] = {
    RUNTIME_SLOTS,
    INTERP_HEAD_SLOTS,
    AT(interp_threads_main),
    INTERP_TAIL_SLOTS,
    AT(interp_code_generation),
    SKIP,
    TSTATE_HEAD_SLOTS,
    TSTATE_TAIL_SLOTS,
    FRAME_SLOTS,
    AT(frame_stack),
    AT(frame_tlbc_index),
    CODE_SLOTS,
    AT(code_tlbc),
    OBJECT_SLOTS,
    TYPE_SLOTS,
    SEQUENCE_SLOTS,
    SET_SLOTS,
    DICT_SLOTS,
    FLOAT_LONG_SLOTS,
    BYTES_SLOTS,
    UNICODE_SLOTS,
    SKIP,
    AT(gc_collecting),
    GEN_SLOTS,
};

static const uint16_t order_3_15[] = {
    RUNTIME_SLOTS,
    INTERP_HEAD_SLOTS,
    AT(interp_threads_main),
    INTERP_TAIL_SLOTS,
    AT(interp_code_generation),
    SKIP,
    TSTATE_HEAD_SLOTS,
    AT(tstate_base_frame),
    SKIP,
    SKIP,
    TSTATE_TAIL_SLOTS,
    AT(tstate_holds_gil),
    AT(tstate_gil_requested),
    AT(tstate_current_exception),
    AT(tstate_exc_state),
    SKIP,
    FRAME_SLOTS,
    AT(frame_stack),
    AT(frame_tlbc_index),
    CODE_SLOTS,
    AT(code_tlbc),
    OBJECT_SLOTS,
    TYPE_SLOTS,
    AT(type_basicsize),
    SKIP,
    SKIP,
    AT(heap_type_cached_keys),
    SEQUENCE_SLOTS,
    SET_SLOTS,
    DICT_SLOTS,
    FLOAT_LONG_SLOTS,
    BYTES_SLOTS,
    UNICODE_SLOTS,
    AT(unicode_compact_bytes),
    SKIP,
    AT(gc_collecting),
    AT(gc_frame),
    SKIP,
    SKIP,
    GEN_SLOTS,
};

static const struct order {
    uint32_t minor;
    size_t count;
    const uint16_t *slots;
} orders[] = {
    { 13, sizeof order_3_13 / sizeof *order_3_13, order_3_13 },
    { 14, sizeof order_3_14 / sizeof *order_3_14, order_3_14 },
    { 15, sizeof order_3_15 / sizeof *order_3_15, order_3_15 },
    { 16, sizeof order_3_15 / sizeof *order_3_15, order_3_15 },
};

static enum err_code fill_layout(struct layout *layout, const struct order *order,
                                 const unsigned char *slots, size_t length, struct err *err)
{
    for (size_t i = 0; i < order->count; i++) {
        uint64_t value;
        if ((i + 1) * sizeof value > length)
            return err_set(err, ERR_CORRUPT, "the target's table of offsets is cut short");
        memcpy(&value, slots + i * sizeof value, sizeof value);
        if (order->slots[i] == SKIP)
            continue;
        if (value > LAYOUT_MAX_RUNTIME_BYTES)
            return err_set(err, ERR_CORRUPT, "slot %zu of the target's offsets is %llu", i,
                           (unsigned long long)value);
        const uint32_t narrow = (uint32_t)value;
        memcpy((unsigned char *)layout + order->slots[i], &narrow, sizeof narrow);
    }
    return ERR_OK;
}

/* Fields that the target does not describe, from their fixed distance to fields that it does. */
static void derive_fields(struct layout *layout)
{
    enum {
        FRAMESIZE_AFTER_FIRSTLINENO = 8,
        FLAGS_BEFORE_ARGCOUNT = 4,
        KWONLYARGCOUNT_AFTER_ARGCOUNT = 8,
        GLOBALS_AFTER_EXECUTABLE = 24,
        LOCALS_AFTER_EXECUTABLE = 40,
        FIRSTTRACEABLE_BEFORE_INSTRUCTIONS = 16,
        UTF8_AND_ITS_LENGTH = 16,
        BASICSIZE_AFTER_NAME = 8,
        /* 3.13 and 3.14 do not describe these. */
        CACHED_KEYS = 880,
        CURRENT_EXCEPTION = 112, /* the same in free-threaded builds */
        EXC_STATE = 256,
        VALUES_HEAD = 8,
        GEN_FRAME = 72, /* 3.13 */
    };
    layout->tstate_datastack_top = layout->tstate_datastack_chunk + (uint32_t)sizeof(uint64_t);
    layout->code_framesize = layout->code_firstlineno + FRAMESIZE_AFTER_FIRSTLINENO;
    layout->code_flags = layout->code_argcount - FLAGS_BEFORE_ARGCOUNT;
    layout->code_kwonlyargcount = layout->code_argcount + KWONLYARGCOUNT_AFTER_ARGCOUNT;
    layout->frame_globals = layout->frame_executable + GLOBALS_AFTER_EXECUTABLE;
    layout->frame_locals = layout->frame_executable + LOCALS_AFTER_EXECUTABLE;
    /* 3.13 stores the depth of the value stack next to the instruction. */
    if (!layout->frame_stack)
        layout->frame_stack = layout->frame_instr + (uint32_t)sizeof(uint64_t);
    layout->code_firsttraceable =
        (layout->code_tlbc ? layout->code_tlbc : layout->code_instructions) -
        FIRSTTRACEABLE_BEFORE_INSTRUCTIONS;
    /* `enabled` is published relative to the GIL, whose other fields are relative to the interpreter. */
    if (layout->is_free_threaded)
        layout->interp_gil_enabled += layout->interp_gil;
    layout->object_bytes = LAYOUT_MAX_OBJECT_BYTES;
    layout->values_bytes = VALUES_HEAD;
    if (!layout->gen_frame)
        layout->gen_frame = GEN_FRAME + layout_object_shift(layout);
    if (!layout->type_basicsize)
        layout->type_basicsize = layout->type_name + BASICSIZE_AFTER_NAME;
    if (!layout->heap_type_cached_keys)
        layout->heap_type_cached_keys = CACHED_KEYS + layout_object_shift(layout);
    if (!layout->tstate_current_exception)
        layout->tstate_current_exception = CURRENT_EXCEPTION;
    if (!layout->tstate_exc_state)
        layout->tstate_exc_state = EXC_STATE;
    if (!layout->unicode_compact_bytes)
        layout->unicode_compact_bytes = layout->unicode_ascii_bytes + UTF8_AND_ITS_LENGTH;
}

enum err_code layout_of_debug_offsets(const void *bytes, size_t length, struct layout *out,
                                      struct err *err)
{
    static const char cookie[8] = { 'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y' };
    uint64_t head[FRAME_HISTORY_BEFORE];
    char text[LAYOUT_VERSION_TEXT];
    if (length < sizeof head || memcmp(bytes, cookie, sizeof cookie) != 0)
        return err_set(err, ERR_NOT_FOUND, "no table of offsets");
    memcpy(head, bytes, sizeof head);
    const uint32_t version = (uint32_t)head[1];

    /* The newest order that is not newer than the target: so far a new minor has not moved the start. */
    const struct order *order = NULL;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (LAYOUT_MAJOR(version) == 3 && LAYOUT_MINOR(version) >= orders[i].minor)
            order = &orders[i];

    if (head[1] > UINT32_MAX || !order) {
        layout_version_text(version, text);
        return err_set(err, ERR_UNSUPPORTED, "a table of offsets for Python %s", text);
    }
    struct layout layout = { .version = version, .is_free_threaded = head[2] != 0 };
    layout.validated = LAYOUT_MINOR(version) <= LAYOUT_NEWEST_MINOR;
    layout_set_capabilities(&layout);
    enum err_code rc = fill_layout(&layout, order, (const unsigned char *)bytes + sizeof head,
                                   length - sizeof head, err);
    if (rc)
        return rc;
    derive_fields(&layout);
    rc = layout_check(&layout, err);
    if (!rc)
        *out = layout;
    return rc;
}
