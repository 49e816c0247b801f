/*
 * panels - the middle of the screen: functions, threads, callers and callees, or the keys.
 *
 * Each draws a title and exactly `rows` lines, and returns how many rows of its list fit.
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

/* Both move the display's cursor and first row into the list. */
size_t panel_functions(const struct panel *panel, struct display *display);
size_t panel_threads(const struct panel *panel, struct display *display);
/* The selected row, its callers and its callees. */
size_t panel_around(const struct panel *panel, const struct display *display);
size_t panel_help(const struct panel *panel);

#endif /* SERVER_TOP_PANELS_H */
