#include "sampler/cpython/stack/call_edges.h"

#include "sampler/base/hash.h"

void call_edges_init(struct call_edges *edges)
{
    pool_init(&edges->items, sizeof(struct call_edge), CALL_EDGES_MAX);
    idmap_init(&edges->index);
}

void call_edges_deinit(struct call_edges *edges)
{
    pool_deinit(&edges->items);
    idmap_deinit(&edges->index);
}

static bool is_from_to(const struct call_edge *edge, code_id caller, code_id callee)
{
    return edge->caller == caller && edge->callee == callee;
}

static struct call_edge *find(const struct call_edges *edges, code_id caller, code_id callee)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, &edges->index, hash_mix(caller, callee),
               is_from_to(pool_at(&edges->items, at->id), caller, callee));
    return at ? pool_at(&edges->items, at->id) : NULL;
}

/* Stands for any caller: its edge counts all suspicions about a callee. */
static const code_id ANYBODY = CODE_NONE - 1;

bool call_edges_has(const struct call_edges *edges, code_id caller, code_id callee)
{
    const struct call_edge *const edge = find(edges, caller, callee);
    if (!edge || edge->is_certain)
        return edge != NULL;
    const struct call_edge *const all = find(edges, ANYBODY, callee);
    return edge->suspected >= CALL_EDGES_ENOUGH && all &&
           edge->suspected >= all->suspected / CALL_EDGES_ONE_IN;
}

void call_edges_note_site(struct call_edges *edges, code_id caller, code_id callee,
                          remote_addr site)
{
    struct call_edge *const edge = find(edges, caller, callee);
    if (edge)
        edge->site = site;
}

remote_addr call_edges_site(const struct call_edges *edges, code_id caller, code_id callee)
{
    const struct call_edge *const edge = find(edges, caller, callee);
    return edge ? edge->site : 0;
}

static struct call_edge *find_or_add(struct call_edges *edges, code_id caller, code_id callee)
{
    const struct call_edge new = { .caller = caller, .callee = callee };
    struct call_edge *const known = find(edges, caller, callee);
    uint32_t id;
    if (known)
        return known;
    if (pool_push(&edges->items, &new, &id, NULL) ||
        idmap_add(&edges->index, hash_mix(caller, callee), id, NULL))
        return NULL;
    return pool_at(&edges->items, id);
}

void call_edges_add(struct call_edges *edges, code_id caller, code_id callee)
{
    struct call_edge *const edge = find_or_add(edges, caller, callee);
    if (edge)
        edge->is_certain = true;
}

void call_edges_suspect(struct call_edges *edges, code_id caller, code_id callee)
{
    struct call_edge *const edge = find_or_add(edges, caller, callee);
    struct call_edge *const all = find_or_add(edges, ANYBODY, callee);
    if (edge && edge->suspected < UINT32_MAX)
        edge->suspected++;
    if (all && all->suspected < UINT32_MAX)
        all->suspected++;
}
