/* The Summary document of openapi.json. */
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "server/report/formats/writers.h"
#include "server/report/header.h"
#include "server/report/report_source.h"
#include "server/report/summary.h"
#include "server/wire/json.h"
#include "server/wire/measure.h"
#include "server/wire/own_code.h"
#include "server/wire/quality.h"
#include "server/wire/session.h"

static void put_share(struct json *json, const char *key, uint64_t part, uint64_t whole)
{
    json_member_number(json, key, quality_percent(part, whole) / 100);
}

static void write_observed(struct json *json, const struct summary *summary)
{
    const struct report_source *const source = summary->source;
    struct buffer selection = { 0 };
    report_header_put_text(source->header, &selection);
    json_member_object(json, "observed");
    json_member_text(json, "selection", buffer_string(&selection));
    json_member_bool(json, "whole", source->header->is_whole);
    json_member_number(json, "duration_s",
                       (double)report_header_duration_ns(source->header) / (double)NS_PER_S);
    json_member_uint(json, "threads", summary->thread_count);
    json_member_uint(json, "samples", summary->samples);
    json_member_number(json, "requested_hz", session_info_requested_hz(source->session));
    json_member_number(json, "achieved_hz", session_info_achieved_hz(source->snapshot));
    session_info_write_engine(json, source->session);
    if (!source->header->is_of_time) {
        json_key(json, "measure");
        measure_write(json, source->header->measure, source->header->ns);
    }
    json_end(json);
    buffer_deinit(&selection);
}

