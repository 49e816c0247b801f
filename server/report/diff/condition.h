/*
 * condition - a condition on a comparison, for tests of performance: NUMBER[(PATTERN)]>PERCENT%, or MEASURE>SIZE.
 *
 *     self>5%                    the self of some function takes over 5 points more of the samples
 *     total(function:parse)>1%   the same of functions that a pattern of filters matches (pattern.h)
 *     page-faults>50MB           over 50 MB more became resident, in all
 *
 * The first two hold only for a significant change.  Points are of the shares that the comparison shows: of
 * samples, or of time.  The last one is of sums: where a side has several captures, of their mean.
 *
 * Ownership: condition_deinit frees; it accepts a zeroed one.
 * Limits: CONDITION_MAX_PATTERN bytes of a pattern.
 */
#ifndef SERVER_REPORT_DIFF_CONDITION_H
#define SERVER_REPORT_DIFF_CONDITION_H

#include <stdbool.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/pattern.h"

struct comparison;
struct comparison_side;

enum { CONDITION_MAX_PATTERN = 1024 };

struct condition {
    const char *text; /* borrowed */
    bool is_total, has_pattern;
    struct pattern pattern;
    double more;          /* a share of 1, or an amount in the unit of the measure */
    enum measure measure; /* whose amount it is; MEASURE_TIME: it is a share */
};

/* ERR_INVALID: `err` says what is wrong. */
MUST_CHECK enum err_code condition_init(struct condition *condition, const char *text,
                                        struct err *err);
void condition_deinit(struct condition *condition);

/* Does the condition of an amount hold?  Otherwise false. */
bool condition_holds(const struct condition *condition, const struct comparison_side *baseline,
                     const struct comparison_side *now);
/* The function with the largest change for which the condition holds; 0: none, or it is of an amount. */
MUST_CHECK enum err_code condition_check(const struct condition *condition,
                                         const struct comparison *comparison, function_id *out,
                                         struct err *err);

#endif /* SERVER_REPORT_DIFF_CONDITION_H */
