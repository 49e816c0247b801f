#include "server/report/diff/joined.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/profile/views/view.h"
#include "server/report/header.h"
#include "server/report/report_source.h"

static enum err_code intern_text(struct profile *profile, struct strtab_string text,
                                 str_id *out, struct err *err)
{
    return strtab_intern(profile_strings(profile), text.text, text.length, out, err);
}

/* A node and, before it, those above it. */
static enum err_code copy_path(struct profile *profile, const struct profile_snapshot *from,
                               node_id id, node_id *way, node_id *map, struct err *err)
{
    size_t length = 0;
    enum err_code rc = ERR_OK;
    for (; id != 0 && map[id] == 0; id = profile_node_at(from, id).parent)
        way[length++] = id;
    while (length > 0 && !rc) {
        const node_id next = way[--length];
        /* The node of the same path, without lines. */
        const struct profile_node node = profile_node_at(from, next);
        const struct profile_function function =
            profile_function_at(from, profile_frame_at(from, node.frame).function);
        str_id name = 0, file = 0;
        function_id copied = 0;
        frame_id frame = 0;
        rc = intern_text(profile, profile_string(from, function.name), &name, err);
        if (!rc)
            rc = intern_text(profile, profile_string(from, function.file), &file, err);
        if (!rc)
            rc = profile_function(profile, name, file, 0, &copied, err);
        if (!rc)
            rc = profile_frame(profile, copied, 0, &frame, err);
        if (!rc)
            rc = profile_node(profile, map[node.parent], frame, &map[next], err);
    }
    return rc;
}

struct copying {
    const struct report_source *from;
    enum joined_side side;
    node_id *map, *way; /* by node of the capture */
};

static enum err_code copy_block(struct joined *joined, const struct copying *copying,
                                const struct view_query *query, const struct block *block,
                                struct err *err)
{
    struct view view;
    enum err_code rc = view_init(&view, copying->from->snapshot, query, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < view.count && !rc; i++)
        rc = copy_path(joined->profile, copying->from->snapshot, view.node[i], copying->way,
                       copying->map, err);
    if (!rc) {
        /* A cell holds 32 bits; more than that is shown as that. */
        const node_id *const map = copying->map;
        for (size_t i = 0; i < view.count && !rc; i++) {
            const uint32_t count =
                view.self[i] < UINT32_MAX ? (uint32_t)view.self[i] : UINT32_MAX;
            rc = profile_add(joined->profile, joined->thread, 0, map[view.node[i]], count, err);
        }
    }
    /* By time a sample counts for the time it stands for, measured in ticks of its own profile:
     * profiles may have different rates. */

    const double all = joined->basis == COMPARISON_BY_SAMPLES
                           ? (double)view.total
                           : (double)(block->to_ns - block->from_ns) /
                                 (double)copying->from->header->period_ns;
    joined->samples[copying->side] += view.total;
    joined->all[copying->side] += all;
    view_deinit(&view);
    if (!rc)
        rc = profile_seal(joined->profile, ++joined->block_count, err);
    if (!rc)
        joined->blocks[joined->block_count - 1] =
            (struct joined_block){ copying->side, copying->from, all };
    return rc;
}

/* Samples of a process that joined within a window belong to the first block. */
static enum err_code copy_blocks(struct joined *joined, const struct copying *copying,
                                 struct err *err)
{
    const struct report_source *const from = copying->from;
    struct blocks blocks;
    enum err_code rc = ERR_OK;
    blocks_cut(&blocks, from->snapshot, from->header->from_ns, from->header->to_ns);
    for (size_t i = 0; i < blocks.count && !rc; i++) {
        struct view_query query = *from->query;
        if (i > 0)
            query.from_ns = blocks.items[i].from_ns;
        if (i + 1 < blocks.count)
            query.to_ns = blocks.items[i].to_ns;
        rc = copy_block(joined, copying, &query, &blocks.items[i], err);
    }
    return rc;
}

static enum err_code copy_capture(struct joined *joined, const struct report_source *from,
                                  enum joined_side side, struct err *err)
{
    const size_t nodes = (size_t)from->snapshot->sizes.nodes + 1;
    const struct copying copying = { from, side, calloc(nodes, sizeof *copying.map),
                                     calloc(nodes, sizeof *copying.way) };
    const enum err_code rc =
        copying.map && copying.way ? copy_blocks(joined, &copying, err) : err_nomem(err);
    free(copying.map);
    free(copying.way);
    return rc;
}

static enum err_code join_sides(struct joined *joined, struct err *err)
{
    enum err_code rc = profile_create(&joined->profile, err);
    if (!rc) {
        struct profile *const profile = joined->profile;
        struct profile_thread thread = { .tid = 1 };
        rc = profile_process(profile, 0, 0, &thread.process, err);
        if (!rc)
            rc = profile_thread(profile, &thread, &joined->thread, err);
        for (enum joined_side side = JOINED_BASELINE; side < JOINED_SIDES; side++)
            for (size_t i = 0; i < joined->captures[side]->count && !rc; i++)
                rc = copy_capture(joined, joined->captures[side]->captures[i], side, err);
    }
    if (!rc)
        rc = profile_seal(joined->profile, joined->block_count + 1, err);
    return rc ? rc : profile_snapshot(joined->profile, &joined->snapshot, err);
}

enum err_code joined_init(struct joined *joined, const struct comparison_side *baseline,
                          const struct comparison_side *now, enum comparison_basis basis,
                          struct err *err)
{
    memset(joined, 0, sizeof *joined);
    joined->basis = basis;
    joined->captures[JOINED_BASELINE] = baseline;
    joined->captures[JOINED_NOW] = now;
    const enum err_code rc = join_sides(joined, err);
    if (rc)
        joined_deinit(joined);
    return rc;
}

void joined_deinit(struct joined *joined)
{
    if (joined->snapshot.profile)
        profile_snapshot_release(&joined->snapshot);
    if (joined->profile)
        profile_destroy(joined->profile);
    memset(joined, 0, sizeof *joined);
}
