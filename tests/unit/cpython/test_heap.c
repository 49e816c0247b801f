/* Stacks of 3.8 to 3.10, whose frames are heap objects, and other features of these versions. */
#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/objects/code_place.h"
#include "sampler/cpython/objects/location.h"
#include "sampler/cpython/runtime/version_text.h"
#include "sampler/cpython/stack/stack.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/fake_heap.h"

enum { OLDEST = 8, NEWEST = 10, TSTATE_BYTES = 512, IDENT = 0x7f00 };

struct world {
    struct fake_python python;
    struct strtab strings;
    struct code_table codes;
    struct stack stack;
    remote_addr tstate;
    /* The event that happens once before a span of a read, at event_span. */
    void (*event)(struct world *world);
    size_t event_span;
    remote_addr subject, other;
};

static const struct layout *layout_of(const struct world *world)
{
    return &world->python.runtime.layout;
}

static void put_u64(struct world *world, remote_addr addr, uint64_t value)
{
    fake_memory_put_u64(&world->python.memory, addr, value);
}

static void happen(struct fake_memory *memory, const struct fake_read_at *moment, void *context)
{
    struct world *const world = context;
    (void)memory;
    if (!world->event || moment->span != world->event_span)
        return;
    void (*const event)(struct world *) = world->event;
    world->event = NULL;
    event(world);
}

static struct world *create(unsigned minor)
{
    struct world *const world = calloc(1, sizeof *world);
    assert_non_null(world);
    fake_python_init(&world->python, minor);
    struct memory *const memory = &world->python.memory.memory;
    world->tstate = fake_alloc(&world->python, TSTATE_BYTES);
    put_u64(world, world->tstate + layout_of(world)->tstate_thread_id, IDENT);
    assert_int_equal(strtab_init(&world->strings, NULL), ERR_OK);
    code_table_init(&world->codes, memory, layout_of(world), &world->strings);
    stack_init(&world->stack, memory, layout_of(world), world->tstate, 0);
    world->stack.copy.ident = IDENT;
    world->python.memory.hook = happen;
    world->python.memory.context = world;
    return world;
}

static void destroy(struct world *world)
{
    stack_deinit(&world->stack);
    code_table_deinit(&world->codes);
    strtab_deinit(&world->strings);
    fake_python_deinit(&world->python);
    free(world);
}

static remote_addr code(struct world *world, const char *name)
{
    return fake_heap_code(&world->python, name);
}

static remote_addr call(struct world *world, remote_addr function, remote_addr caller)
{
    return fake_heap_call(&world->python, world->tstate, function, caller);
}

static void expect(struct world *world, const char *names, enum stack_certainty certainty)
{
    char found[256] = "";
    assert_int_equal(stack_read(&world->stack, &world->codes), ERR_OK);
    for (size_t i = 0; i < world->stack.count; i++) {
        const struct code *const of = code_at(&world->codes, world->stack.frames[i].code);
        strcat(strcat(found, i ? " " : ""), strtab_get(&world->strings, of->name).text);
    }
    assert_string_equal(found, names);
    assert_int_equal(world->stack.certainty, certainty);
}

static int32_t line_of(struct world *world, size_t depth)
{
    const struct walk_frame *const frame = &world->stack.frames[depth];
    return code_place(&world->codes, frame->code, frame->instr)->location.line;
}

static void a_stack_is_read_and_then_predicted(void **state)
{
    (void)state;
    for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
        struct world *const world = create(minor);
        const remote_addr a = call(world, code(world, "a"), 0);
        const remote_addr b = call(world, code(world, "b"), a);
        expect(world, "a b", STACK_RETRIED);
        fake_heap_set_unit(&world->python, b, 5);
        expect(world, "a b", STACK_EXACT);
        assert_int_equal(line_of(world, 0), 4);
        assert_int_equal(line_of(world, 1), 6);
        fake_heap_set_unit(&world->python, b, -1);
        expect(world, "a b", STACK_EXACT);
        assert_int_equal(line_of(world, 1), 1);
        const uint64_t before = world->python.memory.memory.reads;
        expect(world, "a b", STACK_EXACT);
        assert_true(world->stack.is_unchanged);
        /* One call for the frames, one that checks the code objects. */
        assert_int_equal(world->python.memory.memory.reads - before, 2);
        put_u64(world, world->tstate + layout_of(world)->tstate_current_frame, 0);
        expect(world, "", STACK_EXACT);
        destroy(world);
    }
}

