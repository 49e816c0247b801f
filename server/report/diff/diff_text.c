#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/plain_text.h"
#include "sampler/profile/profile.h"
#include "server/report/diff/compare.h"
#include "server/report/diff/comparison.h"
#include "server/report/diff/diff.h"
#include "server/report/header.h"
#include "server/report/names.h"
#include "server/wire/session.h"

enum { PATH_FRAMES = 4 };

enum subject { SELF, TOTAL, PATHS };

struct listing {
    const struct diff *diff;
    const struct comparison *comparison;
    struct buffer *out;
    enum subject subject;
    uint32_t *rows; /* that changed, as they are to be shown */
    size_t count;
};

static void set_colour(const struct listing *listing, const char *code)
{
    if (listing->diff->settings.colours)
        buffer_text(listing->out, code);
}

static const struct comparison_number *number_of(const struct listing *listing, uint32_t row)
{
    const struct comparison *const comparison = listing->comparison;
    switch (listing->subject) {
    case SELF: return &comparison->functions[row].self;
    case TOTAL: return &comparison->functions[row].total;
    case PATHS: break;
    }
    return &comparison->nodes[row].total;
}

static double change_of(const struct listing *listing, const struct comparison_number *number)
{
    return comparison_now_share(listing->comparison, number->now) -
           comparison_baseline_share(listing->comparison, number->baseline);
}

static int by_change(const void *left, const void *right, void *context)
{
    const struct listing *const listing = context;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const double x = fabs(change_of(listing, number_of(listing, a)));
    const double y = fabs(change_of(listing, number_of(listing, b)));
    if (x > y)
        return -1;
    return x < y ? 1 : (a > b) - (a < b);
}

/* Paths are listed if they came or went while their caller did not; functions if they have
 * changed. */
static bool is_listed(const struct listing *listing, uint32_t row)
{
    const struct comparison_number *const number = number_of(listing, row);
    if (listing->subject != PATHS)
        return number->verdict != COMPARISON_SAME && number->verdict != COMPARISON_FEW;
    const node_id parent = profile_node_at(listing->comparison->snapshot, row).parent;
    const enum comparison_verdict above = listing->comparison->nodes[parent].total.verdict;
    return (number->verdict == COMPARISON_NEW || number->verdict == COMPARISON_GONE) &&
           (parent == 0 || above != number->verdict);
}

static void put_function(const struct listing *listing, function_id id)
{
    const struct named_frame function = names_function(listing->comparison->snapshot, id);
    if (!function.is_synthetic) {
        const struct strtab_string file = names_base(function.file);
        plain_text_put(listing->out, file.text, file.length);
        buffer_char(listing->out, ':');
    }
    plain_text_put(listing->out, function.name.text, function.name.length);
}

static void put_row(const struct listing *listing, uint32_t row)
{
    const struct comparison_number *const number = number_of(listing, row);
    const double change = 100 * change_of(listing, number);
    buffer_printf(listing->out, "%8.2f%% %8.2f%%  ",
                  100 * comparison_baseline_share(listing->comparison, number->baseline),
                  100 * comparison_now_share(listing->comparison, number->now));
    set_colour(listing, change > 0 ? "\x1b[31m" : "\x1b[32m");
    buffer_printf(listing->out, "%+8.2f", change);
    set_colour(listing, "\x1b[0m");
    buffer_printf(listing->out, " ±%5.2f",
                  50 * ((double)number->change.high - (double)number->change.low));

    const double q = number->q;
    if (q < 0.0001)
        buffer_text(listing->out, "  <0.0001");
    else
        buffer_printf(listing->out, "  %7.4f", q);

    buffer_printf(listing->out, "  %9" PRIu64 " %9" PRIu64 "  %-4s  ", number->baseline,
                  number->now, comparison_verdict_text(number->verdict));
    if (listing->subject == PATHS) {
        /* The last frames of a path. */
        node_id id = row;
        const struct profile_snapshot *const snapshot = listing->comparison->snapshot;
        node_id last[PATH_FRAMES];
        size_t count = 0;
        for (; id != 0 && count < PATH_FRAMES; id = profile_node_at(snapshot, id).parent)
            last[count++] = id;
        buffer_text(listing->out, id != 0 ? "... > " : "");
        while (count-- > 0) {
            const frame_id frame = profile_node_at(snapshot, last[count]).frame;
            put_function(listing, profile_frame_at(snapshot, frame).function);
            buffer_text(listing->out, count > 0 ? " > " : "");
        }
    } else
        put_function(listing, row);
    buffer_char(listing->out, '\n');
}

static const char *const titles[] = {
    [SELF] = "Functions whose self changed",
    [TOTAL] = "Functions whose total changed",
    [PATHS] = "Paths that are new or gone",
};

