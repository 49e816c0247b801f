/* Spans that threads publish, in a process made of bytes. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/contexts/contexts.h"
#include "sampler/cpython/contexts/thread_contexts.h"
#include "tests/support/fake_threads.h"
#include "tests/support/test.h"

enum { NUMBER = 3, SECOND_NUMBER = 4, OFFSET = 16, GENERATION = 1, VALID_AT = 24, RECORD = 28 };

static const remote_addr FILE_AT = 0x7f0000010000, SECOND_AT = 0x7f0000030000,
                         THREAD_AT = 0x7e0000100000, RECORD_AT = 0x600000, OTHER_AT = 0x700000;
static const char ONE[] = "000102030405060708090a0b0c0d0e0f 1011121314151617",
                  TWO[] = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff e0e1e2e3e4e5e6e7";

struct world {
    struct fake_threads threads;
    struct fake_file file;
    remote_addr thread, variable;
    struct thread_contexts *contexts;
    uint64_t now_ns;
};

static struct memory *memory_of(struct world *world)
{
    return &world->threads.memory.memory;
}

static void put(struct world *world, remote_addr addr, uint64_t value)
{
    fake_memory_put_u64(&world->threads.memory, addr, value);
}

/* Ids that count up from these bytes. */
static void fill(struct world *world, remote_addr addr, uint8_t trace, uint8_t span)
{
    uint8_t bytes[RECORD] = { 0 };
    for (uint8_t i = 0; i < 16; i++)
        bytes[i] = (uint8_t)(trace + i);
    for (uint8_t i = 0; i < 8; i++)
        bytes[16 + i] = (uint8_t)(span + i);
    bytes[VALID_AT] = 1;
    fake_memory_put(&world->threads.memory, addr, bytes, sizeof bytes);
}

static void refresh(struct world *world)
{
    world->now_ns += 1000 * NS_PER_S;
    thread_contexts_refresh(world->contexts, world->now_ns);
}

/* distance: see fake_threads_load. */
static struct world *begin(uint64_t distance)
{
    struct world *const world = calloc(1, sizeof *world);
    assert_non_null(world);
    fake_threads_init(&world->threads);
    fake_file_map(&world->threads, &world->file, FILE_AT);
    fake_file_add(&world->threads, &world->file, "otel_thread_ctx_v1", STT_TLS, OFFSET, 8);
    fake_threads_load(&world->threads, &world->file, NUMBER, GENERATION, distance);
    world->thread = fake_thread_start(&world->threads, THREAD_AT);
    world->variable = OFFSET + (distance ? fake_thread_near(world->thread)
                                         : fake_thread_block(&world->threads, world->thread,
                                                             NUMBER, GENERATION));
    fake_memory_map(&world->threads.memory, RECORD_AT, RECORD);
    fake_memory_map(&world->threads.memory, OTHER_AT, RECORD);
    fill(world, RECORD_AT, 0x00, 0x10);
    fill(world, OTHER_AT, 0xf0, 0xe0);
    put(world, world->variable, RECORD_AT);
    assert_int_equal(thread_contexts_create(&world->threads.maps, memory_of(world),
                                            world->now_ns, &world->contexts),
                     ERR_OK);
    assert_non_null(world->contexts);
    return world;
}

static void end(struct world *world)
{
    thread_contexts_destroy(world->contexts);
    fake_threads_deinit(&world->threads);
    free(world);
}

static struct context_value *read_now(struct world *world)
{
    return thread_contexts_read(world->contexts, world->thread, memory_of(world));
}

static void expect(struct world *world, const char *text)
{
    const struct context_value *const value = read_now(world);
    assert_non_null(value);
    assert_int_equal(value->kind, CONTEXT_SET);
    assert_string_equal(value->text, text);
}

static void expect_none(struct world *world)
{
    assert_null(read_now(world));
    /* Nor when it is known. */
    assert_null(read_now(world));
}

static void the_span_of_the_record_is_read(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct world *const world = begin(i ? FAKE_BLOCK_DISTANCE : 0);
        expect(world, ONE);
        put(world, world->variable, OTHER_AT);
        expect(world, TWO);
        fill(world, OTHER_AT, 0x00, 0x10);
        expect(world, ONE);
        end(world);
    }
}

