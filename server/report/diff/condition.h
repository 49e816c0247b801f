/*
 * condition - a condition on a comparison, for tests of performance: NUMBER[(PATTERN)]>PERCENT%.
 *
 *     self>5%                    the self of some function takes over 5 points more of the samples
 *     total(function:parse)>1%   the same of functions that a pattern of filters matches (pattern.h)
 *
 * A condition holds only for a significant change.  Points are of the shares that the comparison shows: of
 * samples, or of time.
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

enum { CONDITION_MAX_PATTERN = 1024 };

struct condition {
    const char *text; /* borrowed */
    bool is_total, has_pattern;
    struct pattern pattern;
    double more; /* a share of 1 */
};

/* ERR_INVALID: `err` says what is wrong. */
MUST_CHECK enum err_code condition_init(struct condition *condition, const char *text,
                                        struct err *err);
void condition_deinit(struct condition *condition);

/* The function with the largest change for which the condition holds; 0: none. */
MUST_CHECK enum err_code condition_check(const struct condition *condition,
                                         const struct comparison *comparison, function_id *out,
                                         struct err *err);

#endif /* SERVER_REPORT_DIFF_CONDITION_H */
