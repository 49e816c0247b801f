/* Thread-local variables in a process made of bytes. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/process/dynamic_symbols.h"
#include "sampler/process/thread_locals.h"
#include "tests/support/fake_threads.h"
#include "tests/support/test.h"

enum { NUMBER = 2, OFFSET = 24, GENERATION = 5 };

static const char NAME[] = "wanted";
static const remote_addr FILE_AT = 0x7f0000010000, OTHER_AT = 0x7f0000030000,
                         THREAD_AT = 0x7e0000100000, SECOND_AT = 0x7e0000200000;

struct world {
    struct fake_threads threads;
    struct fake_file file;
    remote_addr map, thread, second;
    struct thread_locals locals;
    uint64_t now_ns;
};

static struct memory *memory_of(struct world *world)
{
    return &world->threads.memory.memory;
}

static bool refresh(struct world *world)
{
    world->now_ns += 1000 * NS_PER_S;
    return thread_locals_refresh(&world->locals, world->now_ns);
}

/* A file that is not loaded yet, and two threads. */
static struct world *begin(void)
{
    struct world *const world = calloc(1, sizeof *world);
    assert_non_null(world);
    fake_threads_init(&world->threads);
    fake_file_map(&world->threads, &world->file, FILE_AT);
    fake_file_add(&world->threads, &world->file, "before", STT_TLS, 0, 8);
    fake_file_add(&world->threads, &world->file, NAME, STT_TLS, OFFSET, 8);
    fake_file_add(&world->threads, &world->file, "behind", STT_TLS, 8, 8);
    world->thread = fake_thread_start(&world->threads, THREAD_AT);
    world->second = fake_thread_start(&world->threads, SECOND_AT);
    thread_locals_init(&world->locals, &world->threads.maps, memory_of(world), NAME, 8);
    assert_int_not_equal(world->locals.linker, 0);
    return world;
}

static void end(struct world *world)
{
    thread_locals_deinit(&world->locals);
    fake_threads_deinit(&world->threads);
    free(world);
}

static void load(struct world *world, uint64_t distance)
{
    world->map = fake_threads_load(&world->threads, &world->file, NUMBER, GENERATION, distance);
    assert_true(refresh(world));
    assert_int_equal(world->locals.count, 1);
}

static void put(struct world *world, remote_addr addr, uint64_t value)
{
    fake_memory_put_u64(&world->threads.memory, addr, value);
}

static void expect(struct world *world, remote_addr thread, uint64_t wanted)
{
    uint64_t value = 0;
    assert_int_equal(
        thread_locals_read_u64(&world->locals, 0, memory_of(world), thread, &value), ERR_OK);
    assert_int_equal(value, wanted);
}

static void expect_none(struct world *world, remote_addr thread)
{
    uint64_t value;
    assert_int_equal(
        thread_locals_read_u64(&world->locals, 0, memory_of(world), thread, &value),
        ERR_NOT_FOUND);
}

static void each_thread_has_its_own_value(void **state)
{
    struct world *const world = begin();
    (void)state;
    load(world, 0);
    put(world, fake_thread_block(&world->threads, world->thread, NUMBER, GENERATION) + OFFSET,
        4711);
    put(world,
        fake_thread_block(&world->threads, world->second, NUMBER, GENERATION + 1) + OFFSET,
        4712);
    expect(world, world->thread, 4711);
    expect(world, world->second, 4712);
    end(world);
}

static void a_block_may_have_a_fixed_distance(void **state)
{
    struct world *const world = begin();
    (void)state;
    load(world, FAKE_BLOCK_DISTANCE);
    put(world, fake_thread_near(world->thread) + OFFSET, 4711);
    expect(world, world->thread, 4711);
    expect(world, world->second, 0);
    end(world);
}

static void the_distance_may_become_known_later(void **state)
{
    static const uint64_t none[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1 };
    struct world *const world = begin();
    (void)state;
    load(world, 0);
    put(world, fake_thread_near(world->thread) + OFFSET, 4711);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        fake_threads_load(&world->threads, &world->file, NUMBER, GENERATION, none[i]);
        assert_false(refresh(world));
        expect_none(world, world->thread);
    }
    fake_threads_load(&world->threads, &world->file, NUMBER, GENERATION, FAKE_BLOCK_DISTANCE);
    assert_true(refresh(world));
    expect(world, world->thread, 4711);
    end(world);
}

