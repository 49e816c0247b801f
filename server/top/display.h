/*
 * look - how the user wants the profile shown, and what keys make of that.
 *
 * Ownership: plain data.
 * Depends on: profile (ids), keys.
 */
#ifndef SERVER_TOP_DISPLAY_H
#define SERVER_TOP_DISPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/profile/profile.h"

enum { DISPLAY_MAX_FILTER = 60 };

#define DISPLAY_NO_THREAD UINT32_MAX
#define DISPLAY_NO_ROW    UINT32_MAX

enum display_sort { DISPLAY_BY_SELF, DISPLAY_BY_TOTAL, DISPLAY_BY_NAME, DISPLAY_SORTS };

#define DISPLAY_SPANS(X)     \
    X(10, "the last 10 s")   \
    X(60, "the last minute") \
    X(0, "all since the start")

/* Which samples, by what the thread was doing. */
#define DISPLAY_KINDS(X)      \
    X(WALL, "wall")           \
    X(CPU, "on a CPU")        \
    X(GIL, "holding the GIL") \
    X(EXCEPTION, "handling an exception")

enum display_kind {
#define X(name, text) DISPLAY_##name,
    DISPLAY_KINDS(X)
#undef X
        DISPLAY_KIND_COUNT
};

enum display_panel { DISPLAY_FUNCTIONS, DISPLAY_THREADS, DISPLAY_AROUND, DISPLAY_HELP };

enum display_wish { DISPLAY_GOES_ON, DISPLAY_QUITS, DISPLAY_RENEWS };

struct display {
    enum display_panel panel;
    enum display_sort sort;
    enum display_kind kind;
    unsigned span;     /* number of DISPLAY_SPANS */
    uint64_t reset_ns; /* what was before is left out */
    bool by_line;      /* lines are rows, not functions */
    bool is_paused;    /* the picture stays; sampling goes on */
    unsigned period;   /* number of display_period_ms */
    thread_id thread;  /* DISPLAY_NO_THREAD: all */
    bool is_typing;    /* the filter */
    char filter[DISPLAY_MAX_FILTER + 1];
    uint32_t row;    /* chosen; DISPLAY_NO_ROW: whatever is at the cursor */
    uint32_t cursor; /* its place in the list */
    uint32_t first;  /* place of the first one that is shown */
};

/* What there is to move in, as it was drawn last. */
struct display_room {
    uint64_t now_ns;          /* of the profile */
    size_t rows;              /* in the list */
    size_t shown;             /* at a time */
    uint32_t row_at_cursor;   /* DISPLAY_NO_ROW: none */
    const thread_id *threads; /* those that were seen */
    size_t thread_count;
};

void display_init(struct display *display);
enum display_wish display_key(struct display *display, int key,
                              const struct display_room *room);

/* From one picture to the next. */
unsigned display_period_ms(const struct display *display);
uint64_t display_from_ns(const struct display *display, uint64_t now_ns);
const char *display_span_text(const struct display *display);
const char *display_kind_text(enum display_kind kind);

#endif /* SERVER_TOP_DISPLAY_H */
