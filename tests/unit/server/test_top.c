/* The live view of a terminal: what keys do, and what is drawn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "server/top/display.h"
#include "server/top/keys.h"
#include "server/top/model.h"
#include "server/top/panels.h"
#include "server/top/screen.h"
#include "server/top/writer.h"
#include "tests/support/sample_session.h"
#include "tests/support/test.h"

struct world {
    struct sample_session *session;
    struct model model;
    struct display display;
    struct display_room room;
    struct buffer text;
    size_t shown;
};

static int setup(void **state)
{
    struct world *const world = calloc(1, sizeof *world);
    world->session = sample_session_small();
    display_init(&world->display);
    *state = world;
    return 0;
}

static int setup_empty(void **state)
{
    struct world *const world = calloc(1, sizeof *world);
    world->session = sample_session_empty();
    display_init(&world->display);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *const world = *state;
    model_deinit(&world->model);
    buffer_deinit(&world->text);
    sample_session_destroy(world->session);
    free(world);
    return 0;
}

/* Returns the text of the screen. */
static const char *draw(struct world *world, unsigned columns, unsigned rows)
{
    struct err err = { 0 };
    const struct session_processes processes = { .joined = 2, .running = 1 };
    const struct screen screen = { .session = &world->session->info,
                                   .processes = &processes,
                                   .model = &world->model,
                                   .now_hz = 99,
                                   .message = "",
                                   .columns = columns,
                                   .rows = rows,
                                   .has_colours = true };
    model_deinit(&world->model);
    assert_ok(model_init(&world->model, &world->session->snapshot, &world->session->snapshot,
                         &world->display, &err),
              &err);
    buffer_clear(&world->text);
    world->shown = screen_draw(&world->text, &screen, &world->display);
    const struct model *const model = &world->model;
    world->room = (struct display_room){
        .now_ns = world->session->snapshot.end_ns,
        .rows = world->display.panel == DISPLAY_THREADS ? model->states.count : model->count,
        .shown = world->shown,
        .row_at_cursor = world->display.cursor < model->count
                             ? model->order[world->display.cursor]
                             : DISPLAY_NO_ROW,
        .threads = model->threads,
        .thread_count = model->states.count,
    };
    return buffer_string(&world->text);
}

static enum display_request type(struct world *world, const char *keys)
{
    const char *const end = keys + strlen(keys);
    enum display_request request = DISPLAY_GOES_ON;
    while (keys < end) {
        request = display_key(&world->display, keys_next(&keys, end), &world->room);
        draw(world, 100, 30);
    }
    return request;
}

/* The columns and rows that a text takes, without escape sequences. */
static void measure(const char *text, unsigned *columns_out, unsigned *rows_out)
{
    unsigned most = 0, rows = 1;
    struct buffer line = { 0 };
    for (const char *at = text;; at++) {
        if (*at == '\x1b') {
            at += strcspn(at, "ABCDEFGHJKhlm");
            continue;
        }
        if (*at == '\r' || *at == '\0') {
            const unsigned width = line.length ? writer_width(line.data, line.length) : 0;
            most = width > most ? width : most;
            buffer_clear(&line);
        } else if (*at == '\n') {
            rows++;
        } else {
            assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
            buffer_char(&line, *at);
        }
        if (*at == '\0')
            break;
    }
    buffer_deinit(&line);
    *columns_out = most;
    *rows_out = rows;
}

static void a_screen_fits_every_size(void **state)
{
    struct world *const world = *state;
    static const char *const panels[] = { "", "t", "t\r", "?", "?\r", "l", "w/a", "\x1b" };
    draw(world, 100, 30);
    for (size_t i = 0; i < sizeof panels / sizeof *panels; i++) {
        type(world, panels[i]);
        for (unsigned columns = 1; columns <= 240; columns += 7)
            for (unsigned rows = 1; rows <= 60; rows += 9) {
                unsigned wide = 0, high = 0;
                measure(draw(world, columns, rows), &wide, &high);
                assert_in_range(wide, 0, columns);
                if (columns >= SCREEN_MIN_COLUMNS && rows >= SCREEN_MIN_ROWS)
                    assert_int_equal(high, rows);
                else
                    assert_int_equal(high, 1);
            }
    }
}

