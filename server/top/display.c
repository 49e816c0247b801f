#include "server/top/display.h"

#include <string.h>

#include "sampler/base/clock.h"
#include "server/top/keys.h"

static const struct {
    unsigned seconds;
    const char *text;
} spans[] = {
#define X(seconds, text) { seconds, text },
    DISPLAY_SPANS(X)
#undef X
};

static const unsigned periods_ms[] = { 250, 500, 1000, 2000, 5000 };

enum {
    SPANS = sizeof spans / sizeof *spans,
    PERIODS = sizeof periods_ms / sizeof *periods_ms,
    USUAL_PERIOD = 1,
};

void display_init(struct display *display)
{
    *display = (struct display){ .thread = DISPLAY_NO_THREAD,
                                 .row = DISPLAY_NO_ROW,
                                 .period = USUAL_PERIOD };
}

unsigned display_period_ms(const struct display *display)
{
    return periods_ms[display->period];
}

uint64_t display_from_ns(const struct display *display, uint64_t now_ns)
{
    const uint64_t span_ns = spans[display->span].seconds * NS_PER_S;
    const uint64_t from_ns = span_ns && now_ns > span_ns ? now_ns - span_ns : 0;
    return from_ns > display->reset_ns ? from_ns : display->reset_ns;
}

const char *display_span_text(const struct display *display)
{
    if (display->reset_ns && !spans[display->span].seconds)
        return "all since the reset";
    return spans[display->span].text;
}

const char *display_mode_text(enum display_mode mode)
{
    static const char *const texts[] = {
#define X(name, text) text,
        DISPLAY_MODES(X)
#undef X
    };
    return texts[mode];
}

static void start_list(struct display *display)
{
    display->row = DISPLAY_NO_ROW;
    display->cursor = display->first = 0;
}

static void open_panel(struct display *display, enum display_panel panel)
{
    display->panel = display->panel == panel ? DISPLAY_FUNCTIONS : panel;
    if (display->panel != DISPLAY_AROUND)
        display->cursor = display->first = 0;
}

/* The choices are all threads, then each thread, and then all threads again. */
static void turn_thread(struct display *display, const struct display_room *room, bool forward)
{
    size_t at = room->thread_count; /* all */
    for (size_t i = 0; i < room->thread_count; i++)
        if (room->threads[i] == display->thread)
            at = i;
    const size_t places = room->thread_count + 1;
    at = (at + (forward ? 1 : places - 1)) % places;
    display->thread = at < room->thread_count ? room->threads[at] : DISPLAY_NO_THREAD;
    start_list(display);
}

static void move_to(struct display *display, const struct display_room *room, long long to)
{
    const long long last = room->rows > 0 ? (long long)room->rows - 1 : 0;
    if (to > last)
        to = last;
    display->cursor = to > 0 ? (uint32_t)to : 0;
    /* Drawing selects the row at the cursor. */
    display->row = DISPLAY_NO_ROW;
}

static bool move_cursor(struct display *display, int key, const struct display_room *room)
{
    const long long at = display->cursor,
                    page = room->shown > 1 ? (long long)room->shown - 1 : 1;
    switch (key) {
    case 'j':
    case KEY_DOWN: move_to(display, room, at + 1); return true;
    case 'k':
    case KEY_UP: move_to(display, room, at - 1); return true;
    case ' ':
    case KEY_PAGE_DOWN: move_to(display, room, at + page); return true;
    case 'b':
    case KEY_PAGE_UP: move_to(display, room, at - page); return true;
    case 'g':
    case KEY_HOME: move_to(display, room, 0); return true;
    case 'G':
    case KEY_END: move_to(display, room, (long long)room->rows); return true;
    default: return false;
    }
}

