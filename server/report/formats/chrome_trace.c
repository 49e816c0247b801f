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
    struct track {
        process_id process;
        int32_t tid;    /* 0: unknown */
        uint64_t ident; /* if tid is unknown */
        size_t first;   /* of its rows: the number in slices */
        size_t row;     /* of slices */
    } * tracks;         /* rows of threads; those of a thread together */
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
                     : frame.is_kernel  ? "kernel"
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

static int by_ident(const void *left, const void *right)
{
    const struct track *const a = left, *const b = right;
    if (a->process != b->process)
        return (a->process > b->process) - (a->process < b->process);
    return (a->ident > b->ident) - (a->ident < b->ident);
}

static int by_thread(const void *left, const void *right)
{
    const struct track *const a = left, *const b = right;
    if (a->process != b->process)
        return (a->process > b->process) - (a->process < b->process);
    if (a->tid != b->tid)
        return (a->tid > b->tid) - (a->tid < b->tid);
    if (a->tid == 0 && a->ident != b->ident)
        return (a->ident > b->ident) - (a->ident < b->ident);
    return (a->row > b->row) - (a->row < b->row);
}

static int by_first_row(const void *left, const void *right)
{
    const struct track *const a = left, *const b = right;
    if (a->first != b->first)
        return (a->first > b->first) - (a->first < b->first);
    return (a->row > b->row) - (a->row < b->row);
}

/* A thread has several rows if it got its name late, or if its number was unknown at first: then it is that of a row with its ident.  Its
 * rows are one track. */
static enum err_code find_tracks(struct trace *trace, struct err *err)
{
    const struct slices *const slices = &trace->slices;
    const size_t count = slices->thread_count;
    struct track *const known = malloc((count + 1) * sizeof *known);
    size_t known_count = 0;
    trace->tracks = malloc((count + 1) * sizeof *trace->tracks);
    if (!known || !trace->tracks) {
        free(known);
        return err_nomem(err);
    }
    for (size_t i = 0; i < count; i++) {
        const struct profile_thread thread =
            profile_thread_at(trace->snapshot, slices->threads[i]);
        trace->tracks[i] = (struct track){ thread.process, thread.tid, thread.ident, i, i };
        if (thread.tid && thread.ident)
            known[known_count++] = trace->tracks[i];
    }
    qsort(known, known_count, sizeof *known, by_ident);
    for (size_t i = 0; i < count; i++) {
        struct track *const track = &trace->tracks[i];
        const struct track *const other =
            track->tid ? NULL : bsearch(track, known, known_count, sizeof *known, by_ident);
        track->tid = other ? other->tid : track->tid;
    }
    free(known);
    qsort(trace->tracks, count, sizeof *trace->tracks, by_thread);
    for (size_t i = 1; i < count; i++) {
        struct track *const track = &trace->tracks[i];
        if (track[-1].process == track->process && track[-1].tid == track->tid &&
            (track->tid || track[-1].ident == track->ident))
            track->first = track[-1].first;
    }
    qsort(trace->tracks, count, sizeof *trace->tracks, by_first_row);
    return ERR_OK;
}

/* The rows of one thread, which has the name of the last of them. */
static enum err_code put_thread(struct trace *trace, const struct track *rows, size_t count,
                                struct err *err)
{
    const struct slices *const slices = &trace->slices;
    const thread_id last = slices->threads[rows[count - 1].row];
    const uint64_t before = slices->unordered_samples;
    uint64_t samples = 0;
    enum err_code rc = ERR_OK;
    trace->thread = profile_thread_at(trace->snapshot, last);
    trace->thread.tid = rows->tid;
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
    for (size_t i = 0; i < slices->count && !rc; i++)
        for (size_t j = 0; j < count && !rc; j++) {
            struct slice_part part;
            rc = slices_part(&trace->slices, i, slices->threads[rows[j].row], SLICES_BY_TREE,
                             &trace->order, &part, err);
            if (rc)
                break;
            step_over(trace, &part);
            slice_part_deinit(&part);
        }
    close_below(trace, 0);

    const uint64_t unordered = slices->unordered_samples - before;
    struct buffer name = { 0 };
    for (size_t i = 0; i < count; i++)
        samples += slices->samples[rows[i].row];
    names_put_thread(&name, trace->snapshot, last);
    slices_put_note(&name, unordered, samples);
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
    if (!rc)
        rc = find_tracks(trace, err);
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
        for (size_t i = 0, next; i < trace.slices.thread_count && !rc; i = next) {
            for (next = i + 1; next < trace.slices.thread_count &&
                               trace.tracks[next].first == trace.tracks[i].first;)
                next++;
            rc = put_thread(&trace, &trace.tracks[i], next - i, err);
        }
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
    free(trace.tracks);
    free(trace.open);
    free(trace.path);
    return rc;
}