static void a_thread_that_has_not_used_the_file_has_no_value(void **state)
{
    struct world *const world = begin();
    (void)state;
    load(world, 0);
    expect_none(world, world->thread);
    /* Its block is that of a file that had the number before. */
    put(world,
        fake_thread_block(&world->threads, world->thread, NUMBER, GENERATION - 1) + OFFSET, 1);
    expect_none(world, world->thread);
    end(world);
}

static void a_thread_that_has_ended_has_no_value(void **state)
{
    struct world *const world = begin();
    (void)state;
    load(world, FAKE_BLOCK_DISTANCE);
    fake_memory_put_u32(&world->threads.memory, fake_thread_tid(world->thread), 0);
    expect_none(world, world->thread);
    end(world);
}

static void files_come_and_go(void **state)
{
    struct world *const world = begin();
    struct fake_file other;
    (void)state;
    assert_false(refresh(world));
    assert_int_equal(world->locals.count, 0);
    load(world, FAKE_BLOCK_DISTANCE);
    assert_false(refresh(world));
    fake_threads_unload(&world->threads, NUMBER);
    /* A reading sees it at once. */
    expect_none(world, world->thread);
    assert_true(refresh(world));
    assert_int_equal(world->locals.count, 0);
    /* Another file has the number now. */
    fake_file_map(&world->threads, &other, OTHER_AT);
    fake_threads_load(&world->threads, &other, NUMBER, GENERATION + 1, FAKE_BLOCK_DISTANCE);
    assert_false(refresh(world));
    assert_int_equal(world->locals.count, 0);
    fake_threads_load(&world->threads, &world->file, NUMBER, GENERATION + 2,
                      FAKE_BLOCK_DISTANCE);
    assert_true(refresh(world));
    expect(world, world->thread, 0);
    end(world);
}

static void files_in_all_lists_are_found(void **state)
{
    struct world *const world = begin();
    struct fake_memory *const memory = &world->threads.memory;
    const remote_addr second = 0x7f0000500000;
    (void)state;
    /* Moves it into a list of three behind the first one. */
    world->map = fake_threads_load(&world->threads, &world->file, NUMBER, GENERATION, 0);
    put(world, world->threads.list, second);
    fake_memory_map(memory, second, 256);
    put(world, second + 8, 3);
    fake_memory_put(memory, second + 24,
                    fake_memory_at(memory, world->threads.list + 24, 3 * 16), 3 * 16);
    fake_threads_unload(&world->threads, NUMBER);
    assert_true(refresh(world));
    assert_int_equal(world->locals.items[0].number, FAKE_NUMBERS + NUMBER);
    end(world);
}

static void no_news_cost_three_reads(void **state)
{
    struct world *const world = begin();
    (void)state;
    assert_false(refresh(world));
    const uint64_t before = memory_of(world)->reads;
    assert_false(refresh(world));
    assert_int_equal(memory_of(world)->reads - before, 3);
    /* It is not time yet. */
    world->locals.next_ns = world->now_ns + 1;
    assert_false(thread_locals_refresh(&world->locals, world->now_ns));
    assert_int_equal(memory_of(world)->reads - before, 3);
    end(world);
}

static void several_files_may_have_the_variable(void **state)
{
    struct world *const world = begin();
    struct fake_file files[THREAD_LOCALS_MAX + 1];
    (void)state;
    for (unsigned i = 0; i <= THREAD_LOCALS_MAX; i++) {
        fake_file_map(&world->threads, &files[i], OTHER_AT + i * UINT64_C(0x10000));
        fake_file_add(&world->threads, &files[i], NAME, STT_TLS, OFFSET, 8);
        fake_threads_load(&world->threads, &files[i], i + 1, 1, 0);
    }
    assert_true(refresh(world));
    assert_int_equal(world->locals.count, THREAD_LOCALS_MAX);
    end(world);
}

