#include "server/top/screen.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "server/report/names.h"
#include "server/top/display.h"
#include "server/top/model.h"
#include "server/top/panels.h"
#include "server/top/writer.h"
#include "server/wire/quality.h"
#include "server/wire/session.h"

#define HOME       "\x1b[H"
#define CLEAR_LINE "\x1b[K"
#define CLEAR_REST "\x1b[J"

/* Failures from which on they are shown as a warning. */
#define BAD_PERCENT 1.0

/* Lines above and below the list. */
enum { HEAD_ROWS = 5, FOOT_ROWS = 1, TITLE_ROWS = 1 };

static struct pen line_of(struct buffer *out, const struct screen *screen)
{
    return (
        struct pen){ .out = out, .left = screen->columns, .has_colours = screen->has_colours };
}

static void end_line(struct buffer *out)
{
    buffer_text(out, "\x1b[0m" CLEAR_LINE "\r\n");
}

/* "12.5 s", "3:07:05" */
static void format_time(uint64_t ns, char out[32])
{
    const uint64_t s = ns / NS_PER_S;
    if (s < 100)
        snprintf(out, 32, "%.1f s", (double)ns / (double)NS_PER_S);
    else
        snprintf(out, 32, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60,
                 s % 60);
}

static void draw_who(struct buffer *out, const struct screen *screen)
{
    struct pen pen = line_of(out, screen);
    const struct session_facts *const session = screen->session;
    char time[32];
    format_time(session->snapshot->end_ns, time);
    pen_colour(&pen, PEN_BOLD);
    pen_print(&pen, "pyrometer");
    pen_colour(&pen, PEN_PLAIN);
    pen_print(&pen, "  PID %d  Python %s%s", (int)session->target->pid, session->target->python,
              session->target->validated ? "" : " (unvalidated)");
    if (screen->processes->joined > 1)
        pen_print(&pen, "  and %" PRIu64 " more, %" PRIu64 " running",
                  screen->processes->joined - 1, screen->processes->running);
    pen_print(&pen, "  %s  ", time);
    pen_colour(&pen, session->status.state == SAMPLER_RUNNING ? PEN_COOL : PEN_HOT);
    pen_print(&pen, "%s", sampler_state_text(session->status.state));
    if (*session->status.reason)
        pen_print(&pen, ": %s", session->status.reason);
    pen_colour(&pen, PEN_PLAIN);
    end_line(out);
}

static void draw_command(struct buffer *out, const struct screen *screen)
{
    struct pen pen = line_of(out, screen);
    const struct sampler_target *const target = screen->session->target;
    pen_colour(&pen, PEN_DIM);
    for (size_t i = 0; i < target->argc && pen.left > 0; i++) {
        pen_text(&pen, target->argv[i], strlen(target->argv[i]));
        pen_spaces(&pen, 1);
    }
    end_line(out);
}

static void draw_quality(struct buffer *out, const struct screen *screen)
{
    struct pen pen = line_of(out, screen);
    const struct quality *const quality = &screen->session->snapshot->quality;
    const uint64_t failed = quality_failed(quality);
    const double failed_percent = quality_percent(failed, quality->samples + failed);
    if (screen->now_hz >= 0)
        pen_print(&pen, "%.0f", screen->now_hz);
    else
        pen_print(&pen, "-");
    pen_print(&pen, " of %.10g Hz  %" PRIu64 " samples  exact %.1f %%  ",
              session_wanted_hz(screen->session), quality->samples,
              quality_percent(quality->exact, quality->samples));
    if (failed_percent >= BAD_PERCENT)
        pen_colour(&pen, PEN_HOT);
    pen_print(&pen, "failed %.1f %%", failed_percent);
    pen_colour(&pen, PEN_PLAIN);
    pen_print(&pen, "  missed %" PRIu64 "  own CPU %.1f %%  repaired %.1f %%  cut %.1f %%",
              quality->missed, screen->own_cpu_percent,
              quality_percent(quality->repaired, quality->samples),
              quality_percent(quality->truncated, quality->samples));
    end_line(out);
}

/* What is not known is said, and never 0 %. */
static void put_fact(struct pen *pen, const char *word, const struct state_sums *sums,
                     enum state_fact fact)
{
    if (sums->samples > 0 && sums->unknown[fact] == sums->samples)
        pen_print(pen, "  %s ?", word);
    else
        pen_print(pen, "  %s %.1f %%%s", word, quality_percent(sums->yes[fact], sums->samples),
                  sums->unknown[fact] > 0 ? "+?" : "");
}

