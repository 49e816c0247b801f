#include "sampler/foreign/chrome_profile.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/vec.h"
#include "sampler/foreign/json_reader.h"

enum { US_SHIFT = 3, NAME_BYTES = 1 << 12, NO_ROW = -1 };

struct chrome_profile {
    int64_t pid;
    uint64_t id;
    thread_id thread;
    int64_t at_ns, from_ns; /* of the last sample, and of the latest so far */
    node_id last;
    bool has_last;
};

struct chrome_node {
    size_t profile;
    int64_t number;
    node_id node;
};

struct chrome_chunk_node {
    int64_t number, parent; /* NO_ROW: none */
    frame_id frame;
    bool is_root; /* of the whole tree, and no function */
};

void chrome_profiles_init(struct chrome_profiles *profiles, struct gather *gather)
{
    *profiles = (struct chrome_profiles){ .gather = gather };
    idmap_init(&profiles->index);
}

void chrome_profiles_deinit(struct chrome_profiles *profiles)
{
    free(profiles->profiles);
    free(profiles->nodes);
    free(profiles->chunk);
    free(profiles->samples);
    free(profiles->deltas_ns);
    idmap_deinit(&profiles->index);
    *profiles = (struct chrome_profiles){ .gather = NULL };
}

void chrome_profile_begin(struct chrome_profiles *profiles)
{
    profiles->chunk_count = profiles->sample_count = profiles->delta_count = 0;
    profiles->start_ns = profiles->end_ns = -1;
}

/* The line is counted from 0, and where there is none the file is unknown too. */
static enum err_code read_node(struct chrome_profiles *profiles, struct json_reader *json,
                               struct err *err)
{
    struct chrome_chunk_node node = { .number = NO_ROW, .parent = NO_ROW };
    char name[NAME_BYTES] = "", file[NAME_BYTES] = "";
    int64_t line = 0;
    while (json_reader_key(json)) {
        if (json_reader_is(json, "id"))
            node.number = json_reader_int(json);
        else if (json_reader_is(json, "parent"))
            node.parent = json_reader_int(json);
        else if (!json_reader_is(json, "callFrame"))
            json_reader_skip(json);
        else if (json_reader_enter(json, JSON_OBJECT))
            while (json_reader_key(json)) {
                if (json_reader_is(json, "functionName"))
                    gather_copy(name, sizeof name, json_reader_string(json));
                else if (json_reader_is(json, "url"))
                    gather_copy(file, sizeof file, json_reader_string(json));
                else if (json_reader_is(json, "lineNumber"))
                    line = json_reader_int(json) + 1;
                else
                    json_reader_skip(json);
            }
    }
    node.is_root = node.parent == NO_ROW && strcmp(name, "(root)") == 0;
    if (!*name)
        gather_copy(name, sizeof name, (struct gather_text){ "(anonymous)", 11 });
    if (!*file)
        gather_copy(file, sizeof file, (struct gather_text){ "~", 1 });
    if (!VEC_RESERVE(profiles->chunk, profiles->chunk_room, profiles->chunk_count + 1))
        return err_nomem(err);
    const enum err_code rc =
        gather_frame(profiles->gather, (struct gather_text){ name, strlen(name) },
                     (struct gather_text){ file, strlen(file) }, line, 0, &node.frame, err);
    if (!rc)
        profiles->chunk[profiles->chunk_count++] = node;
    return rc;
}

static enum err_code read_numbers(struct json_reader *json, int shift, int64_t **items,
                                  size_t *count, size_t *room, struct err *err)
{
    if (!json_reader_enter(json, JSON_ARRAY))
        return ERR_OK;
    while (json_reader_item(json)) {
        if (!VEC_RESERVE(*items, *room, *count + 1))
            return err_nomem(err);
        if (!json_reader_scaled(json, shift, &(*items)[*count]))
            json_reader_fail(json, "a sample is no number");
        else
            ++*count;
    }
    return ERR_OK;
}

static enum err_code read_tree(struct chrome_profiles *profiles, struct json_reader *json,
                               struct err *err)
{
    enum err_code rc = ERR_OK;
    if (!json_reader_enter(json, JSON_OBJECT))
        return ERR_OK;
    while (!rc && json_reader_key(json)) {
        if (json_reader_is(json, "samples")) {
            rc = read_numbers(json, 0, &profiles->samples, &profiles->sample_count,
                              &profiles->sample_room, err);
        } else if (!json_reader_is(json, "nodes")) {
            json_reader_skip(json);
        } else if (json_reader_enter(json, JSON_ARRAY)) {
            while (!rc && json_reader_item(json)) {
                if (json->token == JSON_OBJECT)
                    rc = read_node(profiles, json, err);
                else
                    json_reader_fail(json, "a node is no object");
            }
        }
    }
    return rc;
}

enum err_code chrome_profile_read(struct chrome_profiles *profiles, struct json_reader *json,
                                  struct err *err)
{
    enum err_code rc = ERR_OK;
    if (json_reader_next(json) != JSON_OBJECT) {
        json_reader_skip_rest(json);
        return ERR_OK;
    }
    while (!rc && json_reader_key(json)) {
        if (json_reader_is(json, "cpuProfile"))
            rc = read_tree(profiles, json, err);
        else if (json_reader_is(json, "timeDeltas"))
            rc = read_numbers(json, US_SHIFT, &profiles->deltas_ns, &profiles->delta_count,
                              &profiles->delta_room, err);
        else if (json_reader_is(json, "startTime"))
            profiles->start_ns = json_reader_number(json, US_SHIFT);
        else if (json_reader_is(json, "endTime"))
            profiles->end_ns = json_reader_number(json, US_SHIFT);
        else
            json_reader_skip(json);
    }
    return rc;
}

