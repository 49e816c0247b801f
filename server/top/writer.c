#include "server/top/writer.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "server/report/names.h"

static wchar_t code_of(const unsigned char *text, size_t length)
{
    static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0xf, 0x7 };
    unsigned code = length < sizeof masks ? text[0] & masks[length] : 0;
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (text[i] & 0x3f);
    return (wchar_t)code;
}

/* uselocale changes the locale of this thread alone, and only within this function. */
static unsigned width_of_code(wchar_t code)
{
    static locale_t utf8 = NULL;
    if (!utf8)
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
    if (!utf8)
        return 1;
    const locale_t before = uselocale(utf8);
    const int width = wcwidth(code);
    uselocale(before);
    return width < 0 ? 1 : (unsigned)width;
}

/* The width of one character as it was written: unchanged, or as an ASCII escape. */
static unsigned width_of(const char *put, size_t bytes)
{
    if ((unsigned char)*put < 0x80)
        return (unsigned)bytes;
    return width_of_code(code_of((const unsigned char *)put, bytes));
}

/* Appends one character and returns its columns. */
static unsigned put(struct buffer *out, const char *text, size_t length, size_t *used_out)
{
    const size_t before = out->length;
    *used_out = names_put_character(out, text, length);
    return out->length > before ? width_of(out->data + before, out->length - before) : 0;
}

unsigned writer_width(const char *text, size_t length)
{
    struct buffer scratch = { 0 };
    unsigned columns = 0;
    size_t used = 0;
    for (size_t at = 0; at < length; at += used) {
        scratch.length = 0;
        columns += put(&scratch, text + at, length - at, &used);
    }
    buffer_deinit(&scratch);
    return columns;
}

void writer_colour(struct writer *writer, enum writer_colour colour)
{
    static const char *const codes[WRITER_COLOURS] = { "\x1b[0m",  "\x1b[1m",  "\x1b[2m",
                                                       "\x1b[31m", "\x1b[33m", "\x1b[36m",
                                                       "\x1b[7m" };
    /* A selected row must stand out without colours too. */
    if (colour == WRITER_CHOSEN || colour == WRITER_PLAIN ||
        (writer->has_colours && !writer->is_chosen))
        buffer_text(writer->out, codes[colour]);
    if (writer->is_chosen && colour == WRITER_PLAIN)
        buffer_text(writer->out, codes[WRITER_CHOSEN]);
}

void writer_text(struct writer *writer, const char *text, size_t length)
{
    size_t used = 0;
    for (size_t at = 0; at < length && writer->left > 0; at += used) {
        const size_t before = writer->out->length;
        const unsigned columns = put(writer->out, text + at, length - at, &used);
        if (columns > writer->left) {
            writer->out->length = before;
            writer_spaces(writer, writer->left);
        } else {
            writer->left -= columns;
        }
    }
}

void writer_print(struct writer *writer, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length > 0)
        writer_text(writer, text, strlen(text));
}

void writer_spaces(struct writer *writer, unsigned columns)
{
    for (; columns > 0 && writer->left > 0; columns--, writer->left--)
        buffer_char(writer->out, ' ');
}

/* Limits the line to the field while it writes the text. */
static void put_field(struct writer *writer, const char *text, size_t length, unsigned columns)
{
    const unsigned room = columns < writer->left ? columns : writer->left;
    const unsigned aside = writer->left - room;
    writer->left = room;
    writer_text(writer, text, length);
    writer_spaces(writer, writer->left);
    writer->left = aside;
}

void writer_field(struct writer *writer, const char *text, size_t length, unsigned columns)
{
    put_field(writer, text, length, columns);
}

void writer_field_end(struct writer *writer, const char *text, size_t length, unsigned columns)
{
    /* Measures only the end of a long name, which may have 64 KiB. */
    const size_t most = (size_t)columns * 4;
    size_t at = length > most ? length - most : 0;
    while (at > 0 && at < length && ((unsigned char)text[at] & 0xc0) == 0x80)
        at++;
    /* Drops whole characters: the continuation bytes of UTF-8 go with their first byte. */
    while (at < length && writer_width(text + at, length - at) > columns)
        do
            at++;
        while (at < length && ((unsigned char)text[at] & 0xc0) == 0x80);
    put_field(writer, text + at, length - at, columns);
}
