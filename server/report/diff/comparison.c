#include "server/report/diff/comparison.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/profile/views/native_frames.h"
#include "sampler/profile/views/view.h"
#include "server/report/diff/compare.h"
#include "server/report/diff/joined.h"
#include "server/report/diff/variation.h"
#include "server/report/flat.h"
#include "server/report/header.h"
#include "server/report/names.h"
#include "server/report/preorder.h"
#include "server/report/report_source.h"

struct comparing {
    struct comparison *comparison;
    struct preorder order;
    uint32_t *function_of; /* by frame */
    struct compare_side sides[JOINED_SIDES];
    double *variations; /* between runs, by row of the kind */
};

static const char *const verdict_texts[] = {
#define X(name, text, meaning) text,
    COMPARISON_VERDICTS(X)
#undef X
};

const char *comparison_verdict_text(enum comparison_verdict verdict)
{
    return verdict_texts[verdict];
}

const char *comparison_verdict_meaning(enum comparison_verdict verdict)
{
    static const char *const meanings[] = {
#define X(name, text, meaning) meaning,
        COMPARISON_VERDICTS(X)
#undef X
    };
    return meanings[verdict];
}

/* Kinds of counts: by function or by node, self or total. */
enum kind { FUNCTION_SELF, FUNCTION_TOTAL, NODE_SELF, NODE_TOTAL, KINDS };

static size_t row_count(const struct comparison *comparison, enum kind kind)
{
    return kind <= FUNCTION_TOTAL ? comparison->snapshot->sizes.functions
                                  : comparison->snapshot->sizes.nodes;
}

static struct comparison_number *number_at(const struct comparison *comparison, enum kind kind,
                                           size_t row)
{
    struct comparison_row *const rows =
        kind <= FUNCTION_TOTAL ? comparison->functions : comparison->nodes;
    return kind == FUNCTION_SELF || kind == NODE_SELF ? &rows[row].self : &rows[row].total;
}

static struct view_query query_of(size_t block)
{
    return (struct view_query){ .from_ns = block, .to_ns = block + 1 };
}

static enum err_code count_functions(const struct comparing *comparing, size_t block,
                                     enum kind kind, uint64_t *counts, struct err *err)
{
    const struct profile_snapshot *const snapshot = comparing->comparison->snapshot;
    const struct view_query query = query_of(block);
    const struct flat_map map = { .row_count = snapshot->sizes.functions,
                                  .row = comparing->function_of,
                                  .order = &comparing->order };
    struct flat flat;
    const enum err_code rc = flat_init_mapped(&flat, snapshot, &query, &map, err);
    if (rc)
        return rc;
    memcpy(counts, kind == FUNCTION_SELF ? flat.self : flat.total,
           flat.row_count * sizeof *counts);
    flat_deinit(&flat);
    return ERR_OK;
}

static enum err_code count_nodes(const struct comparing *comparing, size_t block,
                                 enum kind kind, uint64_t *counts, struct err *err)
{
    const struct profile_snapshot *const snapshot = comparing->comparison->snapshot;
    const struct view_query query = query_of(block);
    struct view view;
    const enum err_code rc = view_init(&view, snapshot, &query, err);
    if (rc)
        return rc;
    memset(counts, 0, snapshot->sizes.nodes * sizeof *counts);
    if (kind == NODE_TOTAL)
        view_totals(&view, snapshot, counts);
    else
        for (size_t i = 0; i < view.count; i++)
            counts[view.node[i]] = view.self[i];
    view_deinit(&view);
    return ERR_OK;
}

/* Sums of one kind, by row. */
struct sums {
    enum kind kind;
    size_t rows;
    uint64_t *counts;          /* of a block */
    struct compare_hits *hits; /* of the blocks of a capture */
    struct compare_row *of[JOINED_SIDES];
};

static struct compare_pair pair_of(const struct comparing *comparing, const struct sums *sums,
                                   size_t row)
{
    return (struct compare_pair){ &comparing->sides[JOINED_BASELINE],
                                  &comparing->sides[JOINED_NOW],
                                  &sums->of[JOINED_BASELINE][row],
                                  &sums->of[JOINED_NOW][row],
                                  comparing->comparison->basis == COMPARISON_BY_TIME,
                                  comparing->variations[row] };
}

/* A mark that says how a stack was read, not what the program did. */
static bool is_of_reading(const struct profile_snapshot *snapshot, function_id id)
{
    static const char *const marks[] = { "<truncated>", NATIVE_GAP_NAME, "<native stack>",
                                         "<name not kept>" };
    const struct named_frame function = names_function(snapshot, id);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (function.name.length == strlen(marks[i]) &&
            memcmp(function.name.text, marks[i], function.name.length) == 0)
            return true;
    return false;
}

