#include "server/top/panels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sampler/profile/profile.h"
#include "server/report/names.h"
#include "server/top/display.h"
#include "server/top/model.h"
#include "server/top/writer.h"
#include "server/wire/quality.h"

/* Shares from which on a row is warm, and hot. */
#define WARM_PERCENT 5.0
#define HOT_PERCENT  20.0

/* Columns of a share, of seconds, of samples, and the widths from which on they are there. */
enum { SHARE = 9, SECONDS = 10, COUNT = 11, WITH_SECONDS = 70, WITH_COUNTS = 110, PLACE = 44 };

static struct pen start_line(const struct panel *panel)
{
    return (struct pen){ .out = panel->out,
                         .left = panel->columns,
                         .has_colours = panel->has_colours };
}

static void end_line(const struct panel *panel)
{
    buffer_text(panel->out, "\x1b[0m\x1b[K\r\n");
}

static void fill(const struct panel *panel, size_t used)
{
    for (; used < panel->rows; used++)
        end_line(panel);
}

/* The cursor is where the chosen row is, and what is shown has the cursor in it. */
static void follow(struct look *look, size_t rows, unsigned shown)
{
    if (look->cursor >= rows)
        look->cursor = rows > 0 ? (uint32_t)rows - 1 : 0;
    if (look->first > look->cursor)
        look->first = look->cursor;
    if (shown > 0 && look->cursor - look->first >= shown)
        look->first = look->cursor - shown + 1;
    if (rows <= shown)
        look->first = 0;
}

static void put_right(struct pen *pen, unsigned columns, const char *text)
{
    const unsigned length = (unsigned)strlen(text);
    pen_spaces(pen, columns > length ? columns - length : 0);
    pen_text(pen, text, length);
}

static void put_share(struct pen *pen, uint64_t part, uint64_t whole, bool is_heat)
{
    char text[32];
    const double percent = quality_percent(part, whole);
    snprintf(text, sizeof text, "%.2f %%", percent);
    if (is_heat && percent >= WARM_PERCENT)
        pen_colour(pen, percent >= HOT_PERCENT ? PEN_HOT : PEN_WARM);
    put_right(pen, SHARE, text);
    pen_colour(pen, PEN_PLAIN);
}

static void put_seconds(struct pen *pen, const struct sheet *sheet, uint64_t samples)
{
    char text[32] = "?";
    if (sheet->sample_s > 0)
        snprintf(text, sizeof text, "%.2f s", (double)samples * sheet->sample_s);
    put_right(pen, SECONDS, text);
}

static void put_count(struct pen *pen, uint64_t samples)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, samples);
    put_right(pen, COUNT, text);
}

/* "app.py:14"; the end of a long path says most. */
static void put_place(struct pen *pen, const struct sheet *sheet,
                      const struct named_frame *frame, unsigned columns)
{
    struct buffer text = { 0 };
    const int32_t line = sheet->by_line ? frame->line : frame->first_line;
    if (!frame->is_synthetic) {
        names_put_plain(&text, columns >= PLACE ? frame->file : names_base(frame->file));
        buffer_printf(&text, ":%d", (int)line);
    }
    pen_field_end(pen, text.data, text.length, columns);
    buffer_deinit(&text);
}

/* The place has the rest of the line behind the name. */
static void put_row_name(struct pen *pen, const struct sheet *sheet, uint32_t row)
{
    const struct named_frame frame = sheet_name(sheet, row);
    const unsigned place = pen->left * 2 / 5;
    const unsigned name = pen->left > place + 1 ? pen->left - place - 1 : 0;
    pen_field(pen, frame.name.text, frame.name.length, name);
    pen_spaces(pen, 1);
    put_place(pen, sheet, &frame, place);
}

static const char *mark(const struct look *look, enum look_sort sort)
{
    return look->sort == sort ? "v" : "";
}

static void put_title(struct pen *pen, unsigned columns, const char *word, const char *marked)
{
    char text[32];
    snprintf(text, sizeof text, "%s%s", marked, word);
    put_right(pen, columns, text);
}

