#include "sampler/capture/writer.h"

#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/capture/format.h"
#include "sampler/capture/memory_block.h"
#include "sampler/capture/metadata.h"
#include "sampler/capture/names.h"
#include "sampler/capture/rows.h"

uint64_t writer_unit_ns(double rate_hz)
{
    const double period_ns = rate_hz > 0 ? 1e9 / rate_hz : 1e6;
    return period_ns > 1e6 ? 1000000 : period_ns < 1000 ? 1000 : (uint64_t)period_ns;
}

/* New rows that take more bytes are sent before their samples. */
enum { SEND_BYTES = 1 << 20 };

static enum err_code send_output(struct writer *writer, struct err *err)
{
    enum err_code rc = buffer_check(&writer->out, err);
    if (!rc)
        rc = writer->take(writer->to, writer->out.data, writer->out.length, err);
    if (!rc)
        writer->at += writer->out.length;
    buffer_clear(&writer->out);
    return rc;
}

/* Makes the bytes of `raw` a block of this kind. */
static enum err_code add_block(struct writer *writer, enum capture_kind kind, struct err *err)
{
    enum err_code rc = ERR_OK;
    if (writer->is_live)
        rc = block_encode_plain(kind, &writer->raw, &writer->out, err);
    else if (kind == CAPTURE_WINDOWS)
        rc = block_chain_encode(&writer->chain, kind, &writer->raw, &writer->out, err);
    else
        rc = block_encode(kind, &writer->raw, &writer->out, err);
    buffer_clear(&writer->raw);
    return rc;
}

static enum err_code init_writer(struct writer *writer, const struct capture_metadata *metadata,
                                 bool is_live, writer_take take, void *to, struct err *err)
{
    struct capture_metadata named = *metadata;
    memset(writer, 0, sizeof *writer);
    writer->take = take;
    writer->to = to;
    writer->is_live = is_live;
    writer->done = rows_at_start();
    windows_encoder_init(&writer->windows, metadata->unit_ns);
    for (enum measure i = MEASURE_TIME; i < MEASURE_COUNT; i++)
        windows_encoder_init(&writer->measured[i], metadata->unit_ns);
    writer->windows.marks_native = is_live;
    (is_live ? names_set_live : names_set)(&named);

    buffer_append(&writer->out, CAPTURE_MAGIC, sizeof CAPTURE_MAGIC - 1);
    buffer_u8(&writer->out, CAPTURE_MAJOR);
    buffer_u8(&writer->out, 0);
    buffer_u8(&writer->out, CAPTURE_MINOR);
    buffer_u8(&writer->out, 0);
    buffer_u32(&writer->out, 0);

    metadata_encode(&named, &writer->raw);
    const enum err_code rc = add_block(writer, CAPTURE_METADATA, err);
    return rc ? rc : send_output(writer, err);
}

enum err_code writer_init(struct writer *writer, const struct capture_metadata *metadata,
                          writer_take take, void *to, struct err *err)
{
    return init_writer(writer, metadata, false, take, to, err);
}

enum err_code writer_init_live(struct writer *writer, const struct capture_metadata *metadata,
                               writer_take take, void *to, struct err *err)
{
    return init_writer(writer, metadata, true, take, to, err);
}

void writer_deinit(struct writer *writer)
{
    windows_encoder_deinit(&writer->windows);
    for (size_t i = 0; i < MEASURE_COUNT; i++)
        windows_encoder_deinit(&writer->measured[i]);
    block_chain_deinit(&writer->chain);
    memory_log_deinit(&writer->memory);
    buffer_deinit(&writer->raw);
    buffer_deinit(&writer->out);
    buffer_deinit(&writer->index);
    memset(writer, 0, sizeof *writer);
}

enum err_code writer_run(struct writer *writer, const struct run *run, struct err *err)
{
    struct windows_encoder *const windows =
        run->measure == MEASURE_TIME ? &writer->windows : &writer->measured[run->measure];
    return run->count ? windows_encoder_add(windows, run, err) : ERR_OK;
}

size_t writer_run_count(const struct writer *writer)
{
    size_t count = writer->windows.run_count;
    for (size_t i = 0; i < MEASURE_COUNT; i++)
        count += writer->measured[i].run_count;
    return count;
}

enum err_code writer_memory(struct writer *writer, const struct memory_step *step,
                            const struct memory_use *uses, struct err *err)
{
    return memory_log_add(&writer->memory, step, uses, err);
}

enum err_code writer_seal(struct writer *writer, uint64_t end_ns, uint64_t period_ns,
                          struct err *err)
{
    writer->now_ns = end_ns;
    return windows_encoder_seal(&writer->windows, end_ns, period_ns, err);
}

enum err_code writer_seal_measured(struct writer *writer, enum measure measure, uint64_t end_ns,
                                   uint64_t period, struct err *err)
{
    writer->now_ns = end_ns;
    return windows_encoder_seal(&writer->measured[measure], end_ns, period, err);
}

static bool is_due(const struct writer *writer, const struct windows_encoder *windows)
{
    return windows_encoder_is_full(windows) ||
           (!windows_encoder_is_empty(windows) &&
            writer->now_ns >= windows_encoder_start_ns(windows) + WRITER_PATIENCE_NS);
}

