#include "server/report/diff/comparison.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/profile/views/view.h"
#include "server/report/diff/compare.h"
#include "server/report/flat.h"
#include "server/report/header.h"
#include "server/report/report.h"

/* The two sides are two threads of the profile that holds both. */
enum side { BASELINE, NOW, SIDES };

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

static enum err_code intern(struct profile *profile, struct strtab_string text, str_id *out,
                            struct err *err)
{
    return strtab_intern(profile_strings(profile), text.text, text.length, out, err);
}

/* The node of the same path, without lines. */
static enum err_code copy_node(struct profile *profile, const struct profile_snapshot *from,
                               node_id id, node_id *map, struct err *err)
{
    const struct profile_node node = profile_node_at(from, id);
    const struct profile_function function =
        profile_function_at(from, profile_frame_at(from, node.frame).function);
    str_id name = 0, file = 0;
    function_id copied = 0;
    frame_id frame = 0;
    enum err_code rc = intern(profile, profile_string(from, function.name), &name, err);
    if (rc == ERR_OK)
        rc = intern(profile, profile_string(from, function.file), &file, err);
    if (rc == ERR_OK)
        rc = profile_function(profile, name, file, 0, &copied, err);
    if (rc == ERR_OK)
        rc = profile_frame(profile, copied, 0, &frame, err);
    return rc == ERR_OK ? profile_node(profile, map[node.parent], frame, &map[id], err) : rc;
}

/* A cell holds 32 bits; more than that is shown as that. */
static enum err_code add_cells(struct profile *profile, const struct view *view,
                               const node_id *map, thread_id thread, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < view->count && rc == ERR_OK; i++) {
        const uint32_t count =
            view->self[i] < UINT32_MAX ? (uint32_t)view->self[i] : UINT32_MAX;
        rc = profile_add(profile, thread, 0, map[view->node[i]], count, err);
    }
    return rc;
}

static enum err_code copy_nodes(struct profile *profile, const struct profile_snapshot *from,
                                const uint64_t *total, node_id *map, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (node_id id = 1; id < from->sizes.nodes && rc == ERR_OK; id++)
        if (total[id] > 0)
            rc = copy_node(profile, from, id, map, err);
    return rc;
}

static enum err_code copy_side(struct comparison *comparison, const struct report_source *from,
                               enum side side, struct err *err)
{
    const size_t nodes = (size_t)from->snapshot->sizes.nodes + 1;
    struct profile_thread thread = { .tid = (int32_t)side + 1 };
    thread_id id = 0;
    struct view view;
    enum err_code rc = view_init(&view, from->snapshot, from->query, err);
    if (rc != ERR_OK)
        return rc;
    node_id *const map = calloc(nodes, sizeof *map);
    uint64_t *const total = calloc(nodes, sizeof *total);
    if (!map || !total)
        rc = err_nomem(err);
    if (rc == ERR_OK)
        rc = profile_process(comparison->profile, 0, 0, &thread.process, err);
    if (rc == ERR_OK)
        rc = profile_thread(comparison->profile, &thread, &id, err);
    if (rc == ERR_OK) {
        view_totals(&view, from->snapshot, total);
        rc = copy_nodes(comparison->profile, from->snapshot, total, map, err);
    }
    if (rc == ERR_OK)
        rc = add_cells(comparison->profile, &view, map, id, err);
    *(side == BASELINE ? &comparison->baseline_samples : &comparison->now_samples) = view.total;
    view_deinit(&view);
    free(map);
    free(total);
    return rc;
}

static struct view_query query_of(const thread_id *side)
{
    return (struct view_query){ .threads = side, .thread_count = 1 };
}

static enum err_code sum_functions(struct comparison *comparison, thread_id side,
                                   struct err *err)
{
    const struct view_query query = query_of(&side);
    struct flat flat;
    const enum err_code rc =
        flat_init(&flat, &comparison->snapshot, &query, FLAT_FUNCTIONS, err);
    if (rc != ERR_OK)
        return rc;
    for (function_id id = 0; id < flat.row_count; id++) {
        struct comparison_row *const row = &comparison->functions[id];
        *(side == BASELINE ? &row->self.baseline : &row->self.now) = flat.self[id];
        *(side == BASELINE ? &row->total.baseline : &row->total.now) = flat.total[id];
    }
    flat_deinit(&flat);
    return ERR_OK;
}

static enum err_code sum_nodes(struct comparison *comparison, thread_id side, struct err *err)
{
    const struct view_query query = query_of(&side);
    const uint32_t nodes = comparison->snapshot.sizes.nodes;
    struct view view;
    const enum err_code rc = view_init(&view, &comparison->snapshot, &query, err);
    if (rc != ERR_OK)
        return rc;
    uint64_t *const total = calloc((size_t)nodes + 1, sizeof *total);
    if (total)
        view_totals(&view, &comparison->snapshot, total);
    for (node_id id = 0; total && id < nodes; id++)
        *(side == BASELINE ? &comparison->nodes[id].total.baseline
                           : &comparison->nodes[id].total.now) = total[id];
    for (size_t i = 0; i < view.count; i++) {
        struct comparison_number *const self = &comparison->nodes[view.node[i]].self;
        *(side == BASELINE ? &self->baseline : &self->now) = view.self[i];
    }
    view_deinit(&view);
    free(total);
    return total ? ERR_OK : err_nomem(err);
}

