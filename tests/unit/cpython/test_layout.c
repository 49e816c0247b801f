#include <string.h>

#include "sampler/cpython/layout/layout.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/offsets.h"

#define ARRAY_LENGTH(a) (sizeof(a) / sizeof *(a))

enum { HEAD_BYTES = offsetof(struct offsets, slots) };

static struct layout accept(const struct offsets *table)
{
    struct layout layout;
    struct err err = { 0 };
    assert_ok(layout_of_debug_offsets(table, sizeof *table, &layout, &err), &err);
    return layout;
}

static void refuse(const struct offsets *table, enum err_code code)
{
    struct layout layout;
    struct err err = { 0 };
    memset(&layout, 0xab, sizeof layout);
    const struct layout before = layout;
    assert_int_equal(layout_of_debug_offsets(table, sizeof *table, &layout, &err), code);
    assert_true(strlen(err.message) > 0);
    assert_memory_equal(&layout, &before, sizeof layout);
}

static void the_table_of_3_13_is_understood(void **state)
{
    struct offsets table;
    (void)state;
    offsets_fill(&table, 13);
    const struct layout layout = accept(&table);
    assert_int_equal(layout.version, 0x030d05f0);
    assert_true(layout.validated);
    assert_int_equal(layout.runtime_interpreters_head, 632);
    assert_int_equal(layout.interp_threads_head, 7344);
    assert_int_equal(layout.interp_threads_main, 0);
    assert_int_equal(layout.interp_code_generation, 0);
    assert_int_equal(layout.tstate_current_frame, 72);
    assert_int_equal(layout.tstate_datastack_chunk, 232);
    assert_int_equal(layout.tstate_datastack_top, 240);
    assert_int_equal(layout.frame_bytes, 80);
    assert_int_equal(layout.frame_instr, 56);
    assert_int_equal(layout.frame_stack, 64);
    assert_int_equal(layout.frame_owner, 70);
    assert_int_equal(layout.code_firstlineno, 68);
    assert_int_equal(layout.code_framesize, 76);
    assert_int_equal(layout.code_instructions, 200);
    assert_int_equal(layout.code_firsttraceable, 184);
    assert_int_equal(layout.unicode_ascii_bytes, 40);
    assert_int_equal(layout.unicode_compact_bytes, 56);
    assert_int_equal(layout.gc_collecting, 200);
    assert_int_equal(layout.type_basicsize, 32);
}

static void the_table_of_3_14_is_understood(void **state)
{
    struct offsets table;
    (void)state;
    offsets_fill(&table, 14);
    const struct layout layout = accept(&table);
    assert_true(layout.validated);
    assert_int_equal(layout.interp_threads_main, 7360);
    assert_int_equal(layout.interp_code_generation, 7992);
    assert_int_equal(layout.frame_bytes, 88);
    assert_int_equal(layout.frame_stack, 64);
    assert_int_equal(layout.frame_owner, 74);
    assert_int_equal(layout.code_instructions, 208);
    assert_int_equal(layout.code_firsttraceable, 192);
    assert_int_equal(layout.dict_keys, 32);
    assert_int_equal(layout.unicode_state, 32);
    assert_int_equal(layout.gc_collecting, 192);
    assert_int_equal(layout.gen_frame, 72);
    assert_int_equal(layout.tstate_base_frame, 0);
}

static void the_table_of_3_15_is_understood(void **state)
{
    struct offsets table;
    (void)state;
    offsets_fill(&table, 15);
    const struct layout layout = accept(&table);
    assert_true(layout.validated);
    assert_int_equal(layout.tstate_base_frame, 80);
    assert_int_equal(layout.tstate_thread_id, 176);
    assert_int_equal(layout.tstate_datastack_chunk, 256);
    assert_int_equal(layout.tstate_datastack_top, 264);
    assert_int_equal(layout.tstate_holds_gil, 36);
    assert_int_equal(layout.tstate_gil_requested, 40);
    assert_int_equal(layout.tstate_exc_state, 288);
    assert_int_equal(layout.type_basicsize, 32);
    assert_int_equal(layout.heap_type_cached_keys, 888);
    assert_int_equal(layout.unicode_compact_bytes, 56);
    assert_int_equal(layout.gc_collecting, 112);
    assert_int_equal(layout.gc_frame, 120);
    assert_int_equal(layout.gen_frame, 72);
}