static void the_hottest_is_first_and_keys_sort(void **state)
{
    struct world *const world = *state;
    draw(world, 100, 30);
    const struct model *const model = &world->model;
    assert_true(model->count > 3);
    for (size_t i = 1; i < model->count; i++)
        assert_true(model->flat.self[model->order[i - 1]] >= model->flat.self[model->order[i]]);
    type(world, "s");
    for (size_t i = 1; i < model->count; i++)
        assert_true(model->flat.total[model->order[i - 1]] >=
                    model->flat.total[model->order[i]]);
    type(world, "ss");
    assert_int_equal(world->display.sort, DISPLAY_BY_SELF);
    type(world, "S");
    assert_int_equal(world->display.sort, DISPLAY_BY_NAME);
}

static void shares_never_add_up_to_more_than_all(void **state)
{
    struct world *const world = *state;
    for (unsigned mode = 0; mode < DISPLAY_MODE_COUNT; mode++) {
        uint64_t self = 0;
        draw(world, 100, 30);
        for (size_t i = 0; i < world->model.count; i++) {
            self += world->model.flat.self[world->model.order[i]];
            assert_true(world->model.flat.total[world->model.order[i]] <=
                        world->model.flat.samples);
        }
        assert_true(self <= world->model.flat.samples);
        assert_int_equal(world->model.sums.samples, SAMPLE_TOTAL);
        type(world, "m");
    }
    assert_int_equal(world->display.mode, DISPLAY_PARTS);
}

static void the_chosen_parts_are_shown_at_first(void **state)
{
    struct world *const world = *state;
    draw(world, 100, 30);
    const uint64_t *const parts = world->model.sums.parts;
    assert_int_equal(world->model.flat.samples, SAMPLE_TOTAL - parts[PART_IDLE]);
    world->display.parts = 1U << PART_BLOCKED;
    assert_non_null(strstr(draw(world, 100, 30), ", blocked"));
    assert_true(parts[PART_BLOCKED] > 0);
    assert_int_equal(world->model.flat.samples, parts[PART_BLOCKED]);
    type(world, "m");
    assert_int_equal(world->model.flat.samples, SAMPLE_TOTAL);
}

static void a_filter_is_typed_applied_and_cleared(void **state)
{
    struct world *const world = *state;
    draw(world, 100, 30);
    const size_t all = world->model.count;
    type(world, "/PARSE");
    assert_true(world->display.is_typing);
    assert_in_range(world->model.count, 1, all - 1);
    assert_int_equal(world->model.seen, all);
    type(world, "q\x7f\r");
    assert_false(world->display.is_typing);
    assert_string_equal(world->display.filter, "PARSE");
    type(world, "c");
    assert_int_equal(world->model.count, all);
    type(world, "/no such function");
    assert_int_equal(world->model.count, 0);
    assert_non_null(strstr(draw(world, 100, 30), "matches the filter"));
    type(world, "\x1b");
    assert_int_equal(world->model.count, all);
    type(world, "/");
    for (int i = 0; i < 2 * DISPLAY_MAX_FILTER; i++)
        type(world, "x");
    assert_int_equal(strlen(world->display.filter), DISPLAY_MAX_FILTER);
}

static void the_chosen_row_stays_chosen(void **state)
{
    struct world *const world = *state;
    draw(world, 100, 30);
    type(world, "jj");
    assert_int_equal(world->display.cursor, 2);
    const uint32_t row = world->room.row_at_cursor;
    world->display.row = row;
    world->display.sort = DISPLAY_BY_NAME;
    draw(world, 100, 30);
    assert_int_equal(world->model.order[world->display.cursor], row);
    type(world, "G");
    assert_int_equal(world->display.cursor, world->model.count - 1);
    type(world, "jjj\x1b[6~\x1b[B");
    assert_int_equal(world->display.cursor, world->model.count - 1);
    type(world, "\x1b[H\x1b[Akkb");
    assert_int_equal(world->display.cursor, 0);
}

static void a_list_that_does_not_fit_is_scrolled(void **state)
{
    struct world *const world = *state;
    draw(world, 80, SCREEN_MIN_ROWS);
    const size_t shown = world->shown;
    assert_true(shown < world->model.count);
    display_key(&world->display, 'G', &world->room);
    draw(world, 80, SCREEN_MIN_ROWS);
    assert_int_equal(world->display.first, world->model.count - shown);
    display_key(&world->display, KEY_HOME, &world->room);
    draw(world, 80, SCREEN_MIN_ROWS);
    assert_int_equal(world->display.first, 0);
}