static const struct chrome_node *find_node(const struct chrome_profiles *profiles,
                                           size_t profile, int64_t number)
{
    const struct idmap_slot *at;
    IDMAP_FIND(at, &profiles->index, hash_mix((uint64_t)number, (uint32_t)profile),
               profiles->nodes[at->id].number == number &&
                   profiles->nodes[at->id].profile == profile);
    return at ? &profiles->nodes[at->id] : NULL;
}

static enum err_code add_node(struct chrome_profiles *profiles, size_t profile,
                              const struct chrome_chunk_node *row, struct err *err)
{
    const struct chrome_node *const parent = find_node(profiles, profile, row->parent);
    struct chrome_node node = { .profile = profile, .number = row->number };
    if (row->number < 0 || find_node(profiles, profile, row->number) ||
        (row->parent != NO_ROW && !parent))
        return err_set(err, ERR_CORRUPT, "the nodes of a profile are no tree");
    if (profiles->node_count == CHROME_PROFILE_MAX_NODES)
        return err_set(err, ERR_LIMIT, "its profiles have more than %d nodes",
                       CHROME_PROFILE_MAX_NODES);
    enum err_code rc = ERR_OK;
    if (!row->is_root)
        rc = gather_child(profiles->gather, parent ? parent->node : 0, row->frame, &node.node,
                          err);
    if (!rc && !VEC_RESERVE(profiles->nodes, profiles->node_room, profiles->node_count + 1))
        rc = err_nomem(err);
    if (!rc)
        rc = idmap_add(&profiles->index, hash_mix((uint64_t)row->number, (uint32_t)profile),
                       (uint32_t)profiles->node_count, err);
    if (!rc)
        profiles->nodes[profiles->node_count++] = node;
    return rc;
}

static enum err_code find_profile(struct chrome_profiles *profiles, int64_t pid, int64_t tid,
                                  uint64_t id, size_t *out, struct err *err)
{
    const struct gather_text none = { "", 0 };
    for (*out = 0; *out < profiles->count; ++*out)
        if (profiles->profiles[*out].pid == pid && profiles->profiles[*out].id == id)
            return ERR_OK;
    if (profiles->count == CHROME_PROFILE_MAX)
        return err_set(err, ERR_LIMIT, "it has more than %d profiles", CHROME_PROFILE_MAX);
    if (!VEC_RESERVE(profiles->profiles, profiles->room, profiles->count + 1))
        return err_nomem(err);
    struct chrome_profile *const profile = &profiles->profiles[profiles->count++];
    *profile = (struct chrome_profile){ .pid = pid, .id = id };
    return gather_thread(profiles->gather, pid, none, tid, id, none, &profile->thread, err);
}

/* Counts the last sample up to an instant. */
static enum err_code pass_to(struct chrome_profiles *profiles, struct chrome_profile *profile,
                             int64_t at_ns, struct err *err)
{
    const int64_t from_ns = profile->from_ns;
    if (!profile->has_last || at_ns <= from_ns || from_ns < 0)
        return ERR_OK;
    return gather_sample(profiles->gather, profile->thread, STATE_ALL_UNKNOWN, profile->last,
                         (uint64_t)(at_ns - from_ns), (uint64_t)from_ns, err);
}

enum err_code chrome_profile_take(struct chrome_profiles *profiles, bool is_start, int64_t pid,
                                  int64_t tid, uint64_t id, int64_t at_ns, struct err *err)
{
    size_t number;
    enum err_code rc = find_profile(profiles, pid, tid, id, &number, err);
    if (rc)
        return rc;
    struct chrome_profile *const profile = &profiles->profiles[number];
    if (is_start && !profile->has_last)
        profile->at_ns = profile->from_ns =
            profiles->start_ns >= 0 ? profiles->start_ns : at_ns;
    for (size_t i = 0; i < profiles->chunk_count && !rc; i++)
        rc = add_node(profiles, number, &profiles->chunk[i], err);
    if (!rc && profiles->sample_count != profiles->delta_count)
        rc = err_set(err, ERR_CORRUPT, "a profile has samples without their times");
    for (size_t i = 0; i < profiles->sample_count && !rc; i++) {
        const struct chrome_node *const node =
            find_node(profiles, number, profiles->samples[i]);
        if (!node ||
            __builtin_add_overflow(profile->at_ns, profiles->deltas_ns[i], &profile->at_ns))
            return err_set(err, ERR_CORRUPT,
                           "a sample of a node that is not there, or out of range");
        rc = pass_to(profiles, profile, profile->at_ns, err);
        if (profile->at_ns > profile->from_ns)
            profile->from_ns = profile->at_ns;
        profile->last = node->node;
        profile->has_last = true;
        profiles->gather->sample_count++;
    }
    if (!rc && profiles->end_ns >= 0)
        rc = pass_to(profiles, profile, profiles->end_ns, err);
    if (!rc && profiles->end_ns > profile->from_ns)
        profile->from_ns = profiles->end_ns;
    return rc;
}
