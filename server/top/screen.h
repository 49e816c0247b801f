/*
 * screen - draws the whole screen of top, as text for a terminal.
 *
 * It writes every line again and cuts it to the width, so that nothing remains of an earlier screen.
 * Text of a target cannot move the cursor or change a colour.
 *
 * Ownership: plain data; borrows everything.
 */
#ifndef SERVER_TOP_SCREEN_H
#define SERVER_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/session.h"

struct buffer;
struct display;
struct session_info;
struct model;

enum { SCREEN_MIN_COLUMNS = 40, SCREEN_MIN_ROWS = 10 };

struct screen {
    const struct session_info *session; /* with the snapshot that is shown */
    const struct session_processes *processes;
    const struct model *model;
    double now_hz; /* current rate in ticks per second; negative: not known yet */
    double own_cpu_percent;
    const char *message; /* the last line on standard error; "": none */
    unsigned columns, rows;
    bool has_colours;
};

/* Moves the display's cursor to the selected row, and scrolls so that it is visible.  Returns how
 * many rows of the list are visible. */
size_t screen_draw(struct buffer *out, const struct screen *screen, struct display *display);

#endif /* SERVER_TOP_SCREEN_H */
