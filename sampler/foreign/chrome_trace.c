/*
 * Chrome's trace events, a list or one within an object: complete events ("X"), pairs of "B" and "E", processor profiles ("P",
 * chrome_profile.h), samples (chrome_samples.h), and names of threads and processes ("M").
 * All others, such as asynchronous ones and counters, are left out, and samples where there are events with a length.
 *
 * Events may come in any order but for pairs, so the file is read once, and events are sorted: the time of a frame is that of its event without
 * the events within it.  An event that ends behind the one in which it began is cut.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/idmap.h"
#include "sampler/base/vec.h"
#include "sampler/foreign/chrome_profile.h"
#include "sampler/foreign/chrome_samples.h"
#include "sampler/foreign/formats.h"
#include "sampler/foreign/gather.h"
#include "sampler/foreign/json_reader.h"
#include "sampler/foreign/location.h"
#include "sampler/foreign/sorter.h"
#include "sampler/profile/profile.h"

enum { MAX_THREADS = 1 << 20, MAX_OPEN = 1 << 22, US_SHIFT = 3, TEXT_BYTES = 1 << 12 };
/* The thread of a row that has the name of a process. */
#define NO_THREAD INT64_MIN

struct trace_thread {
    int64_t pid, tid;
    str_id name;
    struct open_event {
        uint64_t at_ns;
        frame_id frame;
    } * open; /* pairs that have not ended, outermost first */
    size_t depth, room;
    uint64_t last_ns;
};

struct trace_event {
    char name[TEXT_BYTES], file[TEXT_BYTES], label[TEXT_BYTES]; /* label: args.name */
    int64_t pid, tid, at_ns, duration_ns, line, weight;
    uint32_t frame; /* of its stack; 0: it has none */
    uint64_t id;    /* of its "id", a text or a number */
    char phase;
};

struct chrome_trace {
    struct gather *gather;
    struct json_reader json;
    struct trace_thread *threads;
    size_t thread_count, thread_room;
    struct idmap thread_index;
    /* Keys: thread, start, and a number that is less the later the end; thread: depth; node: frame. */
    struct sorter events;
    size_t open_count;
    uint32_t complete_count;
    struct trace_event event;
    struct chrome_profiles profiles;
    struct chrome_samples samples;
    char counts[GATHER_TEXT_BYTES]; /* what the weights of samples are of */
};

static enum err_code find_row(struct chrome_trace *trace, int64_t pid, int64_t tid,
                              uint32_t *out, struct err *err)
{
    const uint32_t hash = hash_mix((uint64_t)tid, (uint32_t)pid);
    struct idmap_slot *at;
    IDMAP_FIND(at, &trace->thread_index, hash,
               trace->threads[at->id].tid == tid && trace->threads[at->id].pid == pid);
    if (at) {
        *out = at->id;
        return ERR_OK;
    }
    if (trace->thread_count == MAX_THREADS)
        return err_set(err, ERR_LIMIT, "it has more than %d threads", MAX_THREADS);
    if (!VEC_RESERVE(trace->threads, trace->thread_room, trace->thread_count + 1))
        return err_nomem(err);
    *out = (uint32_t)trace->thread_count++;
    trace->threads[*out] = (struct trace_thread){ .pid = pid, .tid = tid };
    return idmap_add(&trace->thread_index, hash, *out, err);
}

static enum err_code read_arguments(struct chrome_trace *trace, struct err *err)
{
    struct json_reader *const json = &trace->json;
    enum err_code rc = ERR_OK;
    if (json_reader_next(json) != JSON_OBJECT) {
        json_reader_skip_rest(json);
        return ERR_OK;
    }
    while (!rc && json_reader_key(json)) {
        if (json_reader_is(json, "name"))
            gather_copy(trace->event.label, sizeof trace->event.label,
                        json_reader_string(json));
        else if (json_reader_is(json, "file") || json_reader_is(json, "filename"))
            gather_copy(trace->event.file, sizeof trace->event.file, json_reader_string(json));
        else if (json_reader_is(json, "line"))
            trace->event.line = json_reader_int(json);
        else if (json_reader_is(json, "data"))
            rc = chrome_profile_read(&trace->profiles, json, err);
        else
            json_reader_skip(json);
    }
    return rc;
}

