#include "sampler/profile/views/heavy_order.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct child {
    node_id parent, id;
    uint64_t weight;
};

enum err_code heavy_order_init(struct heavy_order *order,
                               const struct profile_snapshot *snapshot, struct err *err)
{
    *order = (struct heavy_order){ 0 };
    order->weight = calloc((size_t)snapshot->sizes.nodes + 1, sizeof *order->weight);
    return order->weight ? ERR_OK : err_nomem(err);
}

/* By parent, so that parents come first; those of one parent the heaviest first. */
static int compare(const void *left, const void *right)
{
    const struct child *const a = left, *const b = right;
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

/* `size` has the nodes with a weight at and below each, then the next free place below it. */
static void place(const struct heavy_order *order, const struct child *sorted, size_t count,
                  uint32_t *size)
{
    order->position[0] = 0;
    size[0] = 1;
    for (size_t i = 0; i < count; i++) {
        const struct child *const child = &sorted[i];
        const uint32_t wide = size[child->id];
        order->position[child->id] = size[child->parent];
        size[child->parent] += wide;
        size[child->id] = order->position[child->id] + 1;
    }
}

enum err_code heavy_order_sort(struct heavy_order *order,
                               const struct profile_snapshot *snapshot, struct err *err)
{
    const uint32_t nodes = snapshot->sizes.nodes;
    uint32_t *const size = calloc((size_t)nodes + 1, sizeof *size);
    size_t count = 0;
    order->position = calloc((size_t)nodes + 1, sizeof *order->position);
    if (!size || !order->position) {
        free(size);
        return err_nomem(err);
    }
    /* Parents come before children: backwards, a node is complete before it is added to its parent. */
    for (node_id id = nodes; id-- > 1;) {
        if (!order->weight[id])
            continue;
        const node_id parent = profile_node_at(snapshot, id).parent;
        order->weight[parent] += order->weight[id];
        size[id]++;
        size[parent] += size[id];
        count++;
    }
    struct child *const sorted = malloc((count + 1) * sizeof *sorted);
    if (sorted) {
        count = 0;
        for (node_id id = 1; id < nodes; id++)
            if (order->weight[id])
                sorted[count++] = (struct child){ profile_node_at(snapshot, id).parent, id,
                                                  order->weight[id] };
        qsort(sorted, count, sizeof *sorted, compare);
        place(order, sorted, count, size);
    }
    const bool is_sorted = sorted != NULL;
    free(size);
    free(sorted);
    return is_sorted ? ERR_OK : err_nomem(err);
}

void heavy_order_deinit(struct heavy_order *order)
{
    free(order->weight);
    free(order->position);
    *order = (struct heavy_order){ 0 };
}
