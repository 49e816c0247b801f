#include "server/top/display.h"

#include <string.h>

#include "sampler/base/clock.h"
#include "server/top/keys.h"

static const struct {
    unsigned seconds;
    const char *text;
} spans[] = {
#define X(seconds, text) { seconds, text },
    LOOK_SPANS(X)
#undef X
};

static const unsigned periods_ms[] = { 250, 500, 1000, 2000, 5000 };

enum {
    SPANS = sizeof spans / sizeof *spans,
    PERIODS = sizeof periods_ms / sizeof *periods_ms,
    USUAL_PERIOD = 1,
};

void look_init(struct look *look)
{
    *look =
        (struct look){ .thread = LOOK_NO_THREAD, .row = LOOK_NO_ROW, .period = USUAL_PERIOD };
}

unsigned look_period_ms(const struct look *look)
{
    return periods_ms[look->period];
}

uint64_t look_from_ns(const struct look *look, uint64_t now_ns)
{
    const uint64_t span_ns = spans[look->span].seconds * NS_PER_S;
    const uint64_t from_ns = span_ns && now_ns > span_ns ? now_ns - span_ns : 0;
    return from_ns > look->reset_ns ? from_ns : look->reset_ns;
}

const char *look_span_text(const struct look *look)
{
    if (look->reset_ns && !spans[look->span].seconds)
        return "all since the reset";
    return spans[look->span].text;
}

const char *look_kind_text(enum look_kind kind)
{
    static const char *const texts[] = {
#define X(name, text) text,
        LOOK_KINDS(X)
#undef X
    };
    return texts[kind];
}

static void start_list(struct look *look)
{
    look->row = LOOK_NO_ROW;
    look->cursor = look->first = 0;
}

static void open_panel(struct look *look, enum look_panel panel)
{
    look->panel = look->panel == panel ? LOOK_FUNCTIONS : panel;
    if (look->panel != LOOK_AROUND)
        look->cursor = look->first = 0;
}

/* The next of all threads, then those seen one by one, and round. */
static void turn_thread(struct look *look, const struct look_room *room, bool forward)
{
    size_t at = room->thread_count; /* all */
    for (size_t i = 0; i < room->thread_count; i++)
        if (room->threads[i] == look->thread)
            at = i;
    const size_t places = room->thread_count + 1;
    at = (at + (forward ? 1 : places - 1)) % places;
    look->thread = at < room->thread_count ? room->threads[at] : LOOK_NO_THREAD;
    start_list(look);
}

static void move_to(struct look *look, const struct look_room *room, long long to)
{
    const long long last = room->rows > 0 ? (long long)room->rows - 1 : 0;
    if (to > last)
        to = last;
    look->cursor = to > 0 ? (uint32_t)to : 0;
    /* The one that is there is chosen when it is drawn. */
    look->row = LOOK_NO_ROW;
}

static bool move(struct look *look, int key, const struct look_room *room)
{
    const long long at = look->cursor, page = room->shown > 1 ? (long long)room->shown - 1 : 1;
    switch (key) {
    case 'j':
    case KEY_DOWN: move_to(look, room, at + 1); return true;
    case 'k':
    case KEY_UP: move_to(look, room, at - 1); return true;
    case ' ':
    case KEY_PAGE_DOWN: move_to(look, room, at + page); return true;
    case 'b':
    case KEY_PAGE_UP: move_to(look, room, at - page); return true;
    case 'g':
    case KEY_HOME: move_to(look, room, 0); return true;
    case 'G':
    case KEY_END: move_to(look, room, (long long)room->rows); return true;
    default: return false;
    }
}

/* A function's callers, or the samples of a thread; and back. */
static void enter(struct look *look, const struct look_room *room)
{
    if (look->panel == LOOK_THREADS) {
        if (look->cursor < room->thread_count)
            look->thread = room->threads[look->cursor];
        look->panel = LOOK_FUNCTIONS;
        start_list(look);
    } else if (look->panel == LOOK_FUNCTIONS && room->row_at_cursor != LOOK_NO_ROW) {
        look->row = room->row_at_cursor;
        look->panel = LOOK_AROUND;
    } else {
        look->panel = LOOK_FUNCTIONS;
    }
}

static void type(struct look *look, int key)
{
    const size_t length = strlen(look->filter);
    if (key == KEY_ENTER || key == KEY_ESCAPE) {
        look->is_typing = false;
        if (key == KEY_ESCAPE)
            look->filter[0] = '\0';
    } else if (key == KEY_BACKSPACE && length > 0) {
        look->filter[length - 1] = '\0';
    } else if (key >= 0x20 && key < 0x7f && length < LOOK_MAX_FILTER) {
        look->filter[length] = (char)key;
        look->filter[length + 1] = '\0';
    }
    start_list(look);
}

static void leave(struct look *look)
{
    if (look->panel == LOOK_FUNCTIONS)
        look->filter[0] = '\0';
    look->panel = LOOK_FUNCTIONS;
}

static void next_of(unsigned *value, unsigned count, bool forward)
{
    *value = (*value + (forward ? 1 : count - 1)) % count;
}

/* What changes which rows there are, and in what order. */
static bool change_list(struct look *look, int key, const struct look_room *room)
{
    unsigned sort = look->sort, kind = look->kind;
    switch (key) {
    case 's':
    case 'S': next_of(&sort, LOOK_SORTS, key == 's'); break;
    case 'm':
    case 'M': next_of(&kind, LOOK_KIND_COUNT, key == 'm'); break;
    case 'w':
    case 'W': next_of(&look->span, SPANS, key == 'w'); break;
    case 'l': look->by_line = !look->by_line; break;
    case 'r': look->reset_ns = room->now_ns; break;
    case 'a': look->thread = LOOK_NO_THREAD; break;
    case 'c': look->filter[0] = '\0'; break;
    case KEY_RIGHT: turn_thread(look, room, true); return true;
    case KEY_LEFT: turn_thread(look, room, false); return true;
    default: return false;
    }
    look->sort = (enum look_sort)sort;
    look->kind = (enum look_kind)kind;
    /* Lines and functions are numbered apart. */
    if (key == 'l' && look->panel == LOOK_AROUND)
        look->panel = LOOK_FUNCTIONS;
    start_list(look);
    return true;
}

enum look_wish look_key(struct look *look, int key, const struct look_room *room)
{
    if (look->is_typing) {
        type(look, key);
        return LOOK_GOES_ON;
    }
    /* Whatever is typed ends the help, and does what it does. */
    if (look->panel == LOOK_HELP && key != 'h' && key != '?')
        look->panel = LOOK_FUNCTIONS;
    if (move(look, key, room) || change_list(look, key, room))
        return LOOK_GOES_ON;
    switch (key) {
    case 'q':
    case 'Q': return LOOK_QUITS;
    case KEY_REDRAW: return LOOK_RENEWS;
    case 'p': look->is_paused = !look->is_paused; return LOOK_RENEWS;
    case '?':
    case 'h': open_panel(look, LOOK_HELP); break;
    case 't': open_panel(look, LOOK_THREADS); break;
    case '/':
        look->is_typing = true;
        look->panel = LOOK_FUNCTIONS;
        break;
    case '+': look->period -= look->period > 0; break;
    case '-': look->period += look->period + 1 < PERIODS; break;
    case KEY_ENTER: enter(look, room); break;
    case KEY_ESCAPE: leave(look); break;
    default: break;
    }
    return LOOK_GOES_ON;
}
