#include "server/report/chain.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/profile/context.h"

/* Parents come before children, so the walk is never longer than the table. */
enum err_code chain_up(struct chain *chain, const struct profile_snapshot *snapshot,
                       node_id node, struct err *err)
{
    chain->depth = 0;
    while (node != 0) {
        const struct profile_node row = profile_node_at(snapshot, node);
        if (!VEC_RESERVE(chain->frames, chain->room, chain->depth + 1))
            return err_nomem(err);
        chain->frames[chain->depth++] = row.frame;
        node = row.parent;
    }
    return ERR_OK;
}

void chain_drop_context(struct chain *chain, const struct profile_snapshot *snapshot)
{
    enum { MOST_MARKS = 2 };
    struct context_text ignored;
    for (size_t i = 0; i < chain->depth && i < MOST_MARKS; i++) {
        const function_id function = profile_frame_at(snapshot, chain->frames[i]).function;
        if (!context_of_function(snapshot, function, &ignored))
            continue;
        chain->depth--;
        memmove(chain->frames + i, chain->frames + i + 1,
                (chain->depth - i) * sizeof *chain->frames);
        return;
    }
}

void chain_deinit(struct chain *chain)
{
    free(chain->frames);
    memset(chain, 0, sizeof *chain);
}