static void threads_are_turned_through_and_chosen(void **state)
{
    struct world *const world = *state;
    world->display.mode = DISPLAY_WALL;
    draw(world, 100, 30);
    const size_t threads = world->model.states.count;
    assert_true(threads > 1);
    const uint64_t all = world->model.flat.samples;
    uint64_t sum = 0;
    for (size_t i = 0; i < threads; i++) {
        type(world, "\x1b[C");
        assert_int_equal(world->display.thread, world->model.threads[i]);
        assert_int_equal(world->model.sums.samples, world->model.flat.samples);
        sum += world->model.flat.samples;
    }
    assert_int_equal(sum, all);
    type(world, "\x1b[C");
    assert_int_equal(world->display.thread, DISPLAY_NO_THREAD);
    type(world, "tj\r");
    assert_int_equal(world->display.panel, DISPLAY_FUNCTIONS);
    assert_int_equal(world->display.thread, world->model.threads[1]);
    type(world, "a\x1b[D");
    assert_int_equal(world->display.thread, world->model.threads[threads - 1]);
}

static void callers_and_callees_of_a_function(void **state)
{
    struct world *const world = *state;
    const struct flat_edge *edges[8];
    draw(world, 100, 30);
    type(world, "s\r");
    assert_int_equal(world->display.panel, DISPLAY_AROUND);
    const uint32_t row = world->display.row;
    const char *const text = draw(world, 100, 30);
    assert_non_null(strstr(text, "called by"));
    assert_non_null(strstr(text, "calls"));
    const size_t count = model_around(&world->model, row, false, edges, 8);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(edges[i]->caller, row);
        if (i > 0)
            assert_true(edges[i - 1]->count >= edges[i]->count);
    }
    if (count > 1) {
        const struct flat_edge *first = NULL;
        assert_int_equal(model_around(&world->model, row, false, &first, 1), 1);
        assert_int_equal(first->count, edges[0]->count);
    }
    type(world, "\x1b");
    assert_int_equal(world->display.panel, DISPLAY_FUNCTIONS);
    type(world, "\rl");
    assert_int_equal(world->display.panel, DISPLAY_FUNCTIONS);
}

static void time_can_be_cut_and_reset(void **state)
{
    struct world *const world = *state;
    const uint64_t second = 1000000000;
    assert_int_equal(display_from_ns(&world->display, 100 * second), 90 * second);
    assert_int_equal(display_from_ns(&world->display, 5 * second), 0);
    draw(world, 100, 30);
    type(world, "ww");
    assert_int_equal(display_from_ns(&world->display, 100 * second), 0);
    type(world, "r");
    assert_int_equal(world->model.flat.samples, 0);
    assert_non_null(strstr(draw(world, 100, 30), "no samples in this time"));
}

static void the_other_keys(void **state)
{
    struct world *const world = *state;
    draw(world, 100, 30);
    const unsigned usual = display_period_ms(&world->display);
    type(world, "+");
    assert_true(display_period_ms(&world->display) < usual);
    type(world, "++++--------------");
    assert_int_equal(display_period_ms(&world->display), 5000);
    assert_int_equal(type(world, "p"), DISPLAY_RENEWS);
    assert_non_null(strstr(draw(world, 100, 30), "PAUSED"));
    assert_int_equal(type(world, "p"), DISPLAY_RENEWS);
    assert_int_equal(type(world, "\x0c"), DISPLAY_RENEWS);
    assert_int_equal(type(world, "?"), DISPLAY_GOES_ON);
    assert_non_null(strstr(draw(world, 100, 30), "sort by self"));
    /* Help is closed by the next key, which does what it does. */
    type(world, "s");
    assert_int_equal(world->display.panel, DISPLAY_FUNCTIONS);
    assert_int_equal(world->display.sort, DISPLAY_BY_TOTAL);
    assert_int_equal(type(world, "\x01\x1b[99~\x1b[1;5Z\xff"), DISPLAY_GOES_ON);
    assert_int_equal(type(world, "?q"), DISPLAY_QUITS);
}

static void bytes_of_a_terminal_are_keys(void **state)
{
    static const struct {
        const char *bytes;
        int keys[3];
    } rows[] = {
        { "q", { 'q' } },
        { "\x1b", { KEY_ESCAPE } },
        { "\x1b[A", { KEY_UP } },
        { "\x1bOB", { KEY_DOWN } },
        { "\x1b[C\x1b[D", { KEY_RIGHT, KEY_LEFT } },
        { "\x1b[5~\x1b[6~", { KEY_PAGE_UP, KEY_PAGE_DOWN } },
        { "\x1b[H\x1b[4~", { KEY_HOME, KEY_END } },
        { "\n\r", { KEY_ENTER, KEY_ENTER } },
        { "\b\x7f", { KEY_BACKSPACE, KEY_BACKSPACE } },
        { "\x1b[200~x", { KEY_NONE, 'x' } },
        { "\x1b[1;2", { KEY_NONE } },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t length = strlen(rows[i].bytes);
        unsigned char *const copy = guard_copy(rows[i].bytes, length);
        const char *at = (const char *)copy, *const end = at + length;
        for (size_t k = 0; at < end; k++)
            assert_int_equal(keys_next(&at, end), rows[i].keys[k]);
        assert_ptr_equal(at, end);
        guard_free(copy, length);
    }
}