static void functions_title(const struct panel *panel, const struct look *look)
{
    struct pen pen = start_line(panel);
    pen.is_chosen = true;
    pen_colour(&pen, PEN_PLAIN);
    put_title(&pen, SHARE, "SELF %", mark(look, LOOK_BY_SELF));
    put_title(&pen, SHARE, "TOTAL %", mark(look, LOOK_BY_TOTAL));
    if (panel->columns >= WITH_SECONDS)
        put_title(&pen, SECONDS, "SELF", "");
    if (panel->columns >= WITH_COUNTS) {
        put_title(&pen, SECONDS, "TOTAL", "");
        put_title(&pen, COUNT, "SAMPLES", "");
    }
    pen_print(&pen, "  %s%s", mark(look, LOOK_BY_NAME),
              look->by_line ? "FUNCTION, FILE:LINE" : "FUNCTION, FILE:FIRST LINE");
    pen_spaces(&pen, pen.left);
    end_line(panel);
}

static void functions_row(const struct panel *panel, uint32_t row, bool is_chosen)
{
    const struct sheet *const sheet = panel->sheet;
    const struct flat *const flat = &sheet->flat;
    struct pen pen = start_line(panel);
    pen.is_chosen = is_chosen;
    pen_colour(&pen, PEN_PLAIN);
    put_share(&pen, flat->self[row], flat->samples, true);
    put_share(&pen, flat->total[row], flat->samples, false);
    if (panel->columns >= WITH_SECONDS)
        put_seconds(&pen, sheet, flat->self[row]);
    if (panel->columns >= WITH_COUNTS) {
        put_seconds(&pen, sheet, flat->total[row]);
        put_count(&pen, flat->self[row]);
    }
    pen_spaces(&pen, 2);
    put_row_name(&pen, sheet, row);
    end_line(panel);
}

/* An empty list says why. */
static void say_empty(const struct panel *panel)
{
    struct pen pen = start_line(panel);
    const struct sheet *const sheet = panel->sheet;
    if (sheet->seen > 0)
        pen_print(&pen, "  none of %zu fits the filter (c: no filter)", sheet->seen);
    else if (sheet->doing.samples > 0)
        pen_print(&pen, "  none of %" PRIu64 " samples is of this mode (m: another)",
                  sheet->doing.samples);
    else if (sheet->snapshot->quality.samples > 0)
        pen_print(&pen, "  no samples in this time (w: another)");
    else
        pen_print(&pen, "  waiting for the first samples");
    end_line(panel);
}

size_t panel_functions(const struct panel *panel, struct look *look)
{
    const struct sheet *const sheet = panel->sheet;
    const size_t chosen =
        look->row == LOOK_NO_ROW ? sheet->count : sheet_place(sheet, look->row);
    size_t used = 0;
    if (chosen < sheet->count)
        look->cursor = (uint32_t)chosen;
    follow(look, sheet->count, panel->rows);
    functions_title(panel, look);
    for (; used < panel->rows && look->first + used < sheet->count; used++)
        functions_row(panel, sheet->order[look->first + used],
                      look->first + used == look->cursor);
    if (sheet->count == 0 && panel->rows > 0) {
        say_empty(panel);
        used = 1;
    }
    fill(panel, used);
    return panel->rows;
}

static void threads_title(const struct panel *panel)
{
    struct pen pen = start_line(panel);
    pen.is_chosen = true;
    pen_colour(&pen, PEN_PLAIN);
    put_right(&pen, COUNT, "SAMPLES");
    put_right(&pen, SHARE, "GIL");
    put_right(&pen, SHARE, "WAITS");
    put_right(&pen, SHARE, "CPU");
    put_right(&pen, SHARE, "OFF");
    pen_print(&pen, "  THREAD (Enter: its functions, a: all)");
    pen_spaces(&pen, pen.left);
    end_line(panel);
}