static enum comparison_verdict verdict_of(const struct comparison *comparison,
                                          const struct comparison_number *number, bool enough)
{
    if (!enough)
        return COMPARISON_FEW;
    if (number->q > COMPARE_MAX_Q)
        return COMPARISON_SAME;
    if (number->baseline == 0)
        return COMPARISON_NEW;
    if (number->now == 0)
        return COMPARISON_GONE;
    return comparison_now_share(comparison, number->now) >
                   comparison_baseline_share(comparison, number->baseline)
               ? COMPARISON_MORE
               : COMPARISON_LESS;
}

static struct comparison_number *number_at(struct comparison_row *rows, size_t row, bool self)
{
    return self ? &rows[row].self : &rows[row].total;
}

/* One family: the numbers of one kind that have enough samples. */
static enum err_code judge(struct comparison *comparison, struct comparison_row *rows,
                           size_t count, bool self, struct err *err)
{
    double *const chances = malloc((count + 1) * sizeof *chances);
    if (!chances)
        return err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        const struct comparison_number *const number = number_at(rows, i, self);
        const struct compare_counts counts = { number->baseline, number->now,
                                               comparison->baseline_all, comparison->now_all };
        chances[i] = -1;
        if (compare_is_enough(&counts))
            chances[i] = comparison->basis == COMPARISON_BY_TIME ? compare_rates(&counts)
                                                                 : compare_shares(&counts);
    }
    const enum err_code rc = compare_adjust(chances, count, err);
    for (size_t i = 0; i < count && rc == ERR_OK; i++) {
        struct comparison_number *const number = number_at(rows, i, self);
        const bool enough = chances[i] >= 0;
        number->q = enough ? chances[i] : 1;
        number->verdict = verdict_of(comparison, number, enough);
    }
    free(chances);
    return rc;
}

static enum err_code judge_all(struct comparison *comparison, struct err *err)
{
    const size_t functions = comparison->snapshot.sizes.functions;
    const size_t nodes = comparison->snapshot.sizes.nodes;
    enum err_code rc = judge(comparison, comparison->functions, functions, true, err);
    if (rc == ERR_OK)
        rc = judge(comparison, comparison->functions, functions, false, err);
    if (rc == ERR_OK)
        rc = judge(comparison, comparison->nodes, nodes, true, err);
    if (rc == ERR_OK)
        rc = judge(comparison, comparison->nodes, nodes, false, err);
    return rc;
}

static enum err_code add_up(struct comparison *comparison, struct err *err)
{
    enum err_code rc = profile_seal(comparison->profile, 1, err);
    if (rc == ERR_OK)
        rc = profile_snapshot(comparison->profile, &comparison->snapshot, err);
    if (rc != ERR_OK)
        return rc;
    comparison->functions =
        calloc((size_t)comparison->snapshot.sizes.functions + 1, sizeof *comparison->functions);
    comparison->nodes =
        calloc((size_t)comparison->snapshot.sizes.nodes + 1, sizeof *comparison->nodes);
    if (!comparison->functions || !comparison->nodes)
        return err_nomem(err);
    for (thread_id side = BASELINE; side < SIDES && rc == ERR_OK; side++) {
        rc = sum_functions(comparison, side, err);
        if (rc == ERR_OK)
            rc = sum_nodes(comparison, side, err);
    }
    return rc;
}

static double seconds(const struct report_source *source)
{
    return (double)report_header_duration_ns(source->header) / (double)NS_PER_S;
}

/* By time a sample counts for the time it stands for, measured in ticks of its own profile: the two
 * may have different rates. */
static void set_basis(struct comparison *comparison, const struct report_source *baseline,
                      const struct report_source *now)
{
    comparison->baseline_sample_s = (double)report_period_ns(baseline) / (double)NS_PER_S;
    comparison->now_sample_s = (double)report_period_ns(now) / (double)NS_PER_S;
    comparison->baseline_all = (double)comparison->baseline_samples;
    comparison->now_all = (double)comparison->now_samples;
    if (comparison->basis == COMPARISON_BY_TIME) {
        comparison->baseline_all = seconds(baseline) / comparison->baseline_sample_s;
        comparison->now_all = seconds(now) / comparison->now_sample_s;
    }
}

enum err_code comparison_init(struct comparison *comparison,
                              const struct report_source *baseline,
                              const struct report_source *now, enum comparison_basis basis,
                              struct err *err)
{
    memset(comparison, 0, sizeof *comparison);
    comparison->basis = basis;
    enum err_code rc = profile_create(&comparison->profile, err);
    if (rc == ERR_OK)
        rc = copy_side(comparison, baseline, BASELINE, err);
    if (rc == ERR_OK)
        rc = copy_side(comparison, now, NOW, err);
    if (rc == ERR_OK) {
        set_basis(comparison, baseline, now);
        rc = add_up(comparison, err);
    }
    if (rc == ERR_OK)
        rc = judge_all(comparison, err);
    if (rc != ERR_OK)
        comparison_deinit(comparison);
    return rc;
}

void comparison_deinit(struct comparison *comparison)
{
    if (comparison->snapshot.profile)
        profile_snapshot_release(&comparison->snapshot);
    if (comparison->profile)
        profile_destroy(comparison->profile);
    free(comparison->functions);
    free(comparison->nodes);
    memset(comparison, 0, sizeof *comparison);
}

double comparison_baseline_share(const struct comparison *comparison, uint64_t count)
{
    return comparison->baseline_all > 0 ? (double)count / comparison->baseline_all : 0;
}

double comparison_now_share(const struct comparison *comparison, uint64_t count)
{
    return comparison->now_all > 0 ? (double)count / comparison->now_all : 0;
}