static void deep_recursion_is_read_whole(void **state)
{
    enum { DEPTH = 3000 };
    (void)state;
    struct world *const world = create(OLDEST);
    const remote_addr f = code(world, "f");
    remote_addr frame = 0;
    for (int i = 0; i < DEPTH; i++)
        frame = call(world, f, frame);
    assert_true(stack_plan_count(&world->stack) < MEMORY_MAX_SPANS);
    assert_int_equal(stack_read(&world->stack, &world->codes), ERR_OK);
    assert_int_equal(world->stack.count, DEPTH);
    assert_true(stack_plan_count(&world->stack) > MEMORY_MAX_SPANS);
    assert_int_equal(stack_read(&world->stack, &world->codes), ERR_OK);
    assert_int_equal(world->stack.certainty, STACK_EXACT);
    const uint64_t before = world->python.memory.memory.reads;
    assert_int_equal(stack_read(&world->stack, &world->codes), ERR_OK);
    assert_int_equal(world->stack.count, DEPTH);
    assert_true(world->stack.is_unchanged);
    assert_true(world->python.memory.memory.reads - before < 10);
    destroy(world);
}

static void leave(struct world *world)
{
    fake_heap_set_executing(&world->python, world->subject, false);
    put_u64(world, world->tstate + layout_of(world)->tstate_current_frame, world->other);
    fake_heap_set_unit(&world->python, world->other, 9);
}

static void what_returns_meanwhile_is_cut_off(void **state)
{
    (void)state;
    for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
        struct world *const world = create(minor);
        world->other = call(world, code(world, "a"), 0);
        world->subject = call(world, code(world, "b"), world->other);
        expect(world, "a b", STACK_RETRIED);
        expect(world, "a b", STACK_EXACT);
        world->event = leave;
        world->event_span = 1;
        expect(world, "a", STACK_TRUNCATED);
        expect(world, "a", STACK_EXACT);
        destroy(world);
    }
}

static void yield(struct world *world)
{
    leave(world);
    put_u64(world, world->subject + layout_of(world)->frame_previous, 0);
}

static void a_generator_that_yields_meanwhile_is_cut_off(void **state)
{
    (void)state;
    struct world *const world = create(NEWEST);
    world->other = call(world, code(world, "a"), 0);
    world->subject = call(world, code(world, "g"), world->other);
    expect(world, "a g", STACK_RETRIED);
    expect(world, "a g", STACK_EXACT);
    world->event = yield;
    world->event_span = 1;
    expect(world, "a", STACK_TRUNCATED);
    destroy(world);
}

static void a_call_never_seen_for_certain_is_cut_off(void **state)
{
    (void)state;
    struct world *const world = create(OLDEST);
    world->other = call(world, code(world, "a"), 0);
    expect(world, "a", STACK_RETRIED);
    world->subject = call(world, code(world, "b"), world->other);
    fake_heap_set_executing(&world->python, world->subject, false);
    expect(world, "a", STACK_TRUNCATED);
    destroy(world);
}

static void a_frame_whose_memory_is_gone_does_not_affect_others(void **state)
{
    (void)state;
    struct world *const world = create(OLDEST);
    const remote_addr a = call(world, code(world, "a"), 0);
    const remote_addr b = call(world, code(world, "b"), a);
    expect(world, "a b", STACK_RETRIED);
    fake_memory_unmap(&world->python.memory, b);
    put_u64(world, world->tstate + layout_of(world)->tstate_current_frame, a);
    expect(world, "a", STACK_EXACT);
    put_u64(world, world->tstate + layout_of(world)->tstate_current_frame, b);
    assert_int_equal(stack_read(&world->stack, &world->codes), ERR_FAULT);
    assert_int_equal(world->stack.count, 0);
    destroy(world);
}

