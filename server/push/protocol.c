#include "server/push/protocol.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/compress.h"
#include "server/report/encoding/protobuf.h"

/* Field 1 of the requests of both protocols that can be divided holds the series, one a message; what the other fields
 * hold belongs to all of them. */
enum { SERIES = 1 };

static const struct push_protocol protocols[] = {
    { "pyroscope", "Grafana Pyroscope", 4040, "/push.v1.PusherService/Push",
      "application/proto", false, true, push_encode_pyroscope },
    { "otlp", "OpenTelemetry Collector", 4318, "/v1development/profiles",
      "application/x-protobuf", true, true, push_encode_otlp },
    { "parca", "Parca", 7070, "/api/profiles/writeraw", "application/json", false, false,
      push_encode_parca },
};

const struct push_protocol *push_protocol_at(size_t index)
{
    return index < sizeof protocols / sizeof *protocols ? &protocols[index] : NULL;
}

const struct push_protocol *push_protocol_find(const char *scheme, size_t length)
{
    const struct push_protocol *protocol = NULL;
    for (size_t i = 0; (protocol = push_protocol_at(i)); i++)
        if (strlen(protocol->scheme) == length &&
            strncmp(protocol->scheme, scheme, length) == 0)
            return protocol;
    return NULL;
}

static enum err_code divide_body(const struct push_protocol *protocol, const char *plain,
                                 size_t bytes, push_take *take, void *to, struct err *err)
{
    struct buffer request = { 0 }, others = { 0 };
    const char *at = plain, *data;
    size_t left = bytes, length, count = 0;
    unsigned field;
    enum err_code rc = ERR_OK;
    while (protobuf_next(&at, &left, &field, &data, &length))
        if (field != SERIES)
            protobuf_bytes(&others, field, data, length);
    for (at = plain, left = bytes; !rc && protobuf_next(&at, &left, &field, &data, &length);) {
        if (field != SERIES)
            continue;
        buffer_clear(&request);
        protobuf_bytes(&request, field, data, length);
        buffer_append(&request, others.data, others.length);
        request.failed |= others.failed;

        unsigned char *packed = NULL;
        struct buffer body = request;
        rc = buffer_check(&request, err);
        if (!rc && protocol->is_gzip) {
            rc = compress_gzip(request.data, request.length, PUSH_GZIP_LEVEL, &packed,
                               &body.length, err);
            body.data = (char *)packed;
        }
        if (!rc)
            rc = take(to, &body, err);
        free(packed);

        count++;
    }
    buffer_deinit(&request);
    buffer_deinit(&others);
    return !rc && count == 0 ? err_set(err, ERR_CORRUPT, "no request") : rc;
}

enum err_code push_divide(const struct push_protocol *protocol, const struct buffer *body,
                          push_take *take, void *to, struct err *err)
{
    unsigned char *plain = NULL;
    size_t bytes = 0;
    if (!protocol->is_divisible)
        return take(to, body, err);
    if (!protocol->is_gzip)
        return divide_body(protocol, body->data, body->length, take, to, err);
    enum err_code rc = compress_gunzip(body->data, body->length, &plain, &bytes, err);
    if (!rc)
        rc = divide_body(protocol, (const char *)plain, bytes, take, to, err);
    free(plain);
    return rc;
}