static void what_is_not_known_is_no_zero(void **state)
{
    struct world *const world = *state;
    assert_non_null(strstr(draw(world, 200, 30), "waiting for the first samples"));
    world->model.sums = (struct state_sums){ .samples = 4 };
    world->model.sums.unknown[STATE_FLAG_IN_GC] = 4;
    world->model.sums.unknown[STATE_FLAG_HAS_EXCEPTION] = 1;
    const struct session_processes processes = { .joined = 1 };
    const struct screen screen = { .session = &world->session->info,
                                   .processes = &processes,
                                   .model = &world->model,
                                   .now_hz = -1,
                                   .message = "a word",
                                   .columns = 200,
                                   .rows = 30 };
    buffer_clear(&world->text);
    screen_draw(&world->text, &screen, &world->display);
    const char *const text = buffer_string(&world->text);
    assert_non_null(strstr(text, "GC ?"));
    assert_non_null(strstr(text, "exc 0.0 %+?"));
    assert_non_null(strstr(text, "- of "));
    assert_non_null(strstr(text, "a word"));
    assert_null(strstr(text, "\x1b[31m"));
}

static void a_thread_whose_waits_for_the_gil_are_unknown_has_no_share_of_them(void **state)
{
    struct world *const world = *state;
    draw(world, 200, 30);
    struct states_row row = { .thread = 0, .sums = { .samples = 4 } };
    row.sums.parts[PART_RUNNING] = 1;
    row.sums.parts[PART_BLOCKED] = 3;
    row.sums.unknown[STATE_FLAG_WAITS_GIL] = 3;
    struct model model = world->model;
    model.states = (struct states){ .count = 1, .rows = &row };
    struct buffer text = { 0 };
    const struct panel panel = { .out = &text, .model = &model, .columns = 80, .rows = 1 };
    panel_threads(&panel, &world->display);
    const char *const unknown = strchr(buffer_string(&text), '?');
    assert_non_null(strstr(buffer_string(&text), "25.00 %"));
    assert_non_null(unknown);
    assert_null(strchr(unknown + 1, '?'));
    assert_non_null(strstr(unknown, "75.00 %"));
    buffer_deinit(&text);
}

static void text_is_cut_at_characters(void **state)
{
    struct buffer out = { 0 };
    struct writer writer = { .out = &out, .left = 5 };
    (void)state;
    assert_int_equal(writer_width("a\xe6\xbc\xa2z", 5), 4);
    writer_text(&writer, "abcd\xe6\xbc\xa2z", 8);
    assert_int_equal(writer.left, 0);
    assert_string_equal(buffer_string(&out), "abcd ");
    buffer_clear(&out);
    writer.left = 8;
    writer_field_end(&writer, "/very/long/\xc3\xa4.py:1", 18, 6);
    assert_string_equal(buffer_string(&out), "\xc3\xa4.py:1");
    assert_int_equal(writer.left, 2);
    buffer_clear(&out);
    writer.left = 9;
    writer_text(&writer, "\x1b[31mred", 8);
    assert_string_equal(buffer_string(&out), "\\x1b[31mr");
    buffer_deinit(&out);
}

#define drawn(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

TEST_GROUP(drawn(a_screen_fits_every_size), drawn(the_hottest_is_first_and_keys_sort),
           drawn(shares_never_add_up_to_more_than_all),
           drawn(the_chosen_parts_are_shown_at_first),
           drawn(a_filter_is_typed_applied_and_cleared), drawn(the_chosen_row_stays_chosen),
           drawn(a_list_that_does_not_fit_is_scrolled),
           drawn(threads_are_turned_through_and_chosen),
           drawn(callers_and_callees_of_a_function), drawn(time_can_be_cut_and_reset),
           drawn(the_other_keys), cmocka_unit_test(bytes_of_a_terminal_are_keys),
           cmocka_unit_test_setup_teardown(what_is_not_known_is_no_zero, setup_empty, teardown),
           drawn(a_thread_whose_waits_for_the_gil_are_unknown_has_no_share_of_them),
           cmocka_unit_test(text_is_cut_at_characters))
