#include "server/report/diff/condition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/report/diff/comparison.h"
#include "server/report/header.h"
#include "server/report/names.h"
#include "server/report/report_source.h"
#include "server/settings/setting.h"

static enum err_code refuse_text(const char *text, struct err *err)
{
    return err_set(err, ERR_INVALID,
                   "invalid condition '%.64s': want self>5%%, total>5%%, self(PATTERN)>5%% or "
                   "page-faults>50MB",
                   text);
}

/* ">5%" at the end of the text; NULL: there is none. */
static const char *read_threshold(const char *text, double *more)
{
    const char *const sign = strrchr(text, '>');
    char *end = NULL;
    if (!sign)
        return NULL;
    const size_t length = strspn(sign + 1, "0123456789.");
    *more = strtod(sign + 1, &end) / 100;
    const bool is_number = length > 0 && end == sign + 1 + length;
    return is_number && strcmp(end, "%") == 0 && *more <= 1 ? sign : NULL;
}

/* "page-faults>50MB" */
static bool read_amount(const char *text, struct condition *condition)
{
    for (enum measure i = MEASURE_TIME + 1; i < MEASURE_KNOWN; i++) {
        const size_t length = strlen(measure_texts[i]);
        if (strncmp(text, measure_texts[i], length) != 0 || text[length] != '>')
            continue;
        condition->measure = i;
        return setting_number(SETTING_SIZE, text + length + 1, &condition->more);
    }
    return false;
}

enum err_code condition_init(struct condition *condition, const char *text, struct err *err)
{
    char pattern[CONDITION_MAX_PATTERN + 1];
    *condition = (struct condition){ .text = text };
    if (read_amount(text, condition))
        return ERR_OK;
    condition->measure = MEASURE_TIME;
    const char *const end = read_threshold(text, &condition->more);
    condition->is_total = strncmp(text, "total", 5) == 0;
    const char *const at = text + (condition->is_total ? 5 : 4);
    if (!end || (!condition->is_total && strncmp(text, "self", 4) != 0) || at > end)
        return refuse_text(text, err);
    if (at == end)
        return ERR_OK;
    const size_t length = (size_t)(end - at);
    if (*at != '(' || end[-1] != ')' || length < 3 || length > CONDITION_MAX_PATTERN)
        return refuse_text(text, err);
    memcpy(pattern, at + 1, length - 2);
    pattern[length - 2] = '\0';
    const enum err_code rc = pattern_init(&condition->pattern, pattern, err);
    condition->has_pattern = !rc;
    return rc;
}

void condition_deinit(struct condition *condition)
{
    if (condition->has_pattern)
        pattern_deinit(&condition->pattern);
    *condition = (struct condition){ 0 };
}

static double mean_of(const struct comparison_side *side)
{
    double sum = 0;
    for (size_t i = 0; i < side->count; i++)
        sum += (double)side->captures[i]->header->ns;
    return side->count ? sum / (double)side->count : 0;
}

bool condition_holds(const struct condition *condition, const struct comparison_side *baseline,
                     const struct comparison_side *now)
{
    return condition->measure != MEASURE_TIME &&
           mean_of(now) - mean_of(baseline) > condition->more;
}

static double find_growth(const struct comparison *comparison,
                          const struct comparison_number *number)
{
    if (number->verdict != COMPARISON_MORE && number->verdict != COMPARISON_NEW)
        return -HUGE_VAL;
    return comparison_now_share(comparison, number->now) -
           comparison_baseline_share(comparison, number->baseline);
}

enum err_code condition_check(const struct condition *condition,
                              const struct comparison *comparison, function_id *out,
                              struct err *err)
{
    double most = condition->more;
    enum err_code rc = ERR_OK;
    *out = 0;
    const bool is_share = condition->measure == MEASURE_TIME;
    for (function_id id = 1; is_share && id < comparison->snapshot->sizes.functions && !rc;
         id++) {
        const struct comparison_row *const row = &comparison->functions[id];
        const double more =
            find_growth(comparison, condition->is_total ? &row->total : &row->self);
        bool is_one = false;
        if (!(more > most))
            continue;

        const struct named_frame function = names_function(comparison->snapshot, id);
        const struct pattern_subject subject = { .packages = profile_packages(
                                                     comparison->snapshot->profile),
                                                 .name = function.name.text,
                                                 .file = function.file.text };
        is_one = true;
        rc = condition->has_pattern
                 ? pattern_matches(&condition->pattern, &subject, &is_one, err)
                 : ERR_OK;

        if (!rc && is_one) {
            most = more;
            *out = id;
        }
    }
    return rc;
}
