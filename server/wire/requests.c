#include "server/wire/requests.h"

#include <math.h>
#include <stdlib.h>

#include "sampler/profile/profile.h"
#include "sampler/profile/views/request_choice.h"
#include "sampler/profile/views/requests.h"
#include "sampler/profile/views/view_query.h"
#include "server/wire/json.h"
#include "server/wire/kept_rows.h"

/* A bin of durations ends at 2^(1/BINS_PER_OCTAVE) times its begin.  The last bin has what is longer, 39 days. */
enum { BINS_PER_OCTAVE = 4, BINS = 52 * BINS_PER_OCTAVE, SLOTS = 96 };

static unsigned bin_of(uint64_t ns)
{
    const double bin = ns > 1 ? floor(log2((double)ns) * BINS_PER_OCTAVE) : 0;
    return bin < BINS - 1 ? (unsigned)bin : BINS - 1;
}

static uint64_t begin_of_bin(unsigned bin)
{
    return (uint64_t)ceil(exp2((double)bin / BINS_PER_OCTAVE));
}

static void write_quantiles(struct json *json, const struct requests *requests)
{
    static const double percents[] = { 50, 75, 90, 95, 99, 99.9 };
    struct requests_quantile quantile;
    json_member_array(json, "percentiles");
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
        if (!requests_quantile(requests, percents[i] / 100, &quantile))
            break;
        json_object(json);
        json_member_number(json, "percent", percents[i]);
        json_member_ns(json, "duration", quantile.duration_ns);
        if (json_member_if(json, "low", quantile.has_low))
            json_decimal(json, quantile.low_ns, NS_DECIMALS);
        if (json_member_if(json, "high", quantile.has_high))
            json_decimal(json, quantile.high_ns, NS_DECIMALS);
        json_end(json);
    }
    json_end(json);
}

/* Writes bins from the first to the last one with a request. */
static void write_histogram(struct json *json, const struct requests *requests)
{
    uint64_t whole[BINS] = { 0 }, cut[BINS] = { 0 };
    unsigned first = BINS, end = 0;
    for (size_t i = 0; i < requests->count; i++) {
        const struct request *const request = &requests->items[i];
        const unsigned bin = bin_of(request->duration_ns);
        (request->is_cut || request->is_rough ? cut : whole)[bin]++;
        first = bin < first ? bin : first;
        end = bin >= end ? bin + 1 : end;
    }
    json_member_array(json, "histogram");
    for (unsigned bin = first; bin < end; bin++) {
        json_object(json);
        json_member_ns(json, "from", begin_of_bin(bin));
        json_member_ns(json, "to", begin_of_bin(bin + 1));
        json_member_uint(json, "whole", whole[bin]);
        json_member_uint(json, "cut", cut[bin]);
        json_end(json);
    }
    json_end(json);
}

/* Writes how many requests of each bin began in each slot of the time. */
static enum err_code write_scatter(struct json *json, const struct requests *requests,
                                   uint64_t from_ns, uint64_t to_ns, struct err *err)
{
    const uint64_t width_ns = (to_ns > from_ns ? to_ns - from_ns : 0) / SLOTS + 1;
    uint32_t *const counts = calloc((size_t)SLOTS * BINS, sizeof *counts);
    if (!counts)
        return err_nomem(err);
    for (size_t i = 0; i < requests->count; i++) {
        const struct request *const request = &requests->items[i];
        const uint64_t at_ns = request->first_ns > from_ns ? request->first_ns - from_ns : 0;
        const uint64_t slot = at_ns / width_ns < SLOTS ? at_ns / width_ns : SLOTS - 1;
        counts[slot * BINS + bin_of(request->duration_ns)]++;
    }
    json_member_object(json, "scatter");
    json_member_ns(json, "from", from_ns);
    json_member_ns(json, "width", width_ns);
    json_member_uint(json, "slots", SLOTS);
    json_member_array(json, "cells");
    for (size_t i = 0; i < (size_t)SLOTS * BINS; i++) {
        if (!counts[i])
            continue;
        const unsigned bin = (unsigned)(i % BINS);
        json_object(json);
        json_member_uint(json, "slot", i / BINS);
        json_member_ns(json, "from", begin_of_bin(bin));
        json_member_ns(json, "to", begin_of_bin(bin + 1));
        json_member_uint(json, "requests", counts[i]);
        json_end(json);
    }
    json_end(json);
    json_end(json);
    free(counts);
    return ERR_OK;
}

