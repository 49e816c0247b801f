/*
 * V8's processor profiles (.cpuprofile of node --cpu-prof and of Chrome's developer tools): a tree of nodes, the node of each sample, and
 * the microseconds between one sample and the next.
 *
 * A sample lasts until the next one, the last one until the end.  Times that go back, which V8 writes now and then, last no time.  Any member may
 * come first, so the lists are read once the nodes are known, samples beside their times.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/idmap.h"
#include "sampler/base/vec.h"
#include "sampler/foreign/formats.h"
#include "sampler/foreign/gather.h"
#include "sampler/foreign/json_reader.h"

enum { MAX_NODES = 1 << 24, US_SHIFT = 3, NAME_BYTES = 1 << 13, FILE_BYTES = 1 << 12 };

struct cpu_node {
    int64_t id;
    frame_id frame;
    uint32_t parent; /* plus 1; 0: none */
    node_id node;
    bool is_placed; /* node is known */
    bool is_root;   /* of the whole tree, and no function */
};

struct cpuprofile {
    struct gather *gather;
    struct json_reader first, second;
    struct cpu_node *nodes;
    size_t count, room;
    struct idmap index; /* by id */
    struct edge {
        int64_t parent, child;
    } * edges;
    size_t edge_count, edge_room;
    uint32_t *way; /* from a node up */
    size_t way_room;
    uint64_t samples_at, deltas_at; /* offsets of the lists; 0: there is none */
    int64_t start_ns, end_ns;
    char name[NAME_BYTES], file[FILE_BYTES];
};

/* The line is counted from 0, and below that there is none. */
static int64_t read_function(struct cpuprofile *profile)
{
    struct json_reader *const json = &profile->first;
    int64_t line = 0;
    *profile->name = *profile->file = '\0';
    if (!json_reader_enter(json, JSON_OBJECT))
        return 0;
    while (json_reader_key(json)) {
        if (json_reader_is(json, "functionName"))
            gather_copy(profile->name, sizeof profile->name, json_reader_string(json));
        else if (json_reader_is(json, "url"))
            gather_copy(profile->file, sizeof profile->file, json_reader_string(json));
        else if (json_reader_is(json, "lineNumber"))
            line = json_reader_int(json) + 1;
        else
            json_reader_skip(json);
    }
    return line > 0 ? line : 0;
}

static enum err_code add_edge(struct cpuprofile *profile, struct edge edge, struct err *err)
{
    if (profile->edge_count == MAX_NODES)
        return err_set(err, ERR_LIMIT, "it has more than %d nodes", MAX_NODES);
    if (!VEC_RESERVE(profile->edges, profile->edge_room, profile->edge_count + 1))
        return err_nomem(err);
    profile->edges[profile->edge_count++] = edge;
    return ERR_OK;
}

static struct cpu_node *find_node(const struct cpuprofile *profile, int64_t id)
{
    const struct idmap_slot *at;
    IDMAP_FIND(at, &profile->index, hash_mix((uint64_t)id, 0), profile->nodes[at->id].id == id);
    return at ? &profile->nodes[at->id] : NULL;
}

static enum err_code read_node(struct cpuprofile *profile, struct err *err)
{
    struct json_reader *const json = &profile->first;
    struct cpu_node node = { .id = -1 };
    const size_t first_edge = profile->edge_count;
    int64_t line = 0, parent = -1;
    enum err_code rc = ERR_OK;
    *profile->name = *profile->file = '\0';
    while (!rc && json_reader_key(json)) {
        if (json_reader_is(json, "id")) {
            node.id = json_reader_int(json);
        } else if (json_reader_is(json, "callFrame")) {
            line = read_function(profile);
        } else if (json_reader_is(json, "parent")) {
            parent = json_reader_int(json);
        } else if (!json_reader_is(json, "children")) {
            json_reader_skip(json);
        } else if (json_reader_enter(json, JSON_ARRAY)) {
            while (!rc && json_reader_item(json)) {
                int64_t child;
                if (!json_reader_scaled(json, 0, &child))
                    json_reader_fail(json, "a child is no number");
                else
                    rc = add_edge(profile, (struct edge){ 0, child }, err);
            }
        }
    }
    if (rc || json->input.code)
        return rc;
    if (node.id < 0 || find_node(profile, node.id)) {
        json_reader_fail(json, "a node without an id of its own");
        return ERR_OK;
    }
    for (size_t i = first_edge; i < profile->edge_count; i++)
        profile->edges[i].parent = node.id;
    if (parent >= 0)
        rc = add_edge(profile, (struct edge){ parent, node.id }, err);

