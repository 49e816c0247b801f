#include "tests/support/fake_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reports a mistake of the test itself. */
static _Noreturn void broken(const char *what, remote_addr addr)
{
    fprintf(stderr, "fake_memory: %s at %#llx\n", what, (unsigned long long)addr);
    abort();
}

/* The first region that ends above addr. */
static size_t first_above(const struct fake_memory *fake, remote_addr addr)
{
    size_t low = 0, high = fake->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct fake_region *const region = &fake->regions[middle];
        if (region->addr <= addr && addr - region->addr >= region->bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct fake_region *find(const struct fake_memory *fake, remote_addr addr)
{
    const size_t at = first_above(fake, addr);
    return at < fake->count && fake->regions[at].addr <= addr ? &fake->regions[at] : NULL;
}

/* Copies mapped bytes from the start of the span on; returns their number. */
static size_t copy_out(const struct fake_memory *fake, const struct memory_span *span)
{
    size_t done = 0;
    while (done < span->bytes) {
        const remote_addr addr = span->addr + done;
        const struct fake_region *const region = find(fake, addr);
        if (!region)
            break;
        const size_t offset = (size_t)(addr - region->addr);
        const size_t left = span->bytes - done, there = region->bytes - offset;
        const size_t bytes = left < there ? left : there;
        memcpy((unsigned char *)span->buffer + done, region->data + offset, bytes);
        done += bytes;
    }
    return done;
}

/* Copies a span slice by slice; returns the number of mapped bytes. */
static size_t read_span(struct fake_memory *fake, const struct memory_span *span,
                        struct fake_read_at *moment)
{
    const size_t slice = fake->slice_bytes ? fake->slice_bytes : span->bytes;
    size_t done = 0;
    do {
        const size_t left = span->bytes - done;
        const size_t bytes = left < slice ? left : slice;
        moment->offset = done;
        if (fake->hook)
            fake->hook(fake, moment, fake->context);
        const size_t copied = copy_out(
            fake, &(struct memory_span){ span->addr + done,
                                         (unsigned char *)span->buffer + done, bytes });
        done += copied;
        if (copied < bytes)
            return done;
    } while (done < span->bytes);
    return done;
}

static enum err_code read_fake(struct memory *memory, const struct memory_span *spans,
                               size_t count, size_t *bytes_out)
{
    struct fake_memory *const fake = (struct fake_memory *)memory;
    *bytes_out = 0;
    if (fake->failure && memory->reads >= fake->fail_from)
        return fake->failure;
    for (size_t i = 0; i < count; i++) {
        struct fake_read_at moment = { .read = memory->reads, .span = i };
        if (spans[i].bytes > fake->max_span_bytes)
            fake->max_span_bytes = spans[i].bytes;
        const size_t bytes = read_span(fake, &spans[i], &moment);
        *bytes_out += bytes;
        if (bytes < spans[i].bytes)
            return ERR_FAULT;
    }
    return ERR_OK;
}

void fake_memory_init(struct fake_memory *fake)
{
    *fake = (struct fake_memory){ .memory = { .readv = read_fake } };
}

void fake_memory_deinit(struct fake_memory *fake)
{
    for (size_t i = 0; i < fake->count; i++)
        free(fake->regions[i].data);
    free(fake->regions);
    fake->regions = NULL;
    fake->count = fake->room = 0;
}

static void reserve(struct fake_memory *fake)
{
    if (fake->count < fake->room)
        return;
    fake->room = fake->room ? fake->room * 2 : 64;
    fake->regions = realloc(fake->regions, fake->room * sizeof *fake->regions);
    if (!fake->regions)
        broken("no memory", 0);
}

unsigned char *fake_memory_map(struct fake_memory *fake, remote_addr addr, size_t bytes)
{
    const size_t at = first_above(fake, addr);
    if (at < fake->count &&
        (fake->regions[at].addr <= addr || fake->regions[at].addr - addr < bytes))
        broken("regions overlap", addr);
    reserve(fake);
    memmove(fake->regions + at + 1, fake->regions + at,
            (fake->count - at) * sizeof *fake->regions);
    fake->count++;
    fake->regions[at] = (struct fake_region){ addr, bytes, calloc(bytes ? bytes : 1, 1) };
    if (!fake->regions[at].data)
        broken("no memory", addr);
    return fake->regions[at].data;
}

void fake_memory_unmap(struct fake_memory *fake, remote_addr addr)
{
    struct fake_region *const region = find(fake, addr);
    if (!region || region->addr != addr)
        broken("no region", addr);
    free(region->data);
    fake->count--;
    memmove(region, region + 1,
            (size_t)(fake->regions + fake->count - region) * sizeof *region);
}

bool fake_memory_is_mapped(const struct fake_memory *fake, remote_addr addr)
{
    return find(fake, addr) != NULL;
}

unsigned char *fake_memory_at(const struct fake_memory *fake, remote_addr addr, size_t bytes)
{
    const struct fake_region *const region = find(fake, addr);
    if (!region || region->bytes - (size_t)(addr - region->addr) < bytes)
        broken("nothing mapped", addr);
    return region->data + (size_t)(addr - region->addr);
}

void fake_memory_put(struct fake_memory *fake, remote_addr addr, const void *data, size_t bytes)
{
    if (bytes)
        memcpy(fake_memory_at(fake, addr, bytes), data, bytes);
}

void fake_memory_put_u64(struct fake_memory *fake, remote_addr addr, uint64_t value)
{
    fake_memory_put(fake, addr, &value, sizeof value);
}

void fake_memory_put_u32(struct fake_memory *fake, remote_addr addr, uint32_t value)
{
    fake_memory_put(fake, addr, &value, sizeof value);
}

void fake_memory_put_u8(struct fake_memory *fake, remote_addr addr, uint8_t value)
{
    fake_memory_put(fake, addr, &value, sizeof value);
}

uint64_t fake_memory_u64(const struct fake_memory *fake, remote_addr addr)
{
    uint64_t value;
    memcpy(&value, fake_memory_at(fake, addr, sizeof value), sizeof value);
    return value;
}
