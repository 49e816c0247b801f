#include "sampler/cpython/objects/predicted_reads.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/vec.h"

void predicted_reads_init(struct predicted_reads *reads, struct memory *memory)
{
    *reads = (struct predicted_reads){ .memory = memory };
    idmap_init(&reads->index);
}

static void free_outgrown(struct predicted_reads *reads)
{
    struct predicted_reads_place *next;
    for (struct predicted_reads_place *place = reads->outgrown; place; place = next) {
        next = place->next;
        free(place);
    }
    reads->outgrown = NULL;
}

void predicted_reads_deinit(struct predicted_reads *reads)
{
    free_outgrown(reads);
    for (size_t i = 0; i < reads->count; i++)
        free(reads->places[i]);
    free(reads->places);
    idmap_deinit(&reads->index);
    *reads = (struct predicted_reads){ 0 };
}

/* NULL: there is none. */
static struct predicted_reads_place **find_place(const struct predicted_reads *reads,
                                                 remote_addr addr)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, &reads->index, hash_mix(addr, 0), reads->places[at->id]->addr == addr);
    return at ? &reads->places[at->id] : NULL;
}

/* A place that is no longer mapped ends a call; the next call begins after it. */
static enum err_code read_all(struct predicted_reads *reads, bool again)
{
    struct memory_span spans[MEMORY_MAX_SPANS];
    size_t at = 0, arrived;
    while (at < reads->count) {
        const size_t left = reads->count - at;
        const size_t count = left < MEMORY_MAX_SPANS ? left : MEMORY_MAX_SPANS;
        for (size_t i = 0; i < count; i++) {
            struct predicted_reads_place *const place = reads->places[at + i];
            spans[i] = (struct memory_span){ place->addr, again ? place->again : place->now,
                                             place->bytes };
        }
        const enum err_code rc = memory_readv(reads->memory, spans, count, &arrived);
        if (rc && rc != ERR_FAULT)
            return rc;
        size_t i = 0;
        for (; i < count && spans[i].bytes <= arrived; i++) {
            arrived -= spans[i].bytes;

            if (again)
                reads->places[at + i]->has_again = true;
            else
                reads->places[at + i]->has_now = true;
        }
        at += i + (i < count);
    }
    return ERR_OK;
}

enum err_code predicted_reads_begin(struct predicted_reads *reads)
{
    free_outgrown(reads);

    /* The index has room for what it held before, so adding cannot fail. */
    size_t kept = 0;
    idmap_clear(&reads->index);
    for (size_t i = 0; i < reads->count; i++) {
        struct predicted_reads_place *const place = reads->places[i];
        if (!place->is_used) {
            free(place);
            continue;
        }
        place->is_used = place->has_now = place->has_again = false;
        reads->places[kept] = place;
        (void)!idmap_add(&reads->index, hash_mix(place->addr, 0), (uint32_t)kept, NULL);
        kept++;
    }
    reads->count = kept;
    return read_all(reads, false);
}

static struct predicted_reads_place *create_place(remote_addr addr, size_t bytes)
{
    struct predicted_reads_place *const place = calloc(1, sizeof *place + 2 * bytes);
    if (!place)
        return NULL;
    place->addr = addr;
    place->room = (uint32_t)bytes;
    place->again = place->now + bytes;
    return place;
}

static enum err_code add_place(struct predicted_reads *reads, remote_addr addr, size_t bytes,
                               struct predicted_reads_place ***out)
{
    if (reads->count == PREDICTED_READS_MAX)
        return ERR_LIMIT;
    if (!VEC_RESERVE(reads->places, reads->room, reads->count + 1))
        return ERR_NOMEM;
    struct predicted_reads_place *const place = create_place(addr, bytes);
    if (!place)
        return ERR_NOMEM;
    const enum err_code rc =
        idmap_add(&reads->index, hash_mix(addr, 0), (uint32_t)reads->count, NULL);
    if (rc) {
        free(place);
        return rc;
    }
    *out = &reads->places[reads->count];
    reads->places[reads->count++] = place;
    return ERR_OK;
}

/* Replaces a place by one with more room. */
static enum err_code grow_place(struct predicted_reads *reads,
                                struct predicted_reads_place **at, size_t bytes)
{
    struct predicted_reads_place *const place = create_place((*at)->addr, bytes);
    if (!place)
        return ERR_NOMEM;
    place->bytes = (*at)->bytes;
    (*at)->next = reads->outgrown;
    reads->outgrown = *at;
    *at = place;
    return ERR_OK;
}

enum err_code predicted_reads_get(struct predicted_reads *reads, remote_addr addr, size_t bytes,
                                  const unsigned char **out)
{
    struct predicted_reads_place **at = find_place(reads, addr);
    enum err_code rc = ERR_OK;
    if (!addr || bytes > PREDICTED_READS_MAX_BYTES)
        return ERR_CORRUPT;
    if (!at)
        rc = add_place(reads, addr, bytes, &at);
    else if ((*at)->room < bytes)
        rc = grow_place(reads, at, bytes);
    if (rc)
        return rc;
    struct predicted_reads_place *const place = *at;
    if (!place->has_now || place->bytes < bytes) {
        place->bytes = bytes > place->bytes ? (uint32_t)bytes : place->bytes;
        rc = memory_read(reads->memory, addr, place->now, place->bytes);
        place->has_now = !rc;
    }
    place->is_used = !rc;
    *out = place->now;
    return rc;
}

enum err_code predicted_reads_again(struct predicted_reads *reads)
{
    return read_all(reads, true);
}

bool predicted_reads_is_same(const struct predicted_reads *reads, remote_addr addr, size_t from,
                             size_t to)
{
    struct predicted_reads_place *const *const at = find_place(reads, addr);
    const struct predicted_reads_place *const place = at ? *at : NULL;
    return place && place->has_now && place->has_again && to <= place->bytes &&
           memcmp(place->now + from, place->again + from, to - from) == 0;
}
