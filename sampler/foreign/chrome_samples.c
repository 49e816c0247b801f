#include "sampler/foreign/chrome_samples.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/vec.h"
#include "sampler/foreign/json_reader.h"
#include "sampler/foreign/location.h"
#include "sampler/profile/profile.h"

/* A frame of the table is known by its id; one of a list of names by its name and the frame that called it. */
#define OF_TABLE UINT32_MAX

struct chrome_frame {
    uint32_t caller; /* OF_TABLE */
    str_id key;      /* id or name */
    str_id name, file;
    int64_t first_line, line;
    uint32_t parent; /* 0: none */
    node_id node;    /* 0: not found yet */
    bool is_known;   /* it was read */
};

void chrome_samples_init(struct chrome_samples *samples, struct gather *gather)
{
    *samples = (struct chrome_samples){ .gather = gather };
    idmap_init(&samples->index);
}

void chrome_samples_deinit(struct chrome_samples *samples)
{
    free(samples->frames);
    free(samples->path);
    sorter_deinit(&samples->samples);
    idmap_deinit(&samples->index);
}

static struct strtab *strings_of(const struct chrome_samples *samples)
{
    return profile_strings(samples->gather->profile);
}

/* The frame of a key; a new one is empty. */
static enum err_code find_frame(struct chrome_samples *samples, uint32_t caller,
                                struct gather_text text, uint32_t *out, struct err *err)
{
    const size_t most = samples->gather->table_bytes;
    struct idmap_slot *at;
    str_id key;
    enum err_code rc = strtab_intern(strings_of(samples), text.text, text.bytes, &key, err);
    if (rc)
        return rc;
    const uint32_t hash = hash_mix(key, caller);
    IDMAP_FIND(at, &samples->index, hash,
               samples->frames[at->id].key == key && samples->frames[at->id].caller == caller);
    if (at) {
        *out = at->id;
        return ERR_OK;
    }
    const size_t count = samples->frame_count ? samples->frame_count : 1;
    if (count == OF_TABLE || (most && count * sizeof *samples->frames > most))
        return err_set(err, ERR_LIMIT,
                       "its stacks need more than %zu MiB: use a larger --memory", most >> 20);
    if (!VEC_RESERVE(samples->frames, samples->frame_room, count + 1))
        return err_nomem(err);
    samples->frames[0] = (struct chrome_frame){ .key = 0 };
    samples->frames[count] = (struct chrome_frame){ .caller = caller, .key = key };
    samples->frame_count = count + 1;
    *out = (uint32_t)count;
    return idmap_add(&samples->index, hash, *out, err);
}

enum err_code chrome_samples_read_stack(struct chrome_samples *samples,
                                        struct json_reader *json, uint32_t *out,
                                        struct err *err)
{
    const enum json_token token = json_reader_next(json);
    enum err_code rc = ERR_OK;
    uint32_t caller = 0;
    *out = 0;
    if (token == JSON_STRING || token == JSON_NUMBER)
        return find_frame(samples, OF_TABLE, json_reader_text(json), out, err);
    if (token != JSON_ARRAY) {
        json_reader_skip_rest(json);
        return ERR_OK;
    }
    while (!rc && json_reader_item(json)) {
        if (json->token != JSON_STRING) {
            json_reader_fail(json, "the name of a frame is no string");
            break;
        }
        rc = find_frame(samples, caller, json_reader_text(json), out, err);
        if (rc)
            break;
        struct chrome_frame *const frame = &samples->frames[*out];
        frame->name = frame->key;
        frame->parent = caller;
        frame->is_known = true;
        caller = *out;
    }
    return rc;
}

/* Reads a frame of the table, whose id was read. */
static enum err_code read_frame(struct chrome_samples *samples, struct json_reader *json,
                                uint32_t number, struct err *err)
{
    struct strtab *const strings = strings_of(samples);
    struct chrome_frame frame = samples->frames[number];
    enum err_code rc = ERR_OK;
    frame.parent = 0;
    frame.is_known = true;
    if (!json_reader_enter(json, JSON_OBJECT))
        return ERR_OK;
    while (!rc && json_reader_key(json)) {
        if (json_reader_is(json, "name") || json_reader_is(json, "file")) {
            str_id *const to = json_reader_is(json, "name") ? &frame.name : &frame.file;
            const struct gather_text text = json_reader_string(json);
            rc = strtab_intern(strings, text.text, text.bytes, to, err);
        } else if (json_reader_is(json, "line") || json_reader_is(json, "funcLine")) {
            int64_t *const to = json_reader_is(json, "line") ? &frame.line : &frame.first_line;
            *to = json_reader_int(json);
        } else if (json_reader_is(json, "parent")) {
            const enum json_token token = json_reader_next(json);
            if (token == JSON_STRING || token == JSON_NUMBER)
                rc = find_frame(samples, OF_TABLE, json_reader_text(json), &frame.parent, err);
            else
                json_reader_skip_rest(json);
        } else {
            json_reader_skip(json);
        }
    }
    samples->frames[number] = frame;
    return rc;
}

