/*
 * offsets - the tables of offsets of real interpreters.
 *
 * Read from the _PyRuntime of CPython 3.13.5, 3.14.10 and 3.15.2 (x86-64, with the GIL); the names
 * follow Include/internal/pycore_debug_offsets.h (3.13: pycore_runtime.h).
 *
 *     struct offsets table;
 *     offsets_fill(&table, 15);
 *     table.slots[OFFSETS_3_15_tstate_size] = 1;
 */
#ifndef TESTS_UNIT_CPYTHON_MADE_OFFSETS_H
#define TESTS_UNIT_CPYTHON_MADE_OFFSETS_H

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#define OFFSETS_3_13(X) \
    X(runtime_size, 283376) X(runtime_finalizing, 608) X(runtime_interpreters_head, 632) \
    X(interp_size, 194976) X(interp_id, 7272) X(interp_next, 7264) \
    X(interp_threads_head, 7344) X(interp_gc, 7400) X(interp_imports_modules, 7656) \
    X(interp_sysdict, 7640) X(interp_builtins, 7648) X(interp_ceval_gil, 16) \
    X(interp_gil_state, 7752) X(interp_gil_enabled, 0) X(interp_gil_locked, 7768) \
    X(interp_gil_holder, 7760) X(tstate_size, 304) X(tstate_prev, 0) X(tstate_next, 8) \
    X(tstate_interp, 16) X(tstate_current_frame, 72) X(tstate_thread_id, 152) \
    X(tstate_native_thread_id, 160) X(tstate_datastack_chunk, 232) X(tstate_status, 32) \
    X(frame_size, 80) X(frame_previous, 8) X(frame_executable, 0) X(frame_instr_ptr, 56) \
    X(frame_localsplus, 72) X(frame_owner, 70) X(code_size, 208) X(code_filename, 112) \
    X(code_name, 120) X(code_qualname, 128) X(code_linetable, 136) X(code_firstlineno, 68) \
    X(code_argcount, 52) X(code_localsplusnames, 96) X(code_localspluskinds, 104) \
    X(code_adaptive, 200) X(object_size, 16) X(object_type, 8) X(type_size, 416) \
    X(type_name, 24) X(type_repr, 88) X(type_flags, 168) X(tuple_size, 32) X(tuple_item, 24) \
    X(tuple_ob_size, 16) X(list_size, 40) X(list_item, 24) X(list_ob_size, 16) \
    X(dict_size, 48) X(dict_keys, 32) X(dict_values, 40) X(float_size, 24) \
    X(float_value, 16) X(long_size, 32) X(long_tag, 16) X(long_digit, 24) X(bytes_size, 40) \
    X(bytes_ob_size, 16) X(bytes_data, 32) X(unicode_size, 64) X(unicode_state, 32) \
    X(unicode_length, 16) X(unicode_ascii_size, 40) X(gc_size, 240) X(gc_collecting, 200)

#define OFFSETS_3_14(X) \
    X(runtime_size, 316616) X(runtime_finalizing, 784) X(runtime_interpreters_head, 808) \
    X(interp_size, 225864) X(interp_id, 7280) X(interp_next, 7272) \
    X(interp_threads_head, 7344) X(interp_threads_main, 7360) X(interp_gc, 7408) \
    X(interp_imports_modules, 7688) X(interp_sysdict, 7672) X(interp_builtins, 7680) \
    X(interp_ceval_gil, 16) X(interp_gil_state, 7784) X(interp_gil_enabled, 0) \
    X(interp_gil_locked, 7800) X(interp_gil_holder, 7792) X(interp_code_generation, 7992) \
    X(interp_tlbc_generation, 0) X(tstate_size, 832) X(tstate_prev, 0) X(tstate_next, 8) \
    X(tstate_interp, 16) X(tstate_current_frame, 72) X(tstate_thread_id, 152) \
    X(tstate_native_thread_id, 160) X(tstate_datastack_chunk, 232) X(tstate_status, 32) \
    X(frame_size, 88) X(frame_previous, 8) X(frame_executable, 0) X(frame_instr_ptr, 56) \
    X(frame_localsplus, 80) X(frame_owner, 74) X(frame_stackpointer, 64) \
    X(frame_tlbc_index, 0) X(code_size, 216) X(code_filename, 112) X(code_name, 120) \
    X(code_qualname, 128) X(code_linetable, 136) X(code_firstlineno, 68) \
    X(code_argcount, 52) X(code_localsplusnames, 96) X(code_localspluskinds, 104) \
    X(code_adaptive, 208) X(code_tlbc, 0) X(object_size, 16) X(object_type, 8) \
    X(type_size, 416) X(type_name, 24) X(type_repr, 88) X(type_flags, 168) X(tuple_size, 40) \
    X(tuple_item, 32) X(tuple_ob_size, 16) X(list_size, 40) X(list_item, 24) \
    X(list_ob_size, 16) X(set_size, 200) X(set_used, 24) X(set_table, 40) X(set_mask, 32) \
    X(dict_size, 48) X(dict_keys, 32) X(dict_values, 40) X(float_size, 24) \
    X(float_value, 16) X(long_size, 32) X(long_tag, 16) X(long_digit, 24) X(bytes_size, 40) \
    X(bytes_ob_size, 16) X(bytes_data, 32) X(unicode_size, 64) X(unicode_state, 32) \
    X(unicode_length, 16) X(unicode_ascii_size, 40) X(gc_size, 264) X(gc_collecting, 192) \
    X(gen_size, 160) X(gen_name, 24) X(gen_iframe, 72)