static void threads_row(const struct panel *panel, const struct states_row *row, bool is_chosen)
{
    struct pen pen = start_line(panel);
    struct buffer name = { 0 };
    const struct state_sums *const sums = &row->sums;
    pen.is_chosen = is_chosen;
    pen_colour(&pen, PEN_PLAIN);
    put_count(&pen, sums->samples);
    for (unsigned i = 0; i < STATE_DOING_UNKNOWN; i++)
        if (sums->doing[STATE_DOING_UNKNOWN] == sums->samples)
            put_right(&pen, SHARE, "?");
        else
            put_share(&pen, sums->doing[i], sums->samples, i == STATE_DOING_WAITS_GIL);
    pen_spaces(&pen, 2);
    names_put_thread(&name, panel->sheet->snapshot, row->thread);
    pen_field(&pen, name.data, name.length, pen.left);
    buffer_deinit(&name);
    end_line(panel);
}

size_t panel_threads(const struct panel *panel, struct look *look)
{
    const struct states *const states = &panel->sheet->states;
    size_t used = 0;
    follow(look, states->count, panel->rows);
    threads_title(panel);
    for (; used < panel->rows && look->first + used < states->count; used++)
        threads_row(panel, &states->rows[look->first + used],
                    look->first + used == look->cursor);
    fill(panel, used);
    return panel->rows;
}

enum { MOST_EDGES = 256 };

/* Half of the panel: a title and as many edges as there is room for. */
static void draw_edges(const struct panel *panel, uint32_t row, bool callers, unsigned rows)
{
    const struct flat_edge *edges[MOST_EDGES] = { NULL };
    const struct sheet *const sheet = panel->sheet;
    const size_t room = rows > MOST_EDGES ? MOST_EDGES : rows;
    const size_t count = sheet_around(sheet, row, callers, edges, room > 0 ? room - 1 : 0);
    struct pen pen = start_line(panel);
    pen_colour(&pen, PEN_BOLD);
    pen_print(&pen, callers ? "called by" : "calls");
    if (count == 0)
        pen_print(&pen, ": nobody that was seen");
    end_line(panel);
    for (size_t i = 0; i < count; i++) {
        pen = start_line(panel);
        put_share(&pen, edges[i]->count, sheet->flat.samples, true);
        pen_spaces(&pen, 2);
        put_row_name(&pen, sheet, callers ? edges[i]->caller : edges[i]->callee);
        end_line(panel);
    }
    for (size_t used = count + 1; used < rows; used++)
        end_line(panel);
}

size_t panel_around(const struct panel *panel, const struct look *look)
{
    const struct sheet *const sheet = panel->sheet;
    const unsigned above = panel->rows / 2;
    struct pen pen = start_line(panel);
    if (look->row >= sheet->flat.row_count) {
        say_empty(panel);
        fill(panel, 0);
        return 0;
    }
    pen.is_chosen = true;
    pen_colour(&pen, PEN_PLAIN);
    put_share(&pen, sheet->flat.total[look->row], sheet->flat.samples, false);
    pen_spaces(&pen, 2);
    put_row_name(&pen, sheet, look->row);
    end_line(panel);
    draw_edges(panel, look->row, true, above);
    draw_edges(panel, look->row, false, panel->rows - above);
    return 0;
}

size_t panel_help(const struct panel *panel)
{
    static const char *const lines[] = {
        "s S        sort by self, total, name (and back)",
        "t          threads; Enter shows one's functions, a all of them",
        "Left Right the thread before, the next",
        "w          time: the last 10 s, the last minute, all",
        "m          which samples: wall, cpu, GIL, exceptions",
        "l          lines instead of functions, and back",
        "Enter      who calls the chosen function, and whom it calls; Esc goes back",
        "/ c        show only what has this in its name or file; c: all again",
        "j k arrows PgUp PgDn g G   move",
        "p          hold the picture; sampling goes on",
        "r          leave out what has been until now",
        "+ -        draw more often, less often",
        "q          quit",
        "SELF: in the function itself; TOTAL: with what it calls; of all samples of threads shown",
    };
    struct pen pen = start_line(panel);
    size_t used = 0;
    pen.is_chosen = true;
    pen_colour(&pen, PEN_PLAIN);
    pen_print(&pen, " keys (any other closes this)");
    pen_spaces(&pen, pen.left);
    end_line(panel);
    for (; used < panel->rows && used < sizeof lines / sizeof *lines; used++) {
        pen = start_line(panel);
        pen_print(&pen, " %s", lines[used]);
        end_line(panel);
    }
    fill(panel, used);
    return 0;
}