static void other_symbols_of_the_name_are_no_variables(void **state)
{
    static const struct {
        unsigned type;
        uint64_t bytes;
    } others[] = { { STT_OBJECT, 8 }, { STT_TLS, 16 }, { STT_TLS, 4 } };
    struct world *const world = begin();
    struct fake_file file;
    (void)state;
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        fake_file_map(&world->threads, &file, OTHER_AT + i * UINT64_C(0x10000));
        fake_file_add(&world->threads, &file, NAME, others[i].type, OFFSET, others[i].bytes);
        fake_threads_load(&world->threads, &file, i + 1, 1, 0);
    }
    assert_false(refresh(world));
    assert_int_equal(world->locals.count, 0);
    end(world);
}

static void expect_not_glibc(struct world *world)
{
    struct thread_locals locals;
    thread_locals_init(&locals, &world->threads.maps, memory_of(world), NAME, 8);
    assert_int_equal(locals.linker, 0);
    assert_false(thread_locals_refresh(&locals, world->now_ns));
    thread_locals_deinit(&locals);
}

static void a_c_library_that_does_not_describe_itself_is_not_used(void **state)
{
    struct world *const world = begin();
    const remote_addr library = world->threads.library.base;
    struct fake_memory *const memory = &world->threads.memory;
    (void)state;
    /* musl: the same file is both, and describes nothing. */
    put(world, library + FAKE_HASH + 16, 0);
    expect_not_glibc(world);
    fake_memory_unmap(memory, library);
    expect_not_glibc(world);
    end(world);
}

/* The first description is at this place. */
static void descriptions_that_make_no_sense_are_not_used(void **state)
{
    struct world *const world = begin();
    const remote_addr first = world->threads.library.base + 0x3000 + 12;
    (void)state;
    fake_memory_put_u32(&world->threads.memory, first + 8, UINT32_MAX);
    expect_not_glibc(world);
    fake_memory_put_u32(&world->threads.memory, first + 8, 0x128);
    fake_memory_put_u32(&world->threads.memory, first, 32);
    expect_not_glibc(world);
    end(world);
}

static void lists_without_an_end_end(void **state)
{
    struct world *const world = begin();
    const remote_addr list = world->threads.list;
    (void)state;
    load(world, 0);
    /* The next one is the same. */
    put(world, list, list);
    const uint64_t before = memory_of(world)->reads;
    (void)refresh(world);
    assert_true(memory_of(world)->reads - before < 10 * THREAD_LOCALS_MAX_LISTS);
    assert_true(world->locals.module_count <= THREAD_LOCALS_MAX_MODULES);
    put(world, list, 0);
    put(world, list + 8, UINT64_MAX);
    (void)refresh(world);
    assert_true(world->locals.module_count <= THREAD_LOCALS_MAX_MODULES);
    put(world, list, 8);
    put(world, list + 8, FAKE_NUMBERS);
    (void)refresh(world);
    end(world);
}

static void many_files_at_once_are_taken_in_turn(void **state)
{
    enum { FILES = 3 * THREAD_LOCALS_MAX_EXAMINED };
    struct world *const world = begin();
    const remote_addr list = world->threads.list, big = 0x7f0000500000;
    (void)state;
    put(world, list, big);
    fake_memory_map(&world->threads.memory, big, 24 + FILES * 16);
    put(world, big + 8, FILES);
    for (unsigned i = 0; i < FILES - 1; i++)
        put(world, big + 24 + i * UINT64_C(16), 8);
    put(world, big + 24 + (FILES - 1) * UINT64_C(16),
        fake_threads_load(&world->threads, &world->file, NUMBER, GENERATION, 0));
    fake_threads_unload(&world->threads, NUMBER);
    assert_false(refresh(world));
    assert_false(refresh(world));
    assert_true(refresh(world));
    end(world);
}

static enum err_code find(struct world *world, const char *name)
{
    struct dynamic_symbols symbols;
    Elf64_Sym symbol;
    const enum err_code rc =
        dynamic_symbols_open_file(memory_of(world), world->file.base, &symbols);
    return rc ? rc : dynamic_symbols_find(memory_of(world), &symbols, name, &symbol);
}

