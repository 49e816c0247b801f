/*
 * panels - what the middle of the screen can show: functions, threads, who calls whom, the keys.
 *
 * Each draws a title and `rows` lines, no more and no fewer, and returns how many rows of its list
 * there is room for.
 *
 * Depends on: sheet, look, pen.
 */
#ifndef SERVER_TOP_PANELS_H
#define SERVER_TOP_PANELS_H

#include <stdbool.h>
#include <stddef.h>

struct buffer;
struct display;
struct model;

struct panel {
    struct buffer *out;
    const struct model *model;
    unsigned columns, rows; /* rows below the title */
    bool has_colours;
};

/* These move the look's cursor and first row to what there is. */
size_t panel_functions(const struct panel *panel, struct display *display);
size_t panel_threads(const struct panel *panel, struct display *display);
/* The chosen row, who calls it, and whom it calls. */
size_t panel_around(const struct panel *panel, const struct display *display);
size_t panel_help(const struct panel *panel);

#endif /* SERVER_TOP_PANELS_H */
