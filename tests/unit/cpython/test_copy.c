#include <string.h>

#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/stack/copy.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/fake_python.h"

struct world {
    struct fake_python python;
    struct fake_thread thread;
    remote_addr interp, code;
    struct copy copy;
};

static void begin(struct world *world, unsigned minor)
{
    memset(world, 0, sizeof *world);
    fake_python_init(&world->python, minor);
    world->interp = fake_interp(&world->python, 0);
    fake_thread_init(&world->thread, &world->python, world->interp, 1, 1);
    world->code = fake_function(&world->python, "f");
    const struct layout *const layout = &world->python.runtime.layout;
    copy_init(&world->copy, &world->python.memory.memory, layout, world->thread.addr,
              layout->interp_code_generation ? world->interp + layout->interp_code_generation
                                             : 0);
}

static void end(struct world *world)
{
    copy_deinit(&world->copy);
    fake_python_deinit(&world->python);
}

static void push(struct world *world, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fake_push(&world->thread, world->code, FAKE_CALL);
}

static uint64_t calls_made(const struct world *world)
{
    return world->python.memory.memory.reads;
}

/* Reads, and once more so that all of it is predicted; returns how many calls the last took. */
static uint64_t settle(struct world *world)
{
    uint64_t before = 0;
    for (int i = 0; i < 2; i++) {
        before = calls_made(world);
        assert_int_equal(copy_read(&world->copy), ERR_OK);
        assert_int_equal(copy_follow(&world->copy), ERR_OK);
        /* 3.11 and 3.12 learn where the frame that runs is named. */
        remote_addr running;
        (void)copy_running(&world->copy, &running);
    }
    return calls_made(world) - before;
}

static void a_thread_without_a_chunk_takes_one_call(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 15);
    assert_int_equal(settle(&world), 1);
    assert_int_equal(world.copy.chunk_count, 0);
    assert_true(copy_place(&world.copy, world.thread.addr) == COPY_NOWHERE);
    end(&world);
}

static void chunks_are_found_once_and_predicted_from_then_on(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world world;
        remote_addr current;
        begin(&world, minor);
        push(&world, 500);
        assert_int_equal(settle(&world), 1);
        assert_true(world.copy.chunk_count >= 2);
        assert_true(copy_running(&world.copy, &current));
        assert_int_equal(current, fake_current(&world.thread));
        assert_true(copy_place(&world.copy, current) != COPY_NOWHERE);
        /* Oldest first. */
        const struct copy_chunk *const chunks = world.copy.chunks;
        assert_int_equal(field_u64(chunks[0].reading[COPY_A], 0), 0);
        for (size_t i = 1; i < world.copy.chunk_count; i++)
            assert_int_equal(field_u64(chunks[i].reading[COPY_A], 0), chunks[i - 1].addr);
        end(&world);
    }
}

static void only_the_used_part_of_a_chunk_is_read(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 15);
    push(&world, 3);
    (void)settle(&world);
    const struct copy_chunk *const chunk = &world.copy.chunks[0];
    assert_true(chunk->bytes < chunk->size / 4);
    assert_true(chunk->addr + chunk->bytes >= copy_stack_top(&world.copy));
    push(&world, 60);
    assert_int_equal(settle(&world), 1);
    assert_true(chunk->addr + chunk->bytes >= copy_stack_top(&world.copy));
    end(&world);
}

static void a_reading_has_the_bytes_of_the_thread(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 14);
    push(&world, 5);
    (void)settle(&world);
    const struct copy_chunk *const chunk = &world.copy.chunks[0];
    assert_memory_equal(chunk->reading[COPY_A],
                        fake_memory_at(&world.python.memory, chunk->addr, chunk->bytes),
                        chunk->bytes);
    end(&world);
}

static void quick_check(struct world *world)
{
    struct memory_span spans[16];
    size_t arrived;
    world->copy.is_quick = true;
    assert_in_range(copy_plan_count(&world->copy), 1, 16);
    const size_t count = copy_plan(&world->copy, spans);
    assert_in_range(count, 1, copy_plan_count(&world->copy));
    assert_int_equal(memory_readv(world->copy.memory, spans, count, &arrived), ERR_OK);
    assert_int_equal(copy_settle(&world->copy, spans, count, arrived), ERR_OK);
}

static bool is_as_before(const struct world *world)
{
    return copy_changed_from(&world->copy, 0) == COPY_NOWHERE &&
           copy_off_chunk_is_same(&world->copy);
}