static enum err_code put_listing(const struct diff *diff, struct buffer *out,
                                 enum subject subject, struct err *err)
{
    struct listing listing = { diff, diff->comparison, out, subject, NULL, 0 };
    const size_t limit = diff->settings.limit ? diff->settings.limit : REPORT_DEFAULT_LIMIT;

    const struct profile_sizes *const sizes = &listing.comparison->snapshot->sizes;
    const uint32_t all = listing.subject == PATHS ? sizes->nodes : sizes->functions;
    listing.rows = malloc(((size_t)all + 1) * sizeof *listing.rows);
    if (!listing.rows)
        return err_nomem(err);
    for (uint32_t row = 1; row < all; row++)
        if (is_listed(&listing, row))
            listing.rows[listing.count++] = row;
    qsort_r(listing.rows, listing.count, sizeof *listing.rows, by_change, &listing);

    set_colour(&listing, "\x1b[1m");
    buffer_printf(out, "\n%s", titles[subject]);
    set_colour(&listing, "\x1b[0m");
    if (listing.count == 0)
        buffer_text(out, ": none\n");
    else
        buffer_printf(out, "\n%9s %9s  %8s %6s  %7s  %9s %9s  %-4s  %s\n", "baseline", "now",
                      "change", "95 %", "q", "samples", "samples", "",
                      subject == PATHS ? "path" : "function");
    for (size_t i = 0; i < listing.count && i < limit; i++)
        put_row(&listing, listing.rows[i]);
    if (listing.count > limit)
        buffer_printf(out, "%9s %zu more (-l %zu shows all)\n", "...", listing.count - limit,
                      listing.count);
    free(listing.rows);
    return ERR_OK;
}

static void put_side(const struct comparison_side *side, const char *name, struct buffer *out)
{
    for (size_t i = 0; i < side->count; i++) {
        buffer_printf(out, "%-9s ", i == 0 ? name : "");

        const struct report_source *const source = side->captures[i];
        const struct session_target *const target = source->session->target;
        buffer_printf(out, "%" PRIu64 " samples in %.2f s of ", source->header->samples,
                      (double)report_header_duration_ns(source->header) / (double)NS_PER_S);
        report_header_put_process(source->header, source->session->target, out);
        buffer_text(out, ": ");
        report_header_put_command(target, out);
        buffer_char(out, '\n');
        if (!source->header->is_whole) {
            buffer_text(out, "          selected: ");
            report_header_put_text(source->header, out);
            buffer_char(out, '\n');
        }
    }
}

static uint64_t sum_of(const struct comparison_side *side)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < side->count; i++)
        sum += side->captures[i]->header->ns;
    return sum;
}

enum err_code diff_write_text(const struct diff *diff, struct buffer *out, struct err *err)
{
    const struct comparison *const comparison = diff->comparison;
    enum err_code rc = ERR_OK;
    put_side(diff->baseline, "baseline:", out);
    put_side(diff->now, "now:", out);
    const struct profile_snapshot *const first = diff->now->captures[0]->snapshot;
    const struct measure_facts *const measure = profile_measure(first, first->measure);
    if (first->measure != MEASURE_TIME)
        buffer_printf(out,
                      "Samples are of %s: %" PRIu64 " %s in the baseline, %" PRIu64 " now.\n",
                      measure->title, sum_of(diff->baseline), measure->unit, sum_of(diff->now));
    buffer_text(out, comparison->basis == COMPARISON_BY_TIME
                         ? "Compared by time: shares are of each second.\n"
                         : "Compared by samples: shares are of all samples of each side.\n");
    for (enum subject subject = SELF; subject <= PATHS && !rc; subject++)
        rc = put_listing(diff, out, subject, err);
    if (!rc) {
        uint64_t counts[COMPARISON_VERDICT_COUNT] = { 0 };
        const char *comma = "";
        for (function_id id = 1; id < comparison->snapshot->sizes.functions; id++)
            counts[comparison->functions[id].self.verdict]++;
        buffer_text(out, "\nFunctions by self: ");
        for (size_t i = 0; i < COMPARISON_VERDICT_COUNT; i++) {
            buffer_printf(out, "%s%" PRIu64 " %s", comma, counts[i],
                          comparison_verdict_meaning((enum comparison_verdict)i));
            comma = ", ";
        }
        buffer_printf(
            out,
            ".\nA change is significant if its q value is at most %.2f, and if it is at least "
            "%.1f points and %.0f %% of the share.  Up to a share of %.2f of the significant "
            "changes can be due to chance.  ± is the 95 %% interval.\n",
            COMPARE_MAX_Q, 100 * COMPARE_LEAST_CHANGE, 100 * COMPARE_LEAST_RELATIVE,
            COMPARE_MAX_Q);
    }
    return rc ? rc : buffer_check(out, err);
}
