#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "sampler/base/scoped.h"
#include "sampler/cpython/runtime/runtime_search.h"

enum { SCAN_BLOCK_BYTES = 1 << 20, COOKIE_ALIGNMENT = 8 };
/* Limits for all writable memory, and for one mapping of a file's data: a larger mapping is a file that
 * the program writes to. */
static const uint64_t SCAN_MAX_BYTES = 4ull << 30, DATA_MAX_BYTES = 64ull << 20;

static bool scan_block(struct search *search, remote_addr addr, unsigned char *block,
                       size_t bytes)
{
    static const char cookie[] = { 'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y' };
    size_t arrived;
    const struct memory_span span = { addr, block, bytes };
    (void)!memory_readv(&search->process->memory.memory, &span, 1, &arrived);
    const unsigned char *const end = block + arrived;
    for (const unsigned char *at = block; at < end; at++) {
        at = memmem(at, (size_t)(end - at), cookie, sizeof cookie);
        if (!at)
            return false;
        const size_t offset = (size_t)(at - block);
        if (offset % COOKIE_ALIGNMENT == 0 &&
            runtime_try_place(search, addr + offset, 0, RUNTIME_BY_COOKIE))
            return true;
    }
    return false;
}

static bool scan_mapping(struct search *search, const struct mapping *m, unsigned char *block)
{
    for (remote_addr at = m->start; at < m->end; at += SCAN_BLOCK_BYTES) {
        const uint64_t left = m->end - at;
        if (runtime_is_out_of_time(search))
            return false;
        const size_t bytes = left < SCAN_BLOCK_BYTES ? (size_t)left : SCAN_BLOCK_BYTES;
        if (bytes > SCAN_MAX_BYTES - search->scanned_bytes) {
            search->skipped_bytes += left;
            return false;
        }
        search->scanned_bytes += bytes;
        if (scan_block(search, at, block, bytes))
            return true;
    }
    return false;
}

/* Iterates over the data of files, mapping by mapping: initialised data, then zeroed data after it. */
struct data {
    const struct mapping *file; /* the file of the last mapping; NULL: none */
    remote_addr end;
    bool has_code; /* the file is a program or a library */
};

static bool is_same_file(const struct mapping *a, const struct mapping *b)
{
    return a && a->inode == b->inode && a->device_major == b->device_major &&
           a->device_minor == b->device_minor;
}

enum pass { DATA_COOKIES, DATA_POINTERS, OTHER_COOKIES, PASSES };

/* Scans the data of files first, where interpreters have their state, then all writable memory. */
static int count_passes(const struct search *search)
{
    if (runtime_is_quick(search->effort))
        return search->has_closed_file || search->has_hidden_file ? OTHER_COOKIES : 0;
    return search->out->count ? OTHER_COOKIES : PASSES;
}

static bool is_wanted(const struct search *search, const struct data *data, bool is_of_data,
                      int pass)
{
    if (pass == OTHER_COOKIES || !is_of_data)
        return !is_of_data && pass == OTHER_COOKIES;
    return !runtime_is_quick(search->effort) || search->has_closed_file ||
           data->file->inode == search->program_inode;
}

bool runtime_scan(struct search *search)
{
    const int passes = count_passes(search);
    SCOPED_FREE unsigned char *block = malloc(SCAN_BLOCK_BYTES);
    bool found = false;
    for (int pass = 0; block && pass < passes && !found; pass++) {
        struct data data = { .file = NULL };
        for (size_t i = 0; i < search->maps.count && !found; i++) {
            const struct mapping *const m = &search->maps.items[i];

            if (m->inode)
                data.has_code = (is_same_file(data.file, m) && data.has_code) || m->executable;
            if (m->inode || m->start != data.end)
                data.file = m->inode ? m : NULL;
            data.end = data.file ? m->end : 0;
            const bool is_of_data =
                data.file && m->readable && m->writable && m->end - m->start <= DATA_MAX_BYTES;

            if (!m->readable || !m->writable || !is_wanted(search, &data, is_of_data, pass))
                continue;
            if (pass != DATA_POINTERS)
                found = scan_mapping(search, m, block);
            else if (data.has_code)
                found = runtime_scan_pointers(search, m);
        }
    }
    return found;
}
