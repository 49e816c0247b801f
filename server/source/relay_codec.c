#include "server/source/relay_codec.h"

#include <stdio.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/capture/bytes.h"
#include "sampler/debug_lines.h"

static void put_string(struct strtab_string string, struct bytes *out)
{
    bytes_number(out, string.length);
    bytes_put(out, string.text, string.length);
}

static struct strtab_string take_string(struct cursor *cursor, size_t most)
{
    const size_t length = cursor_count(cursor, 1, most);
    const unsigned char *const text = cursor_take(cursor, length);
    return (struct strtab_string){ text ? (const char *)text : "",
                                   text ? (uint32_t)length : 0 };
}

void relay_wish_encode(const struct source_wish *wish, bool wants_place, struct bytes *out)
{
    put_string(wish->path, out);
    put_string(wish->build_id, out);
    bytes_u8(out, (unsigned)wish->wants_places | (unsigned)wish->wants_checkout << 1 |
                      (unsigned)wants_place << 2);
    bytes_number(out, wish->entry_count);
    for (size_t i = 0; i < wish->entry_count; i++)
        bytes_u64(out, wish->entries[i]);
}

enum err_code relay_wish_decode(const void *data, size_t bytes, struct relay_wish *out,
                                struct err *err)
{
    struct cursor cursor = cursor_of(data, bytes);
    struct source_wish *const wish = &out->wish;
    wish->path = take_string(&cursor, PATH_MAX - 1);
    wish->build_id = take_string(&cursor, DEBUG_LINES_BUILD_ID_BYTES - 1);
    const unsigned bits = (unsigned)cursor_below(&cursor, 7);
    wish->wants_places = bits & 1;
    wish->wants_checkout = (bits & 2) != 0;
    out->wants_place = (bits & 4) != 0;
    wish->entry_count = cursor_count(&cursor, sizeof *out->entries, SOURCE_MAX_PLACES);
    for (size_t i = 0; i < wish->entry_count; i++)
        out->entries[i] = cursor_u64(&cursor);
    wish->entries = out->entries;
    return cursor.is_bad || cursor_left(&cursor) > 0
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
        return err_set(err, ERR_CORRUPT, "the reader process sent an invalid source file");
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
