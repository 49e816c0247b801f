#include "server/report/flat.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/views/view.h"
#include "server/report/preorder.h"

/* A walk from the root down that knows which rows and edges are above the node it is at. */
struct descent {
    const struct profile_snapshot *snapshot;
    const struct flat_map *map;
    struct preorder order;
    uint64_t *node_self, *node_total; /* by node */
    uint32_t *edge_of;                /* by node */
    uint32_t *row_above, *edge_above; /* by row, by edge: how often on the way here */
    node_id *way;                     /* by depth */
};

static uint32_t row_of(const struct descent *descent, node_id node)
{
    return descent->map->row[profile_node_at(descent->snapshot, node).frame];
}

static bool has_edge(const struct descent *descent, node_id node)
{
    return descent->map->has_edges && node != 0 &&
           profile_node_at(descent->snapshot, node).parent != 0;
}

static uint64_t edge_key(const struct descent *descent, node_id node)
{
    const node_id parent = profile_node_at(descent->snapshot, node).parent;
    return (uint64_t)row_of(descent, node) << 32 | row_of(descent, parent);
}

struct keyed {
    uint64_t key; /* callee, caller */
    node_id node;
};

static int by_key(const void *left, const void *right)
{
    const struct keyed *const a = left, *const b = right;
    return (a->key > b->key) - (a->key < b->key);
}

static enum err_code find_edges(struct flat *flat, struct descent *descent, struct err *err)
{
    const uint32_t nodes = descent->order.count;
    size_t count = 0;
    struct keyed *const keys = malloc(((size_t)nodes + 1) * sizeof *keys);
    flat->edges = malloc(((size_t)nodes + 1) * sizeof *flat->edges);
    if (!keys || !flat->edges) {
        free(keys);
        return err_nomem(err);
    }
    for (node_id node = 1; node < nodes; node++)
        if (has_edge(descent, node) && descent->node_total[node] > 0)
            keys[count++] = (struct keyed){ edge_key(descent, node), node };

    /* Edges are sorted and numbered; every node gets the number of the one that leads to it. */
    struct flat_edge *const edges = flat->edges;
    size_t edge_count = 0;
    qsort(keys, count, sizeof *keys, by_key);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || keys[i].key != keys[i - 1].key)
            edges[edge_count++] = (struct flat_edge){ .callee = (uint32_t)(keys[i].key >> 32),
                                                      .caller = (uint32_t)keys[i].key };
        descent->edge_of[keys[i].node] = (uint32_t)(edge_count - 1);
    }
    flat->edge_count = edge_count;

    free(keys);
    return ERR_OK;
}