static enum err_code read_event(struct chrome_trace *trace, struct err *err)
{
    struct json_reader *const json = &trace->json;
    struct trace_event *const event = &trace->event;
    enum err_code rc = ERR_OK;
    *event->name = *event->file = *event->label = event->phase = '\0';
    event->pid = event->tid = event->at_ns = event->duration_ns = event->line = 0;
    event->id = event->frame = 0;
    event->weight = 1;
    chrome_profile_begin(&trace->profiles);
    while (!rc && json_reader_key(json)) {
        if (json_reader_is(json, "name")) {
            gather_copy(event->name, sizeof event->name, json_reader_string(json));
        } else if (json_reader_is(json, "ph")) {
            const struct gather_text text = json_reader_string(json);
            event->phase = text.bytes == 1 ? *text.text : '\0';
        } else if (json_reader_is(json, "ts")) {
            event->at_ns = json_reader_number(json, US_SHIFT);
        } else if (json_reader_is(json, "dur")) {
            event->duration_ns = json_reader_number(json, US_SHIFT);
        } else if (json_reader_is(json, "pid")) {
            event->pid = json_reader_int(json);
        } else if (json_reader_is(json, "tid")) {
            event->tid = json_reader_int(json);
        } else if (json_reader_is(json, "args")) {
            rc = read_arguments(trace, err);
        } else if (json_reader_is(json, "sf") || json_reader_is(json, "stack")) {
            rc = chrome_samples_read_stack(&trace->samples, json, &event->frame, err);
        } else if (json_reader_is(json, "weight")) {
            event->weight = json_reader_int(json);
        } else if (json_reader_is(json, "id")) {
            const enum json_token token = json_reader_next(json);
            if (token == JSON_STRING || token == JSON_NUMBER)
                event->id = hash_bytes(json->text, json->bytes, 0);
            else
                json_reader_skip_rest(json);
        } else {
            json_reader_skip(json);
        }
    }
    return rc;
}

/* The frame of an event: its arguments have its file and line, or its name does. */
static enum err_code find_frame(struct chrome_trace *trace, frame_id *out, struct err *err)
{
    const struct trace_event *const event = &trace->event;
    struct gather_text name = { event->name, strlen(event->name) };
    struct gather_text file = { event->file, strlen(event->file) };
    int64_t first_line = 0;
    if (file.bytes == 0)
        (void)location_split(name, &name, &file, &first_line);
    if (file.bytes == 0 && *event->name == '<')
        file = (struct gather_text){ "~", 1 };
    if (name.bytes == 0)
        name = (struct gather_text){ "?", 1 };
    return gather_frame(trace->gather, name, file, first_line, event->line, out, err);
}

static enum err_code add_event(struct chrome_trace *trace, uint32_t thread, uint64_t from_ns,
                               uint64_t to_ns, uint32_t depth, frame_id frame, struct err *err)
{
    const struct sorter_record record = { .keys = { thread, from_ns, UINT64_MAX - to_ns },
                                          .value = to_ns - from_ns,
                                          .thread = depth,
                                          .node = frame };
    return to_ns > from_ns ? sorter_add(&trace->events, &record, err) : ERR_OK;
}

static enum err_code close_event(struct chrome_trace *trace, uint32_t number, uint64_t at_ns,
                                 struct err *err)
{
    struct trace_thread *const thread = &trace->threads[number];
    const struct open_event open = thread->open[--thread->depth];
    trace->open_count--;
    return add_event(trace, number, open.at_ns, at_ns, (uint32_t)thread->depth, open.frame,
                     err);
}

static enum err_code take_sample(struct chrome_trace *trace, struct err *err)
{
    const struct trace_event *const event = &trace->event;
    uint32_t number = 0;
    if (event->at_ns < 0 || event->weight < 0)
        return err_set(err, ERR_CORRUPT, "a sample has a time or a weight below 0");
    if (!*trace->counts)
        gather_keep(trace->counts, (struct gather_text){ event->name, strlen(event->name) });
    const enum err_code rc = find_row(trace, event->pid, event->tid, &number, err);
    return rc ? rc
              : chrome_samples_add(&trace->samples, number, (uint64_t)event->at_ns,
                                   (uint64_t)event->weight, event->frame, err);
}

