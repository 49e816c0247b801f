#include "server/report/preorder.h"

#include <stdlib.h>
#include <string.h>

enum err_code preorder_init(struct preorder *order, const struct profile_snapshot *snapshot,
                            struct err *err)
{
    const size_t count = snapshot->sizes.nodes;
    memset(order, 0, sizeof *order);
    order->count = snapshot->sizes.nodes;
    order->node = malloc((count + 1) * sizeof *order->node);
    order->position = malloc((count + 1) * sizeof *order->position);
    order->depth = malloc((count + 1) * sizeof *order->depth);
    if (!order->node || !order->position || !order->depth) {
        preorder_deinit(order);
        return err_nomem(err);
    }
    if (count > 0) {
        /* Parents come before children, so one walk back adds up sizes and one walk on gives
         * places. */
        uint32_t *const position = order->position, *const depth = order->depth;
        uint32_t *const free_place = order->node; /* holds sizes, then the next free place */
        for (node_id id = 0; id < order->count; id++)
            free_place[id] = 1;
        for (node_id id = order->count; id-- > 1;)
            free_place[profile_node_at(snapshot, id).parent] += free_place[id];
        position[0] = depth[0] = 0;
        free_place[0] = 1;
        for (node_id id = 1; id < order->count; id++) {
            const node_id parent = profile_node_at(snapshot, id).parent;
            const uint32_t size = free_place[id];
            position[id] = free_place[parent];
            free_place[parent] += size;
            free_place[id] = position[id] + 1;
            depth[id] = depth[parent] + 1;
            if (depth[id] > order->max_depth)
                order->max_depth = depth[id];
        }
        for (node_id id = 0; id < order->count; id++)
            order->node[position[id]] = id;
    }
    return ERR_OK;
}

void preorder_deinit(struct preorder *order)
{
    free(order->node);
    free(order->position);
    free(order->depth);
    memset(order, 0, sizeof *order);
}
