#include "sampler/capture/source_texts.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"

enum { HAS_TEXT = 1, IS_WHOLE = 2, KNOWN_FLAGS = HAS_TEXT | IS_WHOLE };
/* A row without a path and a text. */
enum { MOST_ROW_BYTES = 32 };

static void put_text(struct buffer *out, const char *text, size_t bytes)
{
    buffer_number(out, bytes);
    buffer_append(out, text, bytes);
}

bool source_texts_put(struct buffer *out, const struct source_text *row)
{
    if (out->length + row->path_bytes + row->bytes + MOST_ROW_BYTES > SOURCE_TEXTS_MAX_BYTES)
        return false;
    buffer_u8(out, (row->has_text ? HAS_TEXT : 0U) | (row->is_whole ? IS_WHOLE : 0U));
    put_text(out, row->path, row->path_bytes);
    buffer_number(out, row->changed_ns);
    put_text(out, row->text, row->bytes);
    return true;
}

static const char *take_text(struct byte_reader *in, size_t *bytes_out)
{
    *bytes_out = byte_reader_count(in, 1, SOURCE_TEXTS_MAX_BYTES);
    return (const char *)byte_reader_take(in, *bytes_out);
}

enum err_code source_texts_decode(const void *data, size_t bytes, struct source_texts *out,
                                  struct err *err)
{
    struct byte_reader in = byte_reader_of(data, bytes);
    *out = (struct source_texts){ .items = calloc(SOURCE_TEXTS_MAX_FILES, sizeof *out->items) };
    if (!out->items)
        return err_nomem(err);
    in.is_bad = bytes > SOURCE_TEXTS_MAX_BYTES;
    while (!in.is_bad && byte_reader_left(&in) > 0 && out->count < SOURCE_TEXTS_MAX_FILES) {
        struct source_text *const row = &out->items[out->count];
        const unsigned flags = byte_reader_u8(&in);
        row->path = take_text(&in, &row->path_bytes);
        row->changed_ns = byte_reader_number(&in);
        row->text = take_text(&in, &row->bytes);
        row->has_text = (flags & HAS_TEXT) != 0;
        row->is_whole = (flags & IS_WHOLE) != 0;
        in.is_bad |= (flags & ~(unsigned)KNOWN_FLAGS) != 0;
        out->count += !in.is_bad;
    }
    if (!in.is_bad && byte_reader_left(&in) == 0)
        return ERR_OK;
    source_texts_deinit(out);
    return err_set(err, ERR_CORRUPT, "its source text is invalid");
}

void source_texts_deinit(struct source_texts *texts)
{
    free(texts->items);
    *texts = (struct source_texts){ .count = 0 };
}

const struct source_text *source_texts_find(const struct source_texts *texts, const char *path,
                                            size_t path_bytes)
{
    for (size_t i = 0; i < texts->count; i++)
        if (texts->items[i].path_bytes == path_bytes &&
            memcmp(texts->items[i].path, path, path_bytes) == 0)
            return &texts->items[i];
    return NULL;
}

/* A line without its end, and where the next one begins. */
static size_t line_at(const struct source_text *text, size_t at, size_t *next_out)
{
    const char *const end = memchr(text->text + at, '\n', text->bytes - at);
    const size_t length = end ? (size_t)(end - text->text) - at : text->bytes - at;
    *next_out = at + length + (end != NULL);
    return length;
}

/* Replaces `out` by the lines of both.  false: some line differs. */
static bool join_lines(const struct source_text *a, const struct source_text *b,
                       struct buffer *out)
{
    size_t at_a = 0, at_b = 0, next_a = 0, next_b = 0;
    buffer_clear(out);
    while (at_a < a->bytes && at_b < b->bytes) {
        const size_t length_a = line_at(a, at_a, &next_a);
        const size_t length_b = line_at(b, at_b, &next_b);
        const bool takes_a = length_a > 0;
        if (takes_a && length_b > 0 &&
            (length_a != length_b || memcmp(a->text + at_a, b->text + at_b, length_a) != 0))
            return false;
        buffer_append(out, takes_a ? a->text + at_a : b->text + at_b,
                      takes_a ? next_a - at_a : next_b - at_b);
        at_a = next_a;
        at_b = next_b;
    }
    /* A last line without an end may have been left out of one. */
    const struct source_text *const longer = at_a < a->bytes ? a : b;
    const size_t at = longer == a ? at_a : at_b;
    if (memchr(longer->text + at, '\n', longer->bytes - at))
        return false;
    buffer_append(out, longer->text + at, longer->bytes - at);
    return true;
}

/* Joins the texts of a path in the lists from `from` on.  `room` holds what is made of them. */
static struct source_text join_texts(const struct source_texts *const *lists, size_t from,
                                     size_t count, const struct source_text *first,
                                     struct buffer rooms[2])
{
    static const char differs[] = "the merged captures have different texts of this file";
    struct source_text row = *first;
    for (size_t i = from; i < count; i++) {
        const struct source_text *const other =
            source_texts_find(lists[i], row.path, row.path_bytes);
        if (!other || !other->has_text)
            continue;
        if (!row.has_text) {
            row = *other;
            continue;
        }
        struct buffer *const room = &rooms[row.text == (const char *)rooms[0].data];
        if (!join_lines(&row, other, room)) {
            row.has_text = false;
            row.text = differs;
            row.bytes = sizeof differs - 1;
            return row;
        }
        row.text = (const char *)room->data;
        row.bytes = room->length;
        row.is_whole |= other->is_whole;
        if (other->changed_ns > row.changed_ns)
            row.changed_ns = other->changed_ns;
    }
    return row;
}

enum err_code source_texts_merge(const struct source_texts *const *lists, size_t count,
                                 struct buffer *out, size_t *count_out, struct err *err)
{
    struct source_text items[SOURCE_TEXTS_MAX_FILES];
    struct source_texts seen = { .items = items };
    struct buffer rooms[2] = { { 0 }, { 0 } };
    bool is_short = false;
    *count_out = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < lists[i]->count && seen.count < SOURCE_TEXTS_MAX_FILES; j++) {
            const struct source_text *const first = &lists[i]->items[j];
            if (source_texts_find(&seen, first->path, first->path_bytes))
                continue;
            seen.items[seen.count++] = *first;
            const struct source_text row = join_texts(lists, i + 1, count, first, rooms);
            is_short |= rooms[0].failed || rooms[1].failed;
            if (source_texts_put(out, &row))
                *count_out += row.has_text;
        }
    buffer_deinit(&rooms[0]);
    buffer_deinit(&rooms[1]);
    return is_short ? err_nomem(err) : buffer_check(out, err);
}