static void what_has_changed_is_not_called_unchanged(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world world;
        begin(&world, minor);
        fake_push(&world.thread, world.code, FAKE_CALL_FROM_C);
        (void)settle(&world);
        assert_false(is_as_before(&world));
        copy_accept(&world.copy);
        (void)settle(&world);
        assert_true(is_as_before(&world));
        /* A return, of which nothing can be seen in the frame before 3.14. */
        fake_pop(&world.thread);
        (void)settle(&world);
        assert_false(is_as_before(&world));
        copy_accept(&world.copy);
        const remote_addr frame = fake_push(&world.thread, world.code, FAKE_CALL_FROM_C);
        (void)settle(&world);
        assert_false(is_as_before(&world));
        copy_accept(&world.copy);
        fake_go_to(&world.thread, frame, 9);
        (void)settle(&world);
        assert_false(is_as_before(&world));
        end(&world);
    }
}

static void a_quick_check_sees_what_a_reading_sees(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world world;
        begin(&world, minor);
        fake_push(&world.thread, world.code, FAKE_CALL_FROM_C);
        const remote_addr frame = fake_push(&world.thread, world.code, FAKE_CALL_FROM_C);
        (void)settle(&world);
        copy_accept(&world.copy);
        quick_check(&world);
        assert_true(is_as_before(&world));
        fake_go_to(&world.thread, frame, 7);
        quick_check(&world);
        assert_false(is_as_before(&world));
        fake_go_to(&world.thread, frame, FAKE_FIRST_TRACEABLE);
        quick_check(&world);
        assert_true(is_as_before(&world));
        fake_pop(&world.thread);
        quick_check(&world);
        assert_false(is_as_before(&world));
        end(&world);
    }
}

static void another_thread_at_the_same_address_is_noticed(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 15);
    push(&world, 2);
    world.copy.ident = 1;
    (void)settle(&world);
    fake_memory_put_u64(&world.python.memory,
                        world.thread.addr + world.python.runtime.layout.tstate_thread_id, 2);
    assert_int_equal(copy_read(&world.copy), ERR_OK);
    assert_int_equal(copy_follow(&world.copy), ERR_GONE);
    end(&world);
}

static void a_chunk_that_was_unmapped_is_forgotten(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 15);
    push(&world, 500);
    (void)settle(&world);
    while (world.thread.depth > 10)
        fake_pop(&world.thread);
    assert_int_equal(settle(&world), 1);
    assert_int_equal(world.copy.chunk_count, 1);
    end(&world);
}

static void an_off_chunk_frame_is_copied_from_when_it_is_added(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 15);
    push(&world, 2);
    const remote_addr frame = fake_push(&world.thread, world.code, FAKE_RESUME);
    (void)settle(&world);
    assert_null(copy_off_chunk(&world.copy, COPY_A, frame));
    assert_int_equal(copy_add_off_chunk(&world.copy, frame), ERR_OK);
    assert_int_equal(copy_add_off_chunk(&world.copy, frame), ERR_OK);
    assert_int_equal(world.copy.off_chunk_count, 1);
    (void)settle(&world);
    const uint32_t bytes = world.python.runtime.layout.frame_bytes;
    const void *const there = fake_memory_at(&world.python.memory, frame, bytes);
    assert_memory_equal(copy_off_chunk(&world.copy, COPY_A, frame), there, bytes);
    end(&world);
}

static void an_off_chunk_frame_that_was_unmapped_is_dropped_alone(void **state)
{
    enum { COUNT = 20, LOST = 7 };
    struct world world;
    remote_addr frames[COUNT];
    (void)state;
    begin(&world, 15);
    push(&world, 2);
    (void)settle(&world);
    for (size_t i = 0; i < COUNT; i++) {
        frames[i] = fake_alloc(&world.python, world.python.runtime.layout.frame_bytes);
        assert_int_equal(copy_add_off_chunk(&world.copy, frames[i]), ERR_OK);
    }
    (void)settle(&world);
    fake_memory_unmap(&world.python.memory, frames[LOST]);
    assert_int_equal(settle(&world), 1);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(copy_off_chunk(&world.copy, COPY_A, frames[i]) != NULL, i != LOST);
    assert_int_equal(world.copy.chunk_count, 1);
    end(&world);
}

static void off_chunk_frames_not_used_for_long_are_dropped(void **state)
{
    enum { COUNT = 9 };
    struct world world;
    remote_addr frames[COUNT];
    (void)state;
    begin(&world, 15);
    for (size_t i = 0; i < COUNT; i++) {
        frames[i] = fake_alloc(&world.python, world.python.runtime.layout.frame_bytes);
        assert_int_equal(copy_add_off_chunk(&world.copy, frames[i]), ERR_OK);
    }
    for (unsigned reading = 0; reading <= COPY_IDLE_READINGS; reading++) {
        (void)settle(&world);
        for (size_t i = 0; i < COUNT; i += 2)
            copy_mark_used(&world.copy, frames[i], 0);
        copy_drop_idle(&world.copy);
    }
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(copy_off_chunk(&world.copy, COPY_A, frames[i]) != NULL, i % 2 == 0);
    copy_mark_used(&world.copy, 4711, 0);
    end(&world);
}

