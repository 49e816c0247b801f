#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "server/report/diff/compare.h"
#include "server/report/diff/comparison.h"
#include "server/report/diff/diff.h"
#include "server/report/encoding/embedded_profile.h"
#include "server/report/encoding/html_escape.h"
#include "server/report/header.h"
#include "server/report/names.h"
#include "server/wire/assets.h"
#include "server/wire/json.h"
#include "server/wire/session.h"

enum { FORMAT_VERSION = 1, GZIP_LEVEL = 9 };

typedef void put_value(struct json *json, const struct comparison *comparison, uint32_t row);

static function_id function_of(const struct comparison *comparison, node_id id)
{
    const frame_id frame = profile_node_at(&comparison->snapshot, id).frame;
    return profile_frame_at(&comparison->snapshot, frame).function;
}

static void put_parent(struct json *json, const struct comparison *comparison, uint32_t id)
{
    json_uint(json, profile_node_at(&comparison->snapshot, id).parent);
}

static void put_function(struct json *json, const struct comparison *comparison, uint32_t id)
{
    json_uint(json, function_of(comparison, id));
}

static void put_base_self(struct json *json, const struct comparison *comparison, uint32_t id)
{
    json_uint(json, comparison->nodes[id].self.base);
}

static void put_now_self(struct json *json, const struct comparison *comparison, uint32_t id)
{
    json_uint(json, comparison->nodes[id].self.now);
}

static void put_self_q(struct json *json, const struct comparison *comparison, uint32_t id)
{
    json_number(json, comparison->nodes[id].self.q);
}

static void put_total_q(struct json *json, const struct comparison *comparison, uint32_t id)
{
    json_number(json, comparison->nodes[id].total.q);
}

static void put_self_verdict(struct json *json, const struct comparison *comparison,
                             uint32_t id)
{
    json_uint(json, comparison->nodes[id].self.verdict);
}

static void put_total_verdict(struct json *json, const struct comparison *comparison,
                              uint32_t id)
{
    json_uint(json, comparison->nodes[id].total.verdict);
}

static void put_name(struct json *json, const struct comparison *comparison, uint32_t id)
{
    const struct strtab_string name = names_function(&comparison->snapshot, id).name;
    json_string(json, name.text, name.length);
}

static void put_file(struct json *json, const struct comparison *comparison, uint32_t id)
{
    const struct strtab_string file = names_function(&comparison->snapshot, id).file;
    json_string(json, file.text, file.length);
}

struct column {
    const char *key;
    put_value *put;
};

static const struct column node_columns[] = {
    { "parent", put_parent },
    { "function", put_function },
    { "baseSelf", put_base_self },
    { "nowSelf", put_now_self },
    { "selfQ", put_self_q },
    { "totalQ", put_total_q },
    { "selfVerdict", put_self_verdict },
    { "totalVerdict", put_total_verdict },
    { NULL, NULL },
};
static const struct column function_columns[] = { { "name", put_name },
                                                  { "file", put_file },
                                                  { NULL, NULL } };

static void put_columns(struct json *json, const struct comparison *comparison,
                        const char *name, const struct column *columns, uint32_t rows)
{
    json_key(json, name);
    json_object(json);
    for (; columns->key; columns++) {
        json_key(json, columns->key);
        json_array(json);
        for (uint32_t row = 0; row < rows; row++)
            columns->put(json, comparison, row);
        json_end(json);
    }
    json_end(json);
}

static void put_side(struct json *json, const char *key, const struct report_source *source,
                     uint64_t samples, double all, double sample_s)
{
    json_key(json, key);
    json_object(json);
    json_key(json, "samples");
    json_uint(json, samples);
    json_key(json, "all");
    json_number(json, all);
    json_key(json, "sampleSeconds");
    json_number(json, sample_s);
    json_key(json, "session");
    session_write(json, source->session);
    json_key(json, "selection");
    report_header_write(source->header, json);
    json_end(json);
}

static enum err_code put_data(const struct diff *diff, struct buffer *out, struct err *err)
{
    const struct comparison *const comparison = diff->comparison;
    struct json json;
    json_init(&json, out);
    json_object(&json);
    json_key(&json, "version");
    json_uint(&json, FORMAT_VERSION);
    json_key(&json, "by");
    json_text(&json, comparison->basis == COMPARISON_BY_TIME ? "time" : "samples");
    json_key(&json, "maxQ");
    json_number(&json, COMPARE_MAX_Q);
    json_key(&json, "verdicts");
    json_array(&json);
    for (size_t i = 0; i < COMPARISON_VERDICT_COUNT; i++)
        json_text(&json, comparison_verdict_text((enum comparison_verdict)i));
    json_end(&json);
    put_side(&json, "base", diff->base, comparison->base_samples, comparison->base_all,
             comparison->base_sample_s);
    put_side(&json, "now", diff->now, comparison->now_samples, comparison->now_all,
             comparison->now_sample_s);
    put_columns(&json, comparison, "functions", function_columns,
                comparison->snapshot.sizes.functions);
    put_columns(&json, comparison, "nodes", node_columns, comparison->snapshot.sizes.nodes);
    json_end(&json);
    return json_finish(&json, err);
}

static enum err_code put_payload(const struct diff *diff, struct buffer *out, struct err *err)
{
    struct embedded_profile profile_text;
    enum err_code rc =
        embedded_profile_init(&profile_text, GZIP_LEVEL, EMBEDDED_PROFILE_BASE64, out, err);
    if (rc == ERR_OK)
        rc = put_data(diff, &profile_text.in, err);
    if (rc == ERR_OK)
        rc = embedded_profile_finish(&profile_text, err);
    embedded_profile_deinit(&profile_text);
    return rc;
}

enum err_code diff_write_html(const struct diff *diff, struct buffer *out, struct err *err)
{
    const struct asset head = asset_diff_head();
    const struct sampler_target *const target = diff->now->session->target;
    buffer_text(out, "<!doctype html>\n<html lang=\"en\"><head>");
    buffer_append(out, head.data, head.bytes);
    buffer_text(out, "<title>What changed: ");
    for (size_t i = 0; i < target->argc; i++) {
        buffer_text(out, i > 0 ? " " : "");
        html_put_text(out, target->argv[i]);
    }
    buffer_text(out, "</title></head>\n<body><noscript>This page needs JavaScript.</noscript>"
                     "<script type=\"text/plain\" id=\"diff-data\">");
    const enum err_code rc = put_payload(diff, out, err);
    if (rc != ERR_OK)
        return rc;
    buffer_text(out, "</script></body></html>\n");
    return buffer_check(out, err);
}