static void tables_from_headers_serve_3_11_and_3_12(void **state)
{
    static const struct {
        uint32_t version, frame_owner;
    } table[] = {
        { 0x030b00f0, 69 }, { 0x030b07f0, 69 }, { 0x030c00c1, 70 }, { 0x030c01f0, 70 }
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        struct layout layout;
        struct err err = { 0 };
        assert_ok(layout_of_version(table[i].version, &layout, &err), &err);
        assert_int_equal(layout.version, table[i].version);
        assert_int_equal(layout.frame_owner, table[i].frame_owner);
        assert_true(layout.validated);
        assert_true(layout.tstate_cframe > 0);
    }
}

static void capabilities_follow_from_the_version(void **state)
{
    struct layout layout;
    (void)state;
    for (uint32_t minor = LAYOUT_OLDEST_MINOR; minor <= 12; minor++) {
        assert_int_equal(layout_of_version(0x03000000 | minor << 16, &layout, NULL), ERR_OK);
        assert_int_equal(layout.has_heap_frames, layout.frame_lasti != 0);
        assert_int_equal(layout.has_heap_frames, layout.tstate_datastack_chunk == 0);
        assert_int_equal(layout.has_entry_frames, minor == 12);
        assert_int_equal(layout.has_line_ranges, minor == 10);
        assert_false(layout.clears_popped_frames);
    }
    for (uint32_t minor = 13; minor <= 15; minor++) {
        struct offsets table;
        offsets_fill(&table, minor);
        layout = accept(&table);
        assert_false(layout.has_heap_frames);
        assert_true(layout.has_entry_frames);
        assert_int_equal(layout.has_stack_depth, minor == 13);
        assert_int_equal(layout.clears_popped_frames, minor >= 14);
    }
}

static void a_version_without_a_table_is_named(void **state)
{
    static const struct {
        uint32_t version;
        const char *text;
    } table[] = { { 0x030710f0, "3.7.16" },
                  { 0x02070ff0, "2.7.15" },
                  { 0x040000a1, "4.0.0a1" } };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        struct layout layout;
        struct err err = { 0 };
        assert_int_equal(layout_of_version(table[i].version, &layout, &err), ERR_UNSUPPORTED);
        assert_non_null(strstr(err.message, table[i].text));
    }
}

static void a_free_threaded_build_says_where_copies_of_instructions_are(void **state)
{
    struct offsets table;
    char name[LAYOUT_VERSION_TEXT];
    (void)state;
    offsets_fill(&table, 14);
    assert_false(accept(&table).is_free_threaded);
    table.free_threaded = 1;
    table.slots[OFFSETS_3_14_frame_tlbc_index] = 72;
    refuse(&table, ERR_CORRUPT);
    table.slots[OFFSETS_3_14_code_tlbc] = 200;
    const struct layout layout = accept(&table);
    assert_true(layout.is_free_threaded);
    assert_int_equal(layout.frame_tlbc_index, 72);
    assert_int_equal(layout.code_tlbc, 200);
    assert_int_equal(layout.code_firsttraceable, 184);
    layout_name(&layout, name);
    assert_string_equal(name, "3.14.10t");
}

static void the_flag_of_a_gil_is_found_in_the_gil(void **state)
{
    static const size_t locked[] = { OFFSETS_3_13_interp_gil_locked,
                                     OFFSETS_3_14_interp_gil_locked,
                                     OFFSETS_3_15_interp_gil_locked },
                        enabled[] = { OFFSETS_3_13_interp_gil_enabled,
                                      OFFSETS_3_14_interp_gil_enabled,
                                      OFFSETS_3_15_interp_gil_enabled };
    enum { LOCKED_IN_GIL = 16 };
    struct offsets table;
    (void)state;
    for (unsigned minor = 13; minor <= 15; minor++) {
        offsets_fill(&table, minor);
        const uint64_t gil = table.slots[locked[minor - 13]] - LOCKED_IN_GIL;
        assert_int_equal(accept(&table).interp_gil_enabled, 0);
        table.free_threaded = 1;
        assert_int_equal(accept(&table).interp_gil_enabled, gil);
        table.slots[enabled[minor - 13]] = 4;
        assert_int_equal(accept(&table).interp_gil_enabled, gil + 4);
        table.slots[enabled[minor - 13]] = LAYOUT_MAX_INTERP_BYTES;
        refuse(&table, ERR_CORRUPT);
    }
}