/* Enter: opens the callers of a function, or the samples of a thread, or goes back. */
static void open_row(struct display *display, const struct display_room *room)
{
    if (display->panel == DISPLAY_THREADS) {
        if (display->cursor < room->thread_count)
            display->thread = room->threads[display->cursor];
        display->panel = DISPLAY_FUNCTIONS;
        start_list(display);
    } else if (display->panel == DISPLAY_FUNCTIONS && room->row_at_cursor != DISPLAY_NO_ROW) {
        display->row = room->row_at_cursor;
        display->panel = DISPLAY_AROUND;
    } else {
        display->panel = DISPLAY_FUNCTIONS;
    }
}

static void leave_panel(struct display *display)
{
    if (display->panel == DISPLAY_FUNCTIONS)
        display->filter[0] = '\0';
    display->panel = DISPLAY_FUNCTIONS;
}

static void next_of(unsigned *value, unsigned count, bool forward)
{
    *value = (*value + (forward ? 1 : count - 1)) % count;
}

/* Keys that change which rows the list has, or their order. */
static bool change_list(struct display *display, int key, const struct display_room *room)
{
    unsigned sort = display->sort, mode = display->mode;
    switch (key) {
    case 's':
    case 'S': next_of(&sort, DISPLAY_SORTS, key == 's'); break;
    case 'm':
    case 'M': next_of(&mode, DISPLAY_MODE_COUNT, key == 'm'); break;
    case 'w':
    case 'W': next_of(&display->span, SPANS, key == 'w'); break;
    case 'l': display->by_line = !display->by_line; break;
    case 'r': display->reset_ns = room->now_ns; break;
    case 'a': display->thread = DISPLAY_NO_THREAD; break;
    case 'c': display->filter[0] = '\0'; break;
    case KEY_RIGHT: turn_thread(display, room, true); return true;
    case KEY_LEFT: turn_thread(display, room, false); return true;
    default: return false;
    }
    display->sort = (enum display_sort)sort;
    display->mode = (enum display_mode)mode;
    /* A line's row number is not that of its function. */
    if (key == 'l' && display->panel == DISPLAY_AROUND)
        display->panel = DISPLAY_FUNCTIONS;
    start_list(display);
    return true;
}

enum display_request display_key(struct display *display, int key,
                                 const struct display_room *room)
{
    if (display->is_typing) {
        const size_t length = strlen(display->filter);
        if (key == KEY_ENTER || key == KEY_ESCAPE) {
            display->is_typing = false;
            if (key == KEY_ESCAPE)
                display->filter[0] = '\0';
        } else if (key == KEY_BACKSPACE && length > 0) {
            display->filter[length - 1] = '\0';
        } else if (key >= 0x20 && key < 0x7f && length < DISPLAY_MAX_FILTER) {
            display->filter[length] = (char)key;
            display->filter[length + 1] = '\0';
        }
        start_list(display);
        return DISPLAY_GOES_ON;
    }
    /* Any other key closes the help and then has its usual effect. */
    if (display->panel == DISPLAY_HELP && key != 'h' && key != '?')
        display->panel = DISPLAY_FUNCTIONS;
    if (move_cursor(display, key, room) || change_list(display, key, room))
        return DISPLAY_GOES_ON;
    switch (key) {
    case 'q':
    case 'Q': return DISPLAY_QUITS;
    case KEY_REDRAW: return DISPLAY_RENEWS;
    case 'p': display->is_paused = !display->is_paused; return DISPLAY_RENEWS;
    case '?':
    case 'h': open_panel(display, DISPLAY_HELP); break;
    case 't': open_panel(display, DISPLAY_THREADS); break;
    case '/':
        display->is_typing = true;
        display->panel = DISPLAY_FUNCTIONS;
        break;
    case '+': display->period -= display->period > 0; break;
    case '-': display->period += display->period + 1 < PERIODS; break;
    case KEY_ENTER: open_row(display, room); break;
    case KEY_ESCAPE: leave_panel(display); break;
    default: break;
    }
    return DISPLAY_GOES_ON;
}
