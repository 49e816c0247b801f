#include "sampler/foreign/sorter.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/compress.h"
#include "sampler/base/vec.h"

/* Records of a run that are compressed together. */
enum { PIECE_RECORDS = 1 << 11, LEVEL = 1 };

/* Sorted records in the file: pieces, each a size of four bytes and so many bytes of zstd. */
struct sorter_run {
    uint64_t at;        /* of the next piece */
    size_t left;        /* records in it and behind it */
    size_t next, count; /* of the piece in memory */
    struct sorter_record *piece;
};

static int compare_records(const void *left, const void *right)
{
    const struct sorter_record *const a = left, *const b = right;
    for (size_t i = 0; i < sizeof a->keys / sizeof *a->keys; i++)
        if (a->keys[i] != b->keys[i])
            return a->keys[i] < b->keys[i] ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return (a->value > b->value) - (a->value < b->value);
}

void sorter_deinit(struct sorter *sorter)
{
    for (size_t i = 0; i < sorter->run_count; i++)
        free(sorter->runs[i].piece);
    free(sorter->runs);
    free(sorter->heap);
    free(sorter->records);
    scratch_close(&sorter->scratch);
    *sorter = (struct sorter){ .count = 0 };
}

static enum err_code write_run(struct sorter *sorter, struct err *err)
{
    enum err_code rc = ERR_OK;
    if (sorter->run_count == SORTER_MAX_RUNS)
        return err_set(err, ERR_LIMIT, "it has more than %d samples",
                       SORTER_MAX_RUNS * SORTER_RECORDS);
    if (!VEC_RESERVE(sorter->runs, sorter->run_room, sorter->run_count + 1))
        return err_nomem(err);
    if (!sorter->scratch.most)
        rc = scratch_open(&sorter->scratch, err);
    if (rc)
        return rc;
    qsort(sorter->records, sorter->count, sizeof *sorter->records, compare_records);
    sorter->runs[sorter->run_count++] =
        (struct sorter_run){ .at = sorter->scratch.bytes, .left = sorter->count };
    for (size_t first = 0; first < sorter->count && !rc; first += PIECE_RECORDS) {
        const size_t left = sorter->count - first;
        const size_t count = left < PIECE_RECORDS ? left : PIECE_RECORDS;
        unsigned char *packed = NULL;
        size_t bytes = 0;
        rc = compress_zstd(sorter->records + first, count * sizeof *sorter->records, LEVEL,
                           &packed, &bytes, err);
        const uint32_t size = (uint32_t)bytes;
        if (!rc)
            rc = scratch_write(&sorter->scratch, &size, sizeof size, err);
        if (!rc)
            rc = scratch_write(&sorter->scratch, packed, bytes, err);
        free(packed);
    }
    sorter->count = 0;
    return rc;
}

enum err_code sorter_add(struct sorter *sorter, const struct sorter_record *record,
                         struct err *err)
{
    if (sorter->count == SORTER_RECORDS) {
        const enum err_code rc = write_run(sorter, err);
        if (rc)
            return rc;
    }
    if (!VEC_RESERVE(sorter->records, sorter->room, sorter->count + 1))
        return err_nomem(err);
    sorter->records[sorter->count++] = *record;
    sorter->added++;
    return ERR_OK;
}

/* Reads the next piece of a run, which has one. */
static enum err_code read_piece(struct sorter *sorter, struct sorter_run *run, struct err *err)
{
    uint32_t size = 0;
    run->count = run->left < PIECE_RECORDS ? run->left : PIECE_RECORDS;
    run->next = 0;
    run->left -= run->count;
    enum err_code rc = scratch_read(&sorter->scratch, run->at, &size, sizeof size, err);
    unsigned char *const packed = !rc ? malloc(size) : NULL;
    if (!rc && !packed)
        rc = err_nomem(err);
    if (!rc)
        rc = scratch_read(&sorter->scratch, run->at + sizeof size, packed, size, err);
    if (!rc)
        rc = compress_unzstd(packed, size, run->piece, run->count * sizeof *run->piece, err);
    free(packed);
    run->at += sizeof size + size;
    return rc;
}

static bool is_before(const struct sorter *sorter, uint32_t one, uint32_t other)
{
    const struct sorter_run *const a = &sorter->runs[one], *const b = &sorter->runs[other];
    return compare_records(&a->piece[a->next], &b->piece[b->next]) < 0;
}

static void sink(struct sorter *sorter, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t below = 2 * at + 1; below <= 2 * at + 2; below++)
            if (below < sorter->heap_count &&
                is_before(sorter, sorter->heap[below], sorter->heap[least]))
                least = below;
        if (least == at)
            return;
        const uint32_t run = sorter->heap[at];
        sorter->heap[at] = sorter->heap[least];
        sorter->heap[least] = run;
        at = least;
    }
}

static enum err_code begin_merge(struct sorter *sorter, struct err *err)
{
    enum err_code rc = sorter->run_count > 0 ? write_run(sorter, err) : ERR_OK;
    sorter->heap = calloc(sorter->run_count + 1, sizeof *sorter->heap);
    if (!rc && !sorter->heap)
        rc = err_nomem(err);
    if (!rc && sorter->run_count == 0 && sorter->count > 0)
        qsort(sorter->records, sorter->count, sizeof *sorter->records, compare_records);
    if (sorter->run_count > 0) {
        free(sorter->records);
        sorter->records = NULL;
        sorter->room = 0;
    }
    for (uint32_t i = 0; i < sorter->run_count && !rc; i++) {
        struct sorter_run *const run = &sorter->runs[i];
        run->piece = malloc(PIECE_RECORDS * sizeof *run->piece);
        rc = run->piece ? read_piece(sorter, run, err) : err_nomem(err);
        sorter->heap[sorter->heap_count++] = i;
    }
    for (size_t at = sorter->heap_count / 2; at-- > 0 && !rc;)
        sink(sorter, at);
    return rc;
}

enum err_code sorter_next(struct sorter *sorter, struct sorter_record *out, struct err *err)
{
    enum err_code rc = sorter->heap ? ERR_OK : begin_merge(sorter, err);
    if (rc)
        return rc;
    if (sorter->at < sorter->count) {
        *out = sorter->records[sorter->at++];
        return ERR_OK;
    }
    if (sorter->heap_count == 0)
        return ERR_NOT_FOUND;
    struct sorter_run *const run = &sorter->runs[sorter->heap[0]];
    *out = run->piece[run->next++];
    if (run->next == run->count && run->left > 0)
        rc = read_piece(sorter, run, err);
    else if (run->next == run->count)
        sorter->heap[0] = sorter->heap[--sorter->heap_count];
    if (!rc)
        sink(sorter, 0);
    return rc;
}