static void write_function(struct json *json, const struct profile_snapshot *snapshot,
                           function_id id, int32_t line)
{
    const struct profile_function function = profile_function_at(snapshot, id);
    json_object(json);
    json_member_string(json, "name", profile_string(snapshot, function.name));
    json_member_string(json, "file", profile_string(snapshot, function.file));
    json_member_int(json, "line", line ? line : function.first_line);
    json_member_uint(json, "function", id);
}

static void write_row(struct json *json, const struct profile_snapshot *snapshot,
                      const struct request *request, const struct request_detail *detail)
{
    struct context_text text = { .value = "", .variable = "" };
    (void)context_of_function(snapshot, request->context, &text);
    json_object(json);
    json_key(json, "variable");
    json_string(json, text.variable, text.variable_length);
    json_key(json, "value");
    json_string(json, text.value, text.value_length);
    json_member_bool(json, "guessed", context_guessed_length(&text) > 0);
    json_member_uint(json, "mark", request->context);
    json_member_ns(json, "begin", request->first_ns);
    json_member_ns(json, "duration", request->duration_ns);
    json_member_ns(json, "error", request->error_ns);
    json_member_bool(json, "cut", request->is_cut);
    json_member_bool(json, "rough", request->is_rough);
    json_member_uint(json, "samples", request->samples);
    json_member_object(json, "parts");
    for (enum part part = PART_RUNNING; part < PART_COUNT; part++)
        json_member_ns(json, part_text(part), request->parts_ns[part]);
    json_end(json);
    json_member_ns(json, "awaits", request->awaits_ns);
    json_member_array(json, "causes");
    for (enum wait_cause cause = WAIT_UNKNOWN; cause < WAIT_CAUSE_COUNT; cause++) {
        if (!detail->causes_ns[cause])
            continue;
        json_object(json);
        json_member_text(json, "cause", wait_cause_text(cause));
        json_member_text(json, "title", wait_cause_title(cause));
        json_member_ns(json, "seconds", detail->causes_ns[cause]);
        json_end(json);
    }
    json_end(json);
    if (json_member_if(json, "line", detail->top)) {
        const struct profile_frame frame = profile_frame_at(snapshot, detail->top);
        write_function(json, snapshot, frame.function, frame.line);
        json_member_ns(json, "seconds", detail->top_ns);
        json_end(json);
    }
    if (json_member_if(json, "view", detail->view)) {
        write_function(json, snapshot, detail->view, 0);
        json_member_bool(json, "guessed", true);
        json_end(json);
    }
    json_end(json);
}

/* The requests that a query chooses, in the same order. */
static enum err_code choose_rows(const struct requests *all, const struct view_query *query,
                                 struct requests *out, struct err *err)
{
    *out = (struct requests){ .items = calloc(all->count + 1, sizeof *out->items) };
    if (!out->items)
        return err_nomem(err);
    for (size_t i = 0; i < all->count; i++)
        if (!query->requests || request_set_has_mark(query->requests, all->items[i].context))
            out->items[out->count++] = all->items[i];
    return ERR_OK;
}

/* Which rows are written: the slowest, and of each bin so many besides. */
struct row_bounds {
    size_t slowest, of_bin;
};

