#include <stdlib.h>

#include "sampler/cpython/runtime/evidence.h"
#include "sampler/cpython/runtime/runtime.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/fake_python.h"

/* An interpreter with one thread. */
struct world {
    struct fake_python python;
    struct fake_thread thread;
    remote_addr interp;
};

static struct world *begin(unsigned minor)
{
    struct world *const world = calloc(1, sizeof *world);
    assert_non_null(world);
    fake_python_init(&world->python, minor);
    world->interp = fake_interp(&world->python, 0);
    fake_thread_init(&world->thread, &world->python, world->interp, 1, 100);
    return world;
}

static void end(struct world *world)
{
    fake_python_deinit(&world->python);
    free(world);
}

static enum err_code confirm(struct world *world)
{
    remote_addr interp = 0;
    const enum err_code rc =
        runtime_confirm(&world->python.memory.memory, &world->python.runtime, &interp);
    if (!rc)
        assert_int_equal(interp, world->interp);
    return rc;
}

static struct evidence gather(struct world *world, remote_addr interp)
{
    return evidence_gather(&world->python.memory.memory, &world->python.runtime.layout, interp);
}

static void the_chain_from_runtime_to_thread_and_back_must_close(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world *const world = begin(minor);
        const struct layout *const layout = &world->python.runtime.layout;
        struct fake_memory *const memory = &world->python.memory;
        const remote_addr head = world->python.runtime.addr + layout->runtime_interpreters_head,
                          first = world->interp + layout->interp_threads_head,
                          back = world->thread.addr + layout->tstate_interp;
        assert_int_equal(confirm(world), ERR_OK);
        fake_memory_put_u64(memory, back, world->interp + 8);
        assert_int_equal(confirm(world), ERR_NOT_PYTHON);
        fake_memory_put_u64(memory, back, world->interp);
        fake_memory_put_u64(memory, first, 0);
        assert_int_equal(confirm(world), ERR_NOT_PYTHON);
        fake_memory_put_u64(memory, first, 8);
        assert_int_equal(confirm(world), ERR_FAULT);
        fake_memory_put_u64(memory, first, world->thread.addr);
        fake_memory_put_u64(memory, head, 0);
        assert_int_equal(confirm(world), ERR_NOT_PYTHON);
        fake_memory_put_u64(memory, head, UINT64_MAX);
        assert_int_equal(confirm(world), ERR_FAULT);
        fake_memory_put_u64(memory, head, world->interp);
        assert_int_equal(confirm(world), ERR_OK);
        memory->failure = ERR_GONE;
        assert_int_equal(confirm(world), ERR_GONE);
        end(world);
    }
}

static void an_interpreter_without_threads_is_skipped(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world *const world = begin(minor);
        const remote_addr idle = fake_interp(&world->python, 1);
        assert_int_equal(confirm(world), ERR_OK);
        /* In a circle none of them is ever the right one. */
        const struct layout *const layout = &world->python.runtime.layout;
        fake_memory_put_u64(&world->python.memory, idle + layout->interp_next, idle);
        assert_int_equal(confirm(world), ERR_NOT_PYTHON);
        end(world);
    }
}

static void frames_that_name_code_objects_speak_for_an_interpreter(void **state)
{
    enum { DEPTH = 5 };
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world *const world = begin(minor);
        assert_int_equal(gather(world, world->interp).frames, 0);
        for (int i = 0; i < DEPTH; i++)
            (void)fake_push(&world->thread, fake_function(&world->python, "f"),
                            i == 2 ? FAKE_CALL_FROM_C : FAKE_CALL);
        assert_int_equal(gather(world, world->interp).frames, DEPTH);
        /* The newest interpreter runs nothing, one behind it does. */
        assert_int_equal(gather(world, fake_interp(&world->python, 1)).frames, DEPTH);
        assert_int_equal(gather(world, UINT64_MAX).frames, 0);
        end(world);
    }
}

static void chains_without_an_end_are_left(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world *const world = begin(minor);
        const struct layout *const layout = &world->python.runtime.layout;
        struct fake_memory *const memory = &world->python.memory;
        const remote_addr frame =
            fake_push(&world->thread, fake_function(&world->python, "f"), FAKE_CALL);
        fake_memory_put_u64(memory, frame + layout->frame_previous, frame);
        fake_memory_put_u64(memory, world->thread.addr + layout->tstate_next,
                            world->thread.addr);
        assert_int_equal(gather(world, world->interp).frames,
                         EVIDENCE_MAX_THREADS * EVIDENCE_MAX_FRAMES);
        end(world);
    }
}

static void modules_lie_in_a_dict(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world *const world = begin(minor);
        const struct layout *const layout = &world->python.runtime.layout;
        struct fake_memory *const memory = &world->python.memory;
        const remote_addr modules = fake_alloc(&world->python, 64);
        assert_false(gather(world, world->interp).has_modules);
        fake_memory_put_u64(memory, world->interp + layout->interp_imports_modules, modules);
        assert_false(gather(world, world->interp).has_modules);
        fake_memory_put_u64(memory, modules + layout->object_type,
                            fake_type(&world->python, "list"));
        assert_false(gather(world, world->interp).has_modules);
        fake_memory_put_u64(memory, modules + layout->object_type,
                            fake_type(&world->python, "dict"));
        assert_true(gather(world, world->interp).has_modules);
        end(world);
    }
}

TEST_GROUP(cmocka_unit_test(the_chain_from_runtime_to_thread_and_back_must_close),
           cmocka_unit_test(an_interpreter_without_threads_is_skipped),
           cmocka_unit_test(frames_that_name_code_objects_speak_for_an_interpreter),
           cmocka_unit_test(chains_without_an_end_are_left),
           cmocka_unit_test(modules_lie_in_a_dict))
