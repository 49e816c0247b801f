#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "server/report/formats/writers.h"
#include "server/report/header.h"
#include "server/report/names.h"
#include "server/report/preorder.h"
#include "server/report/report_source.h"
#include "server/report/slices.h"
#include "server/wire/json.h"
#include "server/wire/session.h"

/* Viewers hold a trace in memory: once a thread has had its part of so many events in a slice,
 * only the outermost frames of its other stacks are drawn, and they are counted. */
enum { MAX_EVENTS = 1 << 20, MIN_PART_EVENTS = 64, CUT_DEPTH = 3, MAX_RUNS = MAX_EVENTS / 8 };

/* The stack that is open. */
struct trace {
    const struct report_source *source;
    const struct profile_snapshot *snapshot;
    struct json json;
    struct slices slices;
    struct preorder order;
    struct open_frame {
        node_id node;
        uint64_t samples;
    } * open; /* outermost first */
    uint32_t depth;
    node_id *path; /* room for the way to a node */
    uint64_t now_ns;
    size_t part_events, max_part_events;
    uint64_t cut_samples;
    struct profile_thread thread;
    int32_t pid;
};

/* A thread of unknown number has its track by what else it is known by. */
static void put_place(struct trace *trace)
{
    const struct profile_thread *const thread = &trace->thread;
    json_member_int(&trace->json, "pid", trace->pid);
    json_member_int(&trace->json, "tid", thread->tid ? thread->tid : (int64_t)thread->ident);
}

/* A name of a process or a thread. */
static void put_label(struct trace *trace, const char *what, const char *key,
                      struct strtab_string name)
{
    json_object(&trace->json);
    json_member_text(&trace->json, "name", what);
    json_member_text(&trace->json, "ph", "M");
    put_place(trace);
    json_member_object(&trace->json, "args");
    json_member_string(&trace->json, key, name);
    json_end(&trace->json);
    json_end(&trace->json);
}

static struct named_frame begin_event(struct trace *trace, const char *phase, node_id node)
{
    const struct named_frame frame =
        names_frame(trace->snapshot, profile_node_at(trace->snapshot, node).frame);
    json_object(&trace->json);
    json_member_string(&trace->json, "name", frame.name);
    json_member_text(&trace->json, "cat",
                     frame.is_synthetic ? "mark"
                     : frame.is_native  ? "native"
                                        : "python");
    json_member_text(&trace->json, "ph", phase);
    /* Microseconds, as all times here are. */
    json_member_decimal(&trace->json, "ts", trace->now_ns, 3);
    put_place(trace);
    json_member_object(&trace->json, "args");
    return frame;
}

static void end_event(struct trace *trace)
{
    json_end(&trace->json);
    json_end(&trace->json);
}

/* Begins and ends stand in the order of time: where frames begin or end together, that order alone
 * says which is within which. */
static void open_frame(struct trace *trace, node_id node)
{
    const struct named_frame frame = begin_event(trace, "B", node);
    if (!frame.is_synthetic) {
        json_member_string(&trace->json, "file", frame.file);
        json_member_int(&trace->json, "line", frame.line);
    }
    if (frame.is_native)
        json_member_string(&trace->json, "library", frame.library);
    end_event(trace);
    trace->open[trace->depth++] = (struct open_frame){ node, 0 };
    trace->part_events++;
}

static void close_below(struct trace *trace, uint32_t depth)
{
    while (trace->depth > depth) {
        const struct open_frame *const open = &trace->open[--trace->depth];
        (void)begin_event(trace, "E", open->node);
        json_member_int(&trace->json, "samples", (int64_t)open->samples);
        end_event(trace);
    }
}

static void step_over(struct trace *trace, const struct slice_part *part)
{
    trace->part_events = 0;
    for (size_t i = 0; i < part->cells.count; i++) {
        const struct slice_time *const time = &part->times[i];
        if (time->start_ns > trace->now_ns + 2 * trace->slices.period_ns)
            close_below(trace, 0); /* nothing was seen in between */
        if (time->start_ns > trace->now_ns)
            trace->now_ns = time->start_ns;

        const struct view_cell *const cell = &part->cells.cells[i];
        /* The stack of a cell: what it shares with the open one stays open. */
        uint32_t depth = trace->order.depth[cell->node], shared = 0;
        node_id node = cell->node;
        for (; trace->part_events > trace->max_part_events && depth > CUT_DEPTH; depth--)
            node = profile_node_at(trace->snapshot, node).parent;
        if (depth < trace->order.depth[cell->node])
            trace->cut_samples += cell->count;
        for (uint32_t level = depth; level-- > 0;
             node = profile_node_at(trace->snapshot, node).parent)
            trace->path[level] = node;
        while (shared < depth && shared < trace->depth &&
               trace->open[shared].node == trace->path[shared])
            shared++;
        close_below(trace, shared);
        while (trace->depth < depth)
            open_frame(trace, trace->path[trace->depth]);
        for (uint32_t level = 0; level < depth; level++)
            trace->open[level].samples += cell->count;
        if (time->end_ns > trace->now_ns)
            trace->now_ns = time->end_ns;
    }
}