static size_t keep_bounded(struct requests *chosen, const struct row_bounds *bounds)
{
    size_t of_bin[BINS] = { 0 }, kept = 0;
    for (size_t i = 0; i < chosen->count; i++)
        if (i < bounds->slowest ||
            of_bin[bin_of(chosen->items[i].duration_ns)]++ < bounds->of_bin)
            chosen->items[kept++] = chosen->items[i];
    return kept;
}

static enum err_code write_rows(struct json *json, const struct requests *all,
                                const struct profile_snapshot *snapshot,
                                const struct view_query *query, const struct row_bounds *bounds,
                                struct err *err)
{
    struct requests chosen = { 0 };
    struct request_detail *details = NULL;
    enum err_code rc = choose_rows(all, query, &chosen, err);
    const size_t all_chosen = chosen.count, count = keep_bounded(&chosen, bounds);
    if (!rc) {
        details = calloc(count + 1, sizeof *details);
        rc = details ? requests_detail(&chosen, snapshot, count, details, err) : err_nomem(err);
    }
    if (!rc) {
        json_member_uint(json, "chosen", all_chosen);
        json_member_array(json, "rows");
        for (size_t i = 0; i < count; i++)
            write_row(json, snapshot, &chosen.items[i], &details[i]);
        json_end(json);
    }
    free(details);
    requests_deinit(&chosen);
    return rc;
}

/* Writes what one request did, on whatever threads. */
static enum err_code write_pieces(struct json *json, const struct profile_snapshot *snapshot,
                                  function_id mark, size_t most, struct err *err)
{
    struct request_pieces pieces;
    const enum err_code rc = request_pieces_init(&pieces, snapshot, mark, most, err);
    if (rc)
        return rc;
    json_member_uint(json, "pieces_left_out", pieces.left_out);
    json_member_array(json, "pieces");
    for (size_t i = 0; i < pieces.count; i++) {
        const struct request_piece *const piece = &pieces.items[i];
        const struct profile_thread thread = profile_thread_at(snapshot, piece->thread);
        const struct profile_process process = profile_process_at(snapshot, thread.process);
        json_object(json);
        json_member_ns(json, "from", piece->start_ns);
        json_member_ns(json, "to", piece->end_ns);
        json_member_int(json, "pid", process.pid);
        json_member_int(json, "tid", thread.tid);
        json_member_string(json, "thread", profile_string(snapshot, thread.name));
        json_member_text(json, "part", piece->awaits ? "awaits" : part_text(piece->part));
        json_member_text(json, "cause", piece->cause ? wait_cause_title(piece->cause) : NULL);
        if (json_member_if(json, "line", piece->top)) {
            const struct profile_frame frame = profile_frame_at(snapshot, piece->top);
            write_function(json, snapshot, frame.function, frame.line);
            json_end(json);
        }
        json_end(json);
    }
    json_end(json);
    request_pieces_deinit(&pieces);
    return ERR_OK;
}

/* `requests` keeps those that have a time in the range of the query. */
static enum err_code write_sums(struct json *json, struct requests *requests,
                                const struct profile_snapshot *snapshot,
                                const struct view_query *query, const struct row_bounds *bounds,
                                struct err *err)
{
    const uint64_t to_ns =
        query->to_ns && query->to_ns < snapshot->end_ns ? query->to_ns : snapshot->end_ns;
    for (enum context_mark kind = CONTEXT_MARK_UNKNOWN; kind < CONTEXT_MARK_COUNT; kind++)
        json_member_uint(json, kind == CONTEXT_MARK_VALUE ? "samples" : context_mark_text(kind),
                         requests->samples_by_mark[kind]);
    requests_keep_range(requests, query->from_ns, query->to_ns);
    json_member_uint(json, "requests", requests->count);
    json_member_uint(json, "whole", requests->whole);
    json_member_uint(json, "cut", requests->cut);
    json_member_uint(json, "rough", requests->rough);
    write_quantiles(json, requests);
    write_histogram(json, requests);
    const enum err_code rc = write_scatter(json, requests, query->from_ns, to_ns, err);
    return rc ? rc : write_rows(json, requests, snapshot, query, bounds, err);
}

