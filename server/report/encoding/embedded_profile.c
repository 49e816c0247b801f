#include "server/report/encoding/embedded_profile.h"

#include <string.h>

#include "sampler/base/compress.h"
#include "server/report/encoding/base64.h"

/* Three bytes make four digits: one or two are kept for the next time. */
static void put_base64(struct packed *packed, const char *data, size_t bytes)
{
    while (packed->carried > 0 && packed->carried < 3 && bytes > 0) {
        packed->carry[packed->carried++] = *data++;
        bytes--;
    }
    if (packed->carried == 3) {
        base64_append(packed->out, packed->carry, 3);
        packed->carried = 0;
    }
    const size_t whole = bytes / 3 * 3;
    base64_append(packed->out, data, whole);
    for (size_t i = whole; i < bytes; i++)
        packed->carry[packed->carried++] = data[i];
}

static bool take(void *to, const char *data, size_t bytes)
{
    struct packed *const packed = to;
    if (packed->form == PACKED_BASE64)
        put_base64(packed, data, bytes);
    else
        buffer_append(packed->out, data, bytes);
    return !packed->out->failed;
}

static bool drain(void *to, const char *data, size_t bytes)
{
    struct packed *const packed = to;
    return gzip_stream_write(packed->stream, data, bytes, false, take, packed);
}

enum err_code packed_init(struct packed *packed, int level, enum packed_form form,
                          struct buffer *out, struct err *err)
{
    memset(packed, 0, sizeof *packed);
    packed->form = form;
    packed->out = out;
    buffer_init_draining(&packed->in, drain, packed);
    return gzip_stream_create(level, &packed->stream, err);
}

enum err_code packed_finish(struct packed *packed, struct err *err)
{
    buffer_flush(&packed->in);
    const enum err_code rc = buffer_check(&packed->in, err);
    if (rc != ERR_OK)
        return rc;
    gzip_stream_write(packed->stream, NULL, 0, true, take, packed);
    if (packed->carried > 0)
        base64_append(packed->out, packed->carry, packed->carried);
    packed->carried = 0;
    return buffer_check(packed->out, err);
}

void packed_deinit(struct packed *packed)
{
    buffer_deinit(&packed->in);
    gzip_stream_destroy(packed->stream);
    packed->stream = NULL;
}
