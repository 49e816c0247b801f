#include "server/report/encoding/html_escape.h"

#include <stdbool.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "server/report/names.h"

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

void html_put(struct buffer *out, const char *text, size_t length)
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
            i += names_put_character(out, text + i, length - i);
    }
}

void html_put_string(struct buffer *out, struct strtab_string text)
{
    html_put(out, text.text, text.length);
}

void html_put_text(struct buffer *out, const char *text)
{
    if (text)
        html_put(out, text, strlen(text));
}
