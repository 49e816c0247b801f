#include "server/top/writer.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "sampler/base/plain_text.h"
#include "sampler/base/utf8.h"

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

/* One character as it is written: unchanged, or as an escape. */
struct character {
    char bytes[PLAIN_TEXT_CHARACTER];
    size_t length;
    unsigned columns;
};

/* Returns the bytes of the text that it stands for. */
static size_t next_character(const char *text, size_t length, struct character *out)
{
    const size_t used = plain_text_character(text, length, out->bytes, &out->length);
    const bool is_ascii = (unsigned char)*out->bytes < 0x80;
    out->columns = is_ascii ? (unsigned)out->length
                            : width_of_code((wchar_t)utf8_decode(out->bytes, out->length));
    return used;
}

unsigned writer_width(const char *text, size_t length)
{
    struct character character;
    unsigned columns = 0;
    for (size_t at = 0; at < length; columns += character.columns)
        at += next_character(text + at, length - at, &character);
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
    struct character character;
    for (size_t at = 0; at < length && writer->left > 0;) {
        at += next_character(text + at, length - at, &character);
        if (character.columns > writer->left) {
            writer_spaces(writer, writer->left);
        } else {
            buffer_append(writer->out, character.bytes, character.length);
            writer->left -= character.columns;
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
    put_field(writer, at ? text + at : text, length - at, columns);
}