static void off_chunk_frames_have_a_limit(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 15);
    const uint32_t bytes = world.python.runtime.layout.frame_bytes;
    const remote_addr heap =
        fake_alloc(&world.python, (size_t)COPY_MAX_OFF_CHUNK * bytes + bytes);
    for (size_t i = 0; i < COPY_MAX_OFF_CHUNK; i++)
        assert_int_equal(copy_add_off_chunk(&world.copy, heap + i * bytes), ERR_OK);
    assert_int_equal(copy_add_off_chunk(&world.copy, heap + (size_t)COPY_MAX_OFF_CHUNK * bytes),
                     ERR_LIMIT);
    assert_int_equal(copy_add_off_chunk(&world.copy, heap), ERR_OK);
    /* More places than one call holds. */
    assert_in_range(settle(&world), 2, 2 * COPY_MAX_OFF_CHUNK / MEMORY_MAX_SPANS + 1);
    for (size_t i = 0; i < COPY_MAX_OFF_CHUNK; i += 100)
        assert_non_null(copy_off_chunk(&world.copy, COPY_A, heap + i * bytes));
    end(&world);
}

/* Two chunks that name each other as the one before. */
static void chunks_in_a_circle_are_an_error_after_few_reads(void **state)
{
    static const size_t lengths[] = { 1, 2, 3, 7, 100 };
    (void)state;
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        struct world world;
        begin(&world, 15);
        push(&world, 1);
        remote_addr chunks[100];
        for (size_t i = 0; i < lengths[l]; i++) {
            chunks[i] = fake_alloc(&world.python, FAKE_CHUNK_BYTES);
            fake_memory_put_u64(&world.python.memory, chunks[i] + 8, FAKE_CHUNK_BYTES);
        }
        for (size_t i = 0; i < lengths[l]; i++)
            fake_memory_put_u64(&world.python.memory, chunks[i], chunks[(i + 1) % lengths[l]]);
        fake_memory_put_u64(
            &world.python.memory,
            world.thread.addr + world.python.runtime.layout.tstate_datastack_chunk, chunks[0]);
        assert_int_equal(copy_read(&world.copy), ERR_OK);
        assert_int_equal(copy_follow(&world.copy), ERR_CORRUPT);
        assert_true(world.python.memory.memory.reads < 5 * lengths[l] + 10);
        assert_int_equal(world.copy.chunk_count, 0);
        end(&world);
    }
}

static void headers_that_make_no_sense_are_refused(void **state)
{
    static const struct {
        uint64_t size, used;
    } headers[] = {
        { 0, 0 },
        { COPY_CHUNK_HEADER_BYTES - 1, 0 },
        { COPY_MAX_CHUNK_BYTES + 1ull, 0 },
        { UINT64_MAX, 0 },
        { FAKE_CHUNK_BYTES, FAKE_CHUNK_BYTES / 8 + 1 },
        { FAKE_CHUNK_BYTES, UINT64_MAX },
        { FAKE_CHUNK_BYTES, UINT64_MAX / 8 + 2 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct world world;
        begin(&world, 15);
        push(&world, 1);
        const remote_addr chunk = fake_memory_u64(
            &world.python.memory,
            world.thread.addr + world.python.runtime.layout.tstate_datastack_chunk);
        fake_memory_put_u64(&world.python.memory, chunk + 8, headers[i].size);
        fake_memory_put_u64(&world.python.memory, chunk + 16, headers[i].used);
        assert_int_equal(copy_read(&world.copy), ERR_OK);
        assert_int_equal(copy_follow(&world.copy), ERR_CORRUPT);
        assert_int_equal(world.copy.chunk_count, 0);
        end(&world);
    }
}

/* A long chain of large chunks that share the same memory: the memory we allocate must stay bounded. */
static void what_is_held_of_a_stack_is_limited(void **state)
{
    enum { CLAIMED = 32 << 20, CHUNKS = 40 };
    struct world world;
    (void)state;
    begin(&world, 15);
    push(&world, 1);
    struct fake_memory *const memory = &world.python.memory;
    remote_addr before = 0;
    for (size_t i = 0; i < CHUNKS; i++) {
        const remote_addr chunk = fake_alloc(&world.python, COPY_CHUNK_HEADER_BYTES);
        fake_memory_put_u64(memory, chunk, before);
        fake_memory_put_u64(memory, chunk + 8, CLAIMED);
        fake_memory_put_u64(memory, chunk + 16, CLAIMED / 8 - 3);
        before = chunk;
    }
    fake_memory_put_u64(
        memory, world.thread.addr + world.python.runtime.layout.tstate_datastack_chunk, before);
    assert_int_equal(copy_read(&world.copy), ERR_OK);
    assert_int_equal(copy_follow(&world.copy), ERR_LIMIT);
    size_t held = 0;
    for (size_t i = 0; i < world.copy.chunk_room; i++)
        held += world.copy.chunks[i].room;
    assert_true(held <= COPY_MAX_BYTES);
    end(&world);
}

static void no_more_of_a_thread_state_is_read_than_it_has(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world world;
        begin(&world, minor);
        struct layout *const layout = &world.python.runtime.layout;
        assert_true(world.copy.tstate_bytes <= layout->tstate_bytes);
        layout->tstate_bytes = LAYOUT_MAX_TSTATE_BYTES;
        layout->tstate_gil_requested = LAYOUT_MAX_TSTATE_BYTES - 4;
        assert_int_equal(layout_check(layout, NULL), ERR_OK);
        copy_deinit(&world.copy);
        copy_init(&world.copy, &world.python.memory.memory, layout, world.thread.addr, 0);
        assert_int_equal(world.copy.tstate_bytes, LAYOUT_MAX_TSTATE_BYTES);
        end(&world);
    }
}

