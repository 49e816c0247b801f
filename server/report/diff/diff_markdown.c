#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/plain_text.h"
#include "server/report/diff/comparison.h"
#include "server/report/diff/diff.h"
#include "server/report/formats/writers.h"
#include "server/report/header.h"
#include "server/report/names.h"
#include "server/wire/session.h"

struct changes {
    const struct comparison *comparison;
    struct change {
        double points;
        function_id function;
        bool is_total;
    } * rows;
    size_t count;
};

static const struct comparison_number *number_of(const struct comparison *comparison,
                                                 const struct change *row)
{
    const struct comparison_row *const function = &comparison->functions[row->function];
    return row->is_total ? &function->total : &function->self;
}

static bool has_changed(const struct comparison_number *number)
{
    return number->verdict != COMPARISON_SAME && number->verdict != COMPARISON_FEW;
}

static int by_change(const void *left, const void *right)
{
    const struct change *const a = left, *const b = right;
    const double x = fabs(a->points), y = fabs(b->points);
    if (x != y)
        return x > y ? -1 : 1;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return (a->is_total > b->is_total) - (a->is_total < b->is_total);
}

static enum err_code find_changes(struct changes *changes, struct err *err)
{
    const struct comparison *const comparison = changes->comparison;
    const uint32_t functions = comparison->snapshot->sizes.functions;
    changes->rows = malloc(((size_t)functions * 2 + 1) * sizeof *changes->rows);
    if (!changes->rows)
        return err_nomem(err);
    for (function_id id = 1; id < functions; id++) {
        for (int total = 0; total <= 1; total++) {
            struct change row = { .function = id, .is_total = total };
            const struct comparison_number *const number = number_of(comparison, &row);
            row.points = 100 * (comparison_now_share(comparison, number->now) -
                                comparison_baseline_share(comparison, number->baseline));
            if (has_changed(number))
                changes->rows[changes->count++] = row;
        }
    }
    qsort(changes->rows, changes->count, sizeof *changes->rows, by_change);
    return ERR_OK;
}

/* Text that Markdown and HTML take for text.  plain_text_put has left one line of it. */
static void put_escaped(struct strtab_string text, struct buffer *out)
{
    static const char special[] = "\\`*_{}[]()#+!|~&<>$@:";
    struct buffer plain = { 0 };
    plain_text_put(&plain, text.text, text.length);
    for (const char *c = buffer_string(&plain); *c; c++) {
        for (const char *s = special; *s; s++)
            if (*c == *s) {
                buffer_char(out, '\\');
                break;
            }
        buffer_char(out, *c);
    }
    buffer_deinit(&plain);
}

static void put_side(const struct comparison_side *side, const char *name, struct buffer *out)
{
    for (size_t i = 0; i < side->count; i++) {
        const struct report_source *const source = side->captures[i];
        buffer_printf(out, "- %s: %llu samples in %.2f s of ", name,
                      (unsigned long long)source->header->samples,
                      (double)report_header_duration_ns(source->header) / (double)NS_PER_S);
        report_header_put_process(source->header, source->session->target, out);
        if (source->snapshot->measure != MEASURE_TIME)
            buffer_printf(out, "; of %s: %llu %s",
                          profile_measure(source->snapshot, source->snapshot->measure)->title,
                          (unsigned long long)source->header->ns,
                          profile_measure(source->snapshot, source->snapshot->measure)->unit);
        if (!source->header->is_whole) {
            buffer_text(out, "; selected: ");
            report_header_put_text(source->header, out);
        }
        buffer_char(out, '\n');
    }
}

enum err_code diff_write_markdown(const struct diff *diff, struct buffer *out, struct err *err)
{
    struct changes changes = { .comparison = diff->comparison };
    const size_t limit = diff->settings.limit ? diff->settings.limit : REPORT_DEFAULT_LIMIT;
    const enum err_code rc = find_changes(&changes, err);
    if (rc)
        return rc;
    put_side(diff->baseline, "baseline", out);
    put_side(diff->now, "now", out);
    if (changes.count == 0)
        buffer_text(out, "\nNo function changed significantly.\n");
    else
        buffer_text(out, "\n| function | | baseline | now | change, points | |\n"
                         "| --- | --- | ---: | ---: | ---: | --- |\n");
    for (size_t i = 0; i < changes.count && i < limit; i++) {
        const struct comparison *const comparison = diff->comparison;
        const struct change *const row = &changes.rows[i];
        const struct comparison_number *const number = number_of(comparison, row);
        const double half = 50 * ((double)number->change.high - (double)number->change.low);
        buffer_text(out, "| ");

        const struct named_frame function = names_function(comparison->snapshot, row->function);
        put_escaped(function.name, out);
        if (!function.is_synthetic) {
            buffer_char(out, ' ');
            put_escaped(names_base(function.file), out);
        }

        buffer_printf(out, " | %s | %.2f %% | %.2f %% | %+.2f ± %.2f | %s |\n",
                      row->is_total ? "total" : "self",
                      100 * comparison_baseline_share(comparison, number->baseline),
                      100 * comparison_now_share(comparison, number->now), row->points, half,
                      comparison_verdict_text(number->verdict));
    }
    if (changes.count > limit)
        buffer_printf(out, "\n%zu more changes are significant.\n", changes.count - limit);
    free(changes.rows);
    return buffer_check(out, err);
}

enum err_code report_write_diff_markdown(const struct report_source *source, struct buffer *out,
                                         struct err *err)
{
    if (!source->baseline)
        return err_set(err, ERR_INVALID, "there is no baseline to compare with");
    const struct comparison_side baseline = { { source->baseline }, 1 },
                                 now = { { source }, 1 };
    struct comparison comparison;
    enum err_code rc = comparison_init(
        &comparison, &baseline, &now,
        source->settings.by_time ? COMPARISON_BY_TIME : COMPARISON_BY_SAMPLES, err);
    if (rc)
        return rc;
    const struct diff diff = { &comparison, &baseline, &now, source->settings };
    rc = diff_write_markdown(&diff, out, err);
    comparison_deinit(&comparison);
    return rc;
}
