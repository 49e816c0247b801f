#include <errno.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/session.h"
#include "server/command/command.h"
#include "server/command/driver.h"
#include "server/command/options/options.h"
#include "server/sessions/sessions.h"
#include "server/top/display.h"
#include "server/top/keys.h"
#include "server/top/model.h"
#include "server/top/screen.h"
#include "server/top/terminal.h"
#include "server/wire/reshaped.h"
#include "server/wire/session.h"
#include "server/wire/usage.h"

enum { MESSAGE_BYTES = 256 };

/* The rate and the CPU of the profiler are averages over this time. */
#define PACE_NS (NS_PER_S)

struct top {
    struct driver driver;
    struct terminal terminal;
    int events; /* epoll of keys and signals of the terminal */
    struct display display;
    struct profile_snapshot snapshot; /* the one on the screen */
    struct reshaped reshaped;         /* it without native frames that are not shown */
    bool has_snapshot;
    struct model model;
    struct display_room room;
    struct buffer text; /* of the screen */
    struct pace {
        uint64_t at_ns, ticks;
        double cpu_s, hz, cpu_percent;
    } pace;
    uint64_t due_ns; /* time of the next snapshot */
    bool is_over;
};

static enum err_code watch_fd(struct top *top, int fd, struct err *err)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
    if (epoll_ctl(top->events, EPOLL_CTL_ADD, fd, &event) == 0)
        return ERR_OK;
    return err_sys(err, errno, "cannot watch the terminal");
}

static enum err_code start_sampling(struct top *top, struct err *err)
{
    struct session_options sampling = top->driver.options->sampling;
    /* The user chooses threads on the screen. */
    sampling.all_threads = true;
    enum err_code rc = driver_open(&top->driver, err);
    if (!rc) {
        rc = terminal_init(&top->terminal, err);
        if (rc)
            return rc;
        top->events = epoll_create1(EPOLL_CLOEXEC);
        if (top->events < 0)
            return err_sys(err, errno, "cannot watch the terminal");
        rc = watch_fd(top, STDIN_FILENO, err);
        if (!rc)
            rc = watch_fd(top, top->terminal.signal_fd, err);
    }
    return rc ? rc : driver_start(&top->driver, &sampling, err);
}

static enum err_code renew_snapshot(struct top *top, struct err *err)
{
    const struct frame_filters *const filters = &top->driver.options->view.filters;
    const struct view_query everything = { 0 };
    struct profile_snapshot snapshot;
    const uint64_t now_ns = clock_now_ns();
    top->due_ns = now_ns + display_period_ms(&top->display) * NS_PER_MS;
    if (top->has_snapshot && top->display.is_paused)
        return ERR_OK;
    enum err_code rc =
        profile_snapshot(session_entry_profile(top->driver.entry), &snapshot, err);
    if (rc)
        return rc;
    model_deinit(&top->model);
    reshaped_deinit(&top->reshaped);
    if (top->has_snapshot)
        profile_snapshot_release(&top->snapshot);
    top->snapshot = snapshot;
    top->has_snapshot = true;

    struct usage usage;
    if (!top->pace.at_ns || now_ns - top->pace.at_ns >= PACE_NS) {
        usage_read(&usage);
        const double cpu_s = usage.cpu_user_s + usage.cpu_sys_s;
        const double seconds = (double)(now_ns - top->pace.at_ns) / (double)NS_PER_S;
        top->pace.hz =
            top->pace.at_ns ? (double)(snapshot.quality.ticks - top->pace.ticks) / seconds : -1;
        top->pace.cpu_percent = top->pace.at_ns ? 100 * (cpu_s - top->pace.cpu_s) / seconds : 0;
        top->pace.at_ns = now_ns;
        top->pace.ticks = snapshot.quality.ticks;
        top->pace.cpu_s = cpu_s;
    }

    if (reshape_is_needed(&snapshot, filters))
        rc = reshaped_init(&top->reshaped, &snapshot, &everything, filters, RESHAPED_WINDOWS,
                           err);
    return rc;
}

static enum err_code draw_screen(struct top *top, struct err *err)
{
    char message[MESSAGE_BYTES];
    struct session_info info;
    struct session_processes processes;
    struct screen screen = { .session = &info,
                             .processes = &processes,
                             .model = &top->model,
                             .now_hz = top->pace.hz,
                             .own_cpu_percent = top->pace.cpu_percent,
                             .message = message,
                             .has_colours = top->terminal.has_colours };
    model_deinit(&top->model);
    const enum err_code rc = model_init(
        &top->model, top->reshaped.profile ? &top->reshaped.snapshot : &top->snapshot,
        &top->snapshot, &top->display, err);
    if (rc)
        return rc;
    session_entry_describe(top->driver.entry, &top->snapshot, &info);
    session_processes(top->driver.session, &processes);
    terminal_last_message(&top->terminal, message, sizeof message);
    terminal_size(&top->terminal, &screen.columns, &screen.rows);
    buffer_clear(&top->text);

