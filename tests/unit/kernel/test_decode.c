#include <string.h>

#include "sampler/kernel/copy_memory.h"
#include "sampler/kernel/decode.h"
#include "tests/support/test.h"

/* A record as the ring buffer holds it. */
static struct {
    struct kernel_record record;
    unsigned char spans[KERNEL_AREA_BYTES + 8];
} full;

static bool decodes(size_t bytes)
{
    struct kernel_record record;
    const void *spans = NULL;
    unsigned char *const data = guard_copy(&full, bytes);
    const bool is_good = kernel_decode(data, bytes, &record, &spans);
    if (is_good) {
        assert_memory_equal(&record, &full.record, sizeof record);
        assert_ptr_equal(spans, data + sizeof record);
    }
    guard_free(data, bytes);
    return is_good;
}

static void begin(unsigned kind, unsigned bytes)
{
    full.record = (struct kernel_record){ .kind = kind,
                                          .pid = 1,
                                          .tid = 2,
                                          .time_ns = 9,
                                          .left_ns = 8,
                                          .instants = 1,
                                          .bytes = bytes };
}

static void records_of_every_kind_are_accepted(void **state)
{
    (void)state;
    for (unsigned kind = KERNEL_TICK; kind <= KERNEL_UNKNOWN; kind++) {
        begin(kind, 0);
        assert_true(decodes(sizeof full.record));
    }
    begin(KERNEL_CODE, 16);
    assert_true(decodes(sizeof full.record + 16));
    begin(KERNEL_CODE + 1, 0);
    assert_false(decodes(sizeof full.record));
    begin(UINT32_MAX, 0);
    assert_false(decodes(sizeof full.record));
}

static void only_kinds_with_a_stack_have_spans(void **state)
{
    (void)state;
    for (unsigned kind = KERNEL_TICK; kind <= KERNEL_UNKNOWN; kind++) {
        begin(kind, 16);
        assert_int_equal(decodes(sizeof full.record + 16),
                         kind == KERNEL_TICK || kind == KERNEL_LEFT);
    }
}

static void a_code_object_fits_its_room(void **state)
{
    (void)state;
    begin(KERNEL_CODE, 0);
    assert_false(decodes(sizeof full.record));
    begin(KERNEL_CODE, KERNEL_CODE_BYTES);
    assert_true(decodes(sizeof full.record + KERNEL_CODE_BYTES));
    begin(KERNEL_CODE, KERNEL_CODE_BYTES + 8);
    assert_false(decodes(sizeof full.record + KERNEL_CODE_BYTES + 8));
}

static void a_tick_stands_for_some_instants(void **state)
{
    (void)state;
    begin(KERNEL_TICK, 0);
    full.record.instants = KERNEL_MAX_INSTANTS;
    assert_true(decodes(sizeof full.record));
    full.record.instants++;
    assert_false(decodes(sizeof full.record));
    full.record.instants = 0;
    assert_false(decodes(sizeof full.record));
}

static void a_record_says_how_long_it_is(void **state)
{
    static const struct {
        unsigned says;
        size_t has;
        bool is_good;
    } rows[] = { { 16, 16, true },
                 { 16, 8, false },
                 { 16, 24, false },
                 { UINT32_MAX, 16, false },
                 { KERNEL_AREA_BYTES, KERNEL_AREA_BYTES, true },
                 { KERNEL_AREA_BYTES + 8, KERNEL_AREA_BYTES + 8, false } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(KERNEL_TICK, rows[i].says);
        assert_int_equal(decodes(sizeof full.record + rows[i].has), rows[i].is_good);
    }
    begin(KERNEL_TICK, 0);
    for (size_t bytes = 0; bytes < sizeof full.record; bytes++)
        assert_false(decodes(bytes));
}

static void processes_and_threads_have_positive_numbers(void **state)
{
    static const unsigned wrong[] = { 0, UINT32_MAX, 1u << 31 };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        begin(KERNEL_TICK, 0);
        full.record.tid = wrong[i];
        assert_false(decodes(sizeof full.record));
        begin(KERNEL_TICK, 0);
        full.record.pid = wrong[i];
        assert_false(decodes(sizeof full.record));
    }
}

static void a_thread_returns_after_it_has_left(void **state)
{
    (void)state;
    begin(KERNEL_RETURNED, 0);
    full.record.left_ns = full.record.time_ns;
    assert_true(decodes(sizeof full.record));
    full.record.left_ns++;
    assert_false(decodes(sizeof full.record));
    full.record.left_ns = UINT64_MAX;
    assert_false(decodes(sizeof full.record));
}

TEST_MAIN(cmocka_unit_test(records_of_every_kind_are_accepted),
          cmocka_unit_test(only_kinds_with_a_stack_have_spans),
          cmocka_unit_test(a_code_object_fits_its_room),
          cmocka_unit_test(a_tick_stands_for_some_instants),
          cmocka_unit_test(a_record_says_how_long_it_is),
          cmocka_unit_test(processes_and_threads_have_positive_numbers),
          cmocka_unit_test(a_thread_returns_after_it_has_left))
