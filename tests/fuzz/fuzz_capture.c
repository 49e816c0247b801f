/* Input: a capture if it begins like one.  Otherwise blocks: kind u8, size u16 and that many bytes.  The
 * target adds valid heads and checksums to the blocks, and a valid first block.  A kind with its
 * highest bit set is a piece of a stream. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/capture/block.h"
#include "sampler/capture/metadata.h"
#include "sampler/capture/reader.h"
#include "sampler/capture/source_texts.h"
#include "sampler/capture/writer.h"
#include "sampler/profile/views/memory_slots.h"
#include "sampler/profile/views/view.h"
#include "tests/fuzz/fuzz.h"

enum { MEMORY_BYTES = 16 << 20 };

static enum err_code take(void *to, const void *data, size_t bytes, struct err *err)
{
    buffer_append(to, data, bytes);
    return buffer_check(to, err);
}

static void put_start(struct buffer *file)
{
    const struct capture_metadata facts = { .unit_ns = 1000000, .rate_uhz = 1000000000 };
    struct writer writer;
    fuzz_check(writer_init(&writer, &facts, take, file, NULL) == ERR_OK);
    writer_deinit(&writer);
}

static void put_blocks(struct buffer *file, struct byte_reader input)
{
    struct block_chain chain = { 0 };
    while (byte_reader_left(&input) >= 3) {
        struct buffer raw = { 0 };
        const unsigned kind = byte_reader_u8(&input);
        const unsigned low = byte_reader_u8(&input);
        const size_t wanted = low | byte_reader_u8(&input) << 8;
        const size_t left = byte_reader_left(&input);
        const size_t bytes = wanted < left ? wanted : left;
        buffer_append(&raw, byte_reader_take(&input, bytes), bytes);
        const enum capture_kind plain = (enum capture_kind)(kind & 0x7f);
        fuzz_check((kind & 0x80 ? block_chain_encode(&chain, plain, &raw, file, NULL)
                                : block_encode(plain, &raw, file, NULL)) == ERR_OK);
        buffer_deinit(&raw);
    }
    block_chain_deinit(&chain);
}

static void read_runs(struct reader *reader)
{
    struct capture_window window;
    reader_rewind(reader);
    while (reader_next_window(reader, &window, NULL) == ERR_OK)
        for (size_t i = 0; i < window.run_count; i++)
            fuzz_check(window.runs[i].count > 0);
}

/* The counts of the instructions add up to the total. */
static void read_spots(const struct profile_snapshot *snapshot)
{
    struct view_spots spots;
    uint64_t self = 0, most = 0;
    if (view_spots_init(&spots, snapshot, &(struct view_query){ 0 }, NULL) != ERR_OK)
        return;
    for (size_t i = 0; i < spots.count; i++) {
        self += spots.spots[i].self;
        most = spots.spots[i].total > most ? spots.spots[i].total : most;
        fuzz_check(spots.spots[i].total >= spots.spots[i].self);
    }
    fuzz_check(most <= self);
    view_spots_deinit(&spots);
}

/* Merged with themselves texts stay as they are, as far as there is room. */
static void read_source(const struct reader *reader)
{
    const struct source_texts *const texts = reader_source(reader);
    const struct source_texts *const twice[] = { texts, texts };
    struct buffer merged = { 0 };
    size_t count = 0;
    for (size_t i = 0; i < texts->count; i++)
        fuzz_check(source_texts_find(texts, texts->items[i].path, texts->items[i].path_bytes) !=
                   NULL);
    fuzz_check(source_texts_merge(twice, 2, &merged, &count, NULL) == ERR_OK);
    fuzz_check(count <= texts->count && merged.length <= SOURCE_TEXTS_MAX_BYTES);
    buffer_deinit(&merged);
}

/* No process has more in a slot than all have together. */
static void read_memory(const struct profile_snapshot *snapshot)
{
    const struct view_query everything = { 0 };
    struct memory_slots memory;
    if (memory_slots_init(&memory, snapshot, &everything, 16, NULL) != ERR_OK)
        return;
    fuzz_check(memory.count <= 17);
    for (size_t i = 0; i < memory.count; i++)
        for (size_t k = 0; k < memory.process_count; k++)
            fuzz_check(memory.rows[i].processes[k].rss_bytes <= memory.rows[i].all.rss_bytes);
    memory_slots_deinit(&memory);
}

static void read_file(const char *path)
{
    struct reader *reader = NULL;
    struct profile_snapshot snapshot;
    if (reader_open(path, &reader, NULL) != ERR_OK)
        return;
    if (reader_load(reader, MEMORY_BYTES, NULL) == ERR_OK)
        read_runs(reader);
    read_source(reader);
    if (profile_snapshot(reader_profile(reader), &snapshot, NULL) == ERR_OK) {
        read_spots(&snapshot);
        read_memory(&snapshot);
        fuzz_check(snapshot.bytes < (size_t)MEMORY_BYTES * 16);
        profile_snapshot_release(&snapshot);
    }
    reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer file = { 0 };
    char path[64];
    if (size > 0 && data[0] == 0x89) {
        buffer_append(&file, data, size);
    } else {
        put_start(&file);
        put_blocks(&file, byte_reader_of(data, size));
    }
    const int fd = memfd_create("capture", MFD_CLOEXEC);
    fuzz_check(fd >= 0 && write(fd, file.data, file.length) == (ssize_t)file.length);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_file(path);
    close(fd);
    buffer_deinit(&file);
    return 0;
}
