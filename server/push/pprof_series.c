#include "server/push/pprof_series.h"

#include <stdlib.h>

#include "sampler/base/buffer.h"
#include "sampler/base/compress.h"
#include "server/push/batch.h"
#include "server/report/encoding/pprof.h"

struct encoding {
    const struct push_batch *batch;
    const struct pprof_series_form *form;
    push_take *take;
    void *to;
    struct pprof *pprof;
    struct buffer file, body;
    size_t plain_bytes; /* of the files of the request */
};

static enum err_code finish_request(struct encoding *encoding, struct err *err)
{
    enum err_code rc = ERR_OK;
    if (encoding->plain_bytes == 0)
        return rc;
    buffer_text(&encoding->body, encoding->form->end);
    rc = buffer_check(&encoding->body, err);
    if (!rc)
        rc = encoding->take(encoding->to, &encoding->body, err);
    buffer_clear(&encoding->body);
    encoding->plain_bytes = 0;
    return rc;
}

/* Adds the file that was just made. */
static enum err_code add_file(struct encoding *encoding, const struct push_process *process,
                              const char *name, struct err *err)
{
    unsigned char *packed = NULL;
    size_t bytes = 0;
    const bool is_full = encoding->plain_bytes + encoding->file.length > PUSH_REQUEST_BYTES;
    enum err_code rc = is_full ? finish_request(encoding, err) : ERR_OK;
    if (!rc)
        rc = compress_gzip(encoding->file.data, encoding->file.length, PUSH_GZIP_LEVEL, &packed,
                           &bytes, err);
    if (rc)
        return rc;
    const bool is_first = encoding->plain_bytes == 0;
    if (is_first)
        buffer_text(&encoding->body, encoding->form->begin);
    encoding->form->put(&encoding->body, is_first, &process->labels, name, packed, bytes);
    encoding->plain_bytes += encoding->file.length;
    free(packed);
    return ERR_OK;
}

static enum err_code encode_cells(struct encoding *encoding, const struct push_process *process,
                                  enum push_values values, struct err *err)
{
    const struct push_batch *const batch = encoding->batch;
    const struct push_cells *const cells = &process->values[values];
    struct pprof_settings settings = {
        .values = values == PUSH_CPU    ? PPROF_CPU
                  : values == PUSH_WALL ? PPROF_WALL
                                        : PPROF_MEASURED,
        .measure = push_measure(values),
        .labels = push_labels_of_samples(batch, values) | PPROF_SPANS,
        .began_at_ns = batch->began_at_ns,
        .duration_ns = batch->duration_ns,
        .period_ns = batch->periods[values],
        .executable = process->executable,
        .max_samples = PUSH_PROFILE_SAMPLES,
        .max_bytes = PUSH_PROFILE_BYTES,
        .max_depth = PUSH_DEPTH,
    };
    enum err_code rc = ERR_OK;
    for (size_t at = 0, used = 0; at < cells->count && !rc; at += used) {
        buffer_clear(&encoding->file);
        settings.part_ns = push_part_ns(settings.duration_ns);
        rc = pprof_write(encoding->pprof, &settings, cells->cells + at, cells->count - at,
                         &encoding->file, &used, err);
        if (!rc)
            rc = add_file(encoding, process,
                          values == PUSH_CPU ? "process_cpu" : push_type(batch, values), err);
        settings.began_at_ns += settings.part_ns;
        settings.duration_ns -= settings.part_ns;
    }
    return rc;
}

enum err_code pprof_series_encode(const struct push_batch *batch,
                                  const struct pprof_series_form *form, push_take *take,
                                  void *to, struct err *err)
{
    struct encoding encoding = { .batch = batch, .form = form, .take = take, .to = to };
    enum err_code rc = pprof_create(batch->snapshot, &encoding.pprof, err);
    for (size_t i = 0; i < batch->process_count && !rc; i++)
        for (enum push_values values = PUSH_CPU; values < PUSH_VALUES && !rc; values++)
            rc = encode_cells(&encoding, &batch->processes[i], values, err);
    if (!rc)
        rc = finish_request(&encoding, err);
    pprof_destroy(encoding.pprof);
    buffer_deinit(&encoding.file);
    buffer_deinit(&encoding.body);
    return rc;
}
