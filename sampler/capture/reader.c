#include "sampler/capture/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/base/trusted_path.h"
#include "sampler/capture/block_reader.h"
#include "sampler/capture/format.h"
#include "sampler/capture/load.h"
#include "sampler/capture/memory_block.h"
#include "sampler/capture/names.h"
#include "sampler/capture/rows.h"
#include "sampler/capture/source_texts.h"
#include "sampler/capture/windows.h"
#include "sampler/profile/packages.h"

/* A block of samples in the index. */
struct indexed {
    uint64_t at, start_ns;
};

struct reader {
    struct block_reader blocks;
    uint64_t first_at;                    /* the first block behind the metadata */
    struct buffer raw;                    /* the current block */
    struct buffer start_bytes, end_bytes; /* the metadata point into these */
    struct buffer source_bytes;           /* the texts point into these */
    struct source_texts texts;
    struct capture_metadata metadata;
    struct names names;
    struct indexed *index;
    size_t index_count;
    bool has_end; /* the metadata of the end are known */
    bool at_end;  /* the end block was read */

    struct profile *profile;
    struct profile_sizes sizes; /* rows of the profile */
    size_t table_bytes;         /* that they may take; 0: no bound */

    struct windows_block block;
    struct windows_places places; /* of the stream of the block */
    size_t window;                /* index in the block of the next one */
    const struct reader_part
        *loaded; /* the memory of this part goes into the profile; NULL: none does */
    char missing[256];
    reader_watcher *watch; /* NULL: none */
    void *watch_context;
};

static enum err_code take_metadata(struct reader *reader, struct err *err)
{
    struct block_head head;
    enum err_code rc = block_reader_next(&reader->blocks, &head, &reader->start_bytes, err);
    if (rc == ERR_NOT_FOUND)
        return err_set(err, ERR_CORRUPT,
                       "it was cut after %" PRIu64 " bytes and holds no samples",
                       reader->blocks.size);
    if (rc)
        return rc;
    if (head.kind != CAPTURE_METADATA)
        return err_set(err, ERR_CORRUPT, "it does not begin with metadata");
    struct byte_reader in = byte_reader_over(&reader->start_bytes);
    rc = metadata_decode(&reader->metadata, &in, err);
    if (rc)
        return rc;
    if (reader->metadata.unit_ns < 1 || reader->metadata.unit_ns > WINDOWS_MAX_UNIT_NS)
        return err_set(err, ERR_CORRUPT, "its unit of time is invalid");
    names_init(&reader->names, &reader->metadata);
    reader->first_at = reader->blocks.at;
    return ERR_OK;
}

static enum err_code take_index(struct reader *reader, struct byte_reader *in, struct err *err)
{
    const size_t count = byte_reader_count(in, 4, CAPTURE_MAX_INDEX);
    reader->index = calloc(count + 1, sizeof *reader->index);
    if (!reader->index)
        return err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        const unsigned kind = byte_reader_u8(in);
        struct indexed block;
        block.at = byte_reader_number(in);
        block.start_ns = byte_reader_number(in);
        const uint64_t samples = byte_reader_number(in);
        if (kind == CAPTURE_WINDOWS && samples && !in->is_bad)
            reader->index[reader->index_count++] = block;
    }
    return ERR_OK;
}

/* The end may be read before there is a profile.  What is invalid is left out. */
static void take_packages(struct reader *reader)
{
    const struct capture_texts *const paths = &reader->metadata.package_paths;
    const struct capture_texts *const names = &reader->metadata.package_names;
    for (size_t i = 0; reader->profile && i < paths->count && i < names->count; i++)
        (void)!packages_add(profile_packages(reader->profile), paths->items[i], names->items[i],
                            NULL);
}

/* Reads the end block, once. */
static enum err_code take_end(struct reader *reader, struct err *err)
{
    struct byte_reader in = byte_reader_over(&reader->end_bytes);
    enum err_code rc = metadata_decode(&reader->metadata, &in, err);
    if (rc)
        return rc;
    reader->has_end = true;
    take_packages(reader);
    (void)byte_reader_number(&in); /* samples */
    rc = take_index(reader, &in, err);
    if (!rc && in.is_bad)
        rc = err_set(err, ERR_CORRUPT, "its index is invalid");
    return rc;
}