static void free_frame(struct world *world)
{
    /* A freed frame is linked to other frames that are free. */
    fake_heap_set_executing(&world->python, world->subject, false);
    put_u64(world, world->subject + layout_of(world)->frame_previous, world->subject + 8);
    put_u64(world, world->subject + layout_of(world)->frame_executable, 0);
}

static void a_frame_that_is_freed_meanwhile_is_no_sample(void **state)
{
    (void)state;
    for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
        struct world *const world = create(minor);
        const remote_addr a = call(world, code(world, "a"), 0);
        const remote_addr b = call(world, code(world, "b"), a);
        world->subject = call(world, code(world, "c"), b);
        expect(world, "a b c", STACK_RETRIED);
        expect(world, "a b c", STACK_EXACT);
        world->event = free_frame;
        world->event_span = 1;
        assert_int_equal(stack_read(&world->stack, &world->codes), ERR_FAULT);
        assert_int_equal(world->stack.count, 0);
        put_u64(world, world->tstate + layout_of(world)->tstate_current_frame, b);
        expect(world, "a b", STACK_EXACT);
        destroy(world);
    }
}

static void frames_that_lie_side_by_side_are_read_at_once(void **state)
{
    enum { FRAMES = 200, APART = 512, INNERMOST = 8 };
    (void)state;
    struct world *const world = create(NEWEST);
    const struct layout *const layout = layout_of(world);
    const remote_addr pool = fake_alloc(&world->python, FRAMES * APART), f = code(world, "f");
    for (size_t i = 0; i < FRAMES; i++) {
        const remote_addr frame = pool + i * 77 % FRAMES * APART;
        put_u64(world, frame + layout->frame_previous,
                i ? pool + (i - 1) * 77 % FRAMES * APART : 0);
        put_u64(world, frame + layout->frame_executable, f);
        fake_heap_set_unit(&world->python, frame, 1);
        fake_heap_set_current(&world->python, world->tstate, frame);
    }
    assert_int_equal(stack_read(&world->stack, &world->codes), ERR_OK);
    assert_int_equal(world->stack.count, FRAMES);
    /* The thread state, the innermost frames, and all frames twice. */
    assert_int_equal(stack_plan_count(&world->stack), 1 + INNERMOST + 2);
    assert_int_equal(stack_read(&world->stack, &world->codes), ERR_OK);
    assert_int_equal(world->stack.count, FRAMES);
    assert_int_equal(world->stack.certainty, STACK_EXACT);
    world->stack.copy.is_still = true;
    assert_int_equal(stack_plan_count(&world->stack), 1 + 1);
    destroy(world);
}

static void a_ring_of_frames_and_another_thread_are_refused(void **state)
{
    (void)state;
    struct world *const world = create(OLDEST);
    const remote_addr a = call(world, code(world, "a"), 0);
    const remote_addr b = call(world, code(world, "b"), a);
    put_u64(world, a + layout_of(world)->frame_previous, b);
    assert_int_equal(stack_read(&world->stack, &world->codes), ERR_FAULT);
    put_u64(world, world->tstate + layout_of(world)->tstate_thread_id, IDENT + 1);
    assert_int_equal(stack_read(&world->stack, &world->codes), ERR_GONE);
    fake_memory_unmap(&world->python.memory, world->tstate);
    assert_int_equal(stack_read(&world->stack, &world->codes), ERR_GONE);
    destroy(world);
}

/* Whatever the words are, each reading ends and is bounded. */
static void any_words_are_survived(void **state)
{
    enum { ROUNDS = 300, DAMAGES = 12, MAX_READS = 20000 };
    uint32_t random = 1;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct world *const world = create(OLDEST + (unsigned)round % 3);
        remote_addr frame = 0;
        for (int i = 0; i < 6; i++)
            frame = call(world, code(world, "f"), frame);
        for (int i = 0; i < DAMAGES; i++) {
            const struct fake_memory *const memory = &world->python.memory;
            random = random * 1664525 + 1013904223;
            const struct fake_region *const region =
                &memory->regions[random / 7 % memory->count];
            const struct fake_region *const other =
                &memory->regions[random / 977 % memory->count];
            if (region->bytes >= 8)
                put_u64(world, region->addr + random / 13 % (region->bytes / 8) * 8,
                        random & 1 << 20 ? other->addr : random);
            const uint64_t before = memory->memory.reads;
            (void)!stack_read(&world->stack, &world->codes);
            assert_true(memory->memory.reads - before < MAX_READS);
            for (size_t j = 0; j < world->stack.count; j++)
                assert_non_null(code_place(&world->codes, world->stack.frames[j].code,
                                           world->stack.frames[j].instr));
        }
        destroy(world);
    }
}

