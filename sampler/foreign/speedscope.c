/*
 * speedscope's own files: frames that all profiles share, and a profile for each thread, with samples and their weights, or with events
 * that open and close frames.
 *
 * Any member may come first, so the file is read twice: for the frames and the places of the lists, then for the lists, samples beside
 * their weights.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/foreign/formats.h"
#include "sampler/foreign/gather.h"
#include "sampler/foreign/json_reader.h"
#include "sampler/foreign/sample_stack.h"
#include "sampler/foreign/thread_name.h"
#include "sampler/profile/profile.h"

enum { MAX_PROFILES = 1 << 16, NOT_TIME = -1, NAME_BYTES = 160 };

struct scope_profile {
    uint64_t samples_at, weights_at, events_at; /* offsets of the lists; 0: there is none */
    int shift; /* from its unit to nanoseconds, as a power of ten; NOT_TIME */
    char unit[16], name[NAME_BYTES], start[32];
};

struct scope {
    struct gather *gather;
    struct json_reader first, second;
    struct scope_frame {
        str_id name, file;
        int64_t line;
        frame_id id; /* once all tables were read */
    } * frames;
    size_t frame_count, frame_room;
    struct scope_profile *profiles;
    size_t profile_count, profile_room;
    struct sample_stack stack;
};

static const struct {
    const char *name;
    int shift;
} units[] = {
    { "nanoseconds", 0 }, { "microseconds", 3 }, { "milliseconds", 6 }, { "seconds", 9 }
};

static enum err_code read_frame(struct scope *scope, struct err *err)
{
    struct json_reader *const json = &scope->first;
    char name_room[1 << 13] = "", file_room[1 << 12] = "";
    int64_t line = 0;
    while (json_reader_key(json)) {
        if (json_reader_is(json, "name"))
            gather_copy(name_room, sizeof name_room, json_reader_string(json));
        else if (json_reader_is(json, "file"))
            gather_copy(file_room, sizeof file_room, json_reader_string(json));
        else if (json_reader_is(json, "line"))
            line = json_reader_int(json);
        else
            json_reader_skip(json);
    }
    if (!*file_room && *name_room == '<')
        gather_copy(file_room, sizeof file_room, (struct gather_text){ "~", 1 });
    if (!VEC_RESERVE(scope->frames, scope->frame_room, scope->frame_count + 1))
        return err_nomem(err);
    struct strtab *const strings = profile_strings(scope->gather->profile);
    struct scope_frame *const frame = &scope->frames[scope->frame_count];
    frame->line = line;
    enum err_code rc = strtab_intern(strings, name_room, strlen(name_room), &frame->name, err);
    if (!rc)
        rc = strtab_intern(strings, file_room, strlen(file_room), &frame->file, err);
    scope->frame_count += !rc;
    return rc;
}

static struct gather_text string_at(const struct scope *scope, str_id id)
{
    const struct profile_snapshot rows = { .profile = scope->gather->profile };
    const struct strtab_string string = profile_string(&rows, id);
    return (struct gather_text){ string.text, string.length };
}

/* Finds the frames once the exporter is known, which may come last: our own files have the first line of a function. */
static enum err_code find_frames(struct scope *scope, struct err *err)
{
    const bool is_ours = strncmp(scope->gather->tool, "pyrometer@", 10) == 0;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < scope->frame_count && !rc; i++) {
        struct scope_frame *const frame = &scope->frames[i];
        rc = gather_frame(scope->gather, string_at(scope, frame->name),
                          string_at(scope, frame->file), is_ours ? frame->line : 0,
                          is_ours ? 0 : frame->line, &frame->id, err);
    }
    return rc;
}

static enum err_code read_frames(struct scope *scope, struct err *err)
{
    struct json_reader *const json = &scope->first;
    enum err_code rc = ERR_OK;
    if (!json_reader_enter(json, JSON_OBJECT))
        return ERR_OK;
    while (!rc && json_reader_key(json)) {
        if (!json_reader_is(json, "frames")) {
            json_reader_skip(json);
            continue;
        }
        if (json_reader_enter(json, JSON_ARRAY))
            while (!rc && json_reader_item(json)) {
                if (json->token != JSON_OBJECT)
                    json_reader_fail(json, "a frame is no object");
                else
                    rc = read_frame(scope, err);
            }
    }
    return rc;
}

static void read_profile(struct scope *scope, struct scope_profile *profile)
{
    struct json_reader *const json = &scope->first;
    *profile = (struct scope_profile){ .shift = NOT_TIME };
    while (json_reader_key(json)) {
        uint64_t *const at = json_reader_is(json, "samples")   ? &profile->samples_at
                             : json_reader_is(json, "weights") ? &profile->weights_at
                             : json_reader_is(json, "events")  ? &profile->events_at
                                                               : NULL;
        if (at) {
            *at = json_reader_offset(json);
            json_reader_skip(json);
        } else if (json_reader_is(json, "unit")) {
            gather_copy(profile->unit, sizeof profile->unit, json_reader_string(json));
        } else if (json_reader_is(json, "name")) {
            gather_copy(profile->name, sizeof profile->name, json_reader_string(json));
        } else if (json_reader_is(json, "startValue")) {
            if (json_reader_next(json) == JSON_NUMBER)
                gather_copy(profile->start, sizeof profile->start, json_reader_text(json));
            else
                json_reader_skip_rest(json);
        } else {
            json_reader_skip(json);
        }
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(profile->unit, units[i].name) == 0)
            profile->shift = units[i].shift;
}

