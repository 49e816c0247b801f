/* Whose C stack an address is on. */
#include "sampler/cpython/threads/c_stacks.h"
#include "tests/support/test.h"

/* Two stacks side by side, each above its guard page; memory of two threads that the kernel shows as one mapping; and a file. */
static const char MAPS[] = "7f0000000000-7f0000001000 ---p 00000000 00:00 0 \n"
                           "7f0000001000-7f0000010000 rw-p 00000000 00:00 0 \n"
                           "7f0000010000-7f0000011000 ---p 00000000 00:00 0 \n"
                           "7f0000011000-7f0000020000 rw-p 00000000 00:00 0 \n"
                           "7f0000100000-7f0000140000 rw-p 00000000 00:00 0 \n"
                           "7f0000200000-7f0000210000 r--p 00000000 fd:00 7 /libc.so.6\n"
                           "7ffc00000000-7ffc00020000 rw-p 00000000 00:00 0 [stack]\n";

enum { FIRST = 10, LOW, HIGH, BELOW, ABOVE, LIAR, NONE = 0 };

static int32_t owner_of(const struct c_stacks *stacks, remote_addr addr)
{
    const struct c_stack *const found = c_stacks_find(stacks, addr);
    return found ? found->host_tid : NONE;
}

static void an_address_is_of_the_thread_whose_descriptor_is_next_above(void **state)
{
    static const struct {
        remote_addr pthread;
        int32_t tid;
    } threads[] = { { 0x7f000001f700, HIGH },
                    { 0x7f000000f700, LOW },
                    { 0x7f000011f700, BELOW },
                    { 0x7f000013f700, ABOVE },
                    { 0x7f0000208000, LIAR },
                    { 0x1000, LIAR },
                    { 0, LIAR },
                    { 0x7ffc0001ffff, LIAR } };
    static const struct {
        remote_addr addr;
        int32_t tid;
    } addrs[] = {
        { 0x7f0000001000, LOW },   { 0x7f000000f6ff, LOW },  { 0x7f000000f700, NONE },
        { 0x7f0000010800, NONE },  { 0x7f0000011000, HIGH }, { 0x7f0000100000, BELOW },
        { 0x7f000011f700, ABOVE }, { 0x7f000013f700, NONE }, { 0x7f0000201000, NONE },
        { 0x7ffc0001ffff, FIRST }, { 0x7ffc00020000, NONE }, { 0, NONE },
        { 0xfff, NONE },
    };
    struct c_stacks stacks = { 0 };
    struct maps maps;
    struct err err = { 0 };
    (void)state;
    assert_ok(maps_parse(&maps, MAPS, &err), &err);
    for (int turn = 0; turn < 2; turn++) {
        c_stacks_clear(&stacks);
        assert_int_equal(owner_of(&stacks, 0x7f0000001000), NONE);
        for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
            assert_int_equal(c_stacks_add(&stacks, threads[i].pthread, threads[i].tid), ERR_OK);
        assert_int_equal(c_stacks_place(&stacks, &maps, FIRST), ERR_OK);
        for (size_t i = 0; i < sizeof addrs / sizeof *addrs; i++)
            assert_int_equal(owner_of(&stacks, addrs[i].addr), addrs[i].tid);
    }
    c_stacks_clear(&stacks);
    assert_int_equal(c_stacks_place(&stacks, &maps, 0), ERR_OK);
    assert_int_equal(owner_of(&stacks, 0x7ffc0001ffff), NONE);
    c_stacks_deinit(&stacks);
    maps_deinit(&maps);
}

TEST_GROUP(cmocka_unit_test(an_address_is_of_the_thread_whose_descriptor_is_next_above))