/* A file without a whole end is read nevertheless; reading shows what is wrong. */
static enum err_code read_end(struct reader *reader, struct err *err)
{
    struct block_head head;
    const uint64_t at = block_reader_end_at(&reader->blocks);
    if (!at)
        return ERR_OK;
    reader->blocks.at = at;
    const enum err_code rc =
        block_reader_next(&reader->blocks, &head, &reader->end_bytes, NULL);
    reader->blocks.at = reader->first_at;
    if (rc == ERR_NOMEM)
        return err_nomem(err);
    return rc || head.kind != CAPTURE_END ? ERR_OK : take_end(reader, err);
}

/* Takes the descriptor. */
static enum err_code open_taken(int fd, struct reader **out, struct err *err)
{
    struct reader *const reader = calloc(1, sizeof *reader);
    if (!reader) {
        close(fd);
        return err_nomem(err);
    }

    enum err_code rc = block_reader_open(&reader->blocks, fd, err);
    if (!rc)
        rc = take_metadata(reader, err);
    if (!rc)
        rc = read_end(reader, err);
    if (!rc)
        rc = profile_create(&reader->profile, err);
    take_packages(reader);
    reader->sizes = rows_at_start();

    if (rc)
        reader_close(reader);
    else
        *out = reader;
    return rc;
}

enum err_code reader_open(const char *path, struct reader **out, struct err *err)
{
    int fd;
    /* O_NONBLOCK: does not wait for the other end of a pipe. */
    enum err_code rc = trusted_path_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0, &fd, err);
    rc = rc ? ERR_SYS : open_taken(fd, out, err);
    return rc ? err_wrap(err, rc, "cannot read '%.200s'", path) : ERR_OK;
}

enum err_code reader_open_fd(int fd, struct reader **out, struct err *err)
{
    const int taken = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return taken < 0 ? err_sys(err, errno, "cannot open it again")
                     : open_taken(taken, out, err);
}

void reader_close(struct reader *reader)
{
    if (!reader)
        return;
    block_reader_close(&reader->blocks);
    metadata_deinit(&reader->metadata);
    windows_block_deinit(&reader->block);
    windows_places_deinit(&reader->places);
    profile_destroy(reader->profile);
    buffer_deinit(&reader->raw);
    buffer_deinit(&reader->start_bytes);
    buffer_deinit(&reader->end_bytes);
    buffer_deinit(&reader->source_bytes);
    source_texts_deinit(&reader->texts);
    free(reader->index);
    free(reader);
}

const struct capture_metadata *reader_metadata(const struct reader *reader)
{
    return &reader->metadata;
}

bool reader_has_end(const struct reader *reader)
{
    return reader->has_end;
}

const struct source_texts *reader_source(const struct reader *reader)
{
    return &reader->texts;
}

const char *reader_source_text(const struct reader *reader)
{
    return reader->has_end ? reader->metadata.source_text : SOURCE_TEXT_NO_END;
}

const char *reader_missing(const struct reader *reader)
{
    return *reader->missing ? reader->missing : NULL;
}

void reader_watch(struct reader *reader, reader_watcher *watch, void *context)
{
    reader->watch = watch;
    reader->watch_context = context;
}

struct profile *reader_profile(struct reader *reader)
{
    return reader->profile;
}

static enum err_code pass_end(struct reader *reader, struct err *err)
{
    reader->at_end = true;
    if (reader->has_end)
        return ERR_OK;
    const struct buffer raw = reader->raw;
    reader->raw = reader->end_bytes;
    reader->end_bytes = raw;
    return take_end(reader, err);
}

static enum err_code take_memory(struct reader *reader, struct err *err)
{
    const struct reader_part *const part = reader->loaded;
    struct memory_log log = { .step_count = 0 };
    struct byte_reader in = byte_reader_over(&reader->raw);
    enum err_code rc = memory_block_decode(&in, reader->sizes.processes, &log, err);
    if (!rc && part)
        rc = load_memory(reader->profile, &log, part->from_ns, part->to_ns, err);
    memory_log_deinit(&log);
    return rc;
}

