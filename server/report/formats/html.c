#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/compress.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/states.h"
#include "sampler/profile/views/view.h"
#include "server/report/embedded.h"
#include "server/report/encoding/embedded_profile.h"
#include "server/report/formats/writers.h"
#include "server/report/header.h"
#include "server/report/kept_runs.h"
#include "server/report/report_source.h"
#include "server/report/summary.h"
#include "server/report/timed.h"
#include "server/wire/assets.h"
#include "server/wire/json.h"
#include "server/wire/kept_rows.h"
#include "server/wire/quality.h"
#include "server/wire/requests.h"
#include "server/wire/session.h"
#include "server/wire/tree.h"

enum { FORMAT_VERSION = 1, GZIP_LEVEL = 9 };

static const char policy_mark[] = "<!--report-csp-->";
static const char data_mark[] = "<script type=\"text/plain\" id=\"profile-data\"></script>";

/* The view at which the page opens, as its address calls it, and what else it holds. */
struct page {
    const char *view;
    const struct embedded_bounds *bounds;
    bool has_baseline;
};

static uint64_t cell_thread(const struct view_cell *cell)
{
    return cell->thread;
}

static uint64_t cell_state(const struct view_cell *cell)
{
    return cell->state;
}

static uint64_t cell_node(const struct view_cell *cell)
{
    return cell->node;
}

static uint64_t cell_count(const struct view_cell *cell)
{
    return cell->count;
}

static uint64_t cell_ns(const struct view_cell *cell)
{
    return cell->ns;
}

static void write_column(struct json *json, const char *name, const struct timed *timed,
                         uint64_t (*value)(const struct view_cell *cell))
{
    json_member_array(json, name);
    for (size_t part = 0; part < timed->part_count; part++)
        for (size_t i = 0; i < timed->parts[part].count; i++)
            json_uint(json, value(&timed->parts[part].cells[i]));
    json_end(json);
}

static void write_slots(struct json *json, const struct timeline_slots *slots)
{
    json_member_object(json, "slots");
    json_member_ns(json, "width", slots->width_ns);
    json_member_array(json, "start");
    for (size_t i = 0; i < slots->count; i++)
        json_decimal(json, slots->rows[i].slot * slots->width_ns, NS_DECIMALS);
    json_end(json);
    json_member_array(json, "end");
    for (size_t i = 0; i < slots->count; i++)
        json_decimal(json, slots->rows[i].end_ns, NS_DECIMALS);
    json_end(json);
    json_end(json);
}

static void write_origin(struct json *json, const struct report_source *source)
{
    json_key(json, "session");
    session_info_write(json, source->session);
    json_key(json, "selection");
    report_header_write(source->header, json);
}

/* Filters of frames leave out samples of requests, which then seem to be shorter. */
static bool has_durations(const struct report_source *source)
{
    const struct frame_filters *const filters = source->header->filters;
    return source->header->is_of_time && !(filters && filters->count > 0);
}

/* Names of what is not in the report are not in the file.  Of the processes, those have names of which the memory is shown. */
static enum err_code write_tree(struct json *json, const struct report_source *source,
                                const struct timed *timed, struct err *err)
{
    const struct view_query *const query = source->query;
    struct kept_rows kept;
    enum err_code rc = kept_rows_init(&kept, source->snapshot, err);
    if (rc)
        return rc;
    for (size_t part = 0; part < timed->part_count; part++)
        for (size_t i = 0; i < timed->parts[part].count; i++)
            kept_rows_cell(&kept, timed->parts[part].cells[i].thread,
                           timed->parts[part].cells[i].node);
    for (process_id id = 0; id < source->snapshot->sizes.processes; id++)
        if (!query->processes && !query->threads)
            kept_rows_process(&kept, id);
    json_key(json, "tree");
    tree_write(json, source->snapshot, source->session->epoch, 0, &kept);
    if (has_durations(source))
        rc = requests_write_durations(json, source->snapshot, &kept, err);
    kept_rows_deinit(&kept);
    if (rc)
        return rc;

    /* Cells have a column of what a sample stands for only where it differs. */
    const bool has_periods = source->header->has_periods;
    json_member_object(json, "cells");
    write_column(json, "thread", timed, cell_thread);
    write_column(json, "state", timed, cell_state);
    write_column(json, "node", timed, cell_node);
    write_column(json, "count", timed, cell_count);
    if (has_periods)
        write_column(json, "ns", timed, cell_ns);
    if (timed->slots.count > 0) {
        /* For each cell the slot it is of. */
        json_member_array(json, "slot");
        for (size_t part = 0; part < timed->part_count; part++)
            for (size_t i = 0; i < timed->parts[part].count; i++)
                json_uint(json, part);
        json_end(json);
    }
    json_end(json);
    return ERR_OK;
}

/* With tables of its own: the page finds out which functions and stacks are the same. */
static enum err_code write_baseline(struct json *json, const struct report_source *baseline,
                                    bool by_time, struct err *err)
{
    struct timed timed;
    enum err_code rc = timed_init(&timed, baseline, err);
    if (rc)
        return rc;
    json_member_object(json, "baseline");
    json_member_text(json, "by", by_time ? "time" : "samples");
    write_origin(json, baseline);
    rc = write_tree(json, baseline, &timed, err);
    if (!rc && timed.slots.count > 0)
        write_slots(json, &timed.slots);
    json_end(json);
    timed_deinit(&timed);
    return rc;
}

