#include "server/top/panels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sampler/base/plain_text.h"
#include "sampler/profile/profile.h"
#include "server/report/names.h"
#include "server/top/display.h"
#include "server/top/model.h"
#include "server/top/writer.h"
#include "server/wire/quality.h"

/* Least share of a warm row, and of a hot one. */
#define WARM_PERCENT 5.0
#define HOT_PERCENT  20.0

/* SHARE, SECONDS, COUNT: widths of columns.  WITH_SECONDS, WITH_COUNTS: least width of a screen that
 * has these columns.  PLACE: least width for a whole path. */
enum { SHARE = 9, SECONDS = 10, COUNT = 11, WITH_SECONDS = 70, WITH_COUNTS = 110, PLACE = 44 };

/* Widths of the list of threads: the least for the cause of waiting and for samples; the cause
 * takes a third of what is left of a line, at least WAIT. */
enum { WITH_WAITS = 66, WITH_SAMPLES = 92, WAIT = 14 };

static struct writer start_line(const struct panel *panel)
{
    return (struct writer){ .out = panel->out,
                            .left = panel->columns,
                            .has_colours = panel->has_colours };
}

static void end_line(const struct panel *panel)
{
    buffer_text(panel->out, "\x1b[0m\x1b[K\r\n");
}

static void fill_rows(const struct panel *panel, size_t used)
{
    for (; used < panel->rows; used++)
        end_line(panel);
}

/* Keeps the cursor in the list, and scrolls so that it is visible. */
static void follow_cursor(struct display *display, size_t rows, unsigned shown)
{
    if (display->cursor >= rows)
        display->cursor = rows > 0 ? (uint32_t)rows - 1 : 0;
    if (display->first > display->cursor)
        display->first = display->cursor;
    if (shown > 0 && display->cursor - display->first >= shown)
        display->first = display->cursor - shown + 1;
    if (rows <= shown)
        display->first = 0;
}

static void put_right(struct writer *writer, unsigned columns, const char *text)
{
    const unsigned length = (unsigned)strlen(text);
    writer_spaces(writer, columns > length ? columns - length : 0);
    writer_text(writer, text, length);
}

static void put_share(struct writer *writer, uint64_t part, uint64_t whole, bool is_heat)
{
    char text[32];
    const double percent = quality_percent(part, whole);
    snprintf(text, sizeof text, "%.2f %%", percent);
    if (is_heat && percent >= WARM_PERCENT)
        writer_colour(writer, percent >= HOT_PERCENT ? WRITER_HOT : WRITER_WARM);
    put_right(writer, SHARE, text);
    writer_colour(writer, WRITER_PLAIN);
}

static void put_seconds(struct writer *writer, const struct model *model, uint64_t samples)
{
    char text[32] = "?";
    if (model->sample_s > 0)
        snprintf(text, sizeof text, "%.2f s", (double)samples * model->sample_s);
    put_right(writer, SECONDS, text);
}

static void put_count(struct writer *writer, uint64_t samples)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, samples);
    put_right(writer, COUNT, text);
}

/* The name gets three fifths of the rest of the line, the place two fifths. */
static void put_row_name(struct writer *writer, const struct model *model, uint32_t row)
{
    const struct named_frame frame = model_name(model, row);
    const unsigned place = writer->left * 2 / 5;
    const unsigned name = writer->left > place + 1 ? writer->left - place - 1 : 0;
    writer_field(writer, frame.name.text, frame.name.length, name);
    writer_spaces(writer, 1);

    /* "app.py:14".  A long path is cut at its start, because its end says most. */
    struct buffer text = { 0 };
    const int32_t line = model->by_line ? frame.line : frame.first_line;
    if (!frame.is_synthetic) {
        const struct strtab_string file = place >= PLACE ? frame.file : names_base(frame.file);
        plain_text_put(&text, file.text, file.length);
        buffer_printf(&text, ":%d", (int)line);
    }
    writer_field_end(writer, text.data, text.length, place);
    buffer_deinit(&text);
}

static const char *title_mark(const struct display *display, enum display_sort sort)
{
    return display->sort == sort ? "v" : "";
}

static void put_title(struct writer *writer, unsigned columns, const char *word,
                      const char *marked)
{
    char text[32];
    snprintf(text, sizeof text, "%s%s", marked, word);
    put_right(writer, columns, text);
}

