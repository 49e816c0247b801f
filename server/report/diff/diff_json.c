#include <math.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "server/report/diff/compare.h"
#include "server/report/diff/comparison.h"
#include "server/report/diff/diff.h"
#include "server/report/header.h"
#include "server/report/names.h"
#include "server/wire/json.h"
#include "server/wire/session.h"

enum { FORMAT_VERSION = 2 };

/* [low, high], or null. */
static void put_interval(struct json *json, const char *key,
                         const struct comparison_interval *interval)
{
    if (!json_member_if(json, key, !isnan(interval->low)))
        return;
    json_array(json);
    json_number(json, (double)interval->low);
    json_number(json, (double)interval->high);
    json_end(json);
}

static void put_pair(struct json *json, const struct comparison *comparison, const char *key,
                     const struct comparison_number *number)
{
    const double baseline = comparison_baseline_share(comparison, number->baseline);
    const double now = comparison_now_share(comparison, number->now);
    json_member_object(json, key);
    json_member_uint(json, "baseline", number->baseline);
    json_member_uint(json, "now", number->now);
    json_member_number(json, "baseline_share", baseline);
    json_member_number(json, "now_share", now);
    json_member_number(json, "change", now - baseline);
    put_interval(json, "baseline_interval", &number->baseline_share);
    put_interval(json, "now_interval", &number->now_share);
    put_interval(json, "change_interval", &number->change);
    json_member_number(json, "q", number->q);
    json_member_text(json, "verdict", comparison_verdict_text(number->verdict));
    json_end(json);
}

static void put_side(struct json *json, const char *key, const struct comparison_side *side,
                     uint64_t samples, double sample_s)
{
    json_member_object(json, key);
    json_member_uint(json, "samples", samples);
    const struct report_source *const first = side->captures[0];
    if (first->snapshot->measure == MEASURE_TIME)
        json_member_number(json, "sample_s", sample_s);
    else
        json_member_uint(json, "sample_value", first->header->period_ns);
    json_member_array(json, "captures");
    for (size_t i = 0; i < side->count; i++) {
        const struct report_source *const source = side->captures[i];
        json_object(json);
        json_member_number(json, "duration_s",
                           (double)report_header_duration_ns(source->header) /
                               (double)NS_PER_S);
        json_key(json, "session");
        session_info_write(json, source->session);
        json_key(json, "selection");
        report_header_write(source->header, json);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

enum err_code diff_write_json(const struct diff *diff, struct buffer *out, struct err *err)
{
    const struct comparison *const comparison = diff->comparison;
    struct json json;
    json_init(&json, out);
    json_object(&json);
    json_member_uint(&json, "version", FORMAT_VERSION);
    const struct profile_snapshot *const first = diff->now->captures[0]->snapshot;
    json_member_text(&json, "measure", profile_measure(first, first->measure)->name);
    json_member_text(&json, "by", comparison->basis == COMPARISON_BY_TIME ? "time" : "samples");
    json_member_number(&json, "max_q", COMPARE_MAX_Q);
    json_member_number(&json, "least_change", COMPARE_LEAST_CHANGE);
    json_member_number(&json, "least_relative_change", COMPARE_LEAST_RELATIVE);
    put_side(&json, "baseline", diff->baseline, comparison->baseline_samples,
             comparison->baseline_sample_s);
    put_side(&json, "now", diff->now, comparison->now_samples, comparison->now_sample_s);

    json_member_array(&json, "functions");
    for (function_id id = 1; id < comparison->snapshot->sizes.functions; id++) {
        json_object(&json);
        json_member_uint(&json, "id", id);
        const struct named_frame function = names_function(comparison->snapshot, id);
        json_member_string(&json, "name", function.name);
        json_member_string(&json, "file", function.file);
        put_pair(&json, comparison, "self", &comparison->functions[id].self);
        put_pair(&json, comparison, "total", &comparison->functions[id].total);
        json_end(&json);
    }
    json_end(&json);

    /* Parents come before children; 0 is all. */
    const struct profile_snapshot *const snapshot = comparison->snapshot;
    json_member_array(&json, "paths");
    for (node_id id = 1; id < snapshot->sizes.nodes; id++) {
        const struct profile_node node = profile_node_at(snapshot, id);
        json_object(&json);
        json_member_uint(&json, "id", id);
        json_member_uint(&json, "parent", node.parent);
        json_member_uint(&json, "function", profile_frame_at(snapshot, node.frame).function);
        put_pair(&json, comparison, "self", &comparison->nodes[id].self);
        put_pair(&json, comparison, "total", &comparison->nodes[id].total);
        json_end(&json);
    }
    json_end(&json);

    json_end(&json);
    const enum err_code rc = json_finish(&json, err);
    buffer_char(out, '\n');
    return rc;
}