static enum err_code write_profile(const struct report_source *source, const struct page *page,
                                   struct buffer *out, struct err *err)
{
    struct timed timed;
    struct json json;
    enum err_code rc = timed_init(&timed, source, err);
    if (rc)
        return rc;
    json_init(&json, out);
    json_object(&json);
    json_member_uint(&json, "version", FORMAT_VERSION);
    write_origin(&json, source);

    /* How well the whole session was measured, whatever part of it is in the report. */
    const struct view_query everything = { 0 };
    struct states states;
    rc = states_init(&states, source->snapshot, &everything, err);
    if (!rc) {
        json_key(&json, "quality");
        quality_write(&json, source->session, &states.all, NULL, NULL);
        states_deinit(&states);
    }

    if (!source->session->is_anonymized)
        source_links_write(&json, &source->settings.links);
    if (!rc)
        rc = write_tree(&json, source, &timed, err);
    if (!rc && timed.slots.count > 0)
        write_slots(&json, &timed.slots);
    if (!rc && timed.slots.count > 0)
        rc = kept_runs_write(&json, source, err);
    timed_deinit(&timed);
    const bool is_time = source->snapshot->measure == MEASURE_TIME;
    if (!rc && is_time) {
        /* Writes what the panel of the page shows, and the Markdown that it copies. */
        struct buffer text = { 0 };
        json_key(&json, "summary");
        rc = summary_write_json(&json, source, err);
        if (!rc)
            rc = report_write_summary_markdown(source, &text, err);
        json_member_buffer(&json, "summary_markdown", &text);
        buffer_deinit(&text);
    }
    if (!rc && page->has_baseline)
        rc = write_baseline(&json, source->baseline, source->settings.by_time, err);
    if (!rc && is_time)
        rc = embedded_write_heat(&json, source, err);
    if (!rc)
        rc = embedded_write_memory(&json, source, err);
    /* Rows name what any thread did. */
    const struct report_header *const header = source->header;
    if (!rc && has_durations(source) && header->has_all_processes &&
        header->thread_count == 0 && !state_condition_is_set(&header->states))
        rc = requests_write_embedded(&json, source->snapshot, source->query, err);
    if (!rc)
        rc = embedded_write_sources(&json, source, page->bounds, err);
    json_end(&json);
    return rc ? rc : json_finish(&json, err);
}

/* Copies the template up to `mark` and moves `rest` behind it. */
static enum err_code copy_until(struct asset *rest, const char *mark, struct buffer *out,
                                struct err *err)
{
    const size_t length = strlen(mark);
    const char *const found = memmem(rest->data, rest->bytes, mark, length);
    if (!found)
        return err_set(err, ERR_CORRUPT, "the page has no %s", mark);
    const size_t before = (size_t)(found - rest->data);
    buffer_append(out, rest->data, before);
    rest->data = found + length;
    rest->bytes -= before + length;
    return ERR_OK;
}

static enum err_code fill_page(const struct report_source *source, const struct page *page,
                               struct asset rest, struct buffer *out, struct err *err)
{
    const struct asset policy = asset_page_meta();
    enum err_code rc = copy_until(&rest, policy_mark, out, err);
    if (rc)
        return rc;
    buffer_append(out, policy.data, policy.bytes);
    rc = copy_until(&rest, data_mark, out, err);
    buffer_printf(out, "<script type=\"text/plain\" id=\"profile-data\" data-view=\"%s\">",
                  page->view);
    if (!rc) {
        /* The profile as the text of its element. */
        struct embedded_profile profile_text;
        rc =
            embedded_profile_init(&profile_text, GZIP_LEVEL, EMBEDDED_PROFILE_BASE64, out, err);
        if (!rc)
            rc = write_profile(source, page, &profile_text.in, err);
        if (!rc)
            rc = embedded_profile_finish(&profile_text, err);
        embedded_profile_deinit(&profile_text);
    }
    if (rc)
        return rc;
    buffer_text(out, "</script>");
    buffer_append(out, rest.data, rest.bytes);
    return buffer_check(out, err);
}

static enum err_code write_page(const struct report_source *source, const struct page *page,
                                struct buffer *out, struct err *err)
{
    const struct asset packed = asset_page();
    unsigned char *html = NULL;
    size_t bytes = 0;
    enum err_code rc = compress_gunzip(packed.data, packed.bytes, &html, &bytes, err);
    if (!rc)
        rc = fill_page(source, page, (struct asset){ (char *)html, bytes }, out, err);
    free(html);
    return rc;
}

enum err_code report_write_html(const struct report_source *source, struct buffer *out,
                                struct err *err)
{
    const struct page page = { .view = "flame", .bounds = &embedded_hottest };
    return write_page(source, &page, out, err);
}

enum err_code report_write_heatmap(const struct report_source *source, struct buffer *out,
                                   struct err *err)
{
    const struct page page = { .view = "source", .bounds = &embedded_all };
    return write_page(source, &page, out, err);
}

enum err_code report_write_diff_flamegraph(const struct report_source *source,
                                           struct buffer *out, struct err *err)
{
    const struct page page = { .view = "diff",
                               .bounds = &embedded_hottest,
                               .has_baseline = true };
    if (!source->baseline)
        return err_set(err, ERR_INVALID, "a comparison needs a baseline");
    return write_page(source, &page, out, err);
}