/* Objects whose type comes behind their thread, their lock and two counts. */
static void a_longer_head_moves_what_is_not_said(void **state)
{
    struct offsets table;
    (void)state;
    offsets_fill(&table, 13);
    const uint32_t keys = accept(&table).heap_type_cached_keys;
    assert_int_equal(layout_object_shift(&(struct layout){ .object_type = 8 }), 0);
    table.free_threaded = 1;
    table.slots[OFFSETS_3_13_object_type] = 24;
    const struct layout layout = accept(&table);
    assert_int_equal(layout_object_shift(&layout), 16);
    assert_int_equal(layout.heap_type_cached_keys, keys + 16);
    table.slots[OFFSETS_3_13_object_type] = 0;
    refuse(&table, ERR_CORRUPT);
}

static void a_later_minor_is_tried_and_not_called_validated(void **state)
{
    struct offsets table;
    (void)state;
    offsets_fill(&table, 15);
    for (unsigned minor = 16; minor <= 17; minor++) {
        table.version = 3u << 24 | minor << 16 | 0xa1;
        const struct layout layout = accept(&table);
        assert_false(layout.validated);
        assert_true(layout.has_columns && layout.has_await_index);
        assert_int_equal(layout.tstate_base_frame, 80);
        assert_int_equal(LAYOUT_MINOR(layout.version), minor);
    }
}

static void an_earlier_or_another_major_is_unsupported(void **state)
{
    static const uint64_t versions[] = { 0,          0x030c00f0,  0x040000f0,
                                         0x020d00f0, 0x1030d05f0, UINT64_MAX };
    struct offsets table;
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(versions); i++) {
        offsets_fill(&table, 13);
        table.version = versions[i];
        refuse(&table, ERR_UNSUPPORTED);
    }
}

static void without_the_cookie_there_is_no_table(void **state)
{
    struct offsets table;
    struct layout layout;
    (void)state;
    for (size_t i = 0; i < sizeof table.cookie; i++) {
        offsets_fill(&table, 15);
        table.cookie[i] ^= 1;
        refuse(&table, ERR_NOT_FOUND);
    }
    for (size_t length = 0; length < HEAD_BYTES; length++) {
        unsigned char *const bytes = guard_alloc(length);
        offsets_fill(&table, 15);
        memcpy(bytes, &table, length);
        assert_int_equal(layout_of_debug_offsets(bytes, length, &layout, NULL), ERR_NOT_FOUND);
        guard_free(bytes, length);
    }
}

static void a_table_cut_short_anywhere_is_corrupt(void **state)
{
    (void)state;
    for (unsigned minor = 13; minor <= 15; minor++) {
        const size_t whole = HEAD_BYTES + offsets_count(minor) * sizeof(uint64_t);
        for (size_t length = HEAD_BYTES; length <= whole; length += 4) {
            struct offsets table;
            struct layout layout;
            offsets_fill(&table, minor);
            unsigned char *const bytes = guard_copy(&table, length);
            const enum err_code rc = layout_of_debug_offsets(bytes, length, &layout, NULL);
            /* Fields behind those of the garbage collector are not needed. */
            if (length < whole - sizeof(uint64_t))
                assert_int_equal(rc, ERR_CORRUPT);
            guard_free(bytes, length);
        }
        assert_true(whole <= LAYOUT_DEBUG_OFFSETS_BYTES);
    }
}

