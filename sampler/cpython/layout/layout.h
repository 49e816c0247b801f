/*
 * layout - the offsets of the fields of one interpreter's structures.
 *
 * CPython 3.13 and later describe themselves (_Py_DebugOffsets, at the start of _PyRuntime).  Those
 * tables are untrusted: each offset that we use is on the list below, and is checked once against
 * the size that the target reports and against our buffers.  For 3.8 to 3.12 the tables are
 * generated from CPython's headers (scripts/layouts).  After the check the hot path uses the
 * offsets as they are.  tstate_context is in no table: contexts.h finds it.
 *
 * What else differs between versions is a capability: a flag with a meaning, set from one table
 * (LAYOUT_CAPABILITIES).  Other code asks for these, not for the version.
 *
 * Units: bytes from the start of the structure; 0: the version has no such field (unless the field
 * can be at 0).
 */
#ifndef SAMPLER_CPYTHON_LAYOUT_LAYOUT_H
#define SAMPLER_CPYTHON_LAYOUT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

/* The newest is the last one that has been released. */
enum { LAYOUT_OLDEST_MINOR = 8, LAYOUT_NEWEST_MINOR = 15 };

/* The most bytes that we store of one structure. */
enum {
    LAYOUT_MAX_RUNTIME_BYTES = 1 << 20,
    LAYOUT_MAX_INTERP_BYTES = 1 << 20,
    LAYOUT_MAX_TSTATE_BYTES = 2048,
    LAYOUT_MAX_CFRAME_BYTES = 64,
    LAYOUT_MAX_FRAME_BYTES = 160,
    LAYOUT_MAX_CODE_BYTES = 512,
    LAYOUT_MAX_OBJECT_BYTES = 4096,
    LAYOUT_MAX_STR_HEAD_BYTES = 128,
    LAYOUT_DEBUG_OFFSETS_BYTES = 1024,
};

/* X(field, width in bytes, structure).  frame_variables: of a frame in the heap they lie behind what is read of it at once.
 * code_varnames: from 3.11 on those of cells and free variables too, and code_kinds says which. */
#define LAYOUT_FIELDS(X)                     \
    X(runtime_interpreters_head, 8, runtime) \
    X(runtime_gil_locked, 4, runtime)        \
    X(runtime_gil_holder, 8, runtime)        \
    X(runtime_gc_collecting, 4, runtime)     \
    X(interp_next, 8, interp)                \
    X(interp_id, 8, interp)                  \
    X(interp_threads_head, 8, interp)        \
    X(interp_threads_main, 8, interp)        \
    X(interp_imports_modules, 8, interp)     \
    X(interp_code_generation, 8, interp)     \
    X(interp_gil, 0, interp)                 \
    X(interp_gil_enabled, 4, interp)         \
    X(interp_gil_locked, 4, interp)          \
    X(interp_gil_holder, 8, interp)          \
    X(interp_gc, 8, interp)                  \
    X(tstate_next, 8, tstate)                \
    X(tstate_interp, 8, tstate)              \
    X(tstate_current_frame, 8, tstate)       \
    X(tstate_cframe, 8, tstate)              \
    X(tstate_base_frame, 8, tstate)          \
    X(tstate_thread_id, 8, tstate)           \
    X(tstate_native_thread_id, 8, tstate)    \
    X(tstate_datastack_chunk, 8, tstate)     \
    X(tstate_datastack_top, 8, tstate)       \
    X(tstate_holds_gil, 4, tstate)           \
    X(tstate_gil_requested, 4, tstate)       \
    X(tstate_current_exception, 8, tstate)   \
    X(tstate_exc_state, 8, tstate)           \
    X(tstate_context, 8, tstate)             \
    X(cframe_current_frame, 8, cframe)       \
    X(cframe_previous, 8, cframe)            \
    X(frame_previous, 8, frame)              \
    X(frame_executable, 8, frame)            \
    X(frame_instr, 8, frame)                 \
    X(frame_is_entry, 1, frame)              \
    X(frame_stack, 4, frame)                 \
    X(frame_owner, 1, frame)                 \
    X(frame_tlbc_index, 4, frame)            \
    X(frame_lasti, 4, frame)                 \
    X(frame_executing, 1, frame)             \
    X(frame_values, 8, frame)                \
    X(frame_globals, 8, frame)               \
    X(frame_locals, 8, frame)                \
    X(frame_variables, 8, object)            \
    X(code_filename, 8, code)                \
    X(code_qualname, 8, code)                \
    X(code_linetable, 8, code)               \
    X(code_firstlineno, 4, code)             \
    X(code_firsttraceable, 4, code)          \
    X(code_flags, 4, code)                   \
    X(code_argcount, 4, code)                \
    X(code_kwonlyargcount, 4, code)          \
    X(code_nlocals, 4, code)                 \
    X(code_varnames, 8, code)                \
    X(code_cellvars, 8, code)                \
    X(code_freevars, 8, code)                \
    X(code_kinds, 8, code)                   \
    X(code_nlocalsplus, 4, code)             \
    X(code_stacksize, 4, code)               \
    X(code_framesize, 4, code)               \
    X(code_instructions, 0, code)            \
    X(code_code, 8, code)                    \
    X(code_tlbc, 8, code)                    \
    X(object_type, 8, object)                \
    X(type_name, 8, object)                  \
    X(type_basicsize, 8, object)             \
    X(type_dictoffset, 8, object)            \
    X(heap_type_cached_keys, 8, object)      \
    X(values_bytes, 0, object)               \
    X(unicode_state, 4, object)              \
    X(unicode_length, 8, object)             \
    X(unicode_ascii_bytes, 0, object)        \
    X(unicode_compact_bytes, 0, object)      \
    X(bytes_length, 8, object)               \
    X(bytes_data, 0, object)                 \
    X(dict_keys, 8, object)                  \
    X(dict_values, 8, object)                \
    X(gen_frame, 8, object)                  \
    X(gc_collecting, 4, object)              \
    X(gc_frame, 8, object)