/* 3.15 keeps the chunk it popped last, without its link to the one below. */
static void a_chunk_stored_for_later_is_not_the_first_one(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 15);
    push(&world, 500);
    (void)settle(&world);
    const size_t count = world.copy.chunk_count;
    const remote_addr first = world.copy.chunks[0].addr;
    fake_memory_put_u64(&world.python.memory, world.copy.chunks[count - 1].addr, 0);
    assert_int_equal(copy_read(&world.copy), ERR_OK);
    assert_int_equal(copy_follow(&world.copy), ERR_OK);
    assert_int_equal(world.copy.chunk_count, count);
    assert_int_equal(world.copy.chunks[0].addr, first);
    end(&world);
}

/* A frame in a chunk that is not known yet is not an off-chunk frame. */
static void only_generators_and_entries_are_off_chunk(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 15);
    push(&world, 2);
    const remote_addr in_chunk = fake_current(&world.thread);
    const remote_addr generator = fake_push(&world.thread, world.code, FAKE_RESUME);
    assert_int_equal(copy_read(&world.copy), ERR_OK);
    assert_int_equal(copy_fetch_off_chunk(&world.copy, in_chunk), ERR_FAULT);
    assert_int_equal(world.copy.off_chunk_count, 0);
    assert_int_equal(copy_fetch_off_chunk(&world.copy, generator), ERR_OK);
    assert_int_equal(world.copy.off_chunk_count, 1);
    end(&world);
}

TEST_GROUP(cmocka_unit_test(a_chunk_stored_for_later_is_not_the_first_one),
           cmocka_unit_test(only_generators_and_entries_are_off_chunk),
           cmocka_unit_test(a_thread_without_a_chunk_takes_one_call),
           cmocka_unit_test(chunks_are_found_once_and_predicted_from_then_on),
           cmocka_unit_test(only_the_used_part_of_a_chunk_is_read),
           cmocka_unit_test(a_reading_has_the_bytes_of_the_thread),
           cmocka_unit_test(what_has_changed_is_not_called_unchanged),
           cmocka_unit_test(a_quick_check_sees_what_a_reading_sees),
           cmocka_unit_test(another_thread_at_the_same_address_is_noticed),
           cmocka_unit_test(a_chunk_that_was_unmapped_is_forgotten),
           cmocka_unit_test(an_off_chunk_frame_is_copied_from_when_it_is_added),
           cmocka_unit_test(an_off_chunk_frame_that_was_unmapped_is_dropped_alone),
           cmocka_unit_test(off_chunk_frames_not_used_for_long_are_dropped),
           cmocka_unit_test(off_chunk_frames_have_a_limit),
           cmocka_unit_test(chunks_in_a_circle_are_an_error_after_few_reads),
           cmocka_unit_test(headers_that_make_no_sense_are_refused),
           cmocka_unit_test(what_is_held_of_a_stack_is_limited),
           cmocka_unit_test(no_more_of_a_thread_state_is_read_than_it_has))
