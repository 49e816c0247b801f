#include "server/source/def_line.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"

struct word {
    const char *text;
    size_t length;
};

struct definition {
    size_t indent;
    struct word name;
};

struct scanner {
    struct definition around[DEF_LINE_MAX_DEPTH]; /* the line, outermost first */
    size_t depth, too_deep;
    char quote;      /* of the string of several lines that the line begins in; 0: none */
    size_t brackets; /* that are open where the line begins */
    struct word module;
    struct def_line *items; /* by the last part of the name */
    size_t count, checks;
};

static bool is(struct word word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.text, text, word.length) == 0;
}

static bool same(struct word a, struct word b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || (unsigned char)c >= 0x80;
}

static struct word take_word(const char **at, const char *end)
{
    while (*at < end && (**at == ' ' || **at == '\t'))
        ++*at;
    const char *const start = *at;
    while (*at < end && is_name_char(**at))
        ++*at;
    return (struct word){ start, (size_t)(*at - start) };
}

/* "cdef inline double area(int width)": the name is before the first bracket. */
static struct word name_before_bracket(const char *at, const char *end)
{
    const char *const bracket = memchr(at, '(', (size_t)(end - at));
    const char *start = bracket;
    while (start && start > at && is_name_char(start[-1]))
        start--;
    return (struct word){ bracket ? start : at, bracket ? (size_t)(bracket - start) : 0 };
}

/* The name of what the line defines; of length 0: it defines nothing. */
static struct word defined_name(const char *at, const char *end)
{
    struct word word = take_word(&at, end);
    const bool is_c = is(word, "cdef") || is(word, "cpdef");
    const char *const after = at;
    if (is_c || is(word, "async"))
        word = take_word(&at, end);
    if (is(word, "def") || is(word, "class"))
        return take_word(&at, end);
    return is_c ? name_before_bracket(after, end) : (struct word){ at, 0 };
}

static bool is_triple(const char *at, const char *end)
{
    return end - at >= 3 && at[1] == at[0] && at[2] == at[0];
}

/* Behind a string that began before; NULL: it goes on in the next line. */
static const char *skip_string(const char *at, const char *end, char quote, bool is_long)
{
    for (; at < end; at++)
        if (*at == '\\')
            at++;
        else if (*at == quote && (!is_long || is_triple(at, end)))
            return at + (is_long ? 3 : 1);
    return NULL;
}

/* Notes whether the line ends inside a string of several lines, or inside brackets. */
static void skip_strings(struct scanner *scanner, const char *at, const char *end)
{
    if (scanner->quote) {
        at = skip_string(at, end, scanner->quote, true);
        if (!at)
            return;
        scanner->quote = 0;
    }
    while (at && at < end && *at != '#') {
        const char c = *at;
        const bool is_long = (c == '"' || c == '\'') && is_triple(at, end);
        if (c != '"' && c != '\'') {
            if (c == '(' || c == '[' || c == '{')
                scanner->brackets++;
            else if ((c == ')' || c == ']' || c == '}') && scanner->brackets)
                scanner->brackets--;
            at++;
            continue;
        }
        at = skip_string(at + (is_long ? 3 : 1), end, c, is_long);
        scanner->quote = !at && is_long ? c : 0;
    }
}

/* Takes the last part off a name. */
static struct word take_last(struct word *name)
{
    size_t from = name->length;
    while (from && name->text[from - 1] != '.')
        from--;
    const struct word last = { name->text + from, name->length - from };
    name->length = from ? from - 1 : 0;
    return last;
}

/* "mypy/build.py" and "mypy/build/__init__.py" are both `build`. */
static struct word module_of(struct strtab_string path)
{
    struct word folders = { path.text, path.length }, file;
    for (;;) {
        size_t from = folders.length;
        while (from && folders.text[from - 1] != '/')
            from--;
        file = (struct word){ folders.text + from, folders.length - from };
        folders.length = from ? from - 1 : 0;
        const char *const dot = memchr(file.text, '.', file.length);
        if (dot)
            file.length = (size_t)(dot - file.text);
        if (!is(file, "__init__") || folders.length == 0)
            return file;
    }
}

/* Does the name lead to this definition, through the classes around it? */
static bool leads_to(const struct scanner *scanner, struct word defined, struct word name)
{
    bool is_so = same(take_last(&name), defined);
    for (size_t i = scanner->depth; is_so && i > 0; i--)
        is_so = same(take_last(&name), scanner->around[i - 1].name);
    return is_so && same(take_last(&name), scanner->module);
}

static int compare(struct word a, struct word b)
{
    const size_t bytes = a.length < b.length ? a.length : b.length;
    const int order = bytes ? memcmp(a.text, b.text, bytes) : 0;
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

static struct word last_part(const struct def_line *item)
{
    struct word name = { item->name.text, item->name.length };
    return take_last(&name);
}

static int by_last_part(const void *a, const void *b)
{
    return compare(last_part(a), last_part(b));
}

static void note(struct scanner *scanner, struct word defined, int32_t line)
{
    size_t at;
    LOWER_BOUND(at, scanner->count, compare(last_part(&scanner->items[at]), defined) < 0);
    for (; at < scanner->count && scanner->checks < DEF_LINE_MAX_CHECKS; at++) {
        struct def_line *const item = &scanner->items[at];
        if (!same(last_part(item), defined))
            break;
        scanner->checks++;
        if (leads_to(scanner, defined, (struct word){ item->name.text, item->name.length }))
            item->line = line;
    }
}

/* The definitions that are not less far left than the line have ended. */
static void leave(struct scanner *scanner, size_t indent)
{
    while (scanner->depth && scanner->around[scanner->depth - 1].indent >= indent) {
        scanner->depth--;
        scanner->too_deep = 0;
    }
}

static void enter(struct scanner *scanner, size_t indent, struct word name)
{
    if (scanner->depth == DEF_LINE_MAX_DEPTH)
        scanner->too_deep = 1;
    else
        scanner->around[scanner->depth++] = (struct definition){ indent, name };
}

static void take_line(struct scanner *scanner, const char *at, const char *end, int32_t line)
{
    const char *const start = at;
    const bool is_code = scanner->quote == 0 && scanner->brackets == 0;
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    if (is_code && at < end && *at != '#') {
        const size_t indent = (size_t)(at - start);
        const struct word defined = defined_name(at, end);
        leave(scanner, indent);
        if (defined.length && !scanner->too_deep)
            note(scanner, defined, line);
        if (defined.length)
            enter(scanner, indent, defined);
    }
    skip_strings(scanner, start, end);
}

void def_line_find(struct strtab_string path, const char *text, size_t length,
                   struct def_line *items, size_t count)
{
    struct scanner scanner = { .module = module_of(path), .items = items, .count = count };
    int32_t line = 1;
    for (size_t i = 0; i < count; i++)
        items[i].line = 0;
    if (count)
        qsort(items, count, sizeof *items, by_last_part);
    for (size_t at = 0; at < length && line < INT32_MAX; line++) {
        const char *const newline = memchr(text + at, '\n', length - at);
        const size_t end = newline ? (size_t)(newline - text) : length;
        take_line(&scanner, text + at, text + end, line);
        at = end + 1;
    }
}