static enum err_code fill_rows(struct flat *flat, struct descent *descent,
                               const struct view *view, struct err *err)
{
    enum err_code rc = ERR_OK;
    if (descent->map->order)
        descent->order = *descent->map->order;
    else
        rc = preorder_init(&descent->order, descent->snapshot, err);

    if (rc)
        return rc;

    const size_t nodes = (size_t)descent->order.count + 1, rows = (size_t)flat->row_count + 1;
    flat->self = calloc(rows, sizeof *flat->self);
    flat->total = calloc(rows, sizeof *flat->total);
    descent->row_above = calloc(rows, sizeof *descent->row_above);
    descent->edge_above = calloc(nodes, sizeof *descent->edge_above);
    descent->edge_of = calloc(nodes, sizeof *descent->edge_of);
    descent->node_self = calloc(nodes, sizeof *descent->node_self);
    descent->node_total = calloc(nodes, sizeof *descent->node_total);
    descent->way = malloc(((size_t)descent->order.max_depth + 1) * sizeof *descent->way);
    if (!flat->self || !flat->total || !descent->row_above || !descent->edge_above ||
        !descent->edge_of || !descent->node_self || !descent->node_total || !descent->way)
        return err_nomem(err);
    for (size_t i = 0; i < view->count; i++)
        descent->node_self[view->node[i]] = view->self[i];
    view_totals(view, descent->snapshot, descent->node_total);
    flat->samples = view->total;
    if (descent->map->has_edges)
        rc = find_edges(flat, descent, err);
    if (!rc) {
        const struct preorder *const order = &descent->order;
        uint32_t length = 0;
        for (uint32_t i = 1; i < order->count; i++) {
            const node_id node = order->node[i];
            if (descent->node_total[node] == 0)
                continue; /* and so is everything under it */
            while (length >= order->depth[node]) {
                const node_id left = descent->way[--length];
                descent->row_above[row_of(descent, left)]--;
                if (has_edge(descent, left))
                    descent->edge_above[descent->edge_of[left]]--;
            }
            descent->way[length++] = node;

            /* A row or an edge that was counted above is not counted again. */
            const uint32_t row = row_of(descent, node);
            flat->self[row] += descent->node_self[node];
            if (descent->row_above[row]++ == 0)
                flat->total[row] += descent->node_total[node];
            if (!has_edge(descent, node))
                continue;
            struct flat_edge *const edge = &flat->edges[descent->edge_of[node]];
            if (descent->edge_above[descent->edge_of[node]]++ == 0)
                edge->count += descent->node_total[node];
            edge->self += descent->node_self[node];
        }
    }
    return rc;
}

enum err_code flat_init_mapped(struct flat *flat, const struct profile_snapshot *snapshot,
                               const struct view_query *query, const struct flat_map *map,
                               struct err *err)
{
    struct descent descent = { .snapshot = snapshot, .map = map };
    struct flat made = { .row_count = map->row_count };
    struct view view;
    enum err_code rc = view_init(&view, snapshot, query, err);
    if (rc)
        return rc;
    if (map->unknown_ns) {
        /* Counts time in place of samples. */
        const uint64_t unknown_ns = map->unknown_ns;
        view.total = 0;
        for (size_t i = 0; i < view.count; i++) {
            const uint64_t ns = view_self_ns(&view, i);
            view.self[i] = ns > 0 ? ns : view.self[i] * unknown_ns;
            view.total += view.self[i];
        }
    }
    rc = fill_rows(&made, &descent, &view, err);
    view_deinit(&view);

    if (!descent.map->order)
        preorder_deinit(&descent.order);
    free(descent.row_above);
    free(descent.edge_above);
    free(descent.edge_of);
    free(descent.node_self);
    free(descent.node_total);
    free(descent.way);

    if (!rc)
        *flat = made;
    else
        flat_deinit(&made);
    return rc;
}

enum err_code flat_init(struct flat *flat, const struct profile_snapshot *snapshot,
                        const struct view_query *query, enum flat_rows rows, struct err *err)
{
    return flat_init_ns(flat, snapshot, query, rows, 0, err);
}

enum err_code flat_init_ns(struct flat *flat, const struct profile_snapshot *snapshot,
                           const struct view_query *query, enum flat_rows rows,
                           uint64_t unknown_ns, struct err *err)
{
    const uint32_t frames = snapshot->sizes.frames;
    uint32_t *const ids = malloc(((size_t)frames + 1) * sizeof *ids);
    if (!ids)
        return err_nomem(err);
    for (frame_id id = 0; id < frames; id++)
        ids[id] = rows == FLAT_FRAMES ? id : profile_frame_at(snapshot, id).function;
    const struct flat_map map = { .row_count =
                                      rows == FLAT_FRAMES ? frames : snapshot->sizes.functions,
                                  .row = ids,
                                  .has_edges = true,
                                  .unknown_ns = unknown_ns };
    const enum err_code rc = flat_init_mapped(flat, snapshot, query, &map, err);
    free(ids);
    return rc;
}

void flat_deinit(struct flat *flat)
{
    free(flat->self);
    free(flat->total);
    free(flat->edges);
    memset(flat, 0, sizeof *flat);
}