    const struct gather_text name = { profile->name, strlen(profile->name) };
    const struct gather_text file = { profile->file, strlen(profile->file) };
    node.is_root = gather_text_is(name, "(root)") && file.bytes == 0;
    if (!rc)
        rc = gather_frame(
            profile->gather,
            name.bytes > 0 ? name
                           : (struct gather_text){ "(anonymous)", sizeof "(anonymous)" - 1 },
            file.bytes > 0 ? file : (struct gather_text){ "~", 1 }, line, 0, &node.frame, err);
    if (!rc && !VEC_RESERVE(profile->nodes, profile->room, profile->count + 1))
        rc = err_nomem(err);
    if (!rc)
        rc = idmap_add(&profile->index, hash_mix((uint64_t)node.id, 0),
                       (uint32_t)profile->count, err);
    if (!rc)
        profile->nodes[profile->count++] = node;
    return rc;
}

static enum err_code read_nodes(struct cpuprofile *profile, struct err *err)
{
    struct json_reader *const json = &profile->first;
    enum err_code rc = ERR_OK;
    if (!json_reader_enter(json, JSON_ARRAY))
        return ERR_OK;
    while (!rc && json_reader_item(json)) {
        if (json->token != JSON_OBJECT)
            json_reader_fail(json, "a node is no object");
        else if (profile->count == MAX_NODES)
            rc = err_set(err, ERR_LIMIT, "it has more than %d nodes", MAX_NODES);
        else
            rc = read_node(profile, err);
    }
    return rc;
}

static enum err_code read_tables(void *context, struct err *err)
{
    struct cpuprofile *const profile = context;
    struct json_reader *const json = &profile->first;
    enum err_code rc = ERR_OK;
    if (!json_reader_enter(json, JSON_OBJECT))
        return ERR_OK;
    while (!rc && json_reader_key(json)) {
        uint64_t *const at = json_reader_is(json, "samples")      ? &profile->samples_at
                             : json_reader_is(json, "timeDeltas") ? &profile->deltas_at
                                                                  : NULL;
        if (at) {
            *at = json_reader_offset(json);
            json_reader_skip(json);
        } else if (json_reader_is(json, "nodes")) {
            rc = read_nodes(profile, err);
        } else if (json_reader_is(json, "startTime")) {
            profile->start_ns = json_reader_number(json, US_SHIFT);
        } else if (json_reader_is(json, "endTime")) {
            profile->end_ns = json_reader_number(json, US_SHIFT);
        } else {
            json_reader_skip(json);
        }
    }
    return rc;
}

static enum err_code link_nodes(struct cpuprofile *profile, struct err *err)
{
    for (size_t i = 0; i < profile->edge_count; i++) {
        const struct cpu_node *const parent = find_node(profile, profile->edges[i].parent);
        struct cpu_node *const child = find_node(profile, profile->edges[i].child);
        const uint32_t number = parent ? (uint32_t)(parent - profile->nodes) + 1 : 0;
        if (!parent || !child || (child->parent && child->parent != number))
            return err_set(err, ERR_CORRUPT, "its nodes are no tree");
        child->parent = number;
    }
    return ERR_OK;
}

/* Goes up to a node that is known, or to the outermost one, and down again. */
static enum err_code place_node(struct cpuprofile *profile, struct cpu_node *node,
                                struct err *err)
{
    size_t depth = 0;
    node_id above = 0;
    enum err_code rc = ERR_OK;
    for (struct cpu_node *at = node; at && !at->is_placed;
         at = at->parent ? &profile->nodes[at->parent - 1] : NULL) {
        if (depth == GATHER_MAX_DEPTH || depth > profile->count)
            return err_set(err, ERR_CORRUPT, "its nodes are no tree, or too deep");
        if (!VEC_RESERVE(profile->way, profile->way_room, depth + 1))
            return err_nomem(err);
        profile->way[depth++] = (uint32_t)(at - profile->nodes);
    }
    if (depth > 0 && profile->nodes[profile->way[depth - 1]].parent)
        above = profile->nodes[profile->nodes[profile->way[depth - 1]].parent - 1].node;
    while (depth > 0 && !rc) {
        struct cpu_node *const at = &profile->nodes[profile->way[--depth]];
        at->node = above;
        if (!at->is_root)
            rc = gather_child(profile->gather, above, at->frame, &at->node, err);
        at->is_placed = !rc;
        above = at->node;
    }
    return rc;
}

