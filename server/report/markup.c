#include "server/report/markup.h"

#include <stdbool.h>
#include <string.h>

#include "sampler/base/utf8.h"
#include "server/buffer.h"

static void put_ascii(struct buffer *out, unsigned char c)
{
    switch (c) {
    case '&': buffer_text(out, "&amp;"); break;
    case '<': buffer_text(out, "&lt;"); break;
    case '>': buffer_text(out, "&gt;"); break;
    case '"': buffer_text(out, "&quot;"); break;
    case '\'': buffer_text(out, "&#39;"); break;
    case '\t': buffer_char(out, '\t'); break;
    default: buffer_printf(out, "\\x%02x", c); break;
    }
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && !strchr("&<>\"'", c);
}

/* Characters that end a line, or that show later ones in another order. */
static bool is_treacherous(unsigned code)
{
    return (code >= 0x80 && code < 0xa0) || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

static unsigned code_of(const unsigned char *text, size_t n)
{
    if (n == 2)
        return (text[0] & 0x1fu) << 6 | (text[1] & 0x3fu);
    return n == 3 ? (text[0] & 0xfu) << 12 | (text[1] & 0x3fu) << 6 | (text[2] & 0x3fu)
                  : 0x10000u;
}

static size_t put_wide(struct buffer *out, const char *text, size_t length)
{
    const size_t n = utf8_char_length(text, length);
    const unsigned code = n > 0 ? code_of((const unsigned char *)text, n) : 0;
    if (n == 0)
        buffer_text(out, "\xef\xbf\xbd");
    else if (is_treacherous(code))
        buffer_printf(out, code < 0x100 ? "\\x%02x" : "\\u%04x", code);
    else
        buffer_append(out, text, n);
    return n > 0 ? n : 1;
}

void markup_put(struct buffer *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t run = i;
        while (run < length && is_plain((unsigned char)text[run]))
            run++;
        buffer_append(out, text + i, run - i);
        i = run;
        if (i == length)
            break;
        if ((unsigned char)text[i] < 0x80)
            put_ascii(out, (unsigned char)text[i++]);
        else
            i += put_wide(out, text + i, length - i);
    }
}

void markup_put_string(struct buffer *out, struct strtab_string text)
{
    markup_put(out, text.text, text.length);
}

void markup_put_text(struct buffer *out, const char *text)
{
    if (text)
        markup_put(out, text, strlen(text));
}
