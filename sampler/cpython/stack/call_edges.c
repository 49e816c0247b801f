#include "sampler/cpython/stack/call_edges.h"

#include "sampler/base/hash.h"

void call_edges_init(struct call_edges *links)
{
    pool_init(&links->items, sizeof(struct call_edge), CALL_EDGES_MAX);
    idmap_init(&links->index);
}

void call_edges_deinit(struct call_edges *links)
{
    pool_deinit(&links->items);
    idmap_deinit(&links->index);
}

static bool is_from_to(const struct call_edge *link, code_id caller, code_id callee)
{
    return link->caller == caller && link->callee == callee;
}

static struct call_edge *find(const struct call_edges *links, code_id caller, code_id callee)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, &links->index, hash_mix(caller, callee),
               is_from_to(pool_at(&links->items, at->id), caller, callee));
    return at ? pool_at(&links->items, at->id) : NULL;
}

/* Any caller, for the sum of what is suspected of a callee. */
static const code_id ANYBODY = CODE_NONE - 1;

bool call_edges_has(const struct call_edges *links, code_id caller, code_id callee)
{
    const struct call_edge *const link = find(links, caller, callee);
    if (!link || link->is_certain)
        return link != NULL;
    const struct call_edge *const all = find(links, ANYBODY, callee);
    return link->suspected >= CALL_EDGES_ENOUGH && all &&
           link->suspected >= all->suspected / CALL_EDGES_ONE_IN;
}

void call_edges_note_site(struct call_edges *links, code_id caller, code_id callee,
                          remote_addr site)
{
    struct call_edge *const link = find(links, caller, callee);
    if (link)
        link->site = site;
}

remote_addr call_edges_site(const struct call_edges *links, code_id caller, code_id callee)
{
    const struct call_edge *const link = find(links, caller, callee);
    return link ? link->site : 0;
}

static struct call_edge *find_or_add(struct call_edges *links, code_id caller, code_id callee)
{
    const struct call_edge new = { .caller = caller, .callee = callee };
    struct call_edge *const known = find(links, caller, callee);
    uint32_t id;
    if (known)
        return known;
    if (pool_push(&links->items, &new, &id, NULL) ||
        idmap_add(&links->index, hash_mix(caller, callee), id, NULL))
        return NULL;
    return pool_at(&links->items, id);
}

void call_edges_add(struct call_edges *links, code_id caller, code_id callee)
{
    struct call_edge *const link = find_or_add(links, caller, callee);
    if (link)
        link->is_certain = true;
}

void call_edges_suspect(struct call_edges *links, code_id caller, code_id callee)
{
    struct call_edge *const link = find_or_add(links, caller, callee);
    struct call_edge *const all = find_or_add(links, ANYBODY, callee);
    if (link && link->suspected < UINT32_MAX)
        link->suspected++;
    if (all && all->suspected < UINT32_MAX)
        all->suspected++;
}
