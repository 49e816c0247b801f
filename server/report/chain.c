#include "server/report/chain.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 256 };

static enum err_code grow(struct chain *chain, struct err *err)
{
    const size_t capacity = chain->capacity ? 2 * chain->capacity : FIRST_CAPACITY;
    frame_id *const frames = realloc(chain->frames, capacity * sizeof *frames);
    if (!frames)
        return err_nomem(err);
    chain->frames = frames;
    chain->capacity = capacity;
    return ERR_OK;
}

/* Parents come before children, so the walk is never longer than the table. */
enum err_code chain_up(struct chain *chain, const struct profile_snapshot *snapshot,
                       node_id node, struct err *err)
{
    chain->depth = 0;
    while (node != 0) {
        const struct profile_node row = profile_node_at(snapshot, node);
        if (chain->depth == chain->capacity) {
            const enum err_code rc = grow(chain, err);
            if (rc != ERR_OK)
                return rc;
        }
        chain->frames[chain->depth++] = row.frame;
        node = row.parent;
    }
    return ERR_OK;
}

void chain_deinit(struct chain *chain)
{
    free(chain->frames);
    memset(chain, 0, sizeof *chain);
}