enum { LAYOUT_NO_LAST = UINT8_MAX };

/* X(capability, first minor, last minor) */
#define LAYOUT_CAPABILITIES(X)                                                                   \
    /* Frames are objects in the heap, not parts of data-stack chunks. */                        \
    X(has_heap_frames, 8, 10)                                                                    \
    /* They have a state, 0 while they run, not a flag, and count code units, not bytes. */      \
    X(has_heap_frame_state, 10, 10)                                                              \
    /* A table of lines has a range for each entry; without either of these two, differences. */ \
    X(has_line_ranges, 10, 10)                                                                   \
    /* A table of lines has columns too. */                                                      \
    X(has_columns, 11, LAYOUT_NO_LAST)                                                           \
    /* A frame stores the depth of its value stack, not a pointer to the top. */                 \
    X(has_stack_depth, 10, 13)                                                                   \
    /* The keys of a dictionary have a size and no kind; later, its logarithm and a kind. */     \
    X(has_plain_keys, 8, 10)                                                                     \
    /* The interpreter places the dictionary and the values of an instance. */                   \
    X(has_managed_dicts, 11, LAYOUT_NO_LAST)                                                     \
    /* A pointer leads to the values of an instance. */                                          \
    X(has_values_pointer, 11, 11)                                                                \
    /* A pointer with a tag leads to the values or to the dictionary. */                         \
    X(has_tagged_values, 12, 12)                                                                 \
    /* The values are in the instance itself. */                                                 \
    X(has_inline_values, 13, LAYOUT_NO_LAST)                                                     \
    /* Below each frame that C has called there is one without code, on the C stack. */          \
    X(has_entry_frames, 12, LAYOUT_NO_LAST)                                                      \
    /* The bytes that identify a code object have a version number. */                           \
    X(has_code_version, 12, LAYOUT_NO_LAST)                                                      \
    /* asyncio has a separate set of eager tasks. */                                             \
    X(has_eager_tasks, 12, LAYOUT_NO_LAST)                                                       \
    /* Threads and interpreters have lists of their asyncio tasks. */                            \
    X(has_task_lists, 14, LAYOUT_NO_LAST)                                                        \
    /* A thread has a separate state in each interpreter that it enters. */                      \
    X(has_state_per_interpreter, 13, LAYOUT_NO_LAST)                                             \
    /* A JIT may execute frames, with code that nothing describes. */                            \
    X(has_jit, 13, LAYOUT_NO_LAST)                                                               \
    /* A frame that has called Python code is at the call, not at its last cache unit. */        \
    X(stays_at_call, 13, LAYOUT_NO_LAST)                                                         \
    /* A call pushes the callable first, then the object or NULL; before, the other way. */      \
    X(has_callable_first, 13, LAYOUT_NO_LAST)                                                    \
    /* CALL_FUNCTION_EX always has a place for keywords. */                                      \
    X(always_has_keywords, 14, LAYOUT_NO_LAST)                                                   \
    /* The top of the value stack is written before each call that leaves the loop. */           \
    X(keeps_stack_top, 14, LAYOUT_NO_LAST)                                                       \
    /* The executable of a popped frame is cleared; before, the frame stays as it was. */        \
    X(clears_popped_frames, 14, LAYOUT_NO_LAST)                                                  \
    /* In free-threaded builds a byte, not two bits, is before the form of a str. */             \
    X(has_str_byte, 14, LAYOUT_NO_LAST)                                                          \
    /* A suspended coroutine that awaits nothing has another state than one that awaits. */      \
    X(has_await_state, 13, LAYOUT_NO_LAST)                                                       \
    /* A tuple stores its hash before its items. */                                              \
    X(has_tuple_hash, 14, LAYOUT_NO_LAST)                                                        \
    /* An int has a word of size and sign, not a signed size. */                                 \
    X(has_int_tag, 12, LAYOUT_NO_LAST)                                                           \
    /* Variables have tags in their low bits, and an int may be there itself. */                 \
    X(has_tagged_variables, 14, LAYOUT_NO_LAST)                                                  \
    /* The states of coroutines begin at zero, not below. */                                     \
    X(has_states_from_zero, 15, LAYOUT_NO_LAST)                                                  \
    /* Another value is above the awaited object. */                                             \
    X(has_await_index, 15, LAYOUT_NO_LAST)

