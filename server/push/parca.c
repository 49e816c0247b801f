/* ProfileStoreService/WriteRaw of Parca, as its gateway takes it: JSON with pprof files in base64. */
#include <string.h>

#include "sampler/base/buffer.h"
#include "server/push/labels.h"
#include "server/push/pprof_series.h"
#include "server/report/encoding/base64.h"
#include "server/wire/json.h"

static void put_label(struct json *json, const char *name, const char *value)
{
    json_object(json);
    json_member_text(json, "name", name);
    json_member_text(json, "value", value);
    json_end(json);
}

static void put_series(struct buffer *out, bool is_first, const struct push_labels *labels,
                       const char *name, const unsigned char *file, size_t bytes)
{
    struct buffer text = { 0 };
    struct json json;
    base64_append(&text, file, bytes);
    buffer_text(out, is_first ? "" : ",");
    json_init(&json, out);
    json_object(&json);
    json_member_object(&json, "labels");
    json_member_array(&json, "labels");
    put_label(&json, "__name__", name);
    for (size_t i = 0; i < labels->count; i++)
        put_label(&json, labels->items[i].name, labels->items[i].value);
    json_end(&json);
    json_end(&json);
    json_member_array(&json, "samples");
    json_object(&json);
    json_key(&json, "rawProfile");
    json_string(&json, text.data, text.length);
    json_end(&json);
    json_end(&json);
    json_end(&json);
    out->failed |= text.failed || json_finish(&json, NULL);
    buffer_deinit(&text);
}

enum err_code push_encode_parca(const struct push_batch *batch, push_take *take, void *to,
                                struct err *err)
{
    static const struct pprof_series_form form = { "{\"normalized\":true,\"series\":[", "]}",
                                                   put_series };
    return pprof_series_encode(batch, &form, take, to, err);
}
