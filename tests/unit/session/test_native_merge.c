#include <stdio.h>
#include <string.h>

#include "sampler/session/native/native_merge.h"
#include "tests/support/test.h"

enum { MAX = 32, TEXT_BYTES = 256, EVALUATION = 0x5000 };

/* A stack: native frames from the innermost to the outermost, one character each.  Frame i takes the bytes
 * from 0x1000 * (i + 1) on.
 *     e  the evaluation function      n  another function
 *     -  a gap                        t  a trampoline
 *     w  a library that switches C stacks   s  its function that does so
 *     g  generated code               j  what calls code of the JIT
 *     i  what executes an instruction, in a tail-call interpreter
 *     u  not left: its end is not known     x  where no code is */
struct stack {
    struct native_frame frames[MAX];
    enum native_role roles[MAX];
    struct native_walk walk;
};

static remote_addr at(size_t frame)
{
    return 0x1000 * (frame + 1) + 0x100;
}

static void make(struct stack *stack, const char *text, enum native_end end)
{
    memset(stack, 0, sizeof *stack);
    stack->walk = (struct native_walk){ .frames = stack->frames, .room = MAX, .end = end };
    for (size_t i = 0; text[i]; i++) {
        struct native_frame *const frame = &stack->frames[stack->walk.count++];
        *frame = (struct native_frame){ .kind = text[i] == '-' ? NATIVE_GAP : NATIVE_CODE,
                                        .image = text[i] != 'x',
                                        .function = text[i] == 'e' ? EVALUATION : 0x6000,
                                        .sp = 0x1000 * (i + 1),
                                        .cfa = text[i] == 'u' ? 0 : 0x1000 * (i + 2) };
        if (text[i] == 't')
            frame->left_by = NATIVE_LEFT_BY_TRAMPOLINE;
        stack->walk.gaps += text[i] == '-';
        stack->roles[i] = text[i] == 'e'   ? NATIVE_ROLE_EVALUATION
                          : text[i] == 'w' ? NATIVE_ROLE_SWITCHER
                          : text[i] == 's' ? NATIVE_ROLE_SWITCH
                          : text[i] == 'g' ? NATIVE_ROLE_GENERATED
                          : text[i] == 'j' ? NATIVE_ROLE_JIT_ENTRY
                          : text[i] == 'i' ? NATIVE_ROLE_INSTRUCTION
                                           : NATIVE_ROLE_NONE;
    }
}

/* The merged frames: native ones as in the stack, Python ones as their number, '|' before what stands
 * separately. */
static enum three_valued expect(const char *natives, enum native_end end,
                                const struct native_run *runs, size_t count, bool has_entries,
                                const char *expected)
{
    struct native_merge merge = { 0 };
    struct stack stack;
    char text[TEXT_BYTES] = "";
    make(&stack, natives, end);
    const struct native_runs all = { runs, count, has_entries };
    assert_int_equal(native_merge(&merge, all, &stack.walk, stack.roles), ERR_OK);
    for (size_t i = 0; i < merge.count; i++) {
        const struct merged_frame *const frame = &merge.frames[i];
        const char kinds[] = { [MERGED_PYTHON] = (char)('0' + frame->index),
                               [MERGED_NATIVE] =
                                   frame->kind == MERGED_NATIVE ? natives[frame->index] : 'n',
                               [MERGED_GAP] = '-',
                               [MERGED_SEPARATE] = '|' };
        text[i] = kinds[frame->kind];
    }
    assert_string_equal(text, expected);
    assert_int_equal(merge.is_mismatch, strchr(expected, '|') != NULL);
    assert_int_equal(merge.is_switch,
                     strpbrk(natives, "ws") != NULL && !merge.is_mismatch && !merge.placed);
    assert_int_equal(merge.has_gaps, strchr(expected, '-') != NULL);
    const enum three_valued in_jit = merge.in_jit;
    native_merge_deinit(&merge);
    return in_jit;
}

#define EXPECT_ENTRIES(natives, end, expected, ...)                             \
    do {                                                                        \
        const struct native_run runs[] = { __VA_ARGS__ };                       \
        expect(natives, end, runs, sizeof runs / sizeof *runs, true, expected); \
    } while (0)

#define EXPECT_COUNT(natives, end, expected, frames)                                         \
    do {                                                                                     \
        const struct native_run runs[] = { { .count = 1 }, { .count = 1 }, { .count = 1 } }; \
        expect(natives, end, runs, frames, false, expected);                                 \
    } while (0)

