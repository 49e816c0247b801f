#include <string.h>

#include "sampler/profile/window.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

static struct window *made_window(size_t cell_count)
{
    struct window *window;
    struct err err = { 0 };
    assert_ok(window_create(cell_count, &window, &err), &err);
    return window;
}

static void cells_come_into_order_by_thread_state_node(void **state)
{
    static const struct cell unordered[] = {
        { .thread = 1, .state = 0, .node = 0, .count = 6 },
        { .thread = 0, .state = 0x3f00, .node = 1, .count = 5 },
        { .thread = 0, .state = 2, .node = 1, .count = 4 },
        { .thread = 0, .state = 1, .node = 16000000, .count = 3 },
        { .thread = 0, .state = 1, .node = 300, .count = 2 },
        { .thread = 0, .state = 1, .node = 299, .count = 1 },
        { .thread = 1000000, .state = 0, .node = 0, .count = 7 },
    };
    enum { COUNT = sizeof unordered / sizeof *unordered };
    struct window *const window = made_window(COUNT);
    (void)state;
    memcpy(window->cells, unordered, sizeof unordered);
    window_sort(window);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(window->cells[i].count, i + 1);
    window_unref(window);
}

static bool in_order(const struct cell *a, const struct cell *b)
{
    if (a->thread != b->thread)
        return a->thread < b->thread;
    if (a->state != b->state)
        return a->state < b->state;
    return a->node < b->node;
}

/* Threads, states and nodes of all sizes, each cell once. */
static struct window *made_random_window(size_t count)
{
    struct window *const window = made_window(count);
    uint64_t random = count;
    for (size_t i = 0; i < count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        window->cells[i] = (struct cell){ .thread = (uint32_t)(random >> 56) * 4099,
                                          .state = (state_bits)(random >> 40 & 0x3f3f),
                                          .node = (uint32_t)i * 7919 % 20011 << (count % 9),
                                          .count = (uint32_t)i };
    }
    return window;
}

static void expect_order(struct window *window)
{
    const size_t count = window->cell_count;
    uint64_t sum = 0;
    window_sort(window);
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || in_order(&window->cells[i - 1], &window->cells[i]));
        sum += window->cells[i].count;
    }
    assert_int_equal(sum, count ? (uint64_t)count * (count - 1) / 2 : 0);
    window_unref(window);
}

static void any_number_of_cells_comes_into_order(void **state)
{
    static const size_t counts[] = { 0, 1, 2, 3, 63, 64, 65, 100, 1000, 1007, 20000 };
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        expect_order(made_random_window(counts[i]));
}

static void cells_come_into_order_without_memory_too(void **state)
{
    struct window *const window = made_random_window(1000);
    (void)state;
    failing_alloc_at(0);
    expect_order(window);
    assert_true(failing_alloc_happened());
    failing_alloc_never();
}

static void a_window_lives_until_its_last_reference_is_gone(void **state)
{
    struct window *const window = made_window(1);
    (void)state;
    assert_ptr_equal(window_ref(window), window);
    window_unref(window);
    window->cells[0].count = 5; /* freed already: the address sanitizer would say so */
    window_unref(window);
    window_unref(NULL);
}

static void bytes_grow_with_the_cells(void **state)
{
    struct window *const empty = made_window(0);
    struct window *const some = made_window(10);
    (void)state;
    assert_int_equal(window_bytes(some) - window_bytes(empty), 10 * sizeof(struct cell));
    window_unref(empty);
    window_unref(some);
}

static void a_window_that_does_not_fit_is_an_error(void **state)
{
    struct window *window = NULL;
    (void)state;
    failing_alloc_at(0);
    assert_int_equal(window_create(1, &window, NULL), ERR_NOMEM);
    failing_alloc_never();
    assert_int_equal(window_create(SIZE_MAX / 4, &window, NULL), ERR_NOMEM);
    assert_null(window);
}

TEST_GROUP(cmocka_unit_test(cells_come_into_order_by_thread_state_node),
           cmocka_unit_test(any_number_of_cells_comes_into_order),
           cmocka_unit_test(cells_come_into_order_without_memory_too),
           cmocka_unit_test(a_window_lives_until_its_last_reference_is_gone),
           cmocka_unit_test(bytes_grow_with_the_cells),
           cmocka_unit_test(a_window_that_does_not_fit_is_an_error))