static enum err_code take_block(struct reader *reader, const struct block_head *head,
                                uint64_t at, struct err *err)
{
    enum err_code rc = ERR_OK;
    if (head->kind == CAPTURE_ROWS) {
        /* The file decides how large tables get; a small compressed file may have many rows. */
        struct byte_reader in = byte_reader_over(&reader->raw);
        rc = rows_decode(reader->profile, &in, &reader->sizes, err);
        if (!rc && reader->table_bytes &&
            profile_table_bytes(reader->profile) > reader->table_bytes)
            rc = err_set(
                err, ERR_LIMIT,
                "its functions and stacks need more than %zu MiB: use a larger --memory",
                reader->table_bytes >> 20);
    } else if (head->kind == CAPTURE_WINDOWS) {
        const bool is_piece = block_is_piece(head);
        struct byte_reader in = byte_reader_over(&reader->raw);
        windows_block_deinit(&reader->block);
        reader->window = 0;
        rc = windows_decode(&in, &reader->names, reader->metadata.unit_ns, &reader->sizes,
                            is_piece, &reader->places, &reader->block, err);
    } else if (head->kind == CAPTURE_MEASURED) {
        struct byte_reader in = byte_reader_over(&reader->raw);
        windows_block_deinit(&reader->block);
        reader->window = 0;
        rc = windows_decode_measured(&in, &reader->names, reader->metadata.unit_ns,
                                     &reader->sizes, reader->profile, &reader->block, err);
    } else if (head->kind == CAPTURE_SOURCE) {
        const struct buffer raw = reader->raw;
        source_texts_deinit(&reader->texts);
        reader->raw = reader->source_bytes;
        reader->source_bytes = raw;
        rc = source_texts_decode(raw.data, raw.length, &reader->texts, err);
    } else if (head->kind == CAPTURE_MEMORY) {
        rc = take_memory(reader, err);
    } else if (head->kind == CAPTURE_END)
        rc = pass_end(reader, err);
    else
        rc = err_set(err, ERR_CORRUPT, "metadata are in the wrong place");
    return rc == ERR_CORRUPT ? err_wrap(err, rc, "damaged at byte %" PRIu64, at) : rc;
}

static enum err_code next_block(struct reader *reader, struct err *err)
{
    struct block_head head;
    const uint64_t at = reader->blocks.at;
    if (reader->at_end)
        return err_set(err, ERR_NOT_FOUND, "the capture has no more samples");
    const enum err_code rc = block_reader_next(&reader->blocks, &head, &reader->raw, err);
    if (rc == ERR_NOT_FOUND) {
        const struct block_reader *const blocks = &reader->blocks;
        const uint64_t rest = blocks->size - blocks->at;
        if (rest > 0)
            snprintf(reader->missing, sizeof reader->missing,
                     "the capture was cut: its last %" PRIu64 " bytes, from byte %" PRIu64
                     " on, are not a whole block; everything after them is missing",
                     rest, blocks->at);
        else
            snprintf(
                reader->missing, sizeof reader->missing,
                "the capture was not finished: everything after its last block, at byte %" PRIu64
                ", is missing",
                blocks->at);
    }
    if (reader->watch &&
        !reader->watch(reader->watch_context, reader->blocks.at, reader->blocks.size))
        return err_set(err, ERR_SYS, "reading was stopped");
    return rc ? rc : take_block(reader, &head, at, err);
}

enum err_code reader_next_window(struct reader *reader, struct capture_window *out,
                                 struct err *err)
{
    enum err_code rc = ERR_OK;
    while (!rc && reader->window >= reader->block.window_count)
        rc = next_block(reader, err);
    if (rc)
        return rc;
    const struct block_window *const window = &reader->block.windows[reader->window++];
    *out = (struct capture_window){ .start_ns = window->start_ns,
                                    .end_ns = window->end_ns,
                                    .period_ns = window->period_ns,
                                    .is_open = window->is_open,
                                    .measure = reader->block.measure,
                                    .quality = reader->block.quality,
                                    .runs = window->run_count
                                                ? reader->block.runs + window->runs_at
                                                : NULL,
                                    .run_count = window->run_count };
    if (reader->block.lost > reader->metadata.lost)
        reader->metadata.lost = reader->block.lost;
    return ERR_OK;
}

