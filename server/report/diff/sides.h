/*
 * sides - the captures that are compared, and by what.
 */
#ifndef SERVER_REPORT_DIFF_SIDES_H
#define SERVER_REPORT_DIFF_SIDES_H

#include <stddef.h>

struct report_source;

enum comparison_basis { COMPARISON_BY_SAMPLES, COMPARISON_BY_TIME };

enum { COMPARISON_MAX_CAPTURES = 32 };

/* The captures of one side, at least one. */
struct comparison_side {
    const struct report_source *captures[COMPARISON_MAX_CAPTURES];
    size_t count;
};

#endif /* SERVER_REPORT_DIFF_SIDES_H */