static enum err_code put_thread(struct trace *trace, size_t index, struct err *err)
{
    const thread_id id = trace->slices.threads[index];
    const uint64_t before = trace->slices.unordered_samples;
    enum err_code rc = ERR_OK;
    trace->thread = profile_thread_at(trace->snapshot, id);
    const struct profile_process process =
        profile_process_at(trace->snapshot, trace->thread.process);
    const bool is_new = process.pid != trace->pid;
    trace->pid = process.pid;
    trace->now_ns = 0;
    put_label(trace, "process_name", "name", profile_string(trace->snapshot, process.name));

    if (is_new && !trace->source->header->is_whole) {
        const struct report_header *const header = trace->source->header;
        struct buffer text = { 0 };

        report_header_put_text(header, &text);
        put_label(trace, "process_labels", "labels",
                  (struct strtab_string){ text.data, (uint32_t)text.length });
        buffer_deinit(&text);
    }
    for (size_t i = 0; i < trace->slices.count && !rc; i++) {
        struct slice_part part;
        rc = slices_part(&trace->slices, i, id, SLICES_BY_TREE, &trace->order, &part, err);
        if (rc)
            break;
        step_over(trace, &part);
        slice_part_deinit(&part);
    }
    close_below(trace, 0);

    const uint64_t unordered = trace->slices.unordered_samples - before;
    struct buffer name = { 0 };
    names_put_thread(&name, trace->snapshot, trace->slices.threads[index]);
    slices_put_note(&name, unordered, trace->slices.samples[index]);
    put_label(trace, "thread_name", "name",
              (struct strtab_string){ name.data, (uint32_t)name.length });
    buffer_deinit(&name);
    return rc;
}

static enum err_code start_trace(struct trace *trace, struct err *err)
{
    enum err_code rc = slices_init(&trace->slices, trace->source, MAX_RUNS, err);
    if (!rc)
        rc = preorder_init(&trace->order, trace->snapshot, err);
    if (rc)
        return rc;
    const size_t room = (size_t)trace->order.max_depth + 1;
    const size_t parts = trace->slices.count * trace->slices.thread_count + 1;
    trace->max_part_events =
        MAX_EVENTS / parts > MIN_PART_EVENTS ? MAX_EVENTS / parts : MIN_PART_EVENTS;
    trace->open = malloc(room * sizeof *trace->open);
    trace->path = malloc(room * sizeof *trace->path);
    if (!trace->open || !trace->path)
        return err_nomem(err);
    return ERR_OK;
}

enum err_code report_write_chrome_trace(const struct report_source *source, struct buffer *out,
                                        struct err *err)
{
    struct trace trace = { .source = source, .snapshot = source->snapshot };
    json_init(&trace.json, out);
    enum err_code rc = start_trace(&trace, err);
    if (!rc) {
        json_object(&trace.json);
        json_member_text(&trace.json, "displayTimeUnit", "ms");
        json_key(&trace.json, "otherData");
        session_info_write(&trace.json, trace.source->session);
        json_key(&trace.json, "selection");
        report_header_write(trace.source->header, &trace.json);
        json_member_array(&trace.json, "traceEvents");
        for (size_t i = 0; i < trace.slices.thread_count && !rc; i++)
            rc = put_thread(&trace, i, err);
        json_end(&trace.json);
        json_member_int(&trace.json, "samplesCut", (int64_t)trace.cut_samples);
        json_member_int(&trace.json, "samplesNotInOrder",
                        (int64_t)trace.slices.unordered_samples);
        json_end(&trace.json);
        if (!rc)
            rc = json_finish(&trace.json, err);
    }
    slices_deinit(&trace.slices);
    preorder_deinit(&trace.order);
    free(trace.open);
    free(trace.path);
    return rc;
}
