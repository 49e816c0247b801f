#include "server/source/relay_codec.h"

#include <stdio.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/capture/bytes.h"

void relay_request_encode(const struct relay_request *request, struct bytes *out)
{
    bytes_u8(out, request->want);
    bytes_number(out, request->count);
    for (size_t i = 0; i < request->count; i++)
        bytes_number(out, request->functions[i]);
}

enum err_code relay_request_decode(const void *data, size_t bytes, struct relay_request *out,
                                   struct err *err)
{
    struct cursor cursor = cursor_of(data, bytes);
    out->want = (enum relay_want)cursor_below(&cursor, RELAY_WANTS - 1);
    out->count = cursor_count(&cursor, 1, SOURCE_MAX_PLACES);
    for (size_t i = 0; i < out->count; i++)
        out->functions[i] = (function_id)cursor_below(&cursor, UINT32_MAX);
    return cursor.is_bad || out->count == 0 || cursor_left(&cursor) > 0
               ? err_set(err, ERR_INVALID, "the request is invalid")
               : ERR_OK;
}

/* A place may be known, although its file cannot be read. */
void relay_answer_encode(enum err_code code, const struct err *err, uint64_t changed_ns,
                         const struct source_place *place, const struct buffer *text,
                         struct bytes *out)
{
    bytes_u8(out, code);
    bytes_text(out, code ? err->message : "");
    bytes_u64(out, changed_ns);
    bytes_text(out, place->path);
    bytes_signed(out, place->line);
    bytes_number(out, code ? 0 : text->length);
    if (!code)
        bytes_put(out, text->data, text->length);
}

enum err_code relay_answer_decode(const void *data, size_t bytes, struct buffer *out,
                                  uint64_t *changed_ns_out, struct source_place *place_out,
                                  struct err *err)
{
    struct cursor cursor = cursor_of(data, bytes);
    struct source_place place = { .line = 0 };
    const unsigned code = (unsigned)cursor_below(&cursor, ERR_NOT_PYTHON);
    const char *const message = cursor_text(&cursor);
    const uint64_t changed_ns = cursor_u64(&cursor);
    const char *const path = cursor_text(&cursor);
    place.line = (int32_t)cursor_signed(&cursor);
    const size_t length = cursor_count(&cursor, 1, SOURCE_MAX_BYTES);
    const unsigned char *const text = cursor_take(&cursor, length);
    if (cursor.is_bad || cursor_left(&cursor) > 0 || strlen(path) >= sizeof place.path)
        return err_set(err, ERR_CORRUPT, "the sampling process sent an invalid source file");
    snprintf(place.path, sizeof place.path, "%s", path);
    if (place_out)
        *place_out = place;
    if (code != ERR_OK)
        return err_set(err, (enum err_code)code, "%s", message);
    buffer_clear(out);
    buffer_append(out, text, length);
    *changed_ns_out = changed_ns;
    return buffer_check(out, err);
}
