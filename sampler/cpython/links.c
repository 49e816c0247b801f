#include "sampler/cpython/links.h"

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

bool links_has(const struct links *links, code_id caller, code_id callee)
{
    return find(links, caller, callee) != NULL;
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

void links_add(struct links *links, code_id caller, code_id callee)
{
    const struct link link = { .caller = caller, .callee = callee };
    uint32_t id;
    if (!links_has(links, caller, callee) && !pool_push(&links->items, &link, &id, NULL))
        (void)!idmap_add(&links->index, idmap_mix(caller, callee), id, NULL);
}