/* Counts a sample up to the instant at which the next one was taken. */
static enum err_code count_sample(struct cpuprofile *profile, thread_id thread,
                                  struct cpu_node *node, int64_t from_ns, int64_t to_ns,
                                  struct err *err)
{
    const enum err_code rc = place_node(profile, node, err);
    profile->gather->sample_count++;
    return rc || to_ns <= from_ns
               ? rc
               : gather_sample(profile->gather, thread, STATE_ALL_UNKNOWN, node->node,
                               (uint64_t)(to_ns - from_ns), (uint64_t)from_ns, err);
}

static enum err_code read_samples(struct cpuprofile *profile, struct err *err)
{
    struct json_reader *const samples = &profile->first, *const deltas = &profile->second;
    struct cpu_node *node = NULL, *next;
    int64_t from_ns = 0,
            at_ns =
                0; /* since the profile began; the sample counts from the first of them on */
    thread_id thread;
    enum err_code rc = gather_thread(profile->gather, 0, (struct gather_text){ "", 0 }, 0, 0,
                                     (struct gather_text){ "", 0 }, &thread, err);
    if (!profile->samples_at || !profile->deltas_at)
        return rc ? rc : err_set(err, ERR_CORRUPT, "it has no samples, or no times of them");
    json_reader_go_to(samples, profile->samples_at);
    json_reader_go_to(deltas, profile->deltas_at);
    if (!json_reader_enter(samples, JSON_ARRAY) || !json_reader_enter(deltas, JSON_ARRAY))
        return rc;
    for (; !rc && json_reader_item(samples); node = next) {
        int64_t id = -1, delta_ns;
        next = json_reader_scaled(samples, 0, &id) ? find_node(profile, id) : NULL;
        if (!next) {
            json_reader_fail(samples, "a sample of a node that is not in the table");
            break;
        }
        if (!json_reader_item(deltas) || !json_reader_scaled(deltas, US_SHIFT, &delta_ns) ||
            __builtin_add_overflow(at_ns, delta_ns, &at_ns)) {
            json_reader_fail(deltas, "the time of a sample is missing, or out of range,");
            break;
        }
        if (node)
            rc = count_sample(profile, thread, node, from_ns, at_ns, err);
        if (at_ns > from_ns)
            from_ns = at_ns;
    }
    int64_t end_ns;
    if (node && !rc && !__builtin_sub_overflow(profile->end_ns, profile->start_ns, &end_ns))
        rc = count_sample(profile, thread, node, from_ns, end_ns, err);
    return rc;
}

bool cpuprofile_begins(const unsigned char *data, size_t bytes)
{
    return bytes > 0 && *data == '{' && input_has(data, bytes, "\"nodes\"") &&
           input_has(data, bytes, "\"callFrame\"") &&
           !input_has(data, bytes, "\"traceEvents\"");
}

enum err_code cpuprofile_read(struct gather *gather, int fd, struct err *err)
{
    struct cpuprofile *const profile = calloc(1, sizeof *profile);
    if (!profile)
        return err_nomem(err);
    profile->gather = gather;
    gather->is_time = gather->has_instants = true;
    snprintf(gather->lacks, sizeof gather->lacks, "lines, states, threads, times of day");
    idmap_init(&profile->index);
    enum err_code rc = json_reader_pass(&profile->first, fd, read_tables, profile, err);
    if (!rc)
        rc = link_nodes(profile, err);
    if (!rc)
        rc = json_reader_open(&profile->first, fd, err);
    if (!rc)
        rc = json_reader_open(&profile->second, fd, err);
    if (!rc)
        rc = read_samples(profile, err);
    if (!rc)
        rc = json_reader_check(&profile->first, err);
    if (!rc)
        rc = json_reader_check(&profile->second, err);
    json_reader_close(&profile->first);
    json_reader_close(&profile->second);
    idmap_deinit(&profile->index);
    free(profile->nodes);
    free(profile->edges);
    free(profile->way);
    free(profile);
    return rc;
}
