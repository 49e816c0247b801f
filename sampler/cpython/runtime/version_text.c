#define _GNU_SOURCE
#include "sampler/cpython/runtime/version_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/scoped.h"

enum { BLOCK_BYTES = 1 << 20, TEXT_BYTES = 32, NEIGHBOURS = 3, FINAL = 0xf };

struct rest {
    const char *at, *end;
};

static bool take_text(struct rest *rest, const char *text)
{
    const size_t bytes = strlen(text);
    if ((size_t)(rest->end - rest->at) < bytes || memcmp(rest->at, text, bytes) != 0)
        return false;
    rest->at += bytes;
    return true;
}

static bool take_number(struct rest *rest, uint32_t *out)
{
    const char *const start = rest->at;
    uint32_t value = 0;
    while (rest->at < rest->end && *rest->at >= '0' && *rest->at <= '9' && rest->at - start < 3)
        value = value * 10 + (uint32_t)(*rest->at++ - '0');
    *out = value;
    return rest->at > start && value <= UINT8_MAX;
}

uint32_t version_text_parse(const char *text, size_t bytes)
{
    struct rest rest = { text, text + bytes };
    uint32_t minor, micro, serial = 0;
    if (!take_text(&rest, "3.") || !take_number(&rest, &minor) || !take_text(&rest, ".") ||
        !take_number(&rest, &micro))
        return 0;
    const uint32_t level = take_text(&rest, "a")    ? 0xa
                           : take_text(&rest, "b")  ? 0xb
                           : take_text(&rest, "rc") ? 0xc
                                                    : FINAL;
    if ((level != FINAL && (!take_number(&rest, &serial) || serial > 0xf)) ||
        (!take_text(&rest, " (") && !take_text(&rest, "+ (")))
        return 0;
    return 3u << 24 | minor << 16 | micro << 8 | level << 4 | serial;
}

static uint32_t search_block(const char *block, size_t bytes)
{
    const char *const end = block + bytes;
    for (const char *at = block; at < end; at++) {
        at = memmem(at, (size_t)(end - at), "3.", 2);
        if (!at)
            return 0;
        const uint32_t version =
            at == block || at[-1] == '\0' ? version_text_parse(at, (size_t)(end - at)) : 0;
        if (version)
            return version;
    }
    return 0;
}

/* Blocks overlap by the length of a text. */
static uint32_t search_mapping(struct memory *memory, const struct mapping *m, char *block,
                               uint64_t *left)
{
    for (remote_addr at = m->start; at < m->end && *left; at += BLOCK_BYTES - TEXT_BYTES) {
        const uint64_t rest = m->end - at;
        const struct memory_span span = { at, block, rest < BLOCK_BYTES ? rest : BLOCK_BYTES };
        size_t arrived;
        (void)!memory_readv(memory, &span, 1, &arrived);
        *left -= *left < arrived ? *left : arrived;
        const uint32_t version = search_block(block, arrived);
        if (version)
            return version;
    }
    return 0;
}

/* The zeroed data of a file comes right after its other data. */
uint32_t version_text_find(struct memory *memory, const struct maps *maps, remote_addr addr)
{
    SCOPED_FREE char *block = malloc(BLOCK_BYTES);
    const struct mapping *const own = maps_find(maps, addr);
    uint64_t left = VERSION_TEXT_MAX_BYTES;
    uint32_t version = 0;
    if (!own || !block)
        return 0;
    const struct mapping *const end = maps->items + maps->count;
    for (const struct mapping *m = own; m < end && m < own + NEIGHBOURS && !version; m++)
        if (m->readable && m->writable && (m == own || m[-1].end == m->start))
            version = search_mapping(memory, m, block, &left);
    return version;
}
