#include <string.h>

#include "sampler/native/demangle_work.h"

struct name {
    const char *text;
    size_t bytes;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

/* Takes off a length and as many bytes. */
static bool take_name(struct demangle_work *work, const char **at, const char *end,
                      struct name *out)
{
    size_t bytes = 0;
    const bool is_empty = **at == '0';
    while (*at < end && is_digit(**at) && bytes < DEMANGLE_MAX_INPUT &&
           demangle_step(work, 1)) {
        bytes = bytes * 10 + (size_t)(*(*at)++ - '0');
        if (is_empty)
            break;
    }
    if (work->has_failed || bytes > (size_t)(end - *at))
        return false;
    *out = (struct name){ *at, bytes };
    *at += bytes;
    return true;
}

/* "$LT$", ".." and the like.  Returns the bytes that it takes, 0: it is none. */
static size_t put_escape(struct demangle_work *work, const char *text, size_t bytes)
{
    static const struct {
        const char *code, *text;
    } escapes[] = { { "$SP$", "@" }, { "$BP$", "*" }, { "$RF$", "&" },
                    { "$LT$", "<" }, { "$GT$", ">" }, { "$LP$", "(" },
                    { "$RP$", ")" }, { "$C$", "," },  { "..", "::" } };
    char plain[2] = "";
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
        const size_t length = strlen(escapes[i].code);
        if (bytes >= length && memcmp(text, escapes[i].code, length) == 0) {
            demangle_write_text(work, escapes[i].text);
            return length;
        }
    }
    if (bytes < 5 || memcmp(text, "$u", 2) != 0 || text[4] != '$')
        return 0;
    for (size_t i = 2; i < 4; i++) {
        const char c = text[i];
        if (!is_hex(c))
            return 0;
        *plain = (char)(*plain << 4 | (is_digit(c) ? c - '0' : c - 'a' + 10));
    }
    if (*plain < ' ' || *plain > '~')
        return 0;
    demangle_write_text(work, plain);
    return 5;
}

static void put_name(struct demangle_work *work, struct name name)
{
    const char *at = name.text, *const end = at + name.bytes;
    /* An identifier begins with no "$". */
    if (name.bytes > 1 && at[0] == '_' && at[1] == '$')
        at++;
    while (at < end && demangle_step(work, 1)) {
        const size_t escaped = put_escape(work, at, (size_t)(end - at));
        const char *const begin = at;
        for (at += escaped ? escaped : 1; !escaped && at < end && *at != '$' && *at != '.';)
            at++;
        if (!escaped)
            demangle_write(work, begin, (size_t)(at - begin));
    }
}

bool demangle_rust_legacy(struct demangle_work *work, const char *mangled, size_t length)
{
    const char *at = mangled + 3, *const end = mangled + length;
    struct name name = { .bytes = 0 };
    if (length <= 3 || memcmp(mangled, "_ZN", 3) != 0)
        return false;
    for (size_t count = 0; at < end && is_digit(*at); count++) {
        if (count) {
            demangle_write_text(work, count > 1 ? "::" : "");
            put_name(work, name);
        }
        if (!take_name(work, &at, end, &name))
            return false;
    }
    /* The last name is a hash. */
    bool is_hash = name.bytes == 17 && name.text[0] == 'h';
    for (size_t i = 1; is_hash && i < name.bytes; i++)
        is_hash = is_hex(name.text[i]);
    return at < end && *at == 'E' && is_hash && (at + 1 == end || at[1] == '.') &&
           !work->has_failed && work->length > 0;
}