static bool is_same(struct strtab_string a, struct strtab_string b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

/* The id that the function has in the session, whose stacks a source may have changed; 0: none. */
static function_id id_of(const struct report_source *source, const struct named_frame *frame)
{
    const struct profile_snapshot *const original =
        source->selection ? source->selection->snapshot : source->snapshot;
    if (original == source->snapshot)
        return frame->function;
    for (function_id id = 1; id < original->sizes.functions; id++) {
        const struct named_frame other = names_function(original, id);
        if (other.first_line == frame->first_line && is_same(other.name, frame->name) &&
            is_same(other.file, frame->file) && is_same(other.library, frame->library))
            return id;
    }
    return 0;
}

static void write_row(struct json *json, const struct report_source *source,
                      const struct summary_row *row, uint64_t whole)
{
    const struct named_frame *const frame = &row->frame;
    const function_id function = id_of(source, frame);
    json_object(json);
    json_member_string(json, "name", frame->name);
    if (json_member_if(json, "file", frame->has_source))
        json_string(json, frame->file.text, frame->file.length);
    json_member_uint(json, "line", frame->line > 0 ? (uint64_t)frame->line : 0);
    if (json_member_if(json, "library", frame->is_native))
        json_string(json, frame->library.text, frame->library.length);
    if (json_member_if(json, "function", function > 0))
        json_uint(json, function);
    json_member_uint(json, "samples", row->self);
    put_share(json, "share", row->self, whole);
    if (row->total > 0) {
        json_member_uint(json, "total_samples", row->total);
        put_share(json, "total_share", row->total, whole);
    }
    json_end(json);
}

static void write_rows(struct json *json, const struct report_source *source, const char *key,
                       const struct summary_rows *rows, uint64_t whole)
{
    json_member_array(json, key);
    for (size_t i = 0; i < rows->count; i++)
        write_row(json, source, &rows->rows[i], whole);
    json_end(json);
}

static void write_hot(struct json *json, const struct summary *summary)
{
    json_member_object(json, "hot");
    json_member_uint(json, "samples", summary->hot);
    put_share(json, "share", summary->hot, summary->samples);
    json_member_number(json, "seconds",
                       summary->source->header->is_of_time
                           ? (double)summary->parts_ns[PART_RUNNING] / (double)NS_PER_S
                           : 0);
    put_share(json, "own_share", summary->own, summary->hot);
    json_key(json, "own_code");
    own_code_write(json, &summary->lines.own_code);
    write_rows(json, summary->source, "lines", &summary->lines, summary->busy);
    write_rows(json, summary->source, "functions", &summary->functions, summary->busy);
    json_end(json);
}

static void write_causes(struct json *json, const struct summary *summary, bool is_idle,
                         uint64_t whole)
{
    json_member_array(json, "causes");
    for (size_t i = 0; i < summary->cause_count; i++)
        if (wait_cause_is_idle(summary->causes[i].cause) == is_idle) {
            const struct summary_cause *const cause = &summary->causes[i];
            json_object(json);
            json_member_text(json, "cause", wait_cause_text(cause->cause));
            json_member_text(json, "title", wait_cause_title(cause->cause));
            json_member_uint(json, "samples", cause->samples);
            put_share(json, "share", cause->samples, whole);
            json_member_uint(json, "peer_count", cause->peer_count);
            json_member_array(json, "peers");
            for (size_t at = 0; at < cause->peer_count && at < SUMMARY_PEERS; at++) {
                json_object(json);
                json_member_string(json, "peer", cause->peers[at].name);
                json_member_uint(json, "samples", cause->peers[at].samples);
                put_share(json, "share", cause->peers[at].samples, whole);
                json_end(json);
            }
            json_end(json);
            json_end(json);
        }
    json_end(json);
}

static void write_waiting(struct json *json, const struct summary *summary)
{
    json_member_object(json, "waiting");
    json_member_uint(json, "samples", summary->waiting);
    put_share(json, "share", summary->waiting, summary->samples);
    write_causes(json, summary, false, summary->busy);
    write_rows(json, summary->source, "functions", &summary->wait_functions, summary->busy);
    write_rows(json, summary->source, "lines", &summary->wait_lines, summary->busy);
    json_end(json);
    json_member_object(json, "idle");
    json_member_uint(json, "samples", summary->parts[PART_IDLE]);
    put_share(json, "share", summary->parts[PART_IDLE], summary->samples);
    json_member_uint(json, "threads", summary->idle_threads);
    write_causes(json, summary, true, summary->samples);
    json_end(json);
}

static void write_gil(struct json *json, const struct summary *summary)
{
    const struct state_sums *const sums = &summary->states;
    if (!json_member_if(json, "gil", summary->gil != SUMMARY_GIL_NONE))
        return;
    json_object(json);
    put_share(json, "held_share", sums->yes[STATE_FLAG_HAS_GIL], sums->samples);
    if (summary->gil == SUMMARY_GIL_KNOWN) {
        put_share(json, "waited_share", sums->yes[STATE_FLAG_WAITS_GIL], sums->samples);
    } else {
        json_member_null(json, "waited_share");
    }
    /* null: no thread is known to have held it while others waited. */
    if (json_member_if(json, "holder", summary->holder_share > 0)) {
        json_object(json);
        json_member_string(json, "name", summary->holder);
        json_member_int(json, "tid", summary->holder_tid);
        json_member_number(json, "share", summary->holder_share);
        json_end(json);
    }
    json_end(json);
}

static void write_native(struct json *json, const struct summary *summary)
{
    json_member_object(json, "native");
    put_share(json, "share", summary->native, summary->hot);
    if (json_member_if(json, "wanted_for", summary->c_function.self))
        write_row(json, summary->source, &summary->c_function, summary->hot);
    json_member_array(json, "libraries");
    for (size_t i = 0; i < summary->library_count; i++) {
        json_object(json);
        json_member_string(json, "path", summary->libraries[i].path);
        put_share(json, "share", summary->libraries[i].samples, summary->hot);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static void write_quality(struct json *json, const struct session_info *info)
{
    const struct quality *const quality = &info->snapshot->quality;
    const uint64_t failed = quality_failed(quality);
    char text[SUMMARY_QUALITY_BYTES];
    summary_quality_text(info, text);
    json_member_object(json, "quality");
    put_share(json, "exact_share", quality->exact, quality->samples);
    put_share(json, "truncated_share", quality->truncated, quality->samples);
    put_share(json, "failed_share", failed, quality->samples + failed);
    put_share(json, "missed_share", quality->missed_ticks,
              quality->ticks + quality->missed_ticks);
    json_member_text(json, "text", text);
    json_end(json);
}

enum err_code summary_write_json(struct json *json, const struct report_source *source,
                                 struct err *err)
{
    struct summary summary;
    const enum err_code rc = summary_init(&summary, source, err);
    if (rc)
        return rc;
    json_object(json);

    const struct session_target *const target = source->session->target;
    json_member_object(json, "program");
    json_member_int(json, "pid", target->pid);
    json_member_uint(json, "processes", source->header->process_count);
    json_member_array(json, "command");
    for (size_t i = 0; i < target->argc; i++)
        json_text(json, target->argv[i]);
    json_end(json);
    json_member_text(json, "python", target->python);
    json_end(json);

    write_observed(json, &summary);

    uint64_t ns = 0;
    for (enum part part = 0; part < PART_COUNT; part++)
        ns += summary.parts_ns[part];
    json_member_text(json, "headline", summary.headline);
    json_member_object(json, "parts");
    for (enum part part = 0; part < PART_COUNT; part++)
        put_share(json, part_text(part), summary.parts_ns[part], ns);
    json_end(json);

    write_hot(json, &summary);
    write_waiting(json, &summary);

    json_member_object(json, "tasks");
    json_member_uint(json, "samples", summary.tasks);
    json_key(json, "own_code");
    own_code_write(json, &summary.task_lines.own_code);
    write_rows(json, summary.source, "lines", &summary.task_lines, summary.tasks);
    json_end(json);

    const bool is_unknown =
        summary.states.samples > 0 &&
        summary.states.unknown[STATE_FLAG_RUNNABLE] == summary.states.samples;
    if (json_member_if(json, "runnable_share", !is_unknown))
        json_number(json, quality_percent(summary.states.yes[STATE_FLAG_RUNNABLE],
                                          summary.states.samples) /
                              100);

    write_gil(json, &summary);
    put_share(json, "gc_share", summary.states.yes[STATE_FLAG_IN_GC], summary.states.samples);
    write_native(json, &summary);
    write_quality(json, source->session);
    json_end(json);
    return ERR_OK;
}

enum err_code report_write_summary_json(const struct report_source *source, struct buffer *out,
                                        struct err *err)
{
    struct json json;
    json_init(&json, out);
    const enum err_code rc = summary_write_json(&json, source, err);
    return rc ? rc : json_finish(&json, err);
}