static void old_line_tables_are_followed_to_their_end(void **state)
{
    static const unsigned char steps[] = { 0, 2, 6, 1, 255, 0, 3, 0x80, 4, 0x7f, 9 };
    static const unsigned char ranges[] = { 4, 2, 2, 0x80, 6, 0xff, 0, 100, 2, 1, 7 };
    static const int32_t of_steps[] = { 12, 12, 12, 13 },
                         of_ranges[] = { 12, 12, 0, 11, 11, 11, 112 };
    (void)state;
    unsigned char *const a = guard_copy(steps, sizeof steps);
    unsigned char *const b = guard_copy(ranges, sizeof ranges);
    for (uint32_t i = 0; i < sizeof of_steps / sizeof *of_steps; i++)
        assert_int_equal(location_find_lnotab(a, sizeof steps, 10, i), of_steps[i]);
    assert_int_equal(location_find_lnotab(a, sizeof steps, 10, 132),
                     0); /* before the first line */
    assert_int_equal(location_find_lnotab(a, sizeof steps, 10, UINT32_MAX), 12);
    assert_int_equal(location_find_lnotab(a, sizeof steps, INT32_MAX, 0), INT32_MAX);
    assert_int_equal(location_find_lnotab(NULL, 0, 10, 5), 10);
    for (uint32_t i = 0; i < sizeof of_ranges / sizeof *of_ranges; i++)
        assert_int_equal(location_find_lnotab_range(b, sizeof ranges, 10, i), of_ranges[i]);
    assert_int_equal(location_find_lnotab_range(b, sizeof ranges, 10, 7), 0);
    assert_int_equal(location_find_lnotab_range(NULL, 0, 10, 0), 0);
    guard_free(a, sizeof steps);
    guard_free(b, sizeof ranges);
}

static uint32_t parse(const char *text)
{
    const size_t bytes = strlen(text);
    unsigned char *const copy = guard_copy(text, bytes);
    const uint32_t version = version_text_parse((const char *)copy, bytes);
    guard_free(copy, bytes);
    return version;
}

static void a_text_gives_the_version(void **state)
{
    static const struct {
        const char *text;
        uint32_t version;
    } cases[] = {
        { "3.8.18 (default, May", 0x030812f0 },
        { "3.10.13 (main, Ma", 0x030a0df0 },
        { "3.9.0rc2 (default", 0x030900c2 },
        { "3.10.0a7+ (heads/", 0x030a00a7 },
        { "3.9.18+ (", 0x030912f0 },
        { "3.8.18", 0 },
        { "3.8.", 0 },
        { "3.8.18 [", 0 },
        { "3.999.1 (x", 0 },
        { "3.9.0b (x", 0 },
        { "3.9.0b99 (x", 0 },
        { "2.7.18 (x", 0 },
        { "3", 0 },
        { "3.14", 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(parse(cases[i].text), cases[i].version);
}

TEST_GROUP(cmocka_unit_test(a_stack_is_read_and_then_predicted),
           cmocka_unit_test(deep_recursion_is_read_whole),
           cmocka_unit_test(what_returns_meanwhile_is_cut_off),
           cmocka_unit_test(a_generator_that_yields_meanwhile_is_cut_off),
           cmocka_unit_test(a_call_never_seen_for_certain_is_cut_off),
           cmocka_unit_test(a_frame_whose_memory_is_gone_does_not_affect_others),
           cmocka_unit_test(a_frame_that_is_freed_meanwhile_is_no_sample),
           cmocka_unit_test(frames_that_lie_side_by_side_are_read_at_once),
           cmocka_unit_test(a_ring_of_frames_and_another_thread_are_refused),
           cmocka_unit_test(any_words_are_survived),
           cmocka_unit_test(old_line_tables_are_followed_to_their_end),
           cmocka_unit_test(a_text_gives_the_version))
