#include "server/source/def_line.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/scoped.h"
#include "sampler/base/vec.h"

struct word {
    const char *text;
    size_t length;
};

struct definition {
    size_t indent;
    struct word name;
    int32_t line;
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

static bool is_word(struct word word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.text, text, word.length) == 0;
}

static bool is_same_word(struct word a, struct word b)
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

/* The name of what the line defines; of length 0: it defines nothing. */
static struct word defined_name(const char *at, const char *end)
{
    struct word word = take_word(&at, end);
    const bool is_c = is_word(word, "cdef") || is_word(word, "cpdef");
    const char *const after = at;
    if (is_c || is_word(word, "async"))
        word = take_word(&at, end);
    if (is_word(word, "def") || is_word(word, "class"))
        return take_word(&at, end);

    if (!is_c)
        return (struct word){ at, 0 };

    /* "cdef inline double area(int width)": the name is before the first bracket. */
    const char *const bracket = memchr(after, '(', (size_t)(end - after));
    const char *start = bracket;
    while (start && start > after && is_name_char(start[-1]))
        start--;
    return (struct word){ bracket ? start : after, bracket ? (size_t)(bracket - start) : 0 };
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
        if (!is_word(file, "__init__") || folders.length == 0)
            return file;
    }
}

/* Does the name lead to this definition, through the classes around it? */
static bool leads_to(const struct scanner *scanner, struct word defined, struct word name)
{
    bool is_so = is_same_word(take_last(&name), defined);
    for (size_t i = scanner->depth; is_so && i > 0; i--)
        is_so = is_same_word(take_last(&name), scanner->around[i - 1].name);
    return is_so && is_same_word(take_last(&name), scanner->module);
}

