/* Waits for the GIL, and for mutexes of native code, by the word that a thread waits at. */
#include <string.h>
#include <sys/syscall.h>

#include "sampler/cpython/locks/locks.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/thread_world.h"

/* Two threads without frames, and the locks that are read of them. */
struct waiting {
    struct thread_world *world;
    struct strtab strings;
    struct code_table codes;
    struct locks locks;
    struct thread *waiter, *holder;
    remote_addr gil, gil_holder;
};

static void begin(struct waiting *waiting, unsigned minor)
{
    struct thread_world *const world = thread_world_create(minor);
    const struct layout *const layout = &world->python.runtime.layout;
    struct fake_thread *const other = thread_world_add_next(world, world->interp);
    *waiting = (struct waiting){ .world = world };
    thread_world_walk(world);
    assert_ok(strtab_init(&waiting->strings, NULL), NULL);
    waiting->codes = (struct code_table){ .memory = &world->python.memory.memory,
                                          .layout = layout,
                                          .strings = &waiting->strings };
    locks_init(&waiting->locks, &waiting->codes, &waiting->strings, &world->list, NULL, NULL);
    waiting->waiter = thread_world_find(world, world->states[0]);
    waiting->holder = thread_world_find(world, other);
    waiting->waiter->host_tid = 100;
    waiting->holder->host_tid = 101;
    waiting->gil = layout->runtime_gil_locked
                       ? world->python.runtime.addr + layout->runtime_gil_locked
                       : world->interp + layout->interp_gil_locked;
    waiting->gil_holder = layout->runtime_gil_locked
                              ? world->python.runtime.addr + layout->runtime_gil_holder
                              : world->interp + layout->interp_gil_holder;
}

static void end(struct waiting *waiting)
{
    locks_deinit(&waiting->locks);
    strtab_deinit(&waiting->strings);
    thread_world_destroy(waiting->world);
}

/* The uses of a thread that waits in a call at this word; 0: it runs. */
static size_t read_uses(struct waiting *waiting, struct thread *thread, int32_t number,
                        remote_addr word, struct lock_use uses[LOCK_USES_MAX])
{
    const struct system_call call = {
        .number = number, .is_known = word != 0, .args = { word }, .is_timed = true
    };
    size_t count;
    assert_ok(
        locks_read(&waiting->locks, thread, word ? VALUE_NO : VALUE_YES, &call, uses, &count),
        NULL);
    return count;
}

/* Changes the GIL, and has the next tick see it. */
static void put_gil(const struct waiting *waiting, uint32_t is_locked, remote_addr holder,
                    uint64_t switches)
{
    struct fake_memory *const memory = &waiting->world->python.memory;
    fake_memory_put_u32(memory, waiting->gil, is_locked);
    fake_memory_put_u64(memory, waiting->gil_holder, holder);
    fake_memory_put_u64(memory, waiting->gil + 8, switches);
    assert_true(thread_world_is_same(waiting->world));
}

static void who_waits_at_the_gil_waits_for_the_thread_that_has_it(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct waiting waiting;
        struct lock_use uses[LOCK_USES_MAX];
        begin(&waiting, minor);
        put_gil(&waiting, 1, waiting.holder->head.addr, 7);
        assert_int_equal(read_uses(&waiting, waiting.waiter, SYS_futex, waiting.gil + 16, uses),
                         1);
        assert_true(uses[0].is_waited && uses[0].has_owner && !uses[0].is_timed);
        assert_int_equal(uses[0].owner_tid, 101);
        assert_int_equal(uses[0].gil_turn, 8);
        assert_int_equal(uses[0].lock, waiting.gil);
        assert_string_equal(strtab_get(&waiting.strings, uses[0].type).text, "the GIL");
        assert_int_equal(read_uses(&waiting, waiting.holder, SYS_read, 1, uses), 1);
        assert_true(!uses[0].is_waited && uses[0].lock == waiting.gil);
        /* It lets the GIL go, and waits until it is taken. */
        assert_int_equal(read_uses(&waiting, waiting.holder, SYS_futex, waiting.gil + 16, uses),
                         1);
        assert_false(uses[0].is_waited);
        put_gil(&waiting, 0, waiting.holder->head.addr, 7);
        assert_int_equal(read_uses(&waiting, waiting.holder, SYS_futex, waiting.gil + 16, uses),
                         0);
        end(&waiting);
    }
}