static void a_run_stands_below_the_frame_that_holds_its_entry(void **state)
{
    (void)state;
    EXPECT_ENTRIES("nenen", NATIVE_COMPLETE, "ne01ne2n", { .entry = at(3), .count = 2 },
                   { .entry = at(1), .count = 1 });
    EXPECT_ENTRIES("een", NATIVE_COMPLETE, "ne0e1", { .entry = at(1), .count = 1 },
                   { .entry = at(0), .count = 1 });
}

static void a_run_needs_no_name_of_its_function(void **state)
{
    (void)state;
    EXPECT_ENTRIES("nnn", NATIVE_COMPLETE, "nn0n", { .entry = at(1), .count = 1 });
}

static void what_stands_for_the_evaluation_function_is_no_frame(void **state)
{
    static const struct {
        const char *natives, *expected;
        size_t outer, inner; /* the frames with entries; the inner one: 0: none */
        enum three_valued in_jit;
    } table[] = {
        { "gen", "ne0", 1, 0, VALUE_YES },         { "ngjen", "ne0n", 3, 0, VALUE_YES },
        { "ggen", "ne0", 2, 0, VALUE_YES },        { "gnen", "ne0ng", 2, 0, VALUE_NO },
        { "nen", "ne0n", 1, 0, VALUE_NO },         { "jnen", "ne0nj", 2, 0, VALUE_NO },
        { "genngen", "ne0nne1", 5, 1, VALUE_YES }, { "nengen", "ne0ne1n", 4, 1, VALUE_NO },
        { "g-en", "ne0-g", 2, 0, VALUE_UNKNOWN },  { "ien", "ne0", 1, 0, VALUE_NO },
        { "nien", "ne0n", 2, 0, VALUE_NO },        { "gien", "ne0", 2, 0, VALUE_YES },
        { "ngjien", "ne0n", 4, 0, VALUE_YES },     { "inen", "ne0ni", 2, 0, VALUE_NO },
        { "gnien", "ne0ng", 3, 0, VALUE_NO },
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct native_run runs[] = { { .entry = at(table[i].outer), .count = 1 },
                                           { .entry = at(table[i].inner), .count = 1 } };
        assert_int_equal(expect(table[i].natives, NATIVE_COMPLETE, runs, table[i].inner ? 2 : 1,
                                true, table[i].expected),
                         table[i].in_jit);
    }
    assert_int_equal(expect("gnn", NATIVE_COMPLETE, NULL, 0, true, "nng"), VALUE_UNKNOWN);
}

static void a_thread_without_python_has_its_native_frames(void **state)
{
    (void)state;
    expect("nnn", NATIVE_COMPLETE, NULL, 0, true, "nnn");
    expect("nn", NATIVE_CUT, NULL, 0, true, "-nn");
    expect("nne", NATIVE_COMPLETE, NULL, 0, false, "enn");
}

static void the_innermost_call_may_have_no_frame_yet(void **state)
{
    (void)state;
    EXPECT_ENTRIES("enen", NATIVE_COMPLETE, "ne0ne", { .entry = at(2), .count = 1 });
    EXPECT_ENTRIES("enen", NATIVE_COMPLETE, "ne0ne", { .entry = at(2), .count = 1 },
                   { .entry = at(0), .count = 0 });
    EXPECT_ENTRIES("eenen", NATIVE_COMPLETE, "0|nenee", { .entry = at(3), .count = 1 });
}

static void a_call_between_runs_is_a_mismatch_unless_it_is_known_to_be_empty(void **state)
{
    (void)state;
    EXPECT_ENTRIES("neeen", NATIVE_COMPLETE, "01|neeen", { .entry = at(3), .count = 1 },
                   { .entry = at(1), .count = 1 });
    EXPECT_ENTRIES("neeen", NATIVE_COMPLETE, "ne0ee1n", { .entry = at(3), .count = 1 },
                   { .entry = at(1), .count = 1, .empty = 1 });
}

static void a_call_outside_the_outermost_run_is_no_mismatch(void **state)
{
    (void)state;
    EXPECT_ENTRIES("nenen", NATIVE_COMPLETE, "nene0n", { .entry = at(1), .count = 1 });
}

static void two_entries_in_one_frame_are_a_mismatch(void **state)
{
    (void)state;
    EXPECT_ENTRIES("nen", NATIVE_COMPLETE, "01|nen", { .entry = at(1) + 8, .count = 1 },
                   { .entry = at(1), .count = 1 });
}

static void an_entry_in_no_frame_is_a_mismatch(void **state)
{
    (void)state;
    EXPECT_ENTRIES("nen", NATIVE_COMPLETE, "0|nen", { .entry = at(7), .count = 1 });
    EXPECT_ENTRIES("nen", NATIVE_COMPLETE, "0|nen", { .entry = 8, .count = 1 });
    EXPECT_ENTRIES("nen", NATIVE_CUT, "0|-nen", { .entry = 8, .count = 1 });
}