enum err_code requests_write(struct json *json, const struct profile_snapshot *snapshot,
                             const struct view_query *query, size_t rows, function_id mark,
                             struct err *err)
{
    const struct row_bounds bounds = { .slowest = rows };
    struct requests requests;
    enum err_code rc = requests_init(&requests, snapshot, err);
    if (rc)
        return rc;
    rc = write_sums(json, &requests, snapshot, query, &bounds, err);
    if (!rc)
        rc = write_pieces(json, snapshot, mark, REQUEST_MAX_PIECES, err);
    requests_deinit(&requests);
    return rc;
}

enum err_code requests_write_embedded(struct json *json,
                                      const struct profile_snapshot *snapshot,
                                      const struct view_query *query, struct err *err)
{
    const struct row_bounds bounds = { .slowest = REQUESTS_EMBEDDED_ROWS,
                                       .of_bin = REQUESTS_EMBEDDED_OF_BIN };
    struct requests requests;
    enum err_code rc = requests_init(&requests, snapshot, err);
    if (rc)
        return rc;
    if (requests.count > 0) {
        size_t waterfalls = 0;
        json_member_object(json, "requests");
        rc = write_sums(json, &requests, snapshot, query, &bounds, err);
        json_member_array(json, "waterfalls");
        for (size_t i = 0; !rc && i < requests.count; i++) {
            const function_id mark = requests.items[i].context;
            if (query->requests && !request_set_has_mark(query->requests, mark))
                continue;
            if (waterfalls++ == REQUESTS_EMBEDDED_WATERFALLS)
                break;
            json_object(json);
            json_member_uint(json, "mark", mark);
            rc = write_pieces(json, snapshot, mark, REQUESTS_EMBEDDED_PIECES, err);
            json_end(json);
        }
        json_end(json);
        json_end(json);
    }
    requests_deinit(&requests);
    return rc;
}

enum err_code requests_write_durations(struct json *json,
                                       const struct profile_snapshot *snapshot,
                                       const struct kept_rows *kept, struct err *err)
{
    struct requests requests = { 0 };
    function_id *marks = NULL;
    uint64_t *const by_request =
        calloc((size_t)snapshot->sizes.functions + 1, sizeof(uint64_t));
    uint64_t *const by_mark = calloc((size_t)snapshot->sizes.functions + 1, sizeof(uint64_t));
    enum err_code rc = by_request && by_mark ? ERR_OK : err_nomem(err);
    if (!rc)
        rc = requests_init(&requests, snapshot, err);
    if (!rc && requests.count > 0)
        rc = requests_by_node(snapshot, &marks, err);
    for (size_t i = 0; !rc && i < requests.count; i++)
        by_request[requests.items[i].context] = requests.items[i].duration_ns;

    /* A request that is guessed may have several marks. */
    for (node_id id = 1; !rc && marks && id < snapshot->sizes.nodes; id++) {
        const function_id mark =
            profile_frame_at(snapshot, profile_node_at(snapshot, id).frame).function;
        struct context_text text;
        if (marks[id] && kept->functions[mark] && !by_mark[mark] &&
            context_of_function(snapshot, mark, &text))
            by_mark[mark] = by_request[marks[id]];
    }
    if (!rc && requests.count > 0) {
        json_member_object(json, "request_durations");
        json_member_array(json, "function");
        for (function_id id = 1; id < snapshot->sizes.functions; id++)
            if (by_mark[id])
                json_uint(json, id);
        json_end(json);
        json_member_array(json, "ns");
        for (function_id id = 1; id < snapshot->sizes.functions; id++)
            if (by_mark[id])
                json_uint(json, by_mark[id]);
        json_end(json);
        json_end(json);
    }
    requests_deinit(&requests);
    free(marks);
    free(by_request);
    free(by_mark);
    return rc;
}
