/*
 * display - what the user has chosen to see, and how keys change it.
 *
 * Ownership: plain data.
 */
#ifndef SERVER_TOP_DISPLAY_H
#define SERVER_TOP_DISPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/profile/part.h"
#include "sampler/profile/profile.h"

enum { DISPLAY_MAX_FILTER = 60 };

#define DISPLAY_NO_THREAD UINT32_MAX
#define DISPLAY_NO_ROW    UINT32_MAX

enum display_sort { DISPLAY_BY_SELF, DISPLAY_BY_TOTAL, DISPLAY_BY_NAME, DISPLAY_SORTS };

#define DISPLAY_SPANS(X)     \
    X(10, "the last 10 s")   \
    X(60, "the last minute") \
    X(0, "all since the start")

/* Which samples are shown, by what their thread was doing. PARTS: those that were chosen. */
#define DISPLAY_MODES(X)      \
    X(PARTS, "all but idle")  \
    X(WALL, "wall")           \
    X(RUNNING, "running")     \
    X(GIL, "holding the GIL") \
    X(EXCEPTION, "handling an exception")

enum display_mode {
#define X(name, text) DISPLAY_##name,
    DISPLAY_MODES(X)
#undef X
        DISPLAY_MODE_COUNT
};

enum display_panel { DISPLAY_FUNCTIONS, DISPLAY_THREADS, DISPLAY_AROUND, DISPLAY_HELP };

enum display_request { DISPLAY_GOES_ON, DISPLAY_QUITS, DISPLAY_RENEWS };

struct display {
    enum display_panel panel;
    enum display_sort sort;
    enum display_mode mode;
    part_set parts;    /* of DISPLAY_PARTS; 0: all but idle */
    unsigned span;     /* index in DISPLAY_SPANS */
    uint64_t reset_ns; /* earlier samples are left out */
    bool by_line;      /* rows are lines, not functions */
    bool is_paused;    /* the screen stays as it is; sampling continues */
    unsigned period;   /* index of display_period_ms */
    thread_id thread;  /* DISPLAY_NO_THREAD: all */
    bool is_typing;    /* keys edit the filter */
    char filter[DISPLAY_MAX_FILTER + 1];
    uint32_t row;    /* selected; DISPLAY_NO_ROW: the row at the cursor */
    uint32_t cursor; /* index in the list */
    uint32_t first;  /* index of the first visible row */
};

/* The list as it was drawn last, in which keys move the cursor. */
struct display_room {
    uint64_t now_ns;          /* end of the profile */
    size_t rows;              /* in the list */
    size_t shown;             /* visible rows */
    uint32_t row_at_cursor;   /* DISPLAY_NO_ROW: none */
    const thread_id *threads; /* threads with samples */
    size_t thread_count;
};

void display_init(struct display *display);
enum display_request display_key(struct display *display, int key,
                                 const struct display_room *room);

/* Time between two updates of the screen. */
unsigned display_period_ms(const struct display *display);
/* Start of the time that is shown. */
uint64_t display_from_ns(const struct display *display, uint64_t now_ns);
const char *display_span_text(const struct display *display);
const char *display_mode_text(enum display_mode mode);

#endif /* SERVER_TOP_DISPLAY_H */