static void without_a_valid_record_there_is_no_value(void **state)
{
    struct world *const world = begin(0);
    (void)state;
    put(world, world->variable, 0);
    expect_none(world);
    put(world, world->variable, RECORD_AT);
    for (unsigned valid = 0; valid < 256; valid++) {
        fake_memory_put_u8(&world->threads.memory, RECORD_AT + VALID_AT, (uint8_t)valid);
        if (valid == 1)
            expect(world, ONE);
        else
            expect_none(world);
    }
    end(world);
}

static void a_record_that_cannot_be_read_is_none(void **state)
{
    static const uint64_t nowhere[] = { 8, RECORD_AT + 1, RECORD_AT + 8, UINT64_MAX - 1 };
    struct world *const world = begin(0);
    (void)state;
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        put(world, world->variable, nowhere[i]);
        expect_none(world);
    }
    put(world, world->variable, 0x800000);
    expect_none(world);
    fake_memory_map(&world->threads.memory, 0x800000, RECORD);
    fill(world, 0x800000, 0x00, 0x10);
    expect(world, ONE);
    assert_null(thread_contexts_read(world->contexts, 0, memory_of(world)));
    assert_null(thread_contexts_read(world->contexts, 8, memory_of(world)));
    end(world);
}

static void zeroes_are_a_valid_record_of_no_span(void **state)
{
    struct world *const world = begin(0);
    const uint8_t zeroes[16] = { 0 };
    (void)state;
    fake_memory_put(&world->threads.memory, RECORD_AT, zeroes, 16);
    assert_int_equal(read_now(world)->kind, CONTEXT_UNSET);
    fake_memory_put(&world->threads.memory, RECORD_AT + 16, zeroes, 8);
    assert_int_equal(read_now(world)->kind, CONTEXT_UNSET);
    end(world);
}

static void processes_without_the_variable_cost_nothing(void **state)
{
    struct world *const world = begin(0);
    (void)state;
    expect(world, ONE);
    fake_threads_unload(&world->threads, NUMBER);
    refresh(world);
    const uint64_t before = memory_of(world)->reads;
    assert_null(read_now(world));
    assert_int_equal(memory_of(world)->reads, before);
    end(world);
}

static void other_c_libraries_have_no_thread_contexts(void **state)
{
    struct world *const world = begin(0);
    struct thread_contexts *none;
    (void)state;
    fake_memory_unmap(&world->threads.memory, world->threads.library.base);
    assert_int_equal(thread_contexts_create(&world->threads.maps, memory_of(world), 0, &none),
                     ERR_OK);
    assert_null(none);
    thread_contexts_destroy(none);
    end(world);
}

static void a_library_that_is_loaded_later_is_found(void **state)
{
    struct world *const world = begin(0);
    (void)state;
    fake_threads_unload(&world->threads, NUMBER);
    refresh(world);
    expect_none(world);
    fake_threads_load(&world->threads, &world->file, NUMBER, GENERATION + 1, 0);
    (void)fake_thread_block(&world->threads, world->thread, NUMBER, GENERATION + 1);
    refresh(world);
    expect(world, ONE);
    end(world);
}

static void of_several_libraries_the_first_valid_record_counts(void **state)
{
    struct world *const world = begin(0);
    struct fake_file second;
    (void)state;
    fake_file_map(&world->threads, &second, SECOND_AT);
    fake_file_add(&world->threads, &second, "otel_thread_ctx_v1", STT_TLS, OFFSET, 8);
    fake_threads_load(&world->threads, &second, SECOND_NUMBER, GENERATION, 0);
    put(world,
        OFFSET + fake_thread_block(&world->threads, world->thread, SECOND_NUMBER, GENERATION),
        OTHER_AT);
    refresh(world);
    expect(world, ONE);
    put(world, world->variable, 0);
    expect(world, TWO);
    put(world, world->variable, RECORD_AT);
    expect(world, ONE);
    end(world);
}

static void a_span_that_is_known_costs_one_call(void **state)
{
    struct world *const world = begin(0);
    (void)state;
    expect(world, ONE);
    const uint64_t before = memory_of(world)->reads;
    expect(world, ONE);
    assert_int_equal(memory_of(world)->reads - before, 1);
    end(world);
}

