#include <string.h>

#include "sampler/kernel/copy_memory.h"
#include "sampler/kernel/decode.h"
#include "sampler/native/native_copy.h"
#include "tests/support/test.h"

/* A record as the ring buffer holds it. */
static struct {
    struct kernel_record record;
    unsigned char spans[KERNEL_AREA_BYTES + KERNEL_NATIVE_BYTES];
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
    begin(KERNEL_FREE + 1, 0);
    assert_false(decodes(sizeof full.record));
    begin(UINT32_MAX, 0);
    assert_false(decodes(sizeof full.record));
}

static void records_of_memory_have_a_stack_and_pages(void **state)
{
    (void)state;
    for (unsigned kind = KERNEL_FAULT; kind <= KERNEL_FREE; kind++) {
        begin(kind, 16);
        assert_true(decodes(sizeof full.record + 16));
        full.record.instants = KERNEL_MAX_PAGES;
        assert_true(decodes(sizeof full.record + 16));
        full.record.instants = KERNEL_MAX_PAGES + 1u;
        assert_false(decodes(sizeof full.record + 16));
        full.record.instants = 0;
        assert_false(decodes(sizeof full.record + 16));
    }
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

static void a_tail_is_in_the_spans_or_left_out_behind_them(void **state)
{
    static const struct {
        unsigned kind, bytes, tail_at;
        unsigned long long tail_ns, same_ns;
        bool is_good;
    } rows[] = { { KERNEL_TICK, 64, 32, 0, 0, true },   { KERNEL_LEFT, 64, 64, 9, 0, true },
                 { KERNEL_TICK, 64, 64, 0, 0, true },   { KERNEL_TICK, 64, 32, 5, 0, false },
                 { KERNEL_TICK, 64, 72, 0, 0, false },  { KERNEL_TICK, 64, 72, 5, 0, false },
                 { KERNEL_TICK, 64, 33, 0, 0, false },  { KERNEL_TICK, 64, 0, 5, 0, false },
                 { KERNEL_TICK, 64, 64, 10, 0, false }, { KERNEL_TICK, 64, 64, 5, 5, false },
                 { KERNEL_CODE, 64, 64, 5, 0, false },  { KERNEL_CODE, 64, 32, 0, 0, false } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(rows[i].kind, rows[i].bytes);
        full.record.tail_at = rows[i].tail_at;
        full.record.tail_ns = rows[i].tail_ns;
        full.record.same_ns = rows[i].same_ns;
        assert_int_equal(decodes(sizeof full.record + rows[i].bytes), rows[i].is_good);
    }
}

static void a_kernel_part_follows_the_spans_of_a_stack(void **state)
{
    enum { MOST = KERNEL_MAX_CALLS * sizeof(uint64_t) };
    static const struct {
        unsigned kind, bytes, kernel_bytes;
        unsigned long long same_ns;
        size_t has;
        bool is_good;
    } rows[] = { { KERNEL_TICK, 16, 8, 0, 24, true },
                 { KERNEL_LEFT, 16, 16, 5, 32, true },
                 { KERNEL_FAULT, 0, MOST, 0, MOST, true },
                 { KERNEL_TICK, 16, 8, 0, 16, false },
                 { KERNEL_TICK, 16, 12, 0, 28, false },
                 { KERNEL_CODE, 16, 8, 0, 24, false },
                 { KERNEL_RETURNED, 0, 8, 0, 8, false },
                 { KERNEL_UNKNOWN, 0, 8, 0, 8, false },
                 { KERNEL_TICK, 0, MOST + 8, 0, MOST + 8, false } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(rows[i].kind, rows[i].bytes);
        full.record.kernel_bytes = rows[i].kernel_bytes;
        full.record.same_ns = rows[i].same_ns;
        assert_int_equal(decodes(sizeof full.record + rows[i].has), rows[i].is_good);
    }
}

/* A record that ends with a native part. */
struct native_record {
    struct kernel_record record;
    unsigned char spans[16];
    struct kernel_native native;
    unsigned char bytes[KERNEL_NATIVE_BYTES];
    size_t used; /* of the bytes */
};

static struct native_record *begin_native(unsigned flags)
{
    static struct native_record made;
    memset(&made, 0, sizeof made);
    made.record = (struct kernel_record){ .kind = KERNEL_LEFT,
                                          .flags = flags,
                                          .pid = 1,
                                          .tid = 2,
                                          .bytes = sizeof made.spans,
                                          .native_bytes = sizeof made.native };
    made.native = (struct kernel_native){ .ip = 1,
                                          .sp = 0x1080,
                                          .outer_sp = 5,
                                          .saved = { 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
                                          .base = 0x40000 };
    return &made;
}

/* Appends a span whose bytes are all `byte`. */
static void add_native_span(struct native_record *made, uint64_t addr, unsigned bytes, int byte)
{
    const struct kernel_span head = { .addr = addr, .bytes = bytes };
    const size_t all = sizeof head + ((size_t)bytes + 7) / 8 * 8;
    assert_true(made->used + all <= sizeof made->bytes);
    memcpy(made->bytes + made->used, &head, sizeof head);
    memset(made->bytes + made->used + sizeof head, byte, bytes);
    made->used += all;
    made->record.native_bytes += (unsigned)all;
}

/* The outer place of the record that was decoded last. */
static struct kernel_outer_place outer;

static unsigned char *guarded;
static size_t guarded_bytes;

/* A copy of the record as long as it says, behind which no byte can be read. */
static bool decodes_native(const struct native_record *made, struct native_copy *out)
{
    struct kernel_record record;
    const void *spans;
    guarded_bytes = sizeof record + made->record.bytes + made->record.native_bytes;
    guarded = guard_copy(made, guarded_bytes);
    assert_true(kernel_decode(guarded, guarded_bytes, &record, &spans));
    return kernel_decode_native(&record, spans, out, &outer);
}

static void free_guarded(void)
{
    guard_free(guarded, guarded_bytes);
}

static bool is_good(const struct native_record *made)
{
    struct native_copy copy;
    const bool decodes = decodes_native(made, &copy);
    free_guarded();
    return decodes;
}

static void a_native_part_is_shown_where_it_lies(void **state)
{
    struct native_record *const made = begin_native(KERNEL_STACK_CUT);
    struct native_copy copy;
    (void)state;
    add_native_span(made, 0x1000, KERNEL_STACK_PART, 'i');
    add_native_span(made, 0x40000 - 20, 20, 'o');
    assert_true(decodes_native(made, &copy));
    assert_int_equal(copy.registers.ip, 1);
    assert_int_equal(copy.registers.sp, 0x1080);
    assert_int_equal(copy.registers.outer_sp, 5);
    assert_memory_equal(copy.registers.saved, made->native.saved, sizeof copy.registers.saved);
    assert_false(copy.registers.has_only_sp);
    assert_int_equal(copy.stack.base, 0x40000);
    assert_int_equal(copy.stack.span_count, 2);
    assert_int_equal(copy.stack.spans[0].addr, 0x1000);
    assert_int_equal(copy.stack.spans[0].count, KERNEL_STACK_PART);
    assert_int_equal(copy.stack.spans[0].bytes[KERNEL_STACK_PART - 1], 'i');
    assert_int_equal(copy.stack.spans[1].count, 20);
    assert_int_equal(copy.stack.spans[1].bytes[19], 'o');
    assert_ptr_equal(copy.stack.spans[1].bytes + 24, guarded + guarded_bytes);
    assert_true(copy.is_cut);
    assert_false(copy.is_faulted);
    free_guarded();
}

static void a_native_part_may_lack_the_stack(void **state)
{
    struct native_record *const made = begin_native(KERNEL_STACK_FAULTED);
    struct native_copy copy;
    (void)state;
    made->native.base = 0;
    assert_true(decodes_native(made, &copy));
    assert_int_equal(copy.stack.span_count, 0);
    assert_int_equal(copy.stack.base, 0);
    assert_false(copy.is_cut);
    assert_true(copy.is_faulted);
    free_guarded();
}

static void a_record_without_a_native_part_shows_none(void **state)
{
    struct native_copy copy;
    struct kernel_record record;
    const void *spans;
    (void)state;
    begin(KERNEL_TICK, 16);
    assert_true(kernel_decode(&full, sizeof full.record + 16, &record, &spans));
    assert_false(kernel_decode_native(&record, spans, &copy, &outer));
}

static void a_native_part_has_whole_spans(void **state)
{
    (void)state;
    for (unsigned missing = 8; missing <= sizeof(struct kernel_native) + 16 + 24;
         missing += 8) {
        struct native_record *const made = begin_native(0);
        add_native_span(made, 0x1000, 24, 'i');
        made->record.native_bytes -= missing;
        /* Without the span it is whole. */
        assert_int_equal(is_good(made), missing == 16 + 24);
    }
    const unsigned wrong[] = { 0, 25, KERNEL_MAX_STACK + 1, UINT32_MAX };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct native_record *const made = begin_native(0);
        add_native_span(made, 0x1000, 24, 'i');
        memcpy(made->bytes + 8, &wrong[i], sizeof wrong[i]);
        assert_false(is_good(made));
    }
}

static void native_spans_lie_in_order_below_the_base(void **state)
{
    static const struct {
        uint64_t first, second, base;
        bool is_good;
    } rows[] = {
        { 0x1000, 0x1010, 0x1020, true },     { 0x1000, 0x100f, 0x2000, false },
        { 0x1000, 0x0ff0, 0x2000, false },    { 0x1000, 0x1010, 0x101f, false },
        { 0x1000, 0x1010, 0x1010, false },    { 0x1000, 0x1010, 0x100f, false },
        { 0x1000, UINT64_MAX - 16, 0, true }, { 0x1000, UINT64_MAX - 15, 0, false },
        { UINT64_MAX - 7, 8, 0, false },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct native_record *const made = begin_native(0);
        made->native.base = rows[i].base;
        add_native_span(made, rows[i].first, 16, 'i');
        add_native_span(made, rows[i].second, 16, 'o');
        assert_int_equal(is_good(made), rows[i].is_good);
    }
    struct native_record *const made = begin_native(0);
    for (unsigned i = 0; i <= KERNEL_MAX_STACK_SPANS; i++)
        add_native_span(made, 0x1000 + 0x100 * i, 16, 'i');
    assert_false(is_good(made));
}

static void the_outer_part_of_a_stack_is_in_the_record_or_in_an_earlier_one(void **state)
{
    static const struct {
        uint64_t from, ns, base;
        bool is_good;
    } rows[] = {
        { 0x1040, 0, 0x1080, true },
        { 0x1080, 5, 0x2000, true },
        { 0x1080, 10, 0x2000, true },
        { 0x1080, 11, 0x2000, false },
        { 0x1080, 0, 0x2000, false },
        { 0x1040, 5, 0x2000, false },
        { 0x1000, 0, 0x1080, false },
        { 0x1080, 0, 0x1080, false },
        { 0x1080, 5, 0x1080, false },
        { 0x1080, 5, 0, false },
        { 0, 5, 0x2000, false },
        { 0x1080, 5, 0x1080 + KERNEL_MAX_STACK, true },
        { 0x1080, 5, 0x1081 + KERNEL_MAX_STACK, false },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct native_record *const made = begin_native(0);
        made->record.time_ns = 10;
        made->native.base = rows[i].base;
        made->native.outer_from = rows[i].from;
        made->native.outer_ns = rows[i].ns;
        add_native_span(made, 0x1000, 0x80, 'i');
        assert_int_equal(is_good(made), rows[i].is_good);
        if (rows[i].is_good) {
            assert_int_equal(outer.from, rows[i].from);
            assert_int_equal(outer.ns, rows[i].ns);
        }
    }
    struct native_record *const made = begin_native(0);
    made->record.time_ns = 10;
    made->native.outer_from = 0x1010;
    made->native.outer_ns = 5;
    add_native_span(made, 0x1000, 8, 'i');
    add_native_span(made, 0x1008, 8, 'o');
    assert_false(is_good(made));
}

static void only_stacks_have_a_native_part(void **state)
{
    (void)state;
    for (unsigned kind = KERNEL_TICK; kind <= KERNEL_CODE; kind++) {
        begin(kind, kind == KERNEL_CODE ? 16 : 0);
        full.record.native_bytes = sizeof(struct kernel_native);
        assert_int_equal(
            decodes(sizeof full.record + full.record.bytes + full.record.native_bytes),
            kind == KERNEL_TICK || kind == KERNEL_LEFT);
    }
}

static void a_native_part_fits_its_room(void **state)
{
    static const struct {
        unsigned spans, native;
        size_t has;
        bool is_good;
    } rows[] = { { 16, 16, 32, true },
                 { 16, 16, 24, false },
                 { 16, 16, 40, false },
                 { UINT32_MAX, 17, 16, false },
                 { 16, UINT32_MAX, 15, false },
                 { 16, KERNEL_NATIVE_BYTES, 16 + KERNEL_NATIVE_BYTES, true },
                 { 16, KERNEL_NATIVE_BYTES + 8, 24 + KERNEL_NATIVE_BYTES, false } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(KERNEL_TICK, rows[i].spans);
        full.record.native_bytes = rows[i].native;
        assert_int_equal(decodes(sizeof full.record + rows[i].has), rows[i].is_good);
    }
}

static void only_stacks_without_a_native_part_are_repeated(void **state)
{
    (void)state;
    for (unsigned kind = KERNEL_TICK; kind <= KERNEL_UNKNOWN; kind++) {
        begin(kind, 0);
        full.record.same_ns = 5;
        assert_int_equal(decodes(sizeof full.record),
                         kind == KERNEL_TICK || kind == KERNEL_LEFT);
    }
    begin(KERNEL_CODE, 16);
    full.record.same_ns = 5;
    assert_false(decodes(sizeof full.record + 16));
    begin(KERNEL_TICK, 0);
    full.record.same_ns = full.record.time_ns + 1;
    assert_false(decodes(sizeof full.record));
    full.record.same_ns = 5;
    full.record.native_bytes = 16;
    assert_false(decodes(sizeof full.record + 16));
}

TEST_GROUP(cmocka_unit_test(a_kernel_part_follows_the_spans_of_a_stack),
           cmocka_unit_test(a_tail_is_in_the_spans_or_left_out_behind_them),
           cmocka_unit_test(records_of_every_kind_are_accepted),
           cmocka_unit_test(records_of_memory_have_a_stack_and_pages),
           cmocka_unit_test(only_kinds_with_a_stack_have_spans),
           cmocka_unit_test(only_stacks_without_a_native_part_are_repeated),
           cmocka_unit_test(a_code_object_fits_its_room),
           cmocka_unit_test(a_tick_stands_for_some_instants),
           cmocka_unit_test(a_record_says_how_long_it_is),
           cmocka_unit_test(processes_and_threads_have_positive_numbers),
           cmocka_unit_test(a_thread_returns_after_it_has_left),
           cmocka_unit_test(a_native_part_is_shown_where_it_lies),
           cmocka_unit_test(a_native_part_may_lack_the_stack),
           cmocka_unit_test(a_record_without_a_native_part_shows_none),
           cmocka_unit_test(a_native_part_has_whole_spans),
           cmocka_unit_test(native_spans_lie_in_order_below_the_base),
           cmocka_unit_test(the_outer_part_of_a_stack_is_in_the_record_or_in_an_earlier_one),
           cmocka_unit_test(only_stacks_have_a_native_part),
           cmocka_unit_test(a_native_part_fits_its_room))