static enum err_code take_event(struct chrome_trace *trace, struct err *err)
{
    const struct trace_event *const event = &trace->event;
    frame_id frame = 0;
    uint32_t number = 0;
    const bool is_process = strcmp(event->name, "process_name") == 0;
    if (event->phase == 'M') {
        if (!is_process && strcmp(event->name, "thread_name") != 0)
            return ERR_OK;
        const enum err_code rc =
            find_row(trace, event->pid, is_process ? NO_THREAD : event->tid, &number, err);
        return rc ? rc
                  : strtab_intern(profile_strings(trace->gather->profile), event->label,
                                  strlen(event->label), &trace->threads[number].name, err);
    }
    const bool is_start = strcmp(event->name, "Profile") == 0;
    if (event->phase == 'P' && (is_start || strcmp(event->name, "ProfileChunk") == 0))
        return chrome_profile_take(&trace->profiles, is_start, event->pid, event->tid,
                                   event->id, event->at_ns, err);
    if (event->phase == 'P' && event->frame)
        return take_sample(trace, err);
    if (event->phase != 'X' && event->phase != 'B' && event->phase != 'E')
        return ERR_OK;
    if (event->at_ns < 0 || event->duration_ns < 0 ||
        event->at_ns > INT64_MAX - event->duration_ns)
        return err_set(err, ERR_CORRUPT, "an event has a time below 0, or too large");
    enum err_code rc = find_row(trace, event->pid, event->tid, &number, err);
    if (rc)
        return rc;
    struct trace_thread *const thread = &trace->threads[number];
    const uint64_t at_ns = (uint64_t)event->at_ns;
    if (at_ns > thread->last_ns)
        thread->last_ns = at_ns;
    if (event->phase == 'E')
        return thread->depth > 0 ? close_event(trace, number, at_ns, err) : ERR_OK;
    rc = find_frame(trace, &frame, err);
    if (rc)
        return rc;
    /* Complete events that are equal: the inner one is written first, when it ends. */
    if (event->phase == 'X')
        return add_event(trace, number, at_ns, at_ns + (uint64_t)event->duration_ns,
                         UINT32_MAX - trace->complete_count++, frame, err);
    if (trace->open_count == MAX_OPEN || thread->depth == GATHER_MAX_DEPTH)
        return err_set(err, ERR_LIMIT, "too many events begin and do not end");
    if (!VEC_RESERVE(thread->open, thread->room, thread->depth + 1))
        return err_nomem(err);
    thread->open[thread->depth++] = (struct open_event){ at_ns, frame };
    trace->open_count++;
    return ERR_OK;
}

/* take: what is done with each event. */
static enum err_code read_list(struct chrome_trace *trace,
                               enum err_code (*take)(struct chrome_trace *, struct err *),
                               struct err *err)
{
    struct json_reader *const json = &trace->json;
    enum err_code rc = ERR_OK;
    while (!rc && json_reader_item(json)) {
        if (json->token != JSON_OBJECT) {
            json_reader_fail(json, "an event is no object");
            break;
        }
        rc = read_event(trace, err);
        if (!rc && !json->input.code)
            rc = take(trace, err);
    }
    return rc;
}

static enum err_code read_events(void *context, struct err *err)
{
    struct chrome_trace *const trace = context;
    struct json_reader *const json = &trace->json;
    enum err_code rc = ERR_OK;
    if (json_reader_next(json) == JSON_ARRAY)
        return read_list(trace, take_event, err);
    if (json->token != JSON_OBJECT)
        return ERR_OK;
    while (!rc && json_reader_key(json)) {
        const bool is_samples = json_reader_is(json, "samples");
        if (json_reader_is(json, "stackFrames"))
            rc = chrome_samples_read_frames(&trace->samples, json, err);
        else if (!is_samples && !json_reader_is(json, "traceEvents"))
            json_reader_skip(json);
        else if (json_reader_enter(json, JSON_ARRAY))
            rc = read_list(trace, is_samples ? take_sample : take_event, err);
    }
    return rc;
}

static struct gather_text name_of(const struct chrome_trace *trace, uint32_t number)
{
    const struct profile_snapshot rows = { .profile = trace->gather->profile };
    const struct strtab_string string = profile_string(&rows, trace->threads[number].name);
    return (struct gather_text){ string.text, string.length };
}

static enum err_code gather_row(void *context, uint32_t number, thread_id *out, struct err *err)
{
    struct chrome_trace *const trace = context;
    const struct trace_thread thread = trace->threads[number];
    uint32_t process = 0;
    const enum err_code rc = find_row(trace, thread.pid, NO_THREAD, &process, err);
    struct gather_text name = name_of(trace, number);
    char suffix[32];
    const int bytes = snprintf(suffix, sizeof suffix, " (%" PRId64 ")", thread.tid);
    /* Our own names end with the number of the thread. */
    if (name.bytes > (size_t)bytes &&
        memcmp(name.text + name.bytes - bytes, suffix, (size_t)bytes) == 0)
        name.bytes -= (size_t)bytes;
    return rc ? rc
              : gather_thread(trace->gather, thread.pid, name_of(trace, process), thread.tid,
                              (uint64_t)thread.tid, name, out, err);
}

/* Events that are open at an instant, outermost first. */
struct sweep {
    struct sweep_event {
        node_id node;
        uint64_t end_ns;
    } * open;
    size_t depth, room;
    thread_id thread;
    uint64_t at_ns;
};