static void who_wakes_up_waits_on_until_another_thread_has_the_gil(void **state)
{
    struct waiting waiting;
    struct lock_use uses[LOCK_USES_MAX];
    (void)state;
    begin(&waiting, 12);
    put_gil(&waiting, 1, waiting.holder->head.addr, 7);
    assert_int_equal(read_uses(&waiting, waiting.waiter, 0, 0, uses), 0);
    assert_int_equal(read_uses(&waiting, waiting.waiter, SYS_futex, waiting.gil + 16, uses), 1);
    assert_int_equal(read_uses(&waiting, waiting.waiter, 0, 0, uses), 1);
    assert_true(uses[0].is_waited && uses[0].owner_tid == 101);
    put_gil(&waiting, 1, waiting.holder->head.addr, 9);
    assert_int_equal(read_uses(&waiting, waiting.waiter, 0, 0, uses), 0);
    put_gil(&waiting, 1, waiting.holder->head.addr, 7);
    assert_int_equal(read_uses(&waiting, waiting.waiter, SYS_futex, waiting.gil + 16, uses), 1);
    assert_int_equal(read_uses(&waiting, waiting.waiter, SYS_read, 1, uses), 0);
    assert_int_equal(read_uses(&waiting, waiting.waiter, 0, 0, uses), 0);
    end(&waiting);
}

static void a_mutex_names_the_thread_that_has_it(void **state)
{
    enum { CONTENDED = 2, OWNER = 8 };
    static const uint32_t WAITERS = UINT32_C(1) << 31;
    struct waiting waiting;
    struct lock_use uses[LOCK_USES_MAX];
    (void)state;
    begin(&waiting, 13);
    struct fake_memory *const memory = &waiting.world->python.memory;
    const uint32_t owner = (uint32_t)waiting.holder->head.tid,
                   own = (uint32_t)waiting.waiter->head.tid;
    const struct {
        uint32_t lock, owner;
        bool is_mutex;
    } rows[] = { { CONTENDED, owner, true },  { CONTENDED, own, false },
                 { CONTENDED, 0, false },     { CONTENDED, 424242, false },
                 { CONTENDED, -1u, false },   { 1, owner, false },
                 { 0, owner, false },         { WAITERS | owner, 0, true },
                 { WAITERS | own, 0, false }, { WAITERS, owner, false },
                 { owner, 0, false } };
    const remote_addr word = fake_alloc(&waiting.world->python, 64);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fake_memory_put_u32(memory, word, rows[i].lock);
        fake_memory_put_u32(memory, word + OWNER, rows[i].owner);
        assert_int_equal(read_uses(&waiting, waiting.waiter, SYS_futex, word, uses),
                         rows[i].is_mutex);
        if (!rows[i].is_mutex)
            continue;
        assert_true(uses[0].is_waited && uses[0].is_timed && uses[0].object == word);
        assert_int_equal(uses[0].owner_tid, 101);
        assert_string_equal(strtab_get(&waiting.strings, uses[0].type).text, "pthread_mutex_t");
    }
    fake_memory_put_u32(memory, word, CONTENDED);
    fake_memory_put_u32(memory, word + OWNER, owner);
    assert_int_equal(read_uses(&waiting, waiting.waiter, SYS_read, word, uses), 0);
    assert_int_equal(read_uses(&waiting, waiting.waiter, SYS_futex, 0xdead0000, uses), 0);
    end(&waiting);
}

TEST_GROUP(cmocka_unit_test(who_waits_at_the_gil_waits_for_the_thread_that_has_it),
           cmocka_unit_test(who_wakes_up_waits_on_until_another_thread_has_the_gil),
           cmocka_unit_test(a_mutex_names_the_thread_that_has_it))