#define OFFSETS_3_15(X) \
    X(runtime_size, 346568) X(runtime_finalizing, 912) X(runtime_interpreters_head, 936) \
    X(interp_size, 226240) X(interp_id, 7272) X(interp_next, 7264) \
    X(interp_threads_head, 7336) X(interp_threads_main, 7352) X(interp_gc, 7400) \
    X(interp_imports_modules, 7592) X(interp_sysdict, 7576) X(interp_builtins, 7584) \
    X(interp_ceval_gil, 16) X(interp_gil_state, 7736) X(interp_gil_enabled, 0) \
    X(interp_gil_locked, 7752) X(interp_gil_holder, 7744) X(interp_code_generation, 7944) \
    X(interp_tlbc_generation, 0) X(tstate_size, 888) X(tstate_prev, 0) X(tstate_next, 8) \
    X(tstate_interp, 16) X(tstate_current_frame, 72) X(tstate_base_frame, 80) \
    X(tstate_last_profiled_frame, 88) X(tstate_last_profiled_sequence, 96) \
    X(tstate_thread_id, 176) X(tstate_native_thread_id, 184) X(tstate_datastack_chunk, 256) \
    X(tstate_status, 32) X(tstate_holds_gil, 36) X(tstate_gil_requested, 40) \
    X(tstate_current_exception, 136) X(tstate_exc_state, 288) X(exc_state_size, 0) \
    X(frame_size, 88) X(frame_previous, 8) X(frame_executable, 0) X(frame_instr_ptr, 56) \
    X(frame_localsplus, 80) X(frame_owner, 74) X(frame_stackpointer, 64) \
    X(frame_tlbc_index, 0) X(code_size, 216) X(code_filename, 112) X(code_name, 120) \
    X(code_qualname, 128) X(code_linetable, 136) X(code_firstlineno, 68) \
    X(code_argcount, 52) X(code_localsplusnames, 96) X(code_localspluskinds, 104) \
    X(code_adaptive, 208) X(code_tlbc, 0) X(object_size, 16) X(object_type, 8) \
    X(type_size, 424) X(type_name, 24) X(type_repr, 88) X(type_flags, 168) \
    X(type_basicsize, 32) X(type_dictoffset, 288) X(heap_type_size, 944) \
    X(heap_type_cached_keys, 888) X(tuple_size, 40) X(tuple_item, 32) X(tuple_ob_size, 16) \
    X(list_size, 40) X(list_item, 24) X(list_ob_size, 16) X(set_size, 200) X(set_used, 24) \
    X(set_table, 40) X(set_mask, 32) X(dict_size, 48) X(dict_keys, 32) X(dict_values, 40) \
    X(float_size, 24) X(float_value, 16) X(long_size, 32) X(long_tag, 16) X(long_digit, 24) \
    X(bytes_size, 40) X(bytes_ob_size, 16) X(bytes_data, 32) X(unicode_size, 64) \
    X(unicode_state, 32) X(unicode_length, 16) X(unicode_ascii_size, 40) \
    X(unicode_compact_size, 56) X(gc_size, 176) X(gc_collecting, 112) X(gc_frame, 120) \
    X(gc_generation_stats_size, 1120) X(gc_generation_stats, 104) X(gen_size, 160) \
    X(gen_name, 24) X(gen_iframe, 72)

/* clang-format on */

#define X(name, value) OFFSETS_3_13_##name,
enum { OFFSETS_3_13(X) OFFSETS_3_13_COUNT };
#undef X
#define X(name, value) OFFSETS_3_14_##name,
enum { OFFSETS_3_14(X) OFFSETS_3_14_COUNT };
#undef X
#define X(name, value) OFFSETS_3_15_##name,
enum { OFFSETS_3_15(X) OFFSETS_3_15_COUNT };
#undef X

enum { OFFSETS_MAX_SLOTS = 125 };

struct offsets {
    char cookie[8];
    uint64_t version;
    uint64_t free_threaded;
    uint64_t slots[OFFSETS_MAX_SLOTS];
};

/* The table of a minor version; the rest after its last slot is 0. */
void offsets_fill(struct offsets *out, unsigned minor);

/* Slots in it. */
size_t offsets_count(unsigned minor);

#endif /* TESTS_UNIT_CPYTHON_MADE_OFFSETS_H */