static enum err_code read_profiles(struct scope *scope, struct err *err)
{
    struct json_reader *const json = &scope->first;
    if (!json_reader_enter(json, JSON_ARRAY))
        return ERR_OK;
    while (json_reader_item(json)) {
        if (scope->profile_count == MAX_PROFILES)
            return err_set(err, ERR_LIMIT, "it has more than %d profiles", MAX_PROFILES);
        if (!VEC_RESERVE(scope->profiles, scope->profile_room, scope->profile_count + 1))
            return err_nomem(err);
        if (json->token != JSON_OBJECT)
            json_reader_fail(json, "a profile is no object");
        else
            read_profile(scope, &scope->profiles[scope->profile_count++]);
    }
    return ERR_OK;
}

static enum err_code read_tables(void *context, struct err *err)
{
    struct scope *const scope = context;
    struct json_reader *const json = &scope->first;
    struct gather *const gather = scope->gather;
    enum err_code rc = ERR_OK;
    if (!json_reader_enter(json, JSON_OBJECT))
        return ERR_OK;
    while (!rc && json_reader_key(json)) {
        if (json_reader_is(json, "shared")) {
            rc = read_frames(scope, err);
        } else if (json_reader_is(json, "profiles")) {
            rc = read_profiles(scope, err);
        } else if (json_reader_is(json, "name")) {
            gather_keep(gather->command, json_reader_string(json));
        } else if (json_reader_is(json, "exporter")) {
            gather_keep(gather->tool, json_reader_string(json));
        } else {
            json_reader_skip(json);
        }
    }
    return rc;
}

/* The stack of a sample, from its outermost frame on; its list was begun. */
static enum err_code read_stack(struct scope *scope, struct err *err)
{
    struct json_reader *const json = &scope->first;
    size_t depth = 0;
    enum err_code rc = ERR_OK;
    while (!rc && json_reader_item(json)) {
        int64_t frame = -1;
        if (!json_reader_scaled(json, 0, &frame) || frame < 0 ||
            (uint64_t)frame >= scope->frame_count)
            json_reader_fail(json, "a frame that is not in the table");
        else
            rc = sample_stack_put(&scope->stack, scope->gather, depth++,
                                  scope->frames[(size_t)frame].id, err);
    }
    sample_stack_cut(&scope->stack, depth);
    return rc;
}

static enum err_code read_samples(struct scope *scope, const struct scope_profile *profile,
                                  thread_id thread, int64_t at_ns, struct err *err)
{
    struct json_reader *const samples = &scope->first, *const weights = &scope->second;
    const int shift = profile->shift == NOT_TIME ? 0 : profile->shift;
    enum err_code rc = ERR_OK;
    json_reader_go_to(samples, profile->samples_at);
    if (profile->weights_at)
        json_reader_go_to(weights, profile->weights_at);
    if (!json_reader_enter(samples, JSON_ARRAY) ||
        (profile->weights_at && !json_reader_enter(weights, JSON_ARRAY)))
        return ERR_OK;
    while (!rc && json_reader_item(samples)) {
        int64_t weight = 1;
        if (samples->token != JSON_ARRAY) {
            json_reader_fail(samples, "a sample is no list");
            break;
        }
        rc = read_stack(scope, err);
        if (rc || samples->input.code)
            break;
        if (profile->weights_at &&
            (!json_reader_item(weights) || !json_reader_scaled(weights, shift, &weight) ||
             weight < 0)) {
            json_reader_fail(weights, "a weight is missing, or below 0,");
            break;
        }
        rc = gather_sample(scope->gather, thread, STATE_ALL_UNKNOWN,
                           sample_stack_node(&scope->stack), (uint64_t)weight,
                           scope->gather->has_instants ? (uint64_t)at_ns : 0, err);
        scope->gather->sample_count++;
        if (!rc && __builtin_add_overflow(at_ns, weight, &at_ns))
            rc = err_set(err, ERR_LIMIT, "its times are too large");
    }
    return rc;
}