/* Each offset in turn is set to a value outside of its structure. */
static void no_slot_may_point_out_of_its_structure(void **state)
{
    static const size_t slots[] = {
        OFFSETS_3_15_runtime_interpreters_head,
        OFFSETS_3_15_interp_id,
        OFFSETS_3_15_interp_threads_head,
        OFFSETS_3_15_interp_code_generation,
        OFFSETS_3_15_tstate_next,
        OFFSETS_3_15_tstate_interp,
        OFFSETS_3_15_tstate_current_frame,
        OFFSETS_3_15_tstate_base_frame,
        OFFSETS_3_15_tstate_thread_id,
        OFFSETS_3_15_tstate_native_thread_id,
        OFFSETS_3_15_tstate_datastack_chunk,
        OFFSETS_3_15_tstate_holds_gil,
        OFFSETS_3_15_tstate_exc_state,
        OFFSETS_3_15_frame_previous,
        OFFSETS_3_15_frame_executable,
        OFFSETS_3_15_frame_instr_ptr,
        OFFSETS_3_15_frame_owner,
        OFFSETS_3_15_frame_stackpointer,
        OFFSETS_3_15_code_filename,
        OFFSETS_3_15_code_qualname,
        OFFSETS_3_15_code_linetable,
        OFFSETS_3_15_code_firstlineno,
        OFFSETS_3_15_object_type,
        OFFSETS_3_15_unicode_state,
        OFFSETS_3_15_unicode_length,
        OFFSETS_3_15_bytes_ob_size,
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(slots); i++) {
        struct offsets table;
        offsets_fill(&table, 15);
        table.slots[slots[i]] = LAYOUT_MAX_RUNTIME_BYTES;
        refuse(&table, ERR_CORRUPT);
        table.slots[slots[i]] = UINT64_MAX - 7;
        refuse(&table, ERR_CORRUPT);
        table.slots[slots[i]] = (1ull << 32) + 8;
        refuse(&table, ERR_CORRUPT);
    }
}

static void a_field_must_end_inside_its_structure(void **state)
{
    struct offsets table;
    (void)state;
    offsets_fill(&table, 15);
    table.slots[OFFSETS_3_15_tstate_exc_state] = table.slots[OFFSETS_3_15_tstate_size] - 8;
    (void)accept(&table);
    table.slots[OFFSETS_3_15_tstate_exc_state]++;
    refuse(&table, ERR_CORRUPT);
    offsets_fill(&table, 15);
    table.slots[OFFSETS_3_15_frame_owner] = table.slots[OFFSETS_3_15_frame_size] - 1;
    (void)accept(&table);
    table.slots[OFFSETS_3_15_frame_owner]++;
    refuse(&table, ERR_CORRUPT);
}

static void no_structure_may_be_larger_than_our_copy_of_it(void **state)
{
    static const struct {
        size_t slot;
        uint64_t most;
    } sizes[] = {
        { OFFSETS_3_15_tstate_size, LAYOUT_MAX_TSTATE_BYTES },
        { OFFSETS_3_15_frame_size, LAYOUT_MAX_FRAME_BYTES },
        { OFFSETS_3_15_code_size, LAYOUT_MAX_CODE_BYTES },
        { OFFSETS_3_15_interp_size, LAYOUT_MAX_INTERP_BYTES },
        { OFFSETS_3_15_runtime_size, LAYOUT_MAX_RUNTIME_BYTES },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        struct offsets table;
        offsets_fill(&table, 15);
        table.slots[sizes[i].slot] = sizes[i].most;
        (void)accept(&table);
        table.slots[sizes[i].slot]++;
        refuse(&table, ERR_CORRUPT);
        table.slots[sizes[i].slot] = 0;
        refuse(&table, ERR_CORRUPT);
    }
}

/* The heads of objects are read together with the code object or str they begin. */
static void the_head_of_an_object_must_fit_into_what_is_read_of_it(void **state)
{
    static const size_t slots[] = { OFFSETS_3_15_object_type, OFFSETS_3_15_bytes_ob_size,
                                    OFFSETS_3_15_unicode_state, OFFSETS_3_15_unicode_length };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(slots); i++) {
        struct offsets table;
        offsets_fill(&table, 15);
        table.slots[slots[i]] = 4000;
        refuse(&table, ERR_CORRUPT);
    }
}