struct layout {
    uint32_t version; /* PY_VERSION_HEX */
    bool validated;   /* false: newer than any release that we were tested with */
    bool is_free_threaded;
#define X(capability, first, last) bool capability;
    LAYOUT_CAPABILITIES(X)
#undef X
    /* Sizes of the structures that hold the fields. */
    uint32_t runtime_bytes, interp_bytes, tstate_bytes, cframe_bytes, frame_bytes, code_bytes,
        object_bytes;
#define X(field, width, structure) uint32_t field;
    LAYOUT_FIELDS(X)
#undef X
};

/* Free-threaded builds store more before an object's type, so the fields after it are this many bytes
 * later. */
static inline uint32_t layout_object_shift(const struct layout *layout)
{
    enum { TYPE_OF_A_REFERENCE_COUNT = 8 };
    return layout->object_type - TYPE_OF_A_REFERENCE_COUNT;
}

#define LAYOUT_MINOR(version) ((version) >> 16 & 0xff)
#define LAYOUT_MAJOR(version) ((version) >> 24)

/* The table from CPython's headers, for a version that does not describe itself (3.8 to 3.12).
 * ERR_UNSUPPORTED: no such table. */
MUST_CHECK enum err_code layout_of_version(uint32_t version, struct layout *out,
                                           struct err *err);

/* Parses the bytes at _PyRuntime.  ERR_NOT_FOUND: no cookie.  ERR_CORRUPT: an impossible table. */
MUST_CHECK enum err_code layout_of_debug_offsets(const void *bytes, size_t length,
                                                 struct layout *out, struct err *err);

/* Sets the capabilities from the version. */
void layout_set_capabilities(struct layout *layout);

/* Checks every field against its structure and our buffers. */
MUST_CHECK enum err_code layout_check(const struct layout *layout, struct err *err);

/* "3.11.2", "3.14.0rc1"; out has LAYOUT_VERSION_TEXT bytes. */
enum { LAYOUT_VERSION_TEXT = 24 };
void layout_version_text(uint32_t version, char out[LAYOUT_VERSION_TEXT]);
/* The version with the build: "3.14.0t" is free-threaded. */
void layout_name(const struct layout *layout, char out[LAYOUT_VERSION_TEXT]);

#endif /* SAMPLER_CPYTHON_LAYOUT_LAYOUT_H */