enum err_code chrome_samples_read_frames(struct chrome_samples *samples,
                                         struct json_reader *json, struct err *err)
{
    enum err_code rc = ERR_OK;
    if (json_reader_next(json) != JSON_OBJECT) {
        json_reader_skip_rest(json);
        return ERR_OK;
    }
    while (!rc && json_reader_key(json)) {
        uint32_t number = 0;
        rc = find_frame(samples, OF_TABLE, json_reader_text(json), &number, err);
        if (!rc)
            rc = read_frame(samples, json, number, err);
    }
    return rc;
}

enum err_code chrome_samples_add(struct chrome_samples *samples, uint32_t thread,
                                 uint64_t at_ns, uint64_t weight, uint32_t frame,
                                 struct err *err)
{
    const struct sorter_record record = { .keys = { thread, at_ns, samples->samples.added },
                                          .value = weight,
                                          .thread = thread,
                                          .node = frame };
    samples->has_weights |= weight != 1;
    return sorter_add(&samples->samples, &record, err);
}

static struct gather_text text_of(const struct chrome_samples *samples, str_id id)
{
    const struct profile_snapshot rows = { .profile = samples->gather->profile };
    const struct strtab_string string = profile_string(&rows, id);
    return (struct gather_text){ string.text, string.length };
}

/* Finds the node of a frame, and of all that called it. */
static enum err_code find_node(struct chrome_samples *samples, uint32_t number, node_id *out,
                               struct err *err)
{
    struct chrome_frame *const frames = samples->frames;
    size_t depth = 0;
    enum err_code rc = ERR_OK;
    for (; number && !frames[number].node; number = frames[number].parent) {
        if (depth == samples->frame_count)
            return err_set(err, ERR_CORRUPT, "its stack frames are no tree");
        if (depth == GATHER_MAX_DEPTH)
            return err_set(err, ERR_LIMIT, "a stack has more than %d frames", GATHER_MAX_DEPTH);
        if (!VEC_RESERVE(samples->path, samples->path_room, depth + 1))
            return err_nomem(err);
        samples->path[depth++] = number;
    }
    *out = number ? frames[number].node : 0;
    while (depth > 0 && !rc) {
        struct chrome_frame *const frame = &frames[samples->path[--depth]];
        struct gather_text name = text_of(samples, frame->name),
                           file = text_of(samples, frame->file);
        int64_t first_line = frame->first_line;
        frame_id id = 0;
        if (!frame->is_known)
            return err_set(err, ERR_CORRUPT, "a stack has a frame that is not in the table");
        if (file.bytes == 0)
            (void)location_split(name, &name, &file, &first_line);
        if (name.bytes == 0)
            name = (struct gather_text){ "?", 1 };
        if (file.bytes == 0 && *name.text == '<')
            file = (struct gather_text){ "~", 1 };
        rc = gather_frame(samples->gather, name, file, first_line, frame->line, &id, err);
        if (!rc)
            rc = gather_child(samples->gather, *out, id, out, err);
        frame->node = *out;
    }
    return rc;
}

enum err_code chrome_samples_gather(struct chrome_samples *samples, chrome_samples_thread *find,
                                    void *context, struct err *err)
{
    struct gather *const gather = samples->gather;
    struct sorter_record next, last = { .keys = { UINT64_MAX } };
    thread_id thread = 0;
    node_id node = 0;
    enum err_code rc;
    while (!(rc = sorter_next(&samples->samples, &next, err))) {
        const bool is_same = next.keys[0] == last.keys[0];
        if (is_same && !samples->has_weights)
            rc = gather_sample(gather, thread, STATE_ALL_UNKNOWN, node,
                               next.keys[1] - last.keys[1], last.keys[1], err);
        if (!rc && !is_same)
            rc = find(context, next.thread, &thread, err);
        if (!rc)
            rc = find_node(samples, next.node, &node, err);
        if (!rc && samples->has_weights)
            rc = gather_sample(gather, thread, STATE_ALL_UNKNOWN, node, next.value, 0, err);
        if (rc)
            return rc;
        gather->sample_count++;
        last = next;
    }
    return rc == ERR_NOT_FOUND ? ERR_OK : rc;
}