static void the_print_of_a_code_object_may_not_have_a_negative_size(void **state)
{
    struct offsets table;
    (void)state;
    offsets_fill(&table, 15);
    table.slots[OFFSETS_3_15_code_linetable] = 60;
    refuse(&table, ERR_CORRUPT);
    offsets_fill(&table, 15);
    table.slots[OFFSETS_3_15_code_firstlineno] = 140;
    refuse(&table, ERR_CORRUPT);
}

static void fields_without_which_nothing_can_be_read_must_be_there(void **state)
{
    static const size_t slots[] = { OFFSETS_3_15_tstate_current_frame,
                                    OFFSETS_3_15_frame_previous,
                                    OFFSETS_3_15_frame_instr_ptr,
                                    OFFSETS_3_15_frame_owner,
                                    OFFSETS_3_15_code_linetable,
                                    OFFSETS_3_15_tstate_datastack_chunk,
                                    OFFSETS_3_15_runtime_interpreters_head,
                                    OFFSETS_3_15_interp_threads_head,
                                    OFFSETS_3_15_interp_gil_locked,
                                    OFFSETS_3_15_interp_gil_holder };
    struct offsets table;
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(slots); i++) {
        offsets_fill(&table, 15);
        table.slots[slots[i]] = 0;
        refuse(&table, ERR_CORRUPT);
    }
    offsets_fill(&table, 15);
    memset(table.slots, 0, sizeof table.slots);
    refuse(&table, ERR_CORRUPT);
    memset(table.slots, 0xff, sizeof table.slots);
    refuse(&table, ERR_CORRUPT);
}

static void versions_are_written_as_people_write_them(void **state)
{
    static const struct {
        uint32_t version;
        const char *text;
    } table[] = {
        { 0x030b02f0, "3.11.2" },
        { 0x030e0af0, "3.14.10" },
        { 0x030f00a7, "3.15.0a7" },
        { 0x030d00b1, "3.13.0b1" },
        { 0x030e00c1, "3.14.0rc1" },
        { 0x031000cf, "3.16.0rc15" },
        { 0, "0.0.0" },
        { UINT32_MAX, "255.255.255" },
        { 0xffffffcf, "255.255.255rc15" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        char *const text = (char *)guard_alloc(LAYOUT_VERSION_TEXT);
        layout_version_text(table[i].version, text);
        assert_string_equal(text, table[i].text);
        guard_free((unsigned char *)text, LAYOUT_VERSION_TEXT);
    }
}

TEST_GROUP(cmocka_unit_test(the_table_of_3_13_is_understood),
           cmocka_unit_test(the_table_of_3_14_is_understood),
           cmocka_unit_test(the_table_of_3_15_is_understood),
           cmocka_unit_test(tables_from_headers_serve_3_11_and_3_12),
           cmocka_unit_test(capabilities_follow_from_the_version),
           cmocka_unit_test(a_version_without_a_table_is_named),
           cmocka_unit_test(a_free_threaded_build_says_where_copies_of_instructions_are),
           cmocka_unit_test(the_flag_of_a_gil_is_found_in_the_gil),
           cmocka_unit_test(a_longer_head_moves_what_is_not_said),
           cmocka_unit_test(a_later_minor_is_tried_and_not_called_validated),
           cmocka_unit_test(an_earlier_or_another_major_is_unsupported),
           cmocka_unit_test(without_the_cookie_there_is_no_table),
           cmocka_unit_test(a_table_cut_short_anywhere_is_corrupt),
           cmocka_unit_test(no_slot_may_point_out_of_its_structure),
           cmocka_unit_test(a_field_must_end_inside_its_structure),
           cmocka_unit_test(no_structure_may_be_larger_than_our_copy_of_it),
           cmocka_unit_test(the_head_of_an_object_must_fit_into_what_is_read_of_it),
           cmocka_unit_test(the_print_of_a_code_object_may_not_have_a_negative_size),
           cmocka_unit_test(fields_without_which_nothing_can_be_read_must_be_there),
           cmocka_unit_test(versions_are_written_as_people_write_them))