static bool may_differ(const struct comparison *comparison, enum kind kind, size_t row)
{
    const struct profile_snapshot *const snapshot = comparison->snapshot;
    if (kind <= FUNCTION_TOTAL)
        return !is_of_reading(snapshot, (function_id)row);
    const frame_id frame = profile_node_at(snapshot, (node_id)row).frame;
    return !is_of_reading(snapshot, profile_frame_at(snapshot, frame).function);
}

static enum comparison_verdict verdict_of(const struct comparison_number *number,
                                          const struct compare_pair *pair)
{
    if (!compare_is_enough(pair))
        return COMPARISON_FEW;
    if (number->q > COMPARE_MAX_Q || !compare_is_large(pair))
        return COMPARISON_SAME;
    if (number->baseline == 0)
        return COMPARISON_NEW;
    if (number->now == 0)
        return COMPARISON_GONE;
    return compare_change(pair) > 0 ? COMPARISON_MORE : COMPARISON_LESS;
}

static struct comparison_interval narrow_interval(struct compare_interval interval)
{
    return (struct comparison_interval){ (float)interval.low, (float)interval.high };
}

/* One family: the rows of one kind that may have changed. */
struct family {
    double *chances; /* by row; negative: it is none of them */
    double *weights;
};

static bool is_candidate(const struct comparing *comparing, const struct sums *sums, size_t row)
{
    const struct compare_pair pair = pair_of(comparing, sums, row);
    return compare_is_candidate(&pair) && may_differ(comparing->comparison, sums->kind, row);
}

/* Variations between runs are found from self samples, and hold for the rows' totals, too. */
static enum err_code set_variations(struct comparing *comparing, const struct sums *sums,
                                    struct err *err)
{
    struct variation_move *const moves = malloc((sums->rows + 1) * sizeof *moves);
    size_t count = 0;
    free(comparing->variations);
    comparing->variations = calloc(sums->rows + 1, sizeof *comparing->variations);
    if (!moves || !comparing->variations) {
        free(moves);
        return err_nomem(err);
    }
    for (size_t row = 0; row < sums->rows; row++) {
        const struct compare_pair pair = pair_of(comparing, sums, row);
        if (is_candidate(comparing, sums, row))
            moves[count++] = variation_move_of(&pair, row);
    }
    variation_by_row(moves, count, comparing->variations, sums->rows);
    free(moves);
    return ERR_OK;
}

static enum err_code judge_rows(const struct comparing *comparing, const struct sums *sums,
                                struct err *err)
{
    const size_t rows = sums->rows;
    const struct family family = { .chances = malloc((rows + 1) * sizeof(double)),
                                   .weights = malloc((rows + 1) * sizeof(double)) };
    enum err_code rc = family.chances && family.weights ? ERR_OK : err_nomem(err);

    if (!rc) {
        for (size_t row = 0; row < sums->rows; row++) {
            const struct compare_pair pair = pair_of(comparing, sums, row);
            const bool is_in = is_candidate(comparing, sums, row);
            family.chances[row] = is_in ? compare_p(&pair) : -1;
            family.weights[row] = compare_pooled_share(&pair);
        }
        rc = compare_adjust(family.chances, family.weights, sums->rows, err);
    }
    for (size_t row = 0; row < sums->rows && !rc; row++) {
        struct comparison_number *const number =
            number_at(comparing->comparison, sums->kind, row);
        const struct compare_pair pair = pair_of(comparing, sums, row);
        number->q = family.chances[row] >= 0 ? family.chances[row] : 1;
        number->verdict = verdict_of(number, &pair);

        number->baseline_share = narrow_interval(
            compare_share_interval(pair.baseline_side, pair.baseline, pair.is_rate));
        number->now_share =
            narrow_interval(compare_share_interval(pair.now_side, pair.now, pair.is_rate));
        number->change = narrow_interval(compare_change_interval(&pair));
    }
    free(family.chances);
    free(family.weights);
    return rc;
}

static enum err_code compare_kind(struct comparing *comparing, enum kind kind, struct err *err)
{
    const size_t rows = row_count(comparing->comparison, kind) + 1;
    struct sums sums = { .kind = kind, .rows = rows - 1 };
    sums.counts = calloc(rows, sizeof *sums.counts);
    sums.hits = calloc(rows, sizeof *sums.hits);
    sums.of[JOINED_BASELINE] = calloc(rows, sizeof **sums.of);
    sums.of[JOINED_NOW] = calloc(rows, sizeof **sums.of);
    enum err_code rc =
        sums.counts && sums.hits && sums.of[JOINED_BASELINE] && sums.of[JOINED_NOW]
            ? ERR_OK
            : err_nomem(err);

