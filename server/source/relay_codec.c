#include "server/source/relay_codec.h"

#include <stdio.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"

void relay_request_encode(const struct relay_request *request, struct buffer *out)
{
    buffer_u8(out, request->want);
    buffer_number(out, request->count);
    for (size_t i = 0; i < request->count; i++)
        buffer_number(out, request->functions[i]);
}

enum err_code relay_request_decode(const void *data, size_t bytes, struct relay_request *out,
                                   struct err *err)
{
    struct byte_reader in = byte_reader_of(data, bytes);
    out->want = (enum relay_want)byte_reader_below(&in, RELAY_WANTS - 1);
    out->count = byte_reader_count(&in, 1, SOURCE_MAX_PLACES);
    for (size_t i = 0; i < out->count; i++)
        out->functions[i] = (function_id)byte_reader_below(&in, UINT32_MAX);
    return in.is_bad || out->count == 0 || byte_reader_left(&in) > 0
               ? err_set(err, ERR_INVALID, "the request is invalid")
               : ERR_OK;
}

/* A place may be known, although its file cannot be read. */
void relay_answer_encode(enum err_code code, const struct err *err, uint64_t changed_ns,
                         const struct source_place *place, const struct buffer *text,
                         struct buffer *out)
{
    buffer_u8(out, code);
    buffer_sized_text(out, code ? err->message : "");
    buffer_u64(out, changed_ns);
    buffer_sized_text(out, place->path);
    buffer_signed(out, place->line);
    buffer_number(out, code ? 0 : text->length);
    if (!code)
        buffer_append(out, text->data, text->length);
}

enum err_code relay_answer_decode(const void *data, size_t bytes, struct buffer *out,
                                  uint64_t *changed_ns_out, struct source_place *place_out,
                                  struct err *err)
{
    struct byte_reader in = byte_reader_of(data, bytes);
    struct source_place place = { .line = 0 };
    const unsigned code = (unsigned)byte_reader_below(&in, ERR_NOT_PYTHON);
    const char *const message = byte_reader_text(&in);
    const uint64_t changed_ns = byte_reader_u64(&in);
    const char *const path = byte_reader_text(&in);
    place.line = (int32_t)byte_reader_signed(&in);
    const size_t length = byte_reader_count(&in, 1, SOURCE_MAX_BYTES);
    const unsigned char *const text = byte_reader_take(&in, length);
    if (in.is_bad || byte_reader_left(&in) > 0 || strlen(path) >= sizeof place.path)
        return err_set(err, ERR_CORRUPT, "the sampling process sent an invalid source file");
    snprintf(place.path, sizeof place.path, "%s", path);
    if (place_out)
        *place_out = place;
    if (code)
        return err_set(err, (enum err_code)code, "%s", message);
    buffer_clear(out);
    buffer_append(out, text, length);
    *changed_ns_out = changed_ns;
    return buffer_check(out, err);
}