static void draw_states(struct buffer *out, const struct screen *screen)
{
    static const char *const words[STATE_DOING_COUNT] = { "GIL", "waits", "CPU", "off",
                                                          "unknown" };
    static const enum pen_colour colours[STATE_DOING_COUNT] = { PEN_COOL, PEN_HOT, PEN_WARM,
                                                                PEN_PLAIN, PEN_DIM };
    struct pen pen = line_of(out, screen);
    const struct state_sums *const sums = &screen->sheet->doing;
    pen_print(&pen, "%zu thread%s ", screen->sheet->states.count,
              screen->sheet->states.count == 1 ? "" : "s");
    for (unsigned i = 0; i < STATE_DOING_COUNT; i++) {
        if (i == STATE_DOING_UNKNOWN && sums->doing[i] == 0)
            continue;
        pen_colour(&pen, colours[i]);
        pen_print(&pen, " %s %.1f %%", words[i],
                  quality_percent(sums->doing[i], sums->samples));
        pen_colour(&pen, PEN_PLAIN);
    }
    put_fact(&pen, "GC", sums, STATE_FACT_IN_GC);
    put_fact(&pen, "exc", sums, STATE_FACT_HAS_EXCEPTION);
    end_line(out);
}

static void put_thread(struct pen *pen, const struct screen *screen, thread_id thread)
{
    struct buffer name = { 0 };
    if (thread < screen->session->snapshot->sizes.threads)
        names_put_thread(&name, screen->session->snapshot, thread);
    pen_text(pen, name.data, name.length);
    buffer_deinit(&name);
}

static void draw_query(struct buffer *out, const struct screen *screen, const struct look *look)
{
    struct pen pen = line_of(out, screen);
    const struct sheet *const sheet = screen->sheet;
    pen_colour(&pen, PEN_BOLD);
    if (look->is_paused)
        pen_print(&pen, "PAUSED  ");
    pen_print(&pen, "%s", look_span_text(look));
    pen_print(&pen, ", ");
    if (look->thread == LOOK_NO_THREAD)
        pen_print(&pen, "all threads");
    else
        put_thread(&pen, screen, look->thread);
    pen_print(&pen, ", %s", look_kind_text(look->kind));
    if (*look->filter)
        pen_print(&pen, ", filter \"%s\"", look->filter);
    pen_colour(&pen, PEN_PLAIN);
    pen_print(&pen, "  %zu of %zu %s, %" PRIu64 " samples", sheet->count, sheet->seen,
              look->by_line ? "lines" : "functions", sheet->flat.samples);
    end_line(out);
}

static void draw_foot(struct buffer *out, const struct screen *screen, const struct look *look)
{
    struct pen pen = line_of(out, screen);
    if (look->is_typing) {
        pen_print(&pen, "filter: %s_  (Enter: keep it, Esc: none)", look->filter);
    } else if (*screen->message) {
        pen_colour(&pen, PEN_HOT);
        pen_text(&pen, screen->message, strlen(screen->message));
    } else {
        pen_colour(&pen, PEN_DIM);
        pen_print(&pen, "q quit  ? help  s sort  t threads  w time  m mode  l lines  / filter  "
                        "p pause");
    }
    buffer_text(out, "\x1b[0m" CLEAR_LINE);
}

static void draw_head(struct buffer *out, const struct screen *screen, const struct look *look)
{
    draw_who(out, screen);
    draw_command(out, screen);
    draw_quality(out, screen);
    draw_states(out, screen);
    draw_query(out, screen, look);
}

static size_t draw_list(struct buffer *out, const struct screen *screen, struct look *look,
                        unsigned rows)
{
    const struct panel panel = { .out = out,
                                 .sheet = screen->sheet,
                                 .columns = screen->columns,
                                 .rows = rows,
                                 .has_colours = screen->has_colours };
    switch (look->panel) {
    case LOOK_FUNCTIONS: return panel_functions(&panel, look);
    case LOOK_THREADS: return panel_threads(&panel, look);
    case LOOK_AROUND: return panel_around(&panel, look);
    case LOOK_HELP: return panel_help(&panel);
    }
    return 0;
}

size_t screen_draw(struct buffer *out, const struct screen *screen, struct look *look)
{
    size_t shown = 0;
    buffer_text(out, HOME);
    if (screen->columns < SCREEN_MIN_COLUMNS || screen->rows < SCREEN_MIN_ROWS) {
        struct pen pen = line_of(out, screen);
        pen_print(&pen, "too small: %d x %d", SCREEN_MIN_COLUMNS, SCREEN_MIN_ROWS);
        buffer_text(out, CLEAR_LINE);
    } else {
        const unsigned rows = screen->rows - HEAD_ROWS - FOOT_ROWS - TITLE_ROWS;
        draw_head(out, screen, look);
        shown = draw_list(out, screen, look, rows);
        draw_foot(out, screen, look);
    }
    buffer_text(out, CLEAR_REST);
    return shown;
}
