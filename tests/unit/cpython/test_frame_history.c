#include <string.h>

#include "sampler/cpython/stack/frame_history.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/fake_python.h"

enum { CODES = 8 };

struct world {
    struct fake_python python;
    struct strtab strings;
    struct code_table codes;
    struct call_edges edges;
    struct frame_history history;
    code_id ids[CODES];
};

static void begin(struct world *world)
{
    memset(world, 0, sizeof *world);
    fake_python_init(&world->python, 14);
    assert_int_equal(strtab_init(&world->strings, NULL), ERR_OK);
    code_table_init(&world->codes, &world->python.memory.memory, &world->python.runtime.layout,
                    &world->strings);
    call_edges_init(&world->edges);
    for (size_t i = 0; i < CODES; i++)
        assert_int_equal(
            code_load(&world->codes, fake_function(&world->python, "f"), 0, &world->ids[i]),
            ERR_OK);
    code_begin_epoch(&world->codes);
    assert_true(code_check(&world->codes, world->ids, CODES));
}

static void end(struct world *world)
{
    frame_history_deinit(&world->history);
    call_edges_deinit(&world->edges);
    code_table_deinit(&world->codes);
    strtab_deinit(&world->strings);
    fake_python_deinit(&world->python);
}

static void note(struct world *world, remote_addr addr, size_t code)
{
    frame_history_note(&world->history, &(struct past_frame){ .addr = addr,
                                                              .instr = addr + code,
                                                              .caller = addr - 64,
                                                              .code = world->ids[code] });
}

static const struct past_frame *find(const struct world *world, remote_addr addr,
                                     code_id callee)
{
    return frame_history_find(&world->history, &world->codes, &world->edges, addr, callee);
}

static void nothing_is_known_at_first(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    assert_null(find(&world, 0x1000, CODE_NONE));
    end(&world);
}

static void the_latest_at_an_address_comes_first(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    note(&world, 0x1000, 0);
    note(&world, 0x1000, 1);
    note(&world, 0x2000, 2);
    assert_int_equal(find(&world, 0x1000, CODE_NONE)->code, world.ids[1]);
    note(&world, 0x1000, 0);
    const struct past_frame *const past = find(&world, 0x1000, CODE_NONE);
    assert_int_equal(past->code, world.ids[0]);
    assert_int_equal(past->instr, 0x1000);
    assert_int_equal(past->caller, 0x1000 - 64);
    assert_int_equal(find(&world, 0x2000, CODE_NONE)->code, world.ids[2]);
    assert_null(find(&world, 0x3000, CODE_NONE));
    end(&world);
}

/* Of the frames at an address, the search returns the one that calls the callee. */
static void a_caller_is_chosen_by_its_callee(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    note(&world, 0x1000, 0);
    note(&world, 0x1000, 1);
    call_edges_add(&world.edges, world.ids[0], world.ids[5]);
    assert_int_equal(find(&world, 0x1000, world.ids[5])->code, world.ids[0]);
    assert_null(find(&world, 0x1000, world.ids[6]));
    end(&world);
}

static void code_that_is_gone_lies_nowhere(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    note(&world, 0x1000, 0);
    note(&world, 0x1000, 1);
    fake_code_replace(&world.python, code_at(&world.codes, world.ids[1])->addr,
                      &(struct fake_code){ .name = "another" });
    code_begin_epoch(&world.codes);
    assert_false(code_check(&world.codes, world.ids, CODES));
    assert_int_equal(find(&world, 0x1000, CODE_NONE)->code, world.ids[0]);
    end(&world);
}

/* More than there is room for: the latest of each set stay. */
static void what_does_not_fit_pushes_out_what_is_oldest(void **state)
{
    enum { ADDRESSES = FRAME_HISTORY_MOST_SETS * FRAME_HISTORY_WAYS * 4 };
    struct world world;
    size_t found = 0;
    (void)state;
    begin(&world);
    for (remote_addr i = 1; i <= ADDRESSES; i++)
        note(&world, i * 64, i % CODES);
    assert_int_equal(world.history.set_count, FRAME_HISTORY_MOST_SETS);
    for (remote_addr i = 1; i <= ADDRESSES; i++) {
        const struct past_frame *const past = find(&world, i * 64, CODE_NONE);
        assert_true(!past || past->code == world.ids[i % CODES]);
        found += past != NULL;
    }
    assert_in_range(found, FRAME_HISTORY_MOST_SETS,
                    FRAME_HISTORY_MOST_SETS * FRAME_HISTORY_WAYS);
    assert_non_null(find(&world, (remote_addr)ADDRESSES * 64, CODE_NONE));
    end(&world);
}

TEST_MAIN(cmocka_unit_test(nothing_is_known_at_first),
          cmocka_unit_test(the_latest_at_an_address_comes_first),
          cmocka_unit_test(a_caller_is_chosen_by_its_callee),
          cmocka_unit_test(code_that_is_gone_lies_nowhere),
          cmocka_unit_test(what_does_not_fit_pushes_out_what_is_oldest))