/* Goes to an instant: the time up to it is that of the innermost event that is open. */
static enum err_code sweep_to(struct sweep *sweep, struct gather *gather, uint64_t at_ns,
                              struct err *err)
{
    enum err_code rc = ERR_OK;
    while (sweep->depth > 0 && sweep->at_ns < at_ns && !rc) {
        const struct sweep_event *const top = &sweep->open[sweep->depth - 1];
        const uint64_t to_ns = top->end_ns < at_ns ? top->end_ns : at_ns;
        rc = gather_sample(gather, sweep->thread, STATE_ALL_UNKNOWN, top->node,
                           to_ns - sweep->at_ns, sweep->at_ns, err);
        sweep->at_ns = to_ns;
        sweep->depth -= top->end_ns <= at_ns;
    }
    while (sweep->depth > 0 && sweep->open[sweep->depth - 1].end_ns <= at_ns)
        sweep->depth--;
    return rc;
}

static enum err_code sweep_events(struct chrome_trace *trace, struct err *err)
{
    struct sweep sweep = { .depth = 0 };
    struct sorter_record event;
    uint64_t thread = UINT64_MAX;
    enum err_code rc = ERR_OK;
    while (!rc && !(rc = sorter_next(&trace->events, &event, err))) {
        if (event.keys[0] != thread) {
            rc = sweep_to(&sweep, trace->gather, UINT64_MAX, err);
            thread = event.keys[0];
            if (!rc)
                rc = gather_row(trace, (uint32_t)thread, &sweep.thread, err);
        }
        if (!rc)
            rc = sweep_to(&sweep, trace->gather, event.keys[1], err);
        if (!rc && !VEC_RESERVE(sweep.open, sweep.room, sweep.depth + 1))
            rc = err_nomem(err);
        if (rc)
            break;
        struct sweep_event *const open = &sweep.open[sweep.depth];
        const uint64_t end_ns = event.keys[1] + event.value;
        open->end_ns = sweep.depth > 0 && open[-1].end_ns < end_ns ? open[-1].end_ns : end_ns;
        sweep.at_ns = event.keys[1];
        rc = gather_child(trace->gather, sweep.depth > 0 ? open[-1].node : 0, event.node,
                          &open->node, err);
        if (!rc && ++sweep.depth > GATHER_MAX_DEPTH)
            rc = err_set(err, ERR_LIMIT, "a stack has more than %d frames", GATHER_MAX_DEPTH);
        trace->gather->sample_count++;
    }
    if (rc == ERR_NOT_FOUND)
        rc = sweep_to(&sweep, trace->gather, UINT64_MAX, err);
    free(sweep.open);
    return rc;
}

/* Samples are the profile where nothing else is. */
static enum err_code gather_samples(struct chrome_trace *trace, struct err *err)
{
    struct gather *const gather = trace->gather;
    const bool has_weights = trace->samples.has_weights;
    if (trace->samples.samples.added == 0)
        return ERR_OK;
    if (gather->samples.added > 0) {
        snprintf(gather->lacks, sizeof gather->lacks,
                 "states, times of day, %" PRIu64 " samples beside events",
                 trace->samples.samples.added);
        return ERR_OK;
    }
    gather->is_time = gather->has_instants = !has_weights;
    if (has_weights)
        snprintf(gather->counts, sizeof gather->counts, "%s", trace->counts);
    return chrome_samples_gather(&trace->samples, gather_row, trace, err);
}

bool chrome_trace_begins(const unsigned char *data, size_t bytes)
{
    return bytes > 0 && (*data == '[' || *data == '{') &&
           (input_has(data, bytes, "\"traceEvents\"") || input_has(data, bytes, "\"ph\"") ||
            input_has(data, bytes, "\"stackFrames\""));
}

enum err_code chrome_trace_read(struct gather *gather, int fd, struct err *err)
{
    struct chrome_trace *const trace = calloc(1, sizeof *trace);
    if (!trace)
        return err_nomem(err);
    trace->gather = gather;
    gather->is_time = gather->has_instants = true;
    snprintf(gather->lacks, sizeof gather->lacks, "states, times of day");
    idmap_init(&trace->thread_index);
    chrome_profiles_init(&trace->profiles, gather);
    chrome_samples_init(&trace->samples, gather);
    enum err_code rc = json_reader_pass(&trace->json, fd, read_events, trace, err);
    for (uint32_t i = 0; i < trace->thread_count && !rc; i++)
        while (trace->threads[i].depth > 0 && !rc)
            rc = close_event(trace, i, trace->threads[i].last_ns, err);
    if (!rc)
        rc = sweep_events(trace, err);
    if (!rc)
        rc = gather_samples(trace, err);
    for (size_t i = 0; i < trace->thread_count; i++)
        free(trace->threads[i].open);
    free(trace->threads);
    sorter_deinit(&trace->events);
    chrome_profiles_deinit(&trace->profiles);
    chrome_samples_deinit(&trace->samples);
    idmap_deinit(&trace->thread_index);
    free(trace);
    return rc;
}
