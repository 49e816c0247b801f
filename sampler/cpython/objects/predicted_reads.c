#include "sampler/cpython/objects/predicted_reads.h"

#include <stdlib.h>
#include <string.h>

void revisit_init(struct revisit *revisit, struct memory *memory)
{
    *revisit = (struct revisit){ .memory = memory };
    idmap_init(&revisit->index);
}

void revisit_deinit(struct revisit *revisit)
{
    for (size_t i = 0; i < revisit->count; i++)
        free(revisit->places[i]);
    free(revisit->places);
    idmap_deinit(&revisit->index);
    *revisit = (struct revisit){ 0 };
}

static uint32_t hash_of(remote_addr addr)
{
    return idmap_mix(addr, 0);
}

static struct revisit_place *find(const struct revisit *revisit, remote_addr addr)
{
    const uint32_t hash = hash_of(addr);
    uint32_t at;
    for (uint32_t slot = idmap_first(&revisit->index, hash);
         (at = idmap_id(&revisit->index, slot)) != IDMAP_NONE;
         slot = idmap_next(&revisit->index, slot))
        if (revisit->places[at]->addr == addr)
            return revisit->places[at];
    return NULL;
}

/* The index has room for what it held before, so that adding cannot fail. */
static void forget_unused(struct revisit *revisit)
{
    size_t kept = 0;
    idmap_clear(&revisit->index);
    for (size_t i = 0; i < revisit->count; i++) {
        struct revisit_place *const place = revisit->places[i];
        if (!place->is_used) {
            free(place);
            continue;
        }
        place->is_used = place->has_now = place->has_again = false;
        revisit->places[kept] = place;
        (void)!idmap_add(&revisit->index, hash_of(place->addr), (uint32_t)kept, NULL);
        kept++;
    }
    revisit->count = kept;
}

static struct memory_span span_of(struct revisit_place *place, bool again)
{
    return (struct memory_span){ place->addr, again ? place->again : place->now, place->bytes };
}

static void mark(struct revisit_place *place, bool again)
{
    if (again)
        place->has_again = true;
    else
        place->has_now = true;
}

/* A place that is not mapped any more ends a call; the next one goes on behind it. */
static enum err_code read_all(struct revisit *revisit, bool again)
{
    struct memory_span spans[MEMORY_MAX_SPANS];
    size_t at = 0, arrived;
    while (at < revisit->count) {
        const size_t left = revisit->count - at;
        const size_t count = left < MEMORY_MAX_SPANS ? left : MEMORY_MAX_SPANS;
        for (size_t i = 0; i < count; i++)
            spans[i] = span_of(revisit->places[at + i], again);
        const enum err_code rc = memory_readv(revisit->memory, spans, count, &arrived);
        if (rc && rc != ERR_FAULT)
            return rc;
        size_t i = 0;
        for (; i < count && spans[i].bytes <= arrived; i++) {
            arrived -= spans[i].bytes;
            mark(revisit->places[at + i], again);
        }
        at += i + (i < count);
    }
    return ERR_OK;
}

enum err_code revisit_begin(struct revisit *revisit)
{
    forget_unused(revisit);
    return read_all(revisit, false);
}

static enum err_code add(struct revisit *revisit, remote_addr addr, struct revisit_place **out)
{
    if (revisit->count == REVISIT_MAX)
        return ERR_LIMIT;
    if (revisit->count == revisit->room) {
        const size_t room = revisit->room ? revisit->room * 2 : 64;
        struct revisit_place **const more = realloc(revisit->places, room * sizeof *more);
        if (!more)
            return ERR_NOMEM;
        revisit->places = more;
        revisit->room = room;
    }
    struct revisit_place *const place = calloc(1, sizeof *place);
    if (!place)
        return ERR_NOMEM;
    const enum err_code rc =
        idmap_add(&revisit->index, hash_of(addr), (uint32_t)revisit->count, NULL);
    if (rc) {
        free(place);
        return rc;
    }
    place->addr = addr;
    revisit->places[revisit->count++] = place;
    *out = place;
    return ERR_OK;
}

enum err_code revisit_get(struct revisit *revisit, remote_addr addr, size_t bytes,
                          const unsigned char **out)
{
    struct revisit_place *place = find(revisit, addr);
    enum err_code rc = ERR_OK;
    if (!addr || bytes > REVISIT_MAX_BYTES)
        return ERR_CORRUPT;
    if (!place)
        rc = add(revisit, addr, &place);
    if (rc)
        return rc;
    if (!place->has_now || place->bytes < bytes) {
        place->bytes = bytes > place->bytes ? (uint32_t)bytes : place->bytes;
        rc = memory_read(revisit->memory, addr, place->now, place->bytes);
        place->has_now = !rc;
    }
    place->is_used = !rc;
    *out = place->now;
    return rc;
}

enum err_code revisit_again(struct revisit *revisit)
{
    return read_all(revisit, true);
}

bool revisit_is_same(const struct revisit *revisit, remote_addr addr, size_t from, size_t to)
{
    const struct revisit_place *const place = find(revisit, addr);
    return place && place->has_now && place->has_again && to <= place->bytes &&
           memcmp(place->now + from, place->again + from, to - from) == 0;
}