bool writer_is_due(const struct writer *writer)
{
    bool due = writer->is_live || is_due(writer, &writer->windows);
    for (size_t i = 0; i < MEASURE_COUNT && !due; i++)
        due = is_due(writer, &writer->measured[i]);
    return due;
}

static enum err_code add_memory(struct writer *writer, struct err *err)
{
    size_t next = 0;
    enum err_code rc = ERR_OK;
    while (!rc &&
           memory_block_encode(&writer->memory, &next, writer->done.processes, &writer->raw))
        rc = add_block(writer, CAPTURE_MEMORY, err);
    memory_log_clear(&writer->memory);
    return rc;
}

static bool is_memory_due(const struct writer *writer)
{
    const struct memory_log *const memory = &writer->memory;
    return memory->step_count &&
           (writer->is_live || memory->use_count >= MEMORY_BLOCK_MAX_USES ||
            writer->now_ns >= memory->steps[0].start_ns + WRITER_MEMORY_NS);
}

enum err_code writer_flush(struct writer *writer, const struct profile_snapshot *snapshot,
                           const struct quality *quality, uint64_t lost, struct err *err)
{
    const uint64_t samples = windows_encoder_samples(&writer->windows);
    const uint64_t start_ns = windows_encoder_start_ns(&writer->windows);
    const bool is_first = writer->chain.pieces == 0 && !writer->is_live;
    const bool has_windows = !writer->is_live || !windows_encoder_is_empty(&writer->windows);

    enum err_code rc = ERR_OK;
    while (!rc && rows_encode(snapshot, &writer->done, &writer->raw)) {
        rc = add_block(writer, CAPTURE_ROWS, err);
        if (!rc && writer->out.length > SEND_BYTES)
            rc = send_output(writer, err);
    }

    if (!rc && is_memory_due(writer))
        rc = add_memory(writer, err);
    if (!rc) {
        /* Blocks of other measures come before that of time, so that a reader has them when it
         * publishes a window. */
        for (enum measure i = MEASURE_TIME; i < MEASURE_COUNT && !rc; i++) {
            struct windows_encoder *const windows = &writer->measured[i];
            if (windows_encoder_is_empty(windows))
                continue;
            writer->samples += windows_encoder_samples(windows);
            windows_encode_measure(snapshot, i, &writer->raw);
            rc = windows_encode(windows, quality, lost, &writer->raw, err);
            windows_encoder_forget(windows);
            if (!rc)
                rc = add_block(writer, CAPTURE_MEASURED, err);
        }
    }
    const uint64_t at = writer->at + writer->out.length;
    if (!rc && has_windows)
        rc = windows_encode(&writer->windows, quality, lost, &writer->raw, err);
    if (!rc && has_windows)
        rc = add_block(writer, CAPTURE_WINDOWS, err);
    if (!rc)
        rc = send_output(writer, err);
    buffer_clear(&writer->out);
    if (rc)
        return rc;
    if (writer->windows.place_count > WINDOWS_FULL_PLACES)
        block_chain_break(&writer->chain);
    /* A live capture is one stream of places until there are too many. */
    if (!writer->chain.pieces &&
        (!writer->is_live || writer->windows.place_count > WINDOWS_FULL_PLACES))
        windows_encoder_forget(&writer->windows);
    if (is_first) {
        writer->index_count++;
        if (writer->index_count <= CAPTURE_MAX_INDEX) {
            buffer_u8(&writer->index, CAPTURE_WINDOWS);
            buffer_number(&writer->index, at);
            buffer_number(&writer->index, start_ns);
            buffer_number(&writer->index, samples);
        }
    }
    writer->samples += samples;
    return ERR_OK;
}

enum err_code writer_state(struct writer *writer, writer_put *put, void *context,
                           struct err *err)
{
    put(context, &writer->raw);
    const enum err_code rc = add_block(writer, CAPTURE_STATE, err);
    return rc ? rc : send_output(writer, err);
}

enum err_code writer_source(struct writer *writer, const struct buffer *texts, struct err *err)
{
    const enum err_code rc = block_encode(CAPTURE_SOURCE, texts, &writer->out, err);
    return rc ? rc : send_output(writer, err);
}

enum err_code writer_finish(struct writer *writer, const struct capture_metadata *end,
                            struct err *err)
{
    enum err_code rc = add_memory(writer, err);
    const uint64_t end_at = writer->at + writer->out.length;
    const bool has_index = writer->index_count <= CAPTURE_MAX_INDEX;
    metadata_encode(end, &writer->raw);
    buffer_number(&writer->raw, writer->samples);
    buffer_number(&writer->raw, has_index ? writer->index_count : 0);
    if (has_index)
        buffer_append(&writer->raw, writer->index.data, writer->index.length);
    writer->raw.failed |= writer->index.failed;
    if (!rc)
        rc = add_block(writer, CAPTURE_END, err);
    if (!rc) {
        buffer_u64(&writer->out, end_at);
        buffer_append(&writer->out, CAPTURE_MAGIC, sizeof CAPTURE_MAGIC - 1);
    }
    return rc ? rc : send_output(writer, err);
}
