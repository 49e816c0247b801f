#include "server/top/screen.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "server/report/names.h"
#include "server/settings/state_words.h"
#include "server/top/display.h"
#include "server/top/model.h"
#include "server/top/panels.h"
#include "server/top/writer.h"
#include "server/wire/quality.h"
#include "server/wire/session.h"

#define HOME       "\x1b[H"
#define CLEAR_LINE "\x1b[K"
#define CLEAR_REST "\x1b[J"

/* Least share of failed samples that is shown as a warning. */
#define BAD_PERCENT 1.0

/* Lines above and below the list. */
enum { HEAD_ROWS = 5, FOOT_ROWS = 1, TITLE_ROWS = 1 };

static struct writer line_of(struct buffer *out, const struct screen *screen)
{
    return (struct writer){ .out = out,
                            .left = screen->columns,
                            .has_colours = screen->has_colours };
}

static void end_line(struct buffer *out)
{
    buffer_text(out, "\x1b[0m" CLEAR_LINE "\r\n");
}

static void draw_quality(struct buffer *out, const struct screen *screen)
{
    struct writer writer = line_of(out, screen);
    const struct quality *const quality = &screen->session->snapshot->quality;
    const uint64_t failed = quality_failed(quality);
    const double failed_percent = quality_percent(failed, quality->samples + failed);
    if (screen->now_hz >= 0)
        writer_print(&writer, "%.0f", screen->now_hz);
    else
        writer_print(&writer, "-");
    writer_print(&writer, " of %.10g Hz  %" PRIu64 " samples  exact %.1f %%  ",
                 session_info_requested_hz(screen->session), quality->samples,
                 quality_percent(quality->exact, quality->samples));
    if (failed_percent >= BAD_PERCENT)
        writer_colour(&writer, WRITER_HOT);
    writer_print(&writer, "failed %.1f %%", failed_percent);
    writer_colour(&writer, WRITER_PLAIN);
    writer_print(&writer, "  missed %" PRIu64 "  own CPU %.1f %%  cut %.1f %%",
                 quality->missed_ticks, screen->own_cpu_percent,
                 quality_percent(quality->truncated, quality->samples));
    end_line(out);
}

/* An unknown state shows as "?", never as 0 %. */
static void put_state(struct writer *writer, const char *word, const struct state_sums *sums,
                      enum state_flag flag)
{
    if (sums->samples > 0 && sums->unknown[flag] == sums->samples)
        writer_print(writer, "  %s ?", word);
    else
        writer_print(writer, "  %s %.1f %%%s", word,
                     quality_percent(sums->yes[flag], sums->samples),
                     sums->unknown[flag] > 0 ? "+?" : "");
}

/* The thread that holds the GIL is known not to wait for it. */
static bool is_unknown(const struct state_sums *sums, enum part part)
{
    return part == PART_NEEDS_GIL && sums->parts[part] == 0 &&
           sums->unknown[STATE_FLAG_WAITS_GIL] > 0 &&
           sums->samples - sums->unknown[STATE_FLAG_WAITS_GIL] <= sums->yes[STATE_FLAG_HAS_GIL];
}

static void draw_states(struct buffer *out, const struct screen *screen,
                        const struct display *display)
{
    static const char *const words[PART_COUNT] = { "running", "GIL", "processor", "blocked",
                                                   "idle" };
    static const enum writer_colour colours[PART_COUNT] = { WRITER_COOL, WRITER_HOT, WRITER_HOT,
                                                            WRITER_WARM, WRITER_PLAIN };
    struct writer writer = line_of(out, screen);
    const struct state_sums *const sums = &screen->model->sums;
    writer_print(&writer, "%zu thread%s ", screen->model->states.count,
                 screen->model->states.count == 1 ? "" : "s");
    for (enum part part = 0; part < PART_COUNT; part++) {
        if (part == PART_NEEDS_PROCESSOR && sums->parts[part] == 0)
            continue;
        writer_colour(&writer, colours[part]);
        if (is_unknown(sums, part))
            writer_print(&writer, " %s ?", words[part]);
        else
            writer_print(&writer, " %s %.1f %%", words[part],
                         quality_percent(sums->parts[part], sums->samples));
        writer_colour(&writer, WRITER_PLAIN);
    }

    /* "  waiting for sleep 42.0 %" */
    char text[WAIT_MAX_NAME];
    const struct thread_wait *const wait = model_wait(screen->model, display->thread);
    if (wait) {
        thread_wait_text(screen->model->recorded, wait, text, sizeof text);
        writer_print(&writer, "  waiting for ");
        writer_text(&writer, text, strlen(text));
        writer_print(&writer, " %.1f %%",
                     quality_percent(wait->samples, screen->model->sums.samples));
    }

    put_state(&writer, "GC", sums, STATE_FLAG_IN_GC);
    put_state(&writer, "exc", sums, STATE_FLAG_HAS_EXCEPTION);
    end_line(out);
}