static int compare_words(struct word a, struct word b)
{
    const size_t bytes = a.length < b.length ? a.length : b.length;
    const int order = bytes ? memcmp(a.text, b.text, bytes) : 0;
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

static struct word python_command_last_part(const struct def_line *item)
{
    struct word name = { item->name.text, item->name.length };
    return take_last(&name);
}

static int by_last_part(const void *a, const void *b)
{
    return compare_words(python_command_last_part(a), python_command_last_part(b));
}

static void note_definition(struct scanner *scanner, struct word defined, int32_t line)
{
    size_t at;
    LOWER_BOUND(at, scanner->count,
                compare_words(python_command_last_part(&scanner->items[at]), defined) < 0);
    for (; at < scanner->count && scanner->checks < DEF_LINE_MAX_CHECKS; at++) {
        struct def_line *const item = &scanner->items[at];
        if (!is_same_word(python_command_last_part(item), defined))
            break;
        scanner->checks++;
        if (leads_to(scanner, defined, (struct word){ item->name.text, item->name.length }))
            item->line = line;
    }
}

/* The definitions that are not less far left than the line have ended. */
static void leave_blocks(struct scanner *scanner, size_t indent)
{
    while (scanner->depth && scanner->around[scanner->depth - 1].indent >= indent) {
        scanner->depth--;
        scanner->too_deep = 0;
    }
}

static void enter_block(struct scanner *scanner, size_t indent, struct word name, int32_t line)
{
    if (scanner->depth == DEF_LINE_MAX_DEPTH)
        scanner->too_deep = 1;
    else
        scanner->around[scanner->depth++] = (struct definition){ indent, name, line };
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
        leave_blocks(scanner, indent);
        if (defined.length && !scanner->too_deep)
            note_definition(scanner, defined, line);
        if (defined.length)
            enter_block(scanner, indent, defined, line);
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

/* Which lines are kept. */
struct keeping {
    struct scanner scanner;
    const struct def_line_mark *marks;
    size_t count, next; /* marks */
    unsigned char *kept;
    bool is_inside;     /* a function that is wanted */
    bool has_header;    /* its decorators have ended */
    bool is_definition; /* otherwise it is one statement, such as that of a lambda */
    size_t indent;      /* of its first line */
};

static void keep_line(struct keeping *keeping, const char *at, const char *end, int32_t line)
{
    const char *const start = at;
    const bool is_code = keeping->scanner.quote == 0 && keeping->scanner.brackets == 0;
    bool begins = false, is_after = false;
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    for (; keeping->next < keeping->count && keeping->marks[keeping->next].line <= line;
         keeping->next++)
        begins |=
            keeping->marks[keeping->next].line == line && keeping->marks[keeping->next].begins;
    const size_t indent = (size_t)(at - start);
    if (is_code && at < end && *at != '#') {
        const struct word defined = defined_name(at, end);
        leave_blocks(&keeping->scanner, indent);
        if (keeping->has_header && (!keeping->is_definition || indent <= keeping->indent))
            keeping->is_inside = false;
        if (begins && !keeping->is_inside) {
            const struct scanner *const scanner = &keeping->scanner;
            keeping->is_inside = true;
            keeping->has_header = keeping->is_definition = false;
            keeping->indent = indent;
            for (size_t i = 0; i < scanner->depth; i++)
                keeping->kept[scanner->around[i].line - 1] = 1;
        }
        if (keeping->is_inside && !keeping->has_header && *at != '@') {
            keeping->has_header = true;
            keeping->is_definition = defined.length > 0;
        }
        if (defined.length)
            enter_block(&keeping->scanner, indent, defined, line);
    } else
        is_after = is_code && keeping->has_header && indent <= keeping->indent;
    if (keeping->is_inside && !is_after)
        keeping->kept[line - 1] = 1;
    skip_strings(&keeping->scanner, start, end);
}

enum err_code def_line_keep(const char *text, size_t length, const struct def_line_mark *marks,
                            size_t count, struct buffer *out, bool *is_whole_out,
                            struct err *err)
{
    int32_t lines = 0;
    for (size_t at = 0; at < length && lines < INT32_MAX; lines++) {
        const char *const newline = memchr(text + at, '\n', length - at);
        at = newline ? (size_t)(newline - text) + 1 : length;
    }

    SCOPED_FREE unsigned char *kept = calloc((size_t)lines + 1, 1);
    struct keeping keeping = { .marks = marks, .count = count, .kept = kept };
    size_t at = 0;
    if (!kept)
        return err_nomem(err);
    for (int32_t line = 1; line <= lines; line++) {
        const char *const newline = memchr(text + at, '\n', length - at);
        const size_t end = newline ? (size_t)(newline - text) : length;
        keep_line(&keeping, text + at, text + end, line);
        at = end + 1;
    }

    /* Lines with samples that are in none of the functions, as of a module, or of a file that has
     * changed. */
    /* Marks do not make each other's surroundings theirs. */
    enum { INSIDE = 1, AROUND = 2 };
    for (size_t i = 0; i < keeping.count; i++) {
        const int32_t line = keeping.marks[i].line;
        if (line < 1 || line > lines || keeping.kept[line - 1] == INSIDE)
            continue;
        const int32_t from = line > DEF_LINE_AROUND ? line - DEF_LINE_AROUND : 1;
        const int32_t to = lines - line > DEF_LINE_AROUND ? line + DEF_LINE_AROUND : lines;
        for (int32_t near = from; near <= to; near++)
            if (!keeping.kept[near - 1])
                keeping.kept[near - 1] = AROUND;
    }

    *is_whole_out = true;
    buffer_clear(out);
    at = 0;
    for (int32_t line = 1; line <= lines; line++) {
        const char *const newline = memchr(text + at, '\n', length - at);
        const size_t end = newline ? (size_t)(newline - text) : length;
        if (kept[line - 1])
            buffer_append(out, text + at, end - at);
        else
            *is_whole_out &= end == at;
        if (newline)
            buffer_char(out, '\n');
        at = end + 1;
    }
    return buffer_check(out, err);
}
