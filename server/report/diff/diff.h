/*
 * diff - a comparison as text, Markdown and JSON.
 *
 * Ownership: a diff borrows everything.
 */
#ifndef SERVER_REPORT_DIFF_DIFF_H
#define SERVER_REPORT_DIFF_DIFF_H

#include "sampler/base/err.h"
#include "server/report/report_source.h"

struct buffer;
struct comparison;
struct comparison_side;

struct diff {
    const struct comparison *comparison;
    const struct comparison_side *baseline, *now;
    struct report_settings settings; /* limit and colours */
};

/* Significant changes, the largest first: functions by self and by total, and paths that are new or
 * gone. */
MUST_CHECK enum err_code diff_write_text(const struct diff *diff, struct buffer *out,
                                         struct err *err);
/* A table of the functions whose self or total changed significantly, the largest first, for a pull
 * request. */
MUST_CHECK enum err_code diff_write_markdown(const struct diff *diff, struct buffer *out,
                                             struct err *err);
/* All functions and paths of both, with counts, shares, intervals, q values and
 * verdicts. */
MUST_CHECK enum err_code diff_write_json(const struct diff *diff, struct buffer *out,
                                         struct err *err);

#endif /* SERVER_REPORT_DIFF_DIFF_H */
