/*
 * screen - one picture of top: the text that makes a terminal show it.
 *
 * Every line is written anew and cut to the width, so that whatever a terminal showed before is
 * gone.  Nothing that a target says can move the cursor or change a colour.
 *
 * Ownership: plain data; borrows everything.
 * Depends on: sheet, look, pen, wire/session.
 */
#ifndef SERVER_TOP_SCREEN_H
#define SERVER_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/sampler.h"

struct buffer;
struct display;
struct session_info;
struct model;

enum { SCREEN_MIN_COLUMNS = 40, SCREEN_MIN_ROWS = 10 };

struct screen {
    const struct session_info *session; /* with the snapshot that is shown */
    const struct sampler_processes *processes;
    const struct model *model;
    double now_hz; /* looks a second, lately; negative: not known yet */
    double own_cpu_percent;
    const char *message; /* said by the program; "": nothing */
    unsigned columns, rows;
    bool has_colours;
};

/* Moves look's cursor and first row to what can be seen, and to the chosen row.  Returns how many
 * rows of the list are shown. */
size_t screen_draw(struct buffer *out, const struct screen *screen, struct display *display);

#endif /* SERVER_TOP_SCREEN_H */