static void entries_in_the_wrong_order_are_a_mismatch(void **state)
{
    (void)state;
    EXPECT_ENTRIES("nenen", NATIVE_COMPLETE, "01|nenen", { .entry = at(1), .count = 1 },
                   { .entry = at(3), .count = 1 });
    EXPECT_ENTRIES("n-n", NATIVE_COMPLETE, "01|n-n", { .entry = at(1), .count = 1 },
                   { .entry = at(1), .count = 1 });
}

static void runs_outside_the_known_frames_stand_between_gaps(void **state)
{
    (void)state;
    EXPECT_ENTRIES("nen", NATIVE_CUT, "-01-2-ne3n", { .entry = at(9), .count = 2 },
                   { .entry = at(5), .count = 1 }, { .entry = at(1), .count = 1 });
    EXPECT_ENTRIES("u", NATIVE_NO_RULE, "-0-u", { .entry = at(4), .count = 1 });
    EXPECT_ENTRIES("nen", NATIVE_CUT, "-ne0n", { .entry = at(1), .count = 1 });
}

static void an_address_without_code_is_a_gap(void **state)
{
    (void)state;
    EXPECT_ENTRIES("nenx", NATIVE_NO_IMAGE, "-ne0n", { .entry = at(1), .count = 1 });
    expect("xnn", NATIVE_COMPLETE, NULL, 0, true, "nnx");
}

static void runs_in_a_gap_stand_between_gaps(void **state)
{
    (void)state;
    EXPECT_ENTRIES("n-en", NATIVE_COMPLETE, "ne0-1-2-n", { .entry = at(2), .count = 1 },
                   { .entry = at(1) + 8, .count = 1 }, { .entry = at(1), .count = 1 });
    EXPECT_ENTRIES("n-en", NATIVE_COMPLETE, "ne0-n", { .entry = at(2), .count = 1 });
}

static void trampolines_are_left_out(void **state)
{
    (void)state;
    EXPECT_ENTRIES("netetn", NATIVE_COMPLETE, "ne0e1n", { .entry = at(3), .count = 1 },
                   { .entry = at(1), .count = 1 });
    EXPECT_ENTRIES("tnen", NATIVE_COMPLETE, "ne0nt", { .entry = at(2), .count = 1 });
}

static void at_a_switch_of_stacks_python_frames_are_not_merged(void **state)
{
    (void)state;
    /* The entries are unlinked already, or not yet linked again. */
    EXPECT_ENTRIES("nsswwnenen", NATIVE_COMPLETE, "01-sn", { .count = 2 });
    EXPECT_ENTRIES("wswnenen", NATIVE_COMPLETE, "01-w", { .count = 2 });
    /* Some of them are. */
    EXPECT_ENTRIES("nwwenen", NATIVE_COMPLETE, "01-wn", { .entry = at(5), .count = 2 });
    EXPECT_ENTRIES("nwwenen", NATIVE_COMPLETE, "012-wn", { .entry = at(5), .count = 1 },
                   { .count = 2 });
    /* Entries further out may be anything. */
    EXPECT_ENTRIES("ss", NATIVE_CONTRADICTION, "01-s", { .count = 2 });
    EXPECT_ENTRIES("nssx", NATIVE_NO_IMAGE, "0-sn", { .entry = at(9), .count = 1 });
    EXPECT_ENTRIES("nss-en", NATIVE_COMPLETE, "0-sn", { .entry = at(4), .count = 1 });
}

static void entries_at_their_place_show_that_no_stack_is_switched(void **state)
{
    (void)state;
    EXPECT_ENTRIES("nswenen", NATIVE_COMPLETE, "ne0ne1wsn", { .entry = at(5), .count = 1 },
                   { .entry = at(3), .count = 1 });
}

static void equal_numbers_of_calls_do_not_show_that_no_stack_is_switched(void **state)
{
    (void)state;
    EXPECT_COUNT("nwswenen", NATIVE_COMPLETE, "01-wn", 2);
    EXPECT_COUNT("nwwenen", NATIVE_COMPLETE, "ne0ne1wwn", 2);
    EXPECT_COUNT("nwwenenen", NATIVE_COMPLETE, "0-wn", 1);
}

static void a_mismatch_elsewhere_is_no_switch(void **state)
{
    (void)state;
    EXPECT_ENTRIES("neswen", NATIVE_COMPLETE, "0|newsen", { .count = 1 });
    EXPECT_ENTRIES("n-swen", NATIVE_COMPLETE, "0|news-n", { .count = 1 });
}

