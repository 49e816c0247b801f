#include "sampler/cpython/stack/frame_history.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/idmap.h"

void frame_history_deinit(struct frame_history *slots)
{
    free(slots->items);
    *slots = (struct frame_history){ 0 };
}

static struct slot *set_of(const struct frame_history *slots, remote_addr addr)
{
    return slots->items + (size_t)hash_mix(addr, 0) % slots->set_count * FRAME_HISTORY_WAYS;
}

/* Which of a set is the slot's place: its own, a free one, or the one not used for longest. */
static size_t place_in(const struct slot *set, const struct slot *slot)
{
    size_t at = 0;
    while (at + 1 < FRAME_HISTORY_WAYS && set[at].addr &&
           (set[at].addr != slot->addr || set[at].code != slot->code))
        at++;
    return at;
}

static void put(const struct frame_history *slots, const struct slot *slot)
{
    struct slot *const set = set_of(slots, slot->addr);
    memmove(set + 1, set, place_in(set, slot) * sizeof *set);
    set[0] = *slot;
}

static bool is_crowded(const struct frame_history *slots, const struct slot *slot)
{
    const struct slot *const set = set_of(slots, slot->addr);
    const struct slot *const last = &set[place_in(set, slot)];
    return last->addr && (last->addr != slot->addr || last->code != slot->code);
}

/* What does not fit is forgotten, and so is all when there is no memory. */
static void grow(struct frame_history *slots)
{
    const size_t count = slots->set_count ? slots->set_count * 2 : FRAME_HISTORY_FEWEST_SETS;
    struct frame_history more = { calloc(count * FRAME_HISTORY_WAYS, sizeof *more.items),
                                  count };
    if (!more.items)
        return;
    for (size_t i = slots->set_count * FRAME_HISTORY_WAYS; i-- > 0;)
        if (slots->items[i].addr)
            put(&more, &slots->items[i]);
    frame_history_deinit(slots);
    *slots = more;
}

void frame_history_note(struct frame_history *slots, const struct slot *slot)
{
    if (!slots->items ||
        (slots->set_count < FRAME_HISTORY_MOST_SETS && is_crowded(slots, slot)))
        grow(slots);
    if (slots->items)
        put(slots, slot);
}

const struct slot *frame_history_find(const struct frame_history *slots,
                                      const struct code_table *codes,
                                      const struct call_edges *links, remote_addr addr,
                                      code_id callee)
{
    if (!slots->items)
        return NULL;
    const struct slot *const set = set_of(slots, addr);
    for (size_t i = 0; i < FRAME_HISTORY_WAYS; i++)
        if (set[i].addr == addr && code_at(codes, set[i].code)->checked_epoch &&
            (callee == CODE_NONE || call_edges_has(links, set[i].code, callee)))
            return &set[i];
    return NULL;
}
