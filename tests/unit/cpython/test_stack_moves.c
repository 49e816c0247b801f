/* A thread that takes one step between two readings of the same sample. */
#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/stack/stack.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/stack_world.h"

/* The thread moves on at a moment of the next reading. */
struct move {
    struct stack_world *world;
    size_t span, offset;
    void (*make)(struct move *move);
    remote_addr code; /* to be called */
    bool made;
};

static void move_then(struct fake_memory *memory, const struct fake_read_at *moment,
                      void *context)
{
    struct move *const move = context;
    (void)memory;
    if (move->made || moment->span != move->span || moment->offset < move->offset)
        return;
    move->made = true;
    move->make(move);
}

static enum err_code read_moving(struct stack_world *world, struct move *move)
{
    struct fake_memory *const memory = &world->python.memory;
    move->world = world;
    memory->hook = move_then;
    memory->context = move;
    memory->slice_bytes = 8;
    const enum err_code rc = stack_world_read(world);
    memory->hook = NULL;
    assert_true(move->made);
    return rc;
}

enum { SPAN_A, SPAN_TSTATE, SPAN_B };

static void pop_one(struct move *move)
{
    fake_pop(&move->world->thread);
}

static void push_one(struct move *move)
{
    fake_push(&move->world->thread, move->code, FAKE_CALL);
}

static void check_push_in_the_middle(struct stack_world *world)
{
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    stack_world_call(world, "a", FAKE_CALL);
    const remote_addr code = fake_function(&world->python, "b");
    fake_push(&world->thread, code, FAKE_CALL);
    stack_world_expect(world, "main a b");
    stack_world_expect(world, "main a b");
    fake_pop(&world->thread);
    struct move move = { .span = SPAN_TSTATE, .make = push_one, .code = code };
    assert_int_equal(read_moving(world, &move), ERR_OK);
    assert_true(world->stack.count >= 2);
    char *const names = stack_world_names(world);
    assert_true(strcmp(names, "main a") == 0 || strcmp(names, "main a b") == 0);
    free(names);
}

static void a_call_between_the_readings_is_there_or_not(void **state)
{
    (void)state;
    stack_world_each_version(check_push_in_the_middle);
}

static void check_pop_in_the_middle(struct stack_world *world)
{
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    stack_world_call(world, "a", FAKE_CALL);
    stack_world_call(world, "b", FAKE_CALL);
    stack_world_expect(world, "main a b");
    stack_world_expect(world, "main a b");
    struct move move = { .span = SPAN_TSTATE, .make = pop_one };
    assert_int_equal(read_moving(world, &move), ERR_OK);
    char *const names = stack_world_names(world);
    assert_true(strcmp(names, "main a") == 0 || strcmp(names, "main a b") == 0);
    free(names);
    /* After it, the thread is unchanged again. */
    stack_world_expect(world, "main a");
}

static void a_return_between_the_readings_has_happened_or_not(void **state)
{
    (void)state;
    stack_world_each_version(check_pop_in_the_middle);
}

static void check_unconfirmed(struct stack_world *world)
{
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    stack_world_call(world, "a", FAKE_CALL);
    stack_world_expect(world, "main a");
    /* Never seen for certain: this call is in B only. */
    struct move move = { .span = SPAN_TSTATE,
                         .make = push_one,
                         .code = fake_function(&world->python, "stranger") };
    assert_int_equal(read_moving(world, &move), ERR_OK);
    assert_true(world->stack.count >= 2);
    assert_string_equal(stack_world_name(world, 1), "a");
    stack_world_expect(world, "main a stranger");
}

static void a_call_never_seen_before_cuts_nothing_below_it(void **state)
{
    (void)state;
    stack_world_each_version(check_unconfirmed);
}

TEST_GROUP(cmocka_unit_test(a_call_between_the_readings_is_there_or_not),
           cmocka_unit_test(a_return_between_the_readings_has_happened_or_not),
           cmocka_unit_test(a_call_never_seen_before_cuts_nothing_below_it))