/* "O" opens a frame at an instant, "C" closes it; between two events the time is that of the innermost open frame. */
static enum err_code read_events(struct scope *scope, const struct scope_profile *profile,
                                 thread_id thread, int64_t start_ns, struct err *err)
{
    struct json_reader *const json = &scope->first;
    const int shift = profile->shift == NOT_TIME ? 0 : profile->shift;
    int64_t last_ns = start_ns;
    size_t depth = 0;
    enum err_code rc = ERR_OK;
    json_reader_go_to(json, profile->events_at);
    if (!json_reader_enter(json, JSON_ARRAY))
        return ERR_OK;
    while (!rc && json_reader_item(json)) {
        int64_t at_ns = INT64_MIN, frame = -1;
        char type = 0;
        if (json->token != JSON_OBJECT) {
            json_reader_fail(json, "an event is no object");
            break;
        }
        while (json_reader_key(json)) {
            if (json_reader_is(json, "type")) {
                const struct gather_text text = json_reader_string(json);
                type = text.bytes == 1 ? *text.text : 0;
            } else if (json_reader_is(json, "frame")) {
                frame = json_reader_int(json);
            } else if (json_reader_is(json, "at")) {
                if (json_reader_next(json) != JSON_NUMBER ||
                    !json_reader_scaled(json, shift, &at_ns))
                    json_reader_fail(json, "the time of an event is no number");
            } else {
                json_reader_skip(json);
            }
        }
        if (json->input.code)
            break;
        if (at_ns < last_ns || frame < 0 || (uint64_t)frame >= scope->frame_count) {
            json_reader_fail(json, "an event before the one before it, or without a frame,");
            break;
        }
        if (depth > 0 && at_ns > last_ns) {
            rc = gather_sample(scope->gather, thread, STATE_ALL_UNKNOWN,
                               sample_stack_node(&scope->stack), (uint64_t)(at_ns - last_ns),
                               scope->gather->has_instants ? (uint64_t)last_ns : 0, err);
            scope->gather->sample_count++;
        }
        last_ns = at_ns;
        if (rc)
            break;
        const frame_id id = scope->frames[(size_t)frame].id;
        if (type == 'O') {
            rc = sample_stack_put(&scope->stack, scope->gather, depth++, id, err);
        } else if (type == 'C' && depth > 0 &&
                   sample_stack_frame(&scope->stack, depth - 1) == id) {
            sample_stack_cut(&scope->stack, --depth);
        } else {
            json_reader_fail(json,
                             "an event that closes a frame that is not the innermost one");
        }
    }
    sample_stack_cut(&scope->stack, 0);
    return rc;
}

/* Time goes before what is not, as both cannot be shown at once. */
static enum err_code read_lists(struct scope *scope, struct err *err)
{
    struct gather *const gather = scope->gather;
    const struct scope_profile *first = NULL;
    enum err_code rc = ERR_OK;
    size_t left_out = 0;
    for (size_t i = 0; i < scope->profile_count; i++)
        if (!first || (first->shift == NOT_TIME && scope->profiles[i].shift != NOT_TIME))
            first = &scope->profiles[i];
    if (!first)
        return ERR_OK;
    gather->is_time = gather->has_instants = first->shift != NOT_TIME;
    if (!gather->is_time && *first->unit && strcmp(first->unit, "none") != 0)
        gather_copy(gather->counts, sizeof gather->counts,
                    (struct gather_text){ first->unit, strlen(first->unit) });
    for (size_t i = 0; i < scope->profile_count && !rc; i++) {
        const struct scope_profile *const profile = &scope->profiles[i];
        int64_t start_ns = 0;
        thread_id thread;
        if ((profile->shift == NOT_TIME) != (first->shift == NOT_TIME) ||
            (profile->shift == NOT_TIME && strcmp(profile->unit, first->unit) != 0)) {
            left_out++;
            continue;
        }
        if (gather->is_time && *profile->start) {
            const struct json_reader start = { .token = JSON_NUMBER,
                                               .text = (char *)(uintptr_t)profile->start };
            if (!json_reader_scaled(&start, profile->shift, &start_ns) || start_ns < 0)
                return err_set(err, ERR_CORRUPT, "the start of profile %zu is out of range",
                               i + 1);
        }
        rc = thread_name_gather(gather,
                                (struct gather_text){ profile->name, strlen(profile->name) },
                                gather->pid, &thread, err);
        if (!rc && profile->samples_at)
            rc = read_samples(scope, profile, thread, start_ns, err);
        else if (!rc && profile->events_at)
            rc = read_events(scope, profile, thread, start_ns, err);
    }
    snprintf(gather->lacks, sizeof gather->lacks, "states, times of day");
    if (left_out)
        snprintf(gather->lacks, sizeof gather->lacks,
                 "states, times of day, %zu profiles in other units", left_out);
    return rc;
}

bool speedscope_begins(const unsigned char *data, size_t bytes)
{
    static const char schema[] = "https://www.speedscope.app/file-format-schema.json";
    return bytes > 0 && input_has(data, bytes, schema);
}

enum err_code speedscope_read(struct gather *gather, int fd, struct err *err)
{
    struct scope scope = { .gather = gather };
    enum err_code rc = json_reader_pass(&scope.first, fd, read_tables, &scope, err);
    if (!rc)
        rc = find_frames(&scope, err);
    if (!rc)
        rc = json_reader_open(&scope.first, fd, err);
    if (!rc)
        rc = json_reader_open(&scope.second, fd, err);
    if (!rc)
        rc = read_lists(&scope, err);
    if (!rc)
        rc = json_reader_check(&scope.first, err);
    if (!rc)
        rc = json_reader_check(&scope.second, err);
    json_reader_close(&scope.first);
    json_reader_close(&scope.second);
    sample_stack_deinit(&scope.stack);
    free(scope.frames);
    free(scope.profiles);
    return rc;
}
