#include "sampler/cpython/stack/call_edges.h"

void links_init(struct links *links)
{
    pool_init(&links->items, sizeof(struct link), LINKS_MAX);
    idmap_init(&links->index);
}

void links_deinit(struct links *links)
{
    pool_deinit(&links->items);
    idmap_deinit(&links->index);
}

static struct link *find(const struct links *links, code_id caller, code_id callee)
{
    const uint32_t hash = idmap_mix(caller, callee);
    uint32_t id;
    for (uint32_t slot = idmap_first(&links->index, hash);
         (id = idmap_id(&links->index, slot)) != IDMAP_NONE;
         slot = idmap_next(&links->index, slot)) {
        if (idmap_hash(&links->index, slot) != hash)
            continue;
        struct link *const link = pool_at(&links->items, id);
        if (link->caller == caller && link->callee == callee)
            return link;
    }
    return NULL;
}

/* Any caller, for the sum of what is suspected of a callee. */
static const code_id ANYBODY = CODE_NONE - 1;

bool links_has(const struct links *links, code_id caller, code_id callee)
{
    const struct link *const link = find(links, caller, callee);
    if (!link || link->is_certain)
        return link != NULL;
    const struct link *const all = find(links, ANYBODY, callee);
    return link->suspected >= LINKS_ENOUGH && all &&
           link->suspected >= all->suspected / LINKS_ONE_IN;
}

void links_note_site(struct links *links, code_id caller, code_id callee, remote_addr site)
{
    struct link *const link = find(links, caller, callee);
    if (link)
        link->site = site;
}

remote_addr links_site(const struct links *links, code_id caller, code_id callee)
{
    const struct link *const link = find(links, caller, callee);
    return link ? link->site : 0;
}

static struct link *find_or_add(struct links *links, code_id caller, code_id callee)
{
    const struct link new = { .caller = caller, .callee = callee };
    struct link *const known = find(links, caller, callee);
    uint32_t id;
    if (known)
        return known;
    if (pool_push(&links->items, &new, &id, NULL) ||
        idmap_add(&links->index, idmap_mix(caller, callee), id, NULL))
        return NULL;
    return pool_at(&links->items, id);
}

void links_add(struct links *links, code_id caller, code_id callee)
{
    struct link *const link = find_or_add(links, caller, callee);
    if (link)
        link->is_certain = true;
}

void links_suspect(struct links *links, code_id caller, code_id callee)
{
    struct link *const link = find_or_add(links, caller, callee);
    struct link *const all = find_or_add(links, ANYBODY, callee);
    if (link && link->suspected < UINT32_MAX)
        link->suspected++;
    if (all && all->suspected < UINT32_MAX)
        all->suspected++;
}
