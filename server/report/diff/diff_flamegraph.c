#include "server/report/diff/comparison.h"
#include "server/report/diff/diff.h"
#include "server/report/report.h"

enum err_code report_write_diff_flamegraph(const struct report_source *source,
                                           struct buffer *out, struct err *err)
{
    struct comparison comparison;
    if (!source->baseline)
        return err_set(err, ERR_INVALID, "a differential flame graph needs a baseline");
    enum err_code rc =
        comparison_init(&comparison, source->baseline, source, COMPARISON_BY_SAMPLES, err);
    if (rc != ERR_OK)
        return rc;
    const struct diff diff = { .comparison = &comparison,
                               .base = source->baseline,
                               .now = source,
                               .settings = source->settings };
    rc = diff_write_html(&diff, out, err);
    comparison_deinit(&comparison);
    return rc;
}