static void a_tag_stays_while_the_span_does(void **state)
{
    struct world *const world = begin(0);
    (void)state;
    read_now(world)->tag = 7;
    assert_int_equal(read_now(world)->tag, 7);
    fill(world, OTHER_AT, 0x00, 0x10);
    put(world, world->variable, OTHER_AT);
    assert_int_equal(read_now(world)->tag, 7);
    fill(world, OTHER_AT, 0xf0, 0xe0);
    assert_int_equal(read_now(world)->tag, 0);
    end(world);
}

/* A thread that enters another span. */
struct change {
    struct world *world;
    uint64_t read;   /* the call before which it happens */
    size_t offset;   /* and the byte of a span */
    bool in_place;   /* the record is changed, not replaced */
    bool is_forever; /* and again before each later call */
    unsigned made;
};

static void change(struct fake_memory *fake, const struct fake_read_at *moment, void *context)
{
    struct change *const wanted = context;
    const bool is_time =
        moment->read == wanted->read || (wanted->is_forever && moment->read > wanted->read);
    (void)fake;
    if (!is_time || moment->span || moment->offset != wanted->offset)
        return;
    const bool is_two = wanted->made++ % 2 == 0;
    if (wanted->in_place)
        fill(wanted->world, RECORD_AT, is_two ? 0xf0 : 0x00, is_two ? 0xe0 : 0x10);
    else
        put(wanted->world, wanted->world->variable, is_two ? OTHER_AT : RECORD_AT);
}

/* The value is that of one span, never of both.  Returns how often it was unknown. */
static unsigned try_change(struct world *world, struct change wanted)
{
    struct fake_memory *const memory = &world->threads.memory;
    unsigned unknown = 0;
    for (unsigned call = 0; call < 12; call++) {
        struct change one = wanted;
        one.world = world;
        one.read = memory->memory.reads + call;
        memory->hook = change;
        memory->context = &one;
        const struct context_value *const found = read_now(world);
        assert_non_null(found);
        unknown += found->kind == CONTEXT_UNKNOWN;
        if (found->kind != CONTEXT_UNKNOWN)
            assert_true(strcmp(found->text, ONE) == 0 || strcmp(found->text, TWO) == 0);
        memory->hook = NULL;
        fill(world, RECORD_AT, 0x00, 0x10);
        put(world, world->variable, RECORD_AT);
        /* The next one begins without what is kept of this one. */
        if (call % 2)
            expect(world, ONE);
    }
    return unknown;
}

static void what_changes_once_is_read_again(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct world *const world = begin(i ? FAKE_BLOCK_DISTANCE : 0);
        world->threads.memory.slice_bytes = 4;
        for (size_t offset = 0; offset < 28; offset += 4) {
            assert_int_equal(try_change(world, (struct change){ .offset = offset }), 0);
            assert_int_equal(
                try_change(world, (struct change){ .offset = offset, .in_place = true }), 0);
        }
        end(world);
    }
}

static void what_changes_all_the_time_is_unknown(void **state)
{
    struct world *const world = begin(0);
    (void)state;
    assert_true(try_change(world, (struct change){ .in_place = true, .is_forever = true }) > 0);
    end(world);
}

TEST_GROUP(cmocka_unit_test(the_span_of_the_record_is_read),
           cmocka_unit_test(without_a_valid_record_there_is_no_value),
           cmocka_unit_test(a_record_that_cannot_be_read_is_none),
           cmocka_unit_test(zeroes_are_a_valid_record_of_no_span),
           cmocka_unit_test(processes_without_the_variable_cost_nothing),
           cmocka_unit_test(other_c_libraries_have_no_thread_contexts),
           cmocka_unit_test(a_library_that_is_loaded_later_is_found),
           cmocka_unit_test(of_several_libraries_the_first_valid_record_counts),
           cmocka_unit_test(a_span_that_is_known_costs_one_call),
           cmocka_unit_test(a_tag_stays_while_the_span_does),
           cmocka_unit_test(what_changes_once_is_read_again),
           cmocka_unit_test(what_changes_all_the_time_is_unknown))
