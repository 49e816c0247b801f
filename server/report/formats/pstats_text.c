#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/plain_text.h"
#include "sampler/profile/profile.h"
#include "server/report/flat.h"
#include "server/report/formats/writers.h"
#include "server/report/header.h"
#include "server/report/names.h"
#include "server/report/report_source.h"
#include "server/wire/session.h"

enum { SUMMARY_ROWS = 3, FOLDERS_SHOWN = 1 };

/* A function that was seen less than this is not interesting, however odd its numbers. */
#define SUMMARY_MIN_SHARE 0.005

struct unit {
    const char *name;
    double per_second;
};

struct table {
    const struct report_source *source;
    struct buffer *out;
    struct flat flat;
    struct flat time; /* in nanoseconds; zeroed where samples all stand for the same */
    enum flat_rows rows;
    uint32_t *order; /* rows with samples, as they are to be shown */
    size_t count;
    double sample_s;
    struct unit unit;
};

enum colour { PLAIN, BOLD, DIM, HOT, WARM, NAME, COLOUR_COUNT };

static void set_colour(const struct table *table, enum colour colour)
{
    static const char *const codes[COLOUR_COUNT] = { "\x1b[0m",  "\x1b[1m",  "\x1b[2m",
                                                     "\x1b[31m", "\x1b[33m", "\x1b[36m" };
    if (table->source->settings.colours)
        buffer_text(table->out, codes[colour]);
}

static double total_s(const struct table *table, uint32_t row)
{
    return table->time.total ? (double)table->time.total[row] / (double)NS_PER_S
                             : (double)table->flat.total[row] * table->sample_s;
}

static struct named_frame row_at(const struct table *table, uint32_t row)
{
    const struct profile_snapshot *const snapshot = table->source->snapshot;
    return table->rows == FLAT_FRAMES ? names_frame(snapshot, row)
                                      : names_function(snapshot, row);
}

static int32_t line_of(const struct table *table, const struct named_frame *frame)
{
    return table->rows == FLAT_FRAMES ? frame->line : frame->first_line;
}