static void damaged_symbol_tables_have_no_symbols(void **state)
{
    struct world *const world = begin();
    struct fake_memory *const memory = &world->threads.memory;
    const remote_addr base = world->file.base, hash = base + FAKE_HASH;
    (void)state;
    assert_int_equal(find(world, NAME), ERR_OK);
    assert_int_equal(find(world, "nobody"), ERR_NOT_FOUND);
    /* A name that begins as one that is there, and one that is longer than the table. */
    fake_memory_put_u32(memory, base + FAKE_SYMBOLS + 2 * sizeof(Elf64_Sym), UINT32_MAX);
    assert_int_equal(find(world, NAME), ERR_NOT_FOUND);
    /* A chain of equal hashes that goes on. */
    put(world, hash + 16, UINT64_MAX);
    uint32_t equal;
    memcpy(&equal, fake_memory_at(memory, base + FAKE_CHAIN + sizeof equal, sizeof equal),
           sizeof equal);
    for (uint32_t i = 0; i < 200; i++)
        fake_memory_put_u32(memory, base + FAKE_CHAIN + i * sizeof equal, equal & ~1u);
    const uint64_t before = memory->memory.reads;
    assert_int_equal(find(world, NAME), ERR_NOT_FOUND);
    assert_true(memory->memory.reads - before < 4 * DYNAMIC_SYMBOLS_MAX_CHAIN);
    fake_memory_put_u32(memory, hash + 8, 0);
    assert_int_equal(find(world, NAME), ERR_CORRUPT);
    fake_memory_put_u32(memory, hash + 8, 1);
    fake_memory_put_u32(memory, hash + 12, 64);
    assert_int_equal(find(world, NAME), ERR_CORRUPT);
    fake_memory_put_u32(memory, hash + 12, 6);
    fake_memory_put_u32(memory, hash, 0);
    assert_int_equal(find(world, NAME), ERR_CORRUPT);
    fake_memory_put_u32(memory, hash, UINT32_MAX);
    assert_int_equal(find(world, NAME), ERR_FAULT);
    /* The end of its dynamic section comes first. */
    put(world, base + FAKE_DYNAMIC, DT_NULL);
    assert_int_equal(find(world, NAME), ERR_CORRUPT);
    put(world, base, 0);
    assert_int_equal(find(world, NAME), ERR_CORRUPT);
    end(world);
}

static void a_dynamic_section_ends_where_memory_does(void **state)
{
    struct world *const world = begin();
    struct dynamic_symbols symbols;
    const remote_addr at = 0x7f0000600000;
    const Elf64_Dyn last = { DT_DEBUG, { 0 } };
    (void)state;
    fake_memory_map(&world->threads.memory, at, sizeof last);
    fake_memory_put(&world->threads.memory, at, &last, sizeof last);
    assert_int_equal(dynamic_symbols_open(memory_of(world), at, 0, &symbols), ERR_CORRUPT);
    assert_int_equal(dynamic_symbols_open(memory_of(world), 8, 0, &symbols), ERR_FAULT);
    end(world);
}

TEST_GROUP(cmocka_unit_test(each_thread_has_its_own_value),
           cmocka_unit_test(a_block_may_have_a_fixed_distance),
           cmocka_unit_test(the_distance_may_become_known_later),
           cmocka_unit_test(a_thread_that_has_not_used_the_file_has_no_value),
           cmocka_unit_test(a_thread_that_has_ended_has_no_value),
           cmocka_unit_test(files_come_and_go), cmocka_unit_test(files_in_all_lists_are_found),
           cmocka_unit_test(no_news_cost_three_reads),
           cmocka_unit_test(several_files_may_have_the_variable),
           cmocka_unit_test(other_symbols_of_the_name_are_no_variables),
           cmocka_unit_test(a_c_library_that_does_not_describe_itself_is_not_used),
           cmocka_unit_test(descriptions_that_make_no_sense_are_not_used),
           cmocka_unit_test(lists_without_an_end_end),
           cmocka_unit_test(many_files_at_once_are_taken_in_turn),
           cmocka_unit_test(damaged_symbol_tables_have_no_symbols),
           cmocka_unit_test(a_dynamic_section_ends_where_memory_does))