static void functions_row(const struct panel *panel, uint32_t row, bool is_chosen)
{
    const struct model *const model = panel->model;
    const struct flat *const flat = &model->flat;
    struct writer writer = start_line(panel);
    writer.is_chosen = is_chosen;
    writer_colour(&writer, WRITER_PLAIN);
    put_share(&writer, flat->self[row], flat->samples, true);
    put_share(&writer, flat->total[row], flat->samples, false);
    if (panel->columns >= WITH_SECONDS)
        put_seconds(&writer, model, flat->self[row]);
    if (panel->columns >= WITH_COUNTS) {
        put_seconds(&writer, model, flat->total[row]);
        put_count(&writer, flat->self[row]);
    }
    writer_spaces(&writer, 2);
    put_row_name(&writer, model, row);
    end_line(panel);
}

/* Explains why a list is empty. */
static void say_empty(const struct panel *panel)
{
    struct writer writer = start_line(panel);
    const struct model *const model = panel->model;
    if (model->seen > 0)
        writer_print(&writer, "  none of %zu rows matches the filter (c: clear it)",
                     model->seen);
    else if (model->sums.samples > 0)
        writer_print(&writer, "  none of %" PRIu64 " samples has this mode (m: next mode)",
                     model->sums.samples);
    else if (model->snapshot->quality.samples > 0)
        writer_print(&writer, "  no samples in this time range (w: next range)");
    else
        writer_print(&writer, "  waiting for the first samples");
    end_line(panel);
}

size_t panel_functions(const struct panel *panel, struct display *display)
{
    const struct model *const model = panel->model;
    const size_t chosen =
        display->row == DISPLAY_NO_ROW ? model->count : model_place(model, display->row);
    size_t used = 0;
    if (chosen < model->count)
        display->cursor = (uint32_t)chosen;
    follow_cursor(display, model->count, panel->rows);

    struct writer writer = start_line(panel);
    writer.is_chosen = true;
    writer_colour(&writer, WRITER_PLAIN);
    put_title(&writer, SHARE, "SELF %", title_mark(display, DISPLAY_BY_SELF));
    put_title(&writer, SHARE, "TOTAL %", title_mark(display, DISPLAY_BY_TOTAL));
    if (panel->columns >= WITH_SECONDS)
        put_title(&writer, SECONDS, "SELF", "");
    if (panel->columns >= WITH_COUNTS) {
        put_title(&writer, SECONDS, "TOTAL", "");
        put_title(&writer, COUNT, "SAMPLES", "");
    }
    writer_print(&writer, "  %s%s", title_mark(display, DISPLAY_BY_NAME),
                 display->by_line ? "FUNCTION, FILE:LINE" : "FUNCTION, FILE:FIRST LINE");
    writer_spaces(&writer, writer.left);
    end_line(panel);

    for (; used < panel->rows && display->first + used < model->count; used++)
        functions_row(panel, model->order[display->first + used],
                      display->first + used == display->cursor);
    if (model->count == 0 && panel->rows > 0) {
        say_empty(panel);
        used = 1;
    }
    fill_rows(panel, used);
    return panel->rows;
}

static unsigned wait_columns(unsigned left)
{
    return left / 3 > WAIT ? left / 3 : WAIT;
}

static void threads_title(const struct panel *panel)
{
    static const char *const shares[PART_COUNT] = { "RUNNING", "GIL", "PROC", "BLOCKED",
                                                    "IDLE" };
    struct writer writer = start_line(panel);
    writer.is_chosen = true;
    writer_colour(&writer, WRITER_PLAIN);
    if (panel->columns >= WITH_SAMPLES)
        put_right(&writer, COUNT, "SAMPLES");
    for (unsigned i = 0; i < PART_COUNT; i++)
        put_right(&writer, SHARE, shares[i]);
    writer_spaces(&writer, 2);
    if (panel->columns >= WITH_WAITS) {
        writer_field(&writer, "WAITS FOR", strlen("WAITS FOR"), wait_columns(writer.left));
        writer_spaces(&writer, 1);
    }
    writer_print(&writer, "THREAD (Enter: its functions, a: all)");
    writer_spaces(&writer, writer.left);
    end_line(panel);
}

/* A part that no sample is known to be, and some may be, is not 0 %. */
static bool is_unknown(const struct state_sums *sums, enum part part)
{
    if (part != PART_NEEDS_GIL && part != PART_NEEDS_PROCESSOR)
        return false;
    const enum state_flag flag =
        part == PART_NEEDS_GIL ? STATE_FLAG_WAITS_GIL : STATE_FLAG_RUNNABLE;
    return sums->parts[part] == 0 && sums->unknown[flag] > 0;
}