void reader_rewind(struct reader *reader)
{
    windows_block_deinit(&reader->block);
    reader->window = 0;
    reader->at_end = false;
    reader->blocks.at = reader->first_at;
}

static bool is_in(const struct reader_part *part, const struct capture_window *window)
{
    return window->start_ns >= part->from_ns &&
           (!part->to_ns || window->start_ns < part->to_ns);
}

/* The last window has the counters of the end. */
static enum err_code load_windows(struct reader *reader, const struct reader_part *part,
                                  struct err *err)
{
    struct profile *const profile = reader->profile;
    struct capture_window window;
    struct quality quality = { 0 };
    uint64_t last_ns[MEASURE_COUNT] = { 0 }, end_ns = 0;
    enum err_code rc;
    while (!(rc = reader_next_window(reader, &window, err))) {
        if (is_in(part, &window) && (rc = load_window(profile, &window, last_ns, err)))
            return rc;
        const uint64_t known_ns = window.is_open ? window.start_ns : window.end_ns;
        end_ns = known_ns > end_ns ? known_ns : end_ns;
        if (!window.is_open)
            quality = window.quality;
    }
    if (rc != ERR_NOT_FOUND)
        return rc;
    *profile_quality(profile) = quality;
    rc = ERR_OK;
    /* A window that was cut ends where its measure was closed last. */
    uint64_t sealed_ns = last_ns[MEASURE_TIME];
    for (enum measure i = MEASURE_TIME + 1; i < MEASURE_COUNT && !rc; i++) {
        if (last_ns[i])
            rc = profile_seal_measured(profile, i, last_ns[i], measure_period(i), err);
        sealed_ns = last_ns[i] > sealed_ns ? last_ns[i] : sealed_ns;
    }
    if (!rc)
        rc = profile_seal(profile, sealed_ns, err);
    if (!rc)
        profile_extend(profile, end_ns);
    return rc;
}

enum err_code reader_load_part(struct reader *reader, const struct reader_part *part,
                               struct err *err)
{
    /* A live session closes its tables at three eighths and they end below three quarters. */
    profile_set_memory(reader->profile, part->memory_bytes * 2);
    reader->table_bytes = part->memory_bytes / 4 * 3;
    if (part->watch)
        reader_watch(reader, part->watch, part->context);
    reader_rewind(reader);
    if ((part->from_ns || part->to_ns) && reader->index_count) {
        /* Blocks of samples without a window of the part are skipped, except the last, which has the counters of the
         * end.  A window may continue in the next block, which then has the same start time. */
        struct wanted_blocks *const wanted = &reader->blocks.wanted;
        *wanted = (struct wanted_blocks){ .is_part = true, .to = UINT64_MAX };
        wanted->also = reader->index[reader->index_count - 1].at;
        for (size_t i = 0; i < reader->index_count; i++) {
            const struct indexed *const block = &reader->index[i];
            if (block->start_ns < part->from_ns)
                wanted->from = block->at;
            if (part->to_ns && block->start_ns >= part->to_ns && block->at < wanted->to)
                wanted->to = block->at;
        }
        wanted->met_from = wanted->from == 0;
        wanted->met_to = wanted->to == UINT64_MAX;
    }
    reader->loaded = part;
    enum err_code rc = load_windows(reader, part, err);
    reader->loaded = NULL;
    /* A wrong index would leave out samples. */
    const struct wanted_blocks *const wanted = &reader->blocks.wanted;
    if (!rc && wanted->is_part && !(wanted->met_from && wanted->met_to && wanted->met_also))
        rc = err_set(err, ERR_CORRUPT, "its index names blocks that are not there");
    reader->blocks.wanted = (struct wanted_blocks){ .is_part = false };
    return rc;
}

enum err_code reader_load(struct reader *reader, size_t memory_bytes, struct err *err)
{
    return reader_load_part(reader, &(struct reader_part){ .memory_bytes = memory_bytes }, err);
}