static void draw_query(struct buffer *out, const struct screen *screen,
                       const struct display *display)
{
    struct writer writer = line_of(out, screen);
    const struct model *const model = screen->model;
    writer_colour(&writer, WRITER_BOLD);
    if (display->is_paused)
        writer_print(&writer, "PAUSED  ");
    writer_print(&writer, "%s", display_span_text(display));
    writer_print(&writer, ", ");
    if (display->thread == DISPLAY_NO_THREAD)
        writer_print(&writer, "all threads");
    else {
        const thread_id thread = display->thread;
        struct buffer name = { 0 };
        if (thread < screen->session->snapshot->sizes.threads)
            names_put_thread(&name, screen->session->snapshot, thread);
        writer_text(&writer, name.data, name.length);
        buffer_deinit(&name);
    }
    if (display->mode == DISPLAY_PARTS && display->parts) {
        struct buffer parts = { 0 };
        state_words_put_parts_phrase(&parts, display->parts);
        writer_print(&writer, ", ");
        writer_text(&writer, parts.data, parts.length);
        buffer_deinit(&parts);
    } else {
        writer_print(&writer, ", %s", display_mode_text(display->mode));
    }
    if (*display->filter)
        writer_print(&writer, ", filter \"%s\"", display->filter);
    writer_colour(&writer, WRITER_PLAIN);
    writer_print(&writer, "  %zu of %zu %s, %" PRIu64 " samples", model->count, model->seen,
                 display->by_line ? "lines" : "functions", model->flat.samples);
    end_line(out);
}

static void draw_head(struct buffer *out, const struct screen *screen,
                      const struct display *display)
{
    struct writer title = line_of(out, screen);
    const struct session_info *const session = screen->session;
    char time[32];

    /* "12.5 s", "3:07:05" */
    const uint64_t ns = session->snapshot->end_ns;
    const uint64_t s = ns / NS_PER_S;
    if (s < 100)
        snprintf(time, 32, "%.1f s", (double)ns / (double)NS_PER_S);
    else
        snprintf(time, 32, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60,
                 s % 60);

    writer_colour(&title, WRITER_BOLD);
    writer_print(&title, "pyrometer");
    writer_colour(&title, WRITER_PLAIN);
    writer_print(&title, "  PID %d  Python %s%s", (int)session->target->pid,
                 session->target->python, session->target->validated ? "" : " (unvalidated)");
    if (screen->processes->joined > 1)
        writer_print(&title, "  and %" PRIu64 " more, %" PRIu64 " running",
                     screen->processes->joined - 1, screen->processes->running);
    writer_print(&title, "  %s  ", time);
    writer_colour(&title, session->status.state == SESSION_RUNNING ? WRITER_COOL : WRITER_HOT);
    writer_print(&title, "%s", session_state_texts[session->status.state]);
    if (*session->status.reason)
        writer_print(&title, ": %s", session->status.reason);
    writer_colour(&title, WRITER_PLAIN);
    end_line(out);

    struct writer writer = line_of(out, screen);
    const struct session_target *const target = screen->session->target;
    writer_colour(&writer, WRITER_DIM);
    for (size_t i = 0; i < target->argc && writer.left > 0; i++) {
        writer_text(&writer, target->argv[i], strlen(target->argv[i]));
        writer_spaces(&writer, 1);
    }
    end_line(out);

    draw_quality(out, screen);
    draw_states(out, screen, display);
    draw_query(out, screen, display);
}

static size_t draw_list(struct buffer *out, const struct screen *screen,
                        struct display *display, unsigned rows)
{
    const struct panel panel = { .out = out,
                                 .model = screen->model,
                                 .columns = screen->columns,
                                 .rows = rows,
                                 .has_colours = screen->has_colours };
    switch (display->panel) {
    case DISPLAY_FUNCTIONS: return panel_functions(&panel, display);
    case DISPLAY_THREADS: return panel_threads(&panel, display);
    case DISPLAY_AROUND: return panel_around(&panel, display);
    case DISPLAY_HELP: return panel_help(&panel);
    }
    return 0;
}

size_t screen_draw(struct buffer *out, const struct screen *screen, struct display *display)
{
    size_t shown = 0;
    buffer_text(out, HOME);
    if (screen->columns < SCREEN_MIN_COLUMNS || screen->rows < SCREEN_MIN_ROWS) {
        struct writer writer = line_of(out, screen);
        writer_print(&writer, "too small: needs %d x %d", SCREEN_MIN_COLUMNS, SCREEN_MIN_ROWS);
        buffer_text(out, CLEAR_LINE);
    } else {
        const unsigned rows = screen->rows - HEAD_ROWS - FOOT_ROWS - TITLE_ROWS;
        draw_head(out, screen, display);
        shown = draw_list(out, screen, display, rows);

        struct writer writer = line_of(out, screen);
        if (display->is_typing) {
            writer_print(&writer, "filter: %s_  (Enter: apply, Esc: clear)", display->filter);
        } else if (*screen->message) {
            writer_colour(&writer, WRITER_HOT);
            writer_text(&writer, screen->message, strlen(screen->message));
        } else {
            writer_colour(&writer, WRITER_DIM);
            writer_print(
                &writer,
                "q quit  ? help  s sort  t threads  w time  m mode  l lines  / filter  "
                "p pause");
        }
        buffer_text(out, "\x1b[0m" CLEAR_LINE);
    }
    buffer_text(out, CLEAR_REST);
    return shown;
}