size_t panel_threads(const struct panel *panel, struct display *display)
{
    const struct states *const states = &panel->model->states;
    size_t used = 0;
    follow_cursor(display, states->count, panel->rows);
    threads_title(panel);
    for (; used < panel->rows && display->first + used < states->count; used++) {
        const struct states_row *const row = &states->rows[display->first + used];
        const bool is_chosen = display->first + used == display->cursor;
        struct writer writer = start_line(panel);
        struct buffer name = { 0 };
        const struct state_sums *const sums = &row->sums;
        writer.is_chosen = is_chosen;
        writer_colour(&writer, WRITER_PLAIN);
        if (panel->columns >= WITH_SAMPLES)
            put_count(&writer, sums->samples);
        for (enum part part = 0; part < PART_COUNT; part++) {
            if (is_unknown(sums, part))
                put_right(&writer, SHARE, "?");
            else
                put_share(&writer, sums->parts[part], sums->samples, part == PART_NEEDS_GIL);
        }
        writer_spaces(&writer, 2);
        if (panel->columns >= WITH_WAITS) {
            const struct model *const model = panel->model;
            const thread_id thread = row->thread;
            char text[WAIT_MAX_NAME] = "";
            const struct thread_wait *const wait = model_wait(model, thread);
            if (wait)
                thread_wait_text(model->recorded, wait, text, sizeof text);
            writer_field(&writer, text, strlen(text), wait_columns(writer.left));
            writer_spaces(&writer, 1);
        }
        names_put_thread(&name, panel->model->snapshot, row->thread);
        writer_field(&writer, name.data, name.length, writer.left);
        buffer_deinit(&name);
        end_line(panel);
    }
    fill_rows(panel, used);
    return panel->rows;
}

enum { MOST_EDGES = 256 };

/* Half of the panel: a title, and as many edges as fit. */
static void draw_edges(const struct panel *panel, uint32_t row, bool callers, unsigned rows)
{
    const struct flat_edge *edges[MOST_EDGES] = { NULL };
    const struct model *const model = panel->model;
    const size_t room = rows > MOST_EDGES ? MOST_EDGES : rows;
    const size_t count = model_around(model, row, callers, edges, room > 0 ? room - 1 : 0);
    struct writer writer = start_line(panel);
    writer_colour(&writer, WRITER_BOLD);
    writer_print(&writer, callers ? "called by" : "calls");
    if (count == 0)
        writer_print(&writer, callers ? ": no callers in these samples"
                                      : ": no callees in these samples");
    end_line(panel);
    for (size_t i = 0; i < count; i++) {
        writer = start_line(panel);
        put_share(&writer, edges[i]->count, model->flat.samples, true);
        writer_spaces(&writer, 2);
        put_row_name(&writer, model, callers ? edges[i]->caller : edges[i]->callee);
        end_line(panel);
    }
    for (size_t used = count + 1; used < rows; used++)
        end_line(panel);
}

size_t panel_around(const struct panel *panel, const struct display *display)
{
    const struct model *const model = panel->model;
    const unsigned above = panel->rows / 2;
    struct writer writer = start_line(panel);
    if (display->row >= model->flat.row_count) {
        say_empty(panel);
        fill_rows(panel, 0);
        return 0;
    }
    writer.is_chosen = true;
    writer_colour(&writer, WRITER_PLAIN);
    put_share(&writer, model->flat.total[display->row], model->flat.samples, false);
    writer_spaces(&writer, 2);
    put_row_name(&writer, model, display->row);
    end_line(panel);
    draw_edges(panel, display->row, true, above);
    draw_edges(panel, display->row, false, panel->rows - above);
    return 0;
}

size_t panel_help(const struct panel *panel)
{
    static const char *const lines[] = {
        "s S        sort by self, total or name (S: backwards)",
        "t          list the threads; Enter shows one, a shows all",
        "Left Right show the previous or the next thread",
        "w          time range: the last 10 s, the last minute, all",
        "m          mode: all but idle, wall, running, holding the GIL, handling an exception",
        "l          switch between functions and lines",
        "Enter      show callers and callees of the selected function; Esc goes back",
        "/ c        filter by name or file; c clears the filter",
        "j k arrows PgUp PgDn g G   move",
        "p          pause the screen; sampling continues",
        "r          reset statistics",
        "+ -        update more often, less often",
        "q          quit",
        "SELF: samples in the function itself; TOTAL: also those in functions it called",
        "GIL, PROC(ESSOR): ready to run, but needs it; IDLE: waits for work or for time",
    };
    struct writer writer = start_line(panel);
    size_t used = 0;
    writer.is_chosen = true;
    writer_colour(&writer, WRITER_PLAIN);
    writer_print(&writer, " keys (any key closes this list)");
    writer_spaces(&writer, writer.left);
    end_line(panel);
    for (; used < panel->rows && used < sizeof lines / sizeof *lines; used++) {
        writer = start_line(panel);
        writer_print(&writer, " %s", lines[used]);
        end_line(panel);
    }
    fill_rows(panel, used);
    return 0;
}