    /* Records the list as it was drawn, in which keys move the cursor. */
    const size_t shown = screen_draw(&top->text, &screen, &top->display);
    const struct model *const model = &top->model;
    const struct display *const display = &top->display;
    const bool is_list = display->panel == DISPLAY_FUNCTIONS;
    top->room = (struct display_room){
        .now_ns = top->snapshot.end_ns,
        .rows = is_list ? model->count : model->states.count,
        .shown = shown,
        .row_at_cursor =
            display->cursor < model->count ? model->order[display->cursor] : DISPLAY_NO_ROW,
        .threads = model->threads,
        .thread_count = model->states.count,
    };
    /* The cursor stays with its function when the order changes. */
    if (is_list && top->display.row == DISPLAY_NO_ROW && top->display.cursor > 0)
        top->display.row = top->room.row_at_cursor;

    if (buffer_check(&top->text, err))
        return ERR_NOMEM;
    top->is_over |= !terminal_show(&top->terminal, top->text.data, top->text.length);
    return ERR_OK;
}

static enum err_code take_event(struct top *top, struct err *err)
{
    struct epoll_event event;
    if (epoll_wait(top->events, &event, 1, 0) != 1)
        return ERR_OK;
    if (event.data.fd == STDIN_FILENO) {
        /* The end of input means that the terminal has gone. */
        char bytes[KEYS_BYTES];
        const ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
        if (n <= 0) {
            top->is_over |= n == 0 || (errno != EINTR && errno != EAGAIN);
            return ERR_OK;
        }
        for (const char *at = bytes; at < bytes + n && !top->is_over;) {
            const enum display_request request =
                display_key(&top->display, keys_next(&at, bytes + n), &top->room);
            top->is_over |= request == DISPLAY_QUITS;
            if (request == DISPLAY_RENEWS && renew_snapshot(top, err))
                return err->code;
            if (!top->is_over && draw_screen(top, err))
                return err->code;
        }
        return ERR_OK;
    }
    terminal_take_signals(&top->terminal);
    return draw_screen(top, err);
}

int command_top(const struct options *options)
{
    struct top top = { .driver = { .options = options,
                                   .reads_source =
                                       options->wants_capture && !options->report.no_source },
                       .events = -1 };
    struct err err = { 0 };
    display_init(&top.display);
    top.display.parts = options->view.query.states.parts;
    if (options->chooses_parts && !top.display.parts)
        top.display.mode = DISPLAY_WALL;
    enum err_code rc = start_sampling(&top, &err);
    if (!rc) {
        /* The screen stays until the user quits.  If sampling ends earlier, it shows that. */
        rc = terminal_enter(&top.terminal, &err);
        while (!rc && !top.is_over) {
            rc = renew_snapshot(&top, &err);
            if (!rc)
                rc = draw_screen(&top, &err);
            enum signals_event event = SIGNALS_TIMEOUT;
            do {
                if (rc || top.is_over)
                    break;
                const uint64_t now_ns = clock_now_ns();
                const int left_ms =
                    now_ns < top.due_ns ? (int)((top.due_ns - now_ns) / NS_PER_MS) + 1 : 0;
                event = signals_wait(&top.driver.signals, top.events, left_ms);
                if (event == SIGNALS_READABLE)
                    rc = take_event(&top, &err);
                top.is_over |= event == SIGNALS_STOP;
            } while (event != SIGNALS_TIMEOUT);
        }
        terminal_leave(&top.terminal);
    }
    if (!rc)
        rc = driver_stop(&top.driver) == DRIVER_ENDED ? driver_finish(&top.driver, &err)
                                                      : ERR_OK;
    terminal_deinit(&top.terminal);
    const int status = driver_end(&top.driver, rc, &err);

    model_deinit(&top.model);
    reshaped_deinit(&top.reshaped);
    buffer_deinit(&top.text);
    if (top.has_snapshot)
        profile_snapshot_release(&top.snapshot);
    if (top.events >= 0)
        close(top.events);

    driver_close(&top.driver, status);
    return status;
}
