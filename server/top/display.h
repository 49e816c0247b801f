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

enum { LOOK_MAX_FILTER = 60 };

#define LOOK_NO_THREAD UINT32_MAX
#define LOOK_NO_ROW    UINT32_MAX

enum look_sort { LOOK_BY_SELF, LOOK_BY_TOTAL, LOOK_BY_NAME, LOOK_SORTS };

#define LOOK_SPANS(X)        \
    X(10, "the last 10 s")   \
    X(60, "the last minute") \
    X(0, "all since the start")

/* Which samples, by what the thread was doing. */
#define LOOK_KINDS(X)         \
    X(WALL, "wall")           \
    X(CPU, "on a CPU")        \
    X(GIL, "holding the GIL") \
    X(EXCEPTION, "handling an exception")

enum look_kind {
#define X(name, text) LOOK_##name,
    LOOK_KINDS(X)
#undef X
        LOOK_KIND_COUNT
};

enum look_panel { LOOK_FUNCTIONS, LOOK_THREADS, LOOK_AROUND, LOOK_HELP };

enum look_wish { LOOK_GOES_ON, LOOK_QUITS, LOOK_RENEWS };

struct look {
    enum look_panel panel;
    enum look_sort sort;
    enum look_kind kind;
    unsigned span;     /* number of LOOK_SPANS */
    uint64_t reset_ns; /* what was before is left out */
    bool by_line;      /* lines are rows, not functions */
    bool is_paused;    /* the picture stays; sampling goes on */
    unsigned period;   /* number of look_period_ms */
    thread_id thread;  /* LOOK_NO_THREAD: all */
    bool is_typing;    /* the filter */
    char filter[LOOK_MAX_FILTER + 1];
    uint32_t row;    /* chosen; LOOK_NO_ROW: whatever is at the cursor */
    uint32_t cursor; /* its place in the list */
    uint32_t first;  /* place of the first one that is shown */
};

/* What there is to move in, as it was drawn last. */
struct look_room {
    uint64_t now_ns;          /* of the profile */
    size_t rows;              /* in the list */
    size_t shown;             /* at a time */
    uint32_t row_at_cursor;   /* LOOK_NO_ROW: none */
    const thread_id *threads; /* those that were seen */
    size_t thread_count;
};

void look_init(struct look *look);
enum look_wish look_key(struct look *look, int key, const struct look_room *room);

/* From one picture to the next. */
unsigned look_period_ms(const struct look *look);
uint64_t look_from_ns(const struct look *look, uint64_t now_ns);
const char *look_span_text(const struct look *look);
const char *look_kind_text(enum look_kind kind);

#endif /* SERVER_TOP_DISPLAY_H */
