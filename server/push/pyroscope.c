/* push.v1.PusherService/Push of Grafana Pyroscope: a message of series, each with its labels and a pprof file. */
#include <string.h>

#include "sampler/base/buffer.h"
#include "server/push/labels.h"
#include "server/push/pprof_series.h"
#include "server/report/encoding/protobuf.h"

/* Field numbers of push.proto and types.proto. */
enum {
    REQUEST_SERIES = 1,
    SERIES_LABELS = 1,
    SERIES_SAMPLES = 2,
    LABEL_NAME = 1,
    LABEL_VALUE = 2,
    SAMPLE_RAW_PROFILE = 1,
};

#define METRIC_NAME "__name__"

static void put_text(struct buffer *out, unsigned field, const char *text)
{
    protobuf_bytes(out, field, text, strlen(text));
}

static void put_label(struct buffer *out, const char *name, const char *value)
{
    struct buffer label = { 0 };
    put_text(&label, LABEL_NAME, name);
    put_text(&label, LABEL_VALUE, value);
    protobuf_bytes(out, SERIES_LABELS, label.data, label.length);
    out->failed |= label.failed;
    buffer_deinit(&label);
}

static void put_series(struct buffer *out, bool is_first, const struct push_labels *labels,
                       const char *name, const unsigned char *file, size_t bytes)
{
    struct buffer series = { 0 };
    (void)is_first;
    bool is_named = false;
    /* In the order of names. */
    for (size_t i = 0; i <= labels->count; i++) {
        const struct push_label *const label = i < labels->count ? &labels->items[i] : NULL;
        if (!is_named && (!label || strcmp(label->name, METRIC_NAME) > 0)) {
            put_label(&series, METRIC_NAME, name);
            is_named = true;
        }
        if (label)
            put_label(&series, label->name, label->value);
    }

    /* Without an id: Pyroscope gives each profile one of its own. */
    struct buffer sample = { 0 };
    protobuf_bytes(&sample, SAMPLE_RAW_PROFILE, file, bytes);
    protobuf_bytes(&series, SERIES_SAMPLES, sample.data, sample.length);
    series.failed |= sample.failed;
    buffer_deinit(&sample);

    protobuf_bytes(out, REQUEST_SERIES, series.data, series.length);
    out->failed |= series.failed;
    buffer_deinit(&series);
}

enum err_code push_encode_pyroscope(const struct push_batch *batch, push_take *take, void *to,
                                    struct err *err)
{
    static const struct pprof_series_form form = { "", "", put_series };
    return pprof_series_encode(batch, &form, take, to, err);
}