static int compare_text(struct strtab_string a, struct strtab_string b)
{
    const uint32_t shorter = a.length < b.length ? a.length : b.length;
    const int order = memcmp(a.text, b.text, shorter);
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static int by_name(const struct table *table, uint32_t a, uint32_t b)
{
    const struct named_frame x = row_at(table, a), y = row_at(table, b);
    const int32_t m = line_of(table, &x), n = line_of(table, &y);
    int order = compare_text(x.file, y.file);
    if (order == 0)
        order = (m > n) - (m < n);
    return order != 0 ? order : compare_text(x.name, y.name);
}

static int compare_counts(uint64_t a, uint64_t b)
{
    return (a < b) - (a > b);
}

static int by_key(const void *left, const void *right, void *context)
{
    const struct table *const table = context;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const enum report_sort sort = table->source->settings.sort;
    const struct flat *const by =
        table->time.self && sort != REPORT_SORT_NSAMPLES && sort != REPORT_SORT_NSAMPLES_CUMUL
            ? &table->time
            : &table->flat;
    const int self = compare_counts(by->self[a], by->self[b]);
    const int total = compare_counts(by->total[a], by->total[b]);
    int order = 0;
    switch (sort) {
    case REPORT_SORT_NSAMPLES:
    case REPORT_SORT_TOTTIME:
    case REPORT_SORT_SAMPLE_PCT: order = self != 0 ? self : total; break;
    case REPORT_SORT_CUMTIME:
    case REPORT_SORT_CUMUL_PCT:
    case REPORT_SORT_NSAMPLES_CUMUL: order = total != 0 ? total : self; break;
    case REPORT_SORT_NAME: break;
    }
    return order != 0 ? order : by_name(table, a, b);
}

static enum err_code sort_rows(struct table *table, struct err *err)
{
    table->order = malloc(((size_t)table->flat.row_count + 1) * sizeof *table->order);
    if (!table->order)
        return err_nomem(err);
    for (uint32_t row = 1; row < table->flat.row_count; row++)
        if (table->flat.total[row] > 0)
            table->order[table->count++] = row;
    qsort_r(table->order, table->count, sizeof *table->order, by_key, table);
    return ERR_OK;
}

/* The name's last folders tell files of one name apart. */
static void put_place(const struct table *table, uint32_t row)
{
    const struct named_frame frame = row_at(table, row);
    struct strtab_string file = frame.file;
    const char *at = file.text + file.length;
    if (frame.is_synthetic) {
        set_colour(table, NAME);
        plain_text_put(table->out, frame.name.text, frame.name.length);
        set_colour(table, PLAIN);
        return;
    }
    for (int folders = 0; at > file.text; at--)
        if (at[-1] == '/' && folders++ == FOLDERS_SHOWN)
            break;
    file.length -= (uint32_t)(at - file.text);
    file.text = at;
    set_colour(table, DIM);
    plain_text_put(table->out, file.text, file.length);
    buffer_printf(table->out, ":%d", (int)line_of(table, &frame));
    set_colour(table, PLAIN);
    buffer_char(table->out, '(');
    set_colour(table, NAME);
    plain_text_put(table->out, frame.name.text, frame.name.length);
    set_colour(table, PLAIN);
    buffer_char(table->out, ')');
}

static void put_share(const struct table *table, double seconds)
{
    const double all_s = (double)table->source->header->ns / (double)NS_PER_S;
    const double share = all_s > 0 ? 100.0 * seconds / all_s : 0;
    set_colour(table, share >= 20 ? HOT : share >= 5 ? WARM : PLAIN);
    buffer_printf(table->out, "  %7.2f", share);
    set_colour(table, PLAIN);
}

/* A column's title, right-aligned; the letter of microseconds has two bytes. */
static void put_time_title(const struct table *table, const char *name)
{
    char title[32];
    snprintf(title, sizeof title, "%s (%s)", name, table->unit.name);
    buffer_printf(table->out, "  %*s", 12 + (table->unit.name[0] == '\xce'), title);
}

static void put_head(const struct table *table)
{
    const struct session_info *const session = table->source->session;
    struct buffer *const out = table->out;
    set_colour(table, BOLD);
    buffer_printf(out, "%" PRIu64 " samples in %.2f s", table->flat.samples,
                  (double)report_header_duration_ns(table->source->header) / (double)NS_PER_S);
    set_colour(table, PLAIN);
    buffer_text(out, " of ");
    report_header_put_process(table->source->header, table->source->session->target, out);
    buffer_text(out, ": ");
    report_header_put_command(session->target, out);
    buffer_char(out, '\n');
    if (!table->source->header->is_whole) {
        buffer_text(out, "Selected: ");
        report_header_put_text(table->source->header, out);
        buffer_char(out, '\n');
    }
    if (table->source->header->states.parts == PART_SET_USUAL)
        buffer_text(out, "Idle threads are left out; --idle shows them.\n");
    buffer_char(out, '\n');
}

/* One of the three numbers that make a function interesting. */
struct interest {
    const char *title;
    double (*value)(uint64_t self, uint64_t total);
    int decimals;
    const char *unit;
};

static double own_share(uint64_t self, uint64_t total)
{
    return 100.0 * (double)self / (double)total;
}

static double called_share(uint64_t self, uint64_t total)
{
    return (double)(total - self);
}

static double magnify_self(uint64_t self, uint64_t total)
{
    return self > 0 && total > self ? (double)total / (double)self : 0;
}

static const struct interest interests[] = {
    { "Do their work themselves (share of their time that is their own)", own_share, 1, " %" },
    { "Wait for what they call (samples in functions they called)", called_share, 0, "" },
    { "Cause much with little (all their time over their own)", magnify_self, 1, "x" },
};

static void put_interest(const struct table *table, const struct interest *interest)
{
    uint32_t best[SUMMARY_ROWS] = { 0 };
    double values[SUMMARY_ROWS] = { 0 };

    /* The rows with the highest values, best first; 0 where there are no more. */
    for (size_t i = 0; i < table->count; i++) {
        uint32_t row = table->order[i];
        const uint64_t self = table->flat.self[row], total = table->flat.total[row];
        double value = interest->value(self, total);
        if (value <= 0 || (double)total < SUMMARY_MIN_SHARE * (double)table->flat.samples)
            continue;
        for (size_t at = 0; at < SUMMARY_ROWS; at++) {
            const bool is_equal = value >= values[at] && value <= values[at];
            if (best[at] != 0 && value <= values[at] &&
                !(is_equal && by_name(table, row, best[at]) < 0))
                continue;
            const uint32_t pushed = best[at];
            const double pushed_value = values[at];
            best[at] = row;
            values[at] = value;
            row = pushed;
            value = pushed_value;
            if (row == 0)
                break;
        }
    }

    if (best[0] == 0)
        return;
    buffer_printf(table->out, "\n%s:\n", interest->title);
    for (size_t i = 0; i < SUMMARY_ROWS && best[i] != 0; i++) {
        buffer_printf(table->out, "  %10.*f%-2s  ", interest->decimals, values[i],
                      interest->unit);
        put_place(table, best[i]);
        buffer_char(table->out, '\n');
    }
}

static void table_deinit(struct table *table)
{
    flat_deinit(&table->time);
    flat_deinit(&table->flat);
    free(table->order);
}

static enum err_code table_init(struct table *table, const struct report_source *source,
                                enum flat_rows rows, struct buffer *out, struct err *err)
{
    *table = (struct table){ .source = source,
                             .out = out,
                             .rows = rows,
                             .sample_s = (double)source->header->period_ns / (double)NS_PER_S };
    enum err_code rc = flat_init(&table->flat, source->snapshot, source->query, rows, err);
    if (!rc && source->header->has_periods)
        rc = flat_init_ns(&table->time, source->snapshot, source->query, rows,
                          source->header->period_ns, err);
    if (!rc)
        rc = sort_rows(table, err);
    if (rc)
        table_deinit(table);
    return rc;
}

/* Puts the sums of all functions, whatever rows the table above shows. */
static enum err_code put_summary(const struct report_source *source, struct buffer *out,
                                 struct err *err)
{
    struct table table;
    const enum err_code rc = table_init(&table, source, FLAT_FUNCTIONS, out, err);
    if (rc)
        return rc;
    if (table.count > 0) {
        set_colour(&table, BOLD);
        buffer_text(out, "\nInteresting functions");
        set_colour(&table, PLAIN);
        buffer_char(out, '\n');
    }
    for (size_t i = 0; i < sizeof interests / sizeof *interests; i++)
        put_interest(&table, &interests[i]);
    table_deinit(&table);
    return ERR_OK;
}

enum err_code report_write_pstats_text(const struct report_source *source, struct buffer *out,
                                       struct err *err)
{
    struct table table;
    const enum flat_rows rows = source->settings.by_line ? FLAT_FRAMES : FLAT_FUNCTIONS;
    enum err_code rc = table_init(&table, source, rows, out, err);
    if (rc)
        return rc;
    put_head(&table);

    const struct report_settings *const settings = &table.source->settings;
    const size_t limit = settings->limit ? settings->limit : REPORT_DEFAULT_LIMIT;
    const size_t shown = table.count < limit ? table.count : limit;
    /* The largest unit in which the largest number shown is at least one. */
    static const struct unit units[] = { { "s", 1 }, { "ms", 1e3 }, { "\xce\xbcs", 1e6 } };
    double most_s = 0;
    size_t unit = 0;
    for (size_t at = 0; at < shown; at++)
        most_s = fmax(most_s, total_s(&table, table.order[at]));
    while (unit < 2 && most_s * units[unit].per_second < 1)
        unit++;
    table.unit = units[unit];
    set_colour(&table, BOLD);
    buffer_printf(table.out, "%15s  %7s", "nsamples", "sample%");
    put_time_title(&table, "tottime");
    buffer_printf(table.out, "  %7s", "cumul%");
    put_time_title(&table, "cumtime");
    buffer_printf(table.out, "  filename:lineno(function)");
    set_colour(&table, PLAIN);
    buffer_char(table.out, '\n');
    for (size_t i = 0; i < shown; i++) {
        const uint32_t row = table.order[i];
        const uint64_t self = table.flat.self[row], total = table.flat.total[row];
        const double own_s = table.time.self ? (double)table.time.self[row] / (double)NS_PER_S
                                             : (double)self * table.sample_s;
        const double all_s = total_s(&table, row);
        char samples[48];
        snprintf(samples, sizeof samples, "%" PRIu64 "/%" PRIu64, self, total);
        buffer_printf(table.out, "%15s", samples);
        put_share(&table, own_s);
        buffer_printf(table.out, "  %12.3f", own_s * table.unit.per_second);
        put_share(&table, all_s);
        buffer_printf(table.out, "  %12.3f  ", all_s * table.unit.per_second);
        put_place(&table, row);
        buffer_char(table.out, '\n');
    }
    if (shown < table.count)
        buffer_printf(table.out, "%15s  %zu more (-l %zu shows all)\n", "...",
                      table.count - shown, table.count);

    buffer_printf(table.out,
                  "\nnsamples: samples in the %s itself / with all it called, each stack once\n"
                  "sample%%, cumul%%: their share of %s\n"
                  "tottime, cumtime: the time they stand for, %.6g ms each%s\n",
                  table.rows == FLAT_FRAMES ? "line" : "function",
                  table.time.self ? "the time that all samples stand for" : "all samples",
                  table.sample_s * 1e3, table.time.self ? " on average" : "");

    table_deinit(&table);
    if (!source->settings.no_summary)
        rc = put_summary(source, out, err);
    return rc ? rc : buffer_check(out, err);
}
