#include "server/source/relay.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/capture/bytes.h"
#include "sampler/debug_lines.h"
#include "sampler/reader_link.h"
#include "sampler/sampler.h"
#include "server/source/helper.h"
#include "server/source/source.h"

static enum err_code read_here(struct sampler *sampler, profile_origin origin,
                               const struct source_wish *wish, int cancel_fd,
                               struct buffer *out, uint64_t *changed_ns_out,
                               struct source_place *place_out, struct err *err)
{
    struct sampler_origin process;
    enum err_code rc = sampler_origin(sampler, origin, &process, err);
    if (rc != ERR_OK)
        return rc;
    rc = source_helper_read(&process, wish, cancel_fd, out, changed_ns_out, place_out, err);
    sampler_origin_close(&process);
    return rc;
}

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

static void put_wish(const struct source_wish *wish, bool wants_place, struct bytes *out)
{
    put_string(wish->path, out);
    put_string(wish->build_id, out);
    bytes_u8(out, (unsigned)wish->wants_places | (unsigned)wish->wants_checkout << 1 |
                      (unsigned)wants_place << 2);
    bytes_number(out, wish->entry_count);
    for (size_t i = 0; i < wish->entry_count; i++)
        bytes_u64(out, wish->entries[i]);
}

static void take_wish(struct cursor *cursor, uint64_t entries[SOURCE_MAX_PLACES],
                      struct source_wish *out, bool *wants_place_out)
{
    out->path = take_string(cursor, PATH_MAX - 1);
    out->build_id = take_string(cursor, DEBUG_LINES_BUILD_ID_BYTES - 1);
    const unsigned bits = (unsigned)cursor_below(cursor, 7);
    out->wants_places = bits & 1;
    out->wants_checkout = (bits & 2) != 0;
    *wants_place_out = (bits & 4) != 0;
    out->entry_count = cursor_count(cursor, sizeof *entries, SOURCE_MAX_PLACES);
    for (size_t i = 0; i < out->entry_count; i++)
        entries[i] = cursor_u64(cursor);
    out->entries = entries;
}

/* A place may be known, although its file cannot be read. */
static void put_answer(enum err_code code, const struct err *err, uint64_t changed_ns,
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

enum err_code relay_answer(void *context, struct sampler *sampler, profile_origin origin,
                           const void *wish, size_t wish_bytes, struct bytes *answer,
                           struct err *err)
{
    uint64_t entries[SOURCE_MAX_PLACES], changed_ns = 0;
    struct source_wish wanted = { .entry_count = 0 };
    struct source_place place = { .line = 0 };
    struct cursor cursor = cursor_of(wish, wish_bytes);
    struct buffer text = { 0 };
    struct err why = { 0 };
    bool wants_place = false;
    (void)context;
    take_wish(&cursor, entries, &wanted, &wants_place);
    if (cursor.is_bad || cursor_left(&cursor) > 0)
        return err_set(err, ERR_INVALID, "the request is invalid");
    const enum err_code rc = read_here(sampler, origin, &wanted, -1, &text, &changed_ns,
                                       wants_place ? &place : NULL, &why);
    put_answer(rc, &why, changed_ns, &place, &text, answer);
    buffer_deinit(&text);
    return bytes_check(answer, err);
}

static enum err_code take_answer(struct cursor *cursor, struct buffer *out,
                                 uint64_t *changed_ns_out, struct source_place *place_out,
                                 struct err *err)
{
    struct source_place place = { .line = 0 };
    const unsigned code = (unsigned)cursor_below(cursor, ERR_NOT_PYTHON);
    const char *const message = cursor_text(cursor);
    const uint64_t changed_ns = cursor_u64(cursor);
    const char *const path = cursor_text(cursor);
    place.line = (int32_t)cursor_signed(cursor);
    const size_t length = cursor_count(cursor, 1, SOURCE_MAX_BYTES);
    const unsigned char *const text = cursor_take(cursor, length);
    if (cursor->is_bad || cursor_left(cursor) > 0 || strlen(path) >= sizeof place.path)
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

static enum err_code read_there(struct sampler *sampler, profile_origin origin,
                                const struct source_wish *wish, int cancel_fd,
                                struct buffer *out, uint64_t *changed_ns_out,
                                struct source_place *place_out, struct err *err)
{
    struct bytes wanted = { 0 }, answer = { 0 };
    put_wish(wish, place_out != NULL, &wanted);
    enum err_code rc = bytes_check(&wanted, err);
    if (rc == ERR_OK)
        rc = reader_link_read(sampler, origin, wanted.data, wanted.count, cancel_fd, &answer,
                              err);
    if (rc == ERR_OK) {
        struct cursor cursor = cursor_of(answer.data, answer.count);
        rc = take_answer(&cursor, out, changed_ns_out, place_out, err);
    }
    bytes_deinit(&wanted);
    bytes_deinit(&answer);
    return rc;
}

enum err_code relay_read(struct sampler *sampler, profile_origin origin,
                         const struct source_wish *wish, int cancel_fd, struct buffer *out,
                         uint64_t *changed_ns_out, struct source_place *place_out,
                         struct err *err)
{
    return (reader_link_is_used() ? read_there : read_here)(
        sampler, origin, wish, cancel_fd, out, changed_ns_out, place_out, err);
}
