#include "sampler/cpython/stack/frame_history.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/idmap.h"

void frame_history_deinit(struct frame_history *history)
{
    free(history->items);
    *history = (struct frame_history){ 0 };
}

static struct past_frame *set_of(const struct frame_history *history, remote_addr addr)
{
    return history->items + (size_t)hash_mix(addr, 0) % history->set_count * FRAME_HISTORY_WAYS;
}

/* The index in its set for a frame: its own, a free one, or the least recently used. */
static size_t place_in(const struct past_frame *set, const struct past_frame *past)
{
    size_t at = 0;
    while (at + 1 < FRAME_HISTORY_WAYS && set[at].addr &&
           (set[at].addr != past->addr || set[at].code != past->code))
        at++;
    return at;
}

static void put(const struct frame_history *history, const struct past_frame *past)
{
    struct past_frame *const set = set_of(history, past->addr);
    memmove(set + 1, set, place_in(set, past) * sizeof *set);
    set[0] = *past;
}

static bool is_crowded(const struct frame_history *history, const struct past_frame *past)
{
    const struct past_frame *const set = set_of(history, past->addr);
    const struct past_frame *const last = &set[place_in(set, past)];
    return last->addr && (last->addr != past->addr || last->code != past->code);
}

/* Frames that do not fit are forgotten.  Without memory all frames are. */
static void grow(struct frame_history *history)
{
    const size_t count =
        history->set_count ? history->set_count * 2 : FRAME_HISTORY_FEWEST_SETS;
    struct frame_history more = { calloc(count * FRAME_HISTORY_WAYS, sizeof *more.items),
                                  count };
    if (!more.items)
        return;
    for (size_t i = history->set_count * FRAME_HISTORY_WAYS; i-- > 0;)
        if (history->items[i].addr)
            put(&more, &history->items[i]);
    frame_history_deinit(history);
    *history = more;
}

void frame_history_note(struct frame_history *history, const struct past_frame *past)
{
    if (!history->items ||
        (history->set_count < FRAME_HISTORY_MOST_SETS && is_crowded(history, past)))
        grow(history);
    if (history->items)
        put(history, past);
}

const struct past_frame *frame_history_find(const struct frame_history *history,
                                            const struct code_table *codes,
                                            const struct call_edges *edges, remote_addr addr,
                                            code_id callee)
{
    if (!history->items)
        return NULL;
    const struct past_frame *const set = set_of(history, addr);
    for (size_t i = 0; i < FRAME_HISTORY_WAYS; i++)
        if (set[i].addr == addr && code_at(codes, set[i].code)->checked_epoch &&
            (callee == CODE_NONE || call_edges_has(edges, set[i].code, callee)))
            return &set[i];
    return NULL;
}