    if (!rc) {
        /* The blocks of a capture are one run. */
        struct compare_units units = { 0 };
        memset(comparing->sides, 0, sizeof comparing->sides);
        for (size_t i = 0; i < comparing->comparison->joined->block_count && !rc; i++) {
            const struct joined_block *const block = &comparing->comparison->joined->blocks[i];
            rc = sums.kind <= FUNCTION_TOTAL
                     ? count_functions(comparing, i, sums.kind, sums.counts, err)
                     : count_nodes(comparing, i, sums.kind, sums.counts, err);
            for (size_t row = 0; row < sums.rows && !rc; row++) {
                struct comparison_number *const number =
                    number_at(comparing->comparison, sums.kind, row);
                *(block->side == JOINED_BASELINE ? &number->baseline : &number->now) +=
                    sums.counts[row];
                compare_add_hits(&sums.hits[row], (double)sums.counts[row], block->all);
            }

            if (block->all > 0)
                compare_add_unit(&units, block->all);
            if (rc || (i + 1 < comparing->comparison->joined->block_count &&
                       block[1].capture == block->capture && block[1].side == block->side))
                continue;
            compare_add_run(&comparing->sides[block->side], &units);
            for (size_t row = 0; row < sums.rows; row++)
                compare_add_run_hits(&sums.of[block->side][row], &units, &sums.hits[row]);
            memset(sums.hits, 0, sums.rows * sizeof *sums.hits);
            units = (struct compare_units){ 0 };
        }
    }
    if (!rc && (kind == FUNCTION_SELF || kind == NODE_SELF))
        rc = set_variations(comparing, &sums, err);
    if (!rc)
        rc = judge_rows(comparing, &sums, err);

    free(sums.counts);
    free(sums.hits);
    free(sums.of[JOINED_BASELINE]);
    free(sums.of[JOINED_NOW]);
    return rc;
}

/* Everything that does not change from kind to kind. */
static enum err_code prepare_comparison(struct comparing *comparing, struct err *err)
{
    struct comparison *const comparison = comparing->comparison;
    const struct profile_sizes *const sizes = &comparison->snapshot->sizes;
    const enum err_code rc = preorder_init(&comparing->order, comparison->snapshot, err);
    if (rc)
        return rc;
    comparing->function_of = malloc(((size_t)sizes->frames + 1) * sizeof(uint32_t));
    comparison->functions = calloc((size_t)sizes->functions + 1, sizeof *comparison->functions);
    comparison->nodes = calloc((size_t)sizes->nodes + 1, sizeof *comparison->nodes);
    if (!comparing->function_of || !comparison->functions || !comparison->nodes)
        return err_nomem(err);
    for (frame_id id = 0; id < sizes->frames; id++)
        comparing->function_of[id] = profile_frame_at(comparison->snapshot, id).function;
    return ERR_OK;
}

static double sample_s(const struct comparison_side *side)
{
    return (double)side->captures[0]->header->period_ns / (double)NS_PER_S;
}

enum err_code comparison_init(struct comparison *comparison,
                              const struct comparison_side *baseline,
                              const struct comparison_side *now, enum comparison_basis basis,
                              struct err *err)
{
    *comparison = (struct comparison){ .basis = basis,
                                       .baseline_sample_s = sample_s(baseline),
                                       .now_sample_s = sample_s(now),
                                       .joined = calloc(1, sizeof(struct joined)) };
    if (!comparison->joined)
        return err_nomem(err);
    enum err_code rc = joined_init(comparison->joined, baseline, now, basis, err);
    if (!rc) {
        const struct joined *const joined = comparison->joined;
        struct comparing comparing = { .comparison = comparison };
        comparison->snapshot = &joined->snapshot;
        comparison->baseline_samples = joined->samples[JOINED_BASELINE];
        comparison->now_samples = joined->samples[JOINED_NOW];
        comparison->baseline_all = joined->all[JOINED_BASELINE];
        comparison->now_all = joined->all[JOINED_NOW];
        rc = prepare_comparison(&comparing, err);
        for (enum kind kind = FUNCTION_SELF; kind < KINDS && !rc; kind++)
            rc = compare_kind(&comparing, kind, err);
        preorder_deinit(&comparing.order);
        free(comparing.variations);
        free(comparing.function_of);
    }
    if (rc)
        comparison_deinit(comparison);
    return rc;
}

void comparison_deinit(struct comparison *comparison)
{
    if (comparison->joined)
        joined_deinit(comparison->joined);
    free(comparison->joined);
    free(comparison->functions);
    free(comparison->nodes);
    *comparison = (struct comparison){ 0 };
}

double comparison_baseline_share(const struct comparison *comparison, uint64_t count)
{
    return comparison->baseline_all > 0 ? (double)count / comparison->baseline_all : 0;
}

double comparison_now_share(const struct comparison *comparison, uint64_t count)
{
    return comparison->now_all > 0 ? (double)count / comparison->now_all : 0;
}
