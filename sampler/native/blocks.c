#include "sampler/native/blocks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/native/machine/machine.h"

/* No block has an address that is no multiple of its size. */
#define NOWHERE UINT64_MAX

struct block {
    remote_addr addr;
    unsigned char bytes[BLOCKS_BYTES];
};

enum err_code blocks_init(struct blocks *blocks, struct memory *memory, struct err *err)
{
    struct block *const items = calloc(BLOCKS_COUNT, sizeof *items);
    if (!items)
        return err_nomem(err);
    *blocks = (struct blocks){ .memory = memory, .items = items, .budget = UINT64_MAX };
    blocks_clear(blocks);
    return ERR_OK;
}

void blocks_deinit(struct blocks *blocks)
{
    free(blocks->items);
    memset(blocks, 0, sizeof *blocks);
}

void blocks_clear(struct blocks *blocks)
{
    for (size_t i = 0; i < BLOCKS_COUNT; i++)
        blocks->items[i].addr = NOWHERE;
}

static bool spend_budget(struct blocks *blocks, uint64_t cost)
{
    const bool is_enough = blocks->budget >= cost;
    blocks->budget = is_enough ? blocks->budget - cost : 0;
    return is_enough;
}

enum err_code blocks_read(struct blocks *blocks, remote_addr addr, void *buffer, size_t bytes)
{
    unsigned char *to = buffer;
    if (bytes > UINT64_MAX - addr)
        return ERR_FAULT;
    if (!spend_budget(blocks, 1))
        return ERR_LIMIT;
    while (bytes) {
        const size_t offset = addr % BLOCKS_BYTES, there = BLOCKS_BYTES - offset;
        const size_t part = bytes < there ? bytes : there;
        const uint64_t number = addr / BLOCKS_BYTES;
        struct block *const block =
            &blocks->items[(number ^ number / BLOCKS_COUNT) % BLOCKS_COUNT];
        if (block->addr != addr - offset) {
            if (!spend_budget(blocks, BLOCKS_FETCH_COST))
                return ERR_LIMIT;
            block->addr = NOWHERE;
            const enum err_code rc =
                memory_read(blocks->memory, addr - offset, block->bytes, sizeof block->bytes);
            if (rc)
                return rc;
            block->addr = addr - offset;
        }
        memcpy(to, block->bytes + offset, part);
        to += part;
        addr += part;
        bytes -= part;
    }
    return ERR_OK;
}

size_t blocks_bytes(void)
{
    return BLOCKS_COUNT * sizeof(struct block);
}

remote_addr blocks_stub_target(struct blocks *blocks, remote_addr stub)
{
    unsigned char code[MACHINE_STUB_BYTES];
    uint64_t target;
    if (blocks_read(blocks, stub, code, sizeof code))
        return 0;
    const remote_addr slot = machine_stub_slot(code, stub);
    /* The word changes when the function is found, so it is not read through the cache. */
    return slot && !memory_read(blocks->memory, slot, &target, sizeof target) ? target : 0;
}
