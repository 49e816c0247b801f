#include "sampler/capture/growing.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/capture/format.h"
#include "sampler/capture/load.h"
#include "sampler/capture/memory_block.h"
#include "sampler/capture/rows.h"
#include "sampler/profile/profile.h"

enum { MAGIC_BYTES = sizeof CAPTURE_MAGIC - 1 };

void growing_init(struct growing *growing, struct profile *profile, size_t table_bytes)
{
    *growing = (struct growing){ .profile = profile,
                                 .table_bytes = table_bytes,
                                 .sizes = rows_at_start() };
    profile_keep_open(profile);
}

void growing_deinit(struct growing *growing)
{
    metadata_deinit(&growing->metadata);
    windows_block_deinit(&growing->block);
    memory_log_deinit(&growing->memory);
    for (size_t i = 0; i < MEASURE_COUNT; i++)
        windows_block_deinit(&growing->measured[i]);
    windows_places_deinit(&growing->places);
    block_chain_deinit(&growing->chain);
    buffer_deinit(&growing->stored);
    buffer_deinit(&growing->raw);
    buffer_deinit(&growing->start_bytes);
    *growing = (struct growing){ .profile = NULL };
}

/* Both ends are of one program, so the version is the same. */
static enum err_code read_preamble(growing_fill *fill, void *context, struct err *err)
{
    unsigned char preamble[CAPTURE_PREAMBLE_BYTES];
    const enum err_code rc = fill(context, preamble, sizeof preamble, err);
    if (rc)
        return rc;
    if (memcmp(preamble, CAPTURE_MAGIC, MAGIC_BYTES) != 0 ||
        preamble[MAGIC_BYTES] != CAPTURE_MAJOR || preamble[MAGIC_BYTES + 2] != CAPTURE_MINOR)
        return err_set(err, ERR_CORRUPT, "it is not a live capture of this version");
    return ERR_OK;
}

static enum err_code read_stored(struct growing *growing, const struct block_head *head,
                                 growing_fill *fill, void *context, struct err *err)
{
    char *const stored = buffer_replace(&growing->stored, head->stored_bytes);
    if (!stored)
        return buffer_check(&growing->stored, err);
    enum err_code rc = fill(context, stored, head->stored_bytes, err);
    if (rc == ERR_NOT_FOUND)
        rc = err_set(err, ERR_GONE, "it ends within a block");
    return rc ? rc : block_decode(&growing->chain, head, stored, &growing->raw, err);
}

static enum err_code take_block(struct growing *growing, enum capture_kind kind,
                                struct err *err)
{
    if (kind == CAPTURE_METADATA) {
        const struct buffer raw = growing->raw;
        if (growing->has_metadata)
            return err_set(err, ERR_CORRUPT, "metadata are in the wrong place");
        growing->raw = growing->start_bytes;
        growing->start_bytes = raw;
        struct byte_reader in = byte_reader_over(&raw);
        const enum err_code rc = metadata_decode(&growing->metadata, &in, err);
        if (rc)
            return rc;
        if (growing->metadata.unit_ns < 1 || growing->metadata.unit_ns > WINDOWS_MAX_UNIT_NS)
            return err_set(err, ERR_CORRUPT, "its unit of time is invalid");
        names_init(&growing->names, &growing->metadata);
        growing->has_metadata = true;
        return ERR_OK;
    }
    if (!growing->has_metadata)
        return err_set(err, ERR_CORRUPT, "it does not begin with metadata");
    if (kind == CAPTURE_ROWS) {
        struct byte_reader in = byte_reader_over(&growing->raw);
        const enum err_code rc = rows_decode(growing->profile, &in, &growing->sizes, err);
        if (!rc && growing->table_bytes &&
            profile_table_bytes(growing->profile) > growing->table_bytes)
            return err_set(err, ERR_LIMIT, "its tables need more than %zu MiB",
                           growing->table_bytes >> 20);
        return rc;
    }
    if (kind == CAPTURE_WINDOWS) {
        struct byte_reader in = byte_reader_over(&growing->raw);
        windows_block_deinit(&growing->block);
        return windows_decode(&in, &growing->names, growing->metadata.unit_ns, &growing->sizes,
                              true, &growing->places, &growing->block, err);
    }
    if (kind == CAPTURE_MEMORY) {
        struct byte_reader in = byte_reader_over(&growing->raw);
        return memory_block_decode(&in, growing->sizes.processes, &growing->memory, err);
    }
    if (kind == CAPTURE_MEASURED) {
        struct byte_reader in = byte_reader_over(&growing->raw);
        struct windows_block block;
        const enum err_code rc =
            windows_decode_measured(&in, &growing->names, growing->metadata.unit_ns,
                                    &growing->sizes, growing->profile, &block, err);
        if (rc)
            return rc;
        windows_block_deinit(&growing->measured[block.measure]);
        growing->measured[block.measure] = block;
        return ERR_OK;
    }
    if (kind != CAPTURE_STATE && kind != CAPTURE_END)
        return err_set(err, ERR_CORRUPT, "a block is of an unknown kind");
    return ERR_OK;
}

enum err_code growing_read(struct growing *growing, growing_fill *fill, void *context,
                           enum capture_kind *kind_out, struct err *err)
{
    unsigned char data[CAPTURE_BLOCK_HEAD_BYTES];
    struct block_head head;
    enum err_code rc = growing->has_metadata ? ERR_OK : read_preamble(fill, context, err);
    if (!rc)
        rc = fill(context, data, sizeof data, err);
    if (!rc)
        rc = block_head_decode(data, &head, err);
    if (!rc)
        rc = read_stored(growing, &head, fill, context, err);
    if (rc)
        return rc;
    *kind_out = (enum capture_kind)head.kind;
    return take_block(growing, *kind_out, err);
}

static enum err_code load_block(struct growing *growing, struct windows_block *block,
                                const struct quality *quality, growing_take *take,
                                void *context, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < block->window_count && !rc; i++) {
        const struct block_window *const window = &block->windows[i];
        const struct capture_window loaded = {
            .start_ns = window->start_ns,
            .end_ns = window->end_ns,
            .period_ns = window->period_ns,
            .is_open = window->is_open,
            .measure = block->measure,
            .quality = *quality,
            .runs = window->run_count ? block->runs + window->runs_at : NULL,
            .run_count = window->run_count,
        };
        rc = load_window(growing->profile, &loaded, growing->last_ns, err);
        if (!rc && take)
            take(context, &loaded);
    }
    windows_block_deinit(block);
    return rc;
}

/* Windows of time come last, because they publish the others. */
enum err_code growing_seal(struct growing *growing, const struct quality *quality,
                           uint64_t end_ns, growing_take *take, void *context, struct err *err)
{
    enum err_code rc = load_memory(growing->profile, &growing->memory, 0, 0, err);
    for (size_t i = 0; i < MEASURE_COUNT && !rc; i++)
        rc = load_block(growing, &growing->measured[i], quality, take, context, err);
    if (!rc)
        rc = load_block(growing, &growing->block, quality, take, context, err);
    memory_log_clear(&growing->memory);
    *profile_quality(growing->profile) = *quality;
    if (!rc && end_ns >= growing->last_ns[MEASURE_TIME]) {
        growing->last_ns[MEASURE_TIME] = end_ns;
        rc = profile_seal(growing->profile, end_ns, err);
    }
    return rc;
}