static void runs_without_entries_are_paired_from_the_outermost_on(void **state)
{
    (void)state;
    EXPECT_COUNT("neneen", NATIVE_COMPLETE, "ne0e1ne2n", 3);
    EXPECT_COUNT("neneen", NATIVE_COMPLETE, "ne0e1nen", 2);
    EXPECT_COUNT("neneen", NATIVE_COMPLETE, "0|neenen", 1);
    EXPECT_COUNT("nen", NATIVE_COMPLETE, "01|nen", 2);
}

static void of_a_stack_that_is_not_whole_only_the_innermost_call_is_known(void **state)
{
    (void)state;
    EXPECT_COUNT("nen", NATIVE_CUT, "-e0n", 1);
    EXPECT_COUNT("nen", NATIVE_CUT, "-0-e1n", 2);
    EXPECT_COUNT("nneene", NATIVE_CUT, "-01-e2nn", 3);
    EXPECT_COUNT("nn", NATIVE_CUT, "-01-nn", 2);
    EXPECT_COUNT("ne-n", NATIVE_COMPLETE, "-e0n", 1);
    EXPECT_COUNT("n-en", NATIVE_COMPLETE, "-0-n", 1);
}

/* The number of runs that stand below the native frame of their call. */
static size_t count_placed(const char *natives, enum native_end end,
                           const struct native_run *runs, size_t count)
{
    struct native_merge merge = { 0 };
    struct stack stack;
    make(&stack, natives, end);
    const struct native_runs all = { runs, count, runs->entry != 0 };
    assert_int_equal(native_merge(&merge, all, &stack.walk, stack.roles), ERR_OK);
    const size_t placed = merge.placed;
    native_merge_deinit(&merge);
    return placed;
}

static void runs_at_their_place_are_counted(void **state)
{
    const struct native_run entered[] = { { .entry = at(3), .count = 2 },
                                          { .entry = at(1), .count = 1 } };
    const struct native_run counted[] = { { .count = 1 }, { .count = 1 } };
    (void)state;
    assert_int_equal(count_placed("nenen", NATIVE_COMPLETE, entered, 2), 2);
    assert_int_equal(count_placed("nen-n", NATIVE_COMPLETE, entered, 2), 1);
    assert_int_equal(count_placed("nen", NATIVE_CUT, entered, 2), 1);
    assert_int_equal(count_placed("neeen", NATIVE_COMPLETE, entered, 2), 0);
    assert_int_equal(count_placed("nenen", NATIVE_COMPLETE, counted, 2), 2);
    assert_int_equal(count_placed("nen", NATIVE_CUT, counted, 2), 1);
    assert_int_equal(count_placed("nen", NATIVE_COMPLETE, counted, 2), 0);
    assert_int_equal(count_placed("nsenen", NATIVE_COMPLETE, counted, 2), 0);
}

TEST_GROUP(cmocka_unit_test(a_run_stands_below_the_frame_that_holds_its_entry),
           cmocka_unit_test(a_run_needs_no_name_of_its_function),
           cmocka_unit_test(what_stands_for_the_evaluation_function_is_no_frame),
           cmocka_unit_test(a_thread_without_python_has_its_native_frames),
           cmocka_unit_test(the_innermost_call_may_have_no_frame_yet),
           cmocka_unit_test(a_call_between_runs_is_a_mismatch_unless_it_is_known_to_be_empty),
           cmocka_unit_test(a_call_outside_the_outermost_run_is_no_mismatch),
           cmocka_unit_test(two_entries_in_one_frame_are_a_mismatch),
           cmocka_unit_test(an_entry_in_no_frame_is_a_mismatch),
           cmocka_unit_test(entries_in_the_wrong_order_are_a_mismatch),
           cmocka_unit_test(runs_outside_the_known_frames_stand_between_gaps),
           cmocka_unit_test(an_address_without_code_is_a_gap),
           cmocka_unit_test(runs_in_a_gap_stand_between_gaps),
           cmocka_unit_test(trampolines_are_left_out),
           cmocka_unit_test(at_a_switch_of_stacks_python_frames_are_not_merged),
           cmocka_unit_test(entries_at_their_place_show_that_no_stack_is_switched),
           cmocka_unit_test(equal_numbers_of_calls_do_not_show_that_no_stack_is_switched),
           cmocka_unit_test(a_mismatch_elsewhere_is_no_switch),
           cmocka_unit_test(runs_without_entries_are_paired_from_the_outermost_on),
           cmocka_unit_test(of_a_stack_that_is_not_whole_only_the_innermost_call_is_known),
           cmocka_unit_test(runs_at_their_place_are_counted))
