#include "server/source/expression.h"

#include <ctype.h>
#include <string.h>

enum { MAX_TOKENS = 512 };

/* A word, a string, or one character of anything else. */
struct token {
    uint32_t start, length;
    uint32_t depth; /* of brackets around it */
    bool is_word;
};

struct line {
    const char *text;
    size_t length;
    struct token tokens[MAX_TOKENS];
    size_t count;
    bool is_whole; /* all of it was read, and no bracket is open at its end */
};

/* Some tokens of the line: first <= i < end. */
struct range {
    size_t first, end;
};

static const struct range NOWHERE = { 0, 0 };

static bool is_word_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || (byte & 0x80);
}

/* The end of the string that begins at a quote; beyond `length` if it does not end on the line. */
static size_t skip_string(const char *text, size_t at, size_t length)
{
    const char quote = text[at];
    const bool is_long = length - at >= 3 && text[at + 1] == quote && text[at + 2] == quote;
    const size_t quotes = is_long ? 3 : 1;
    for (at += quotes; at < length; at++) {
        if (text[at] == '\\') {
            at++;
            continue;
        }
        size_t count = 0;
        while (count < quotes && at + count < length && text[at + count] == quote)
            count++;
        if (count == quotes)
            return at + quotes;
    }
    return length + 1;
}

static bool is_quote(char byte)
{
    return byte == '"' || byte == '\'';
}

/* false: there are too many tokens, a string does not end, or brackets do not match. */
static bool read_tokens(struct line *line)
{
    uint32_t depth = 0;
    size_t at = 0;
    line->count = 0;
    while (at < line->length && line->text[at] != '#') {
        const char *const from = line->text + at;
        size_t end = at + 1;
        if (isspace((unsigned char)*from)) {
            at++;
            continue;
        }
        if (line->count == MAX_TOKENS)
            return false;
        struct token *const token = &line->tokens[line->count++];
        if (is_word_byte(*from)) {
            while (end < line->length && is_word_byte(line->text[end]))
                end++;
            token->is_word = !(end < line->length && is_quote(line->text[end]));
            if (!token->is_word)
                end = skip_string(line->text, end, line->length);
        } else {
            token->is_word = false;
            if (is_quote(*from))
                end = skip_string(line->text, at, line->length);
        }
        if (end > line->length)
            return false;
        if (strchr(")]}", *from) && depth == 0)
            return false;
        depth -= strchr(")]}", *from) != NULL;
        token->start = (uint32_t)at;
        token->length = (uint32_t)(end - at);
        token->depth = depth;
        depth += strchr("([{", *from) != NULL;
        at = end;
    }
    line->is_whole = depth == 0 && (!line->count || line->text[line->length - 1] != '\\');
    return true;
}

static bool find_line(const char *source, size_t bytes, int32_t number, struct line *out)
{
    const char *at = source, *const end = source + bytes;
    for (int32_t i = 1; i < number && at; i++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    if (!at || number < 1)
        return false;
    const char *const newline = memchr(at, '\n', (size_t)(end - at));
    out->text = at;
    out->length = (size_t)((newline ? newline : end) - at);
    return out->length <= EXPRESSION_MAX_LINE && !memchr(at, '\0', out->length) &&
           read_tokens(out);
}

static bool is(const struct line *line, size_t index, const char *text)
{
    return index < line->count && line->tokens[index].length == strlen(text) &&
           memcmp(line->text + line->tokens[index].start, text, strlen(text)) == 0;
}

static bool is_one_of(const struct line *line, size_t index, const char *const *texts)
{
    for (; *texts; texts++)
        if (is(line, index, *texts))
            return true;
    return false;
}

/* Is the token the name of a method that waits, which is called? */
static bool is_waiting_call(const struct line *line, size_t index)
{
    static const char *const methods[] = { "acquire", "wait",   "wait_for",  "get", "put",
                                           "join",    "result", "exception", NULL };
    return index > 0 && is_one_of(line, index, methods) && is(line, index - 1, ".") &&
           is(line, index + 1, "(");
}

/* The first of `range` at this depth that is the text; range.end: there is none. */
static size_t find_at(const struct line *line, struct range range, uint32_t depth,
                      const char *text)
{
    size_t at = range.first;
    while (at < range.end && (line->tokens[at].depth != depth || !is(line, at, text)))
        at++;
    return at;
}

/* Is the range one pair of brackets with what is between? */
static bool is_bracketed(const struct line *line, struct range range)
{
    const uint32_t depth = line->tokens[range.first].depth;
    const struct range rest = { range.first + 1, range.end };
    return is(line, range.first, "(") && find_at(line, rest, depth, ")") == range.end - 1;
}

/* The only item of the `with` at this token, without its `as`. */
static struct range find_item(const struct line *line, size_t with)
{
    const uint32_t depth = line->tokens[with].depth;
    struct range item = { with + 1, line->count };
    const size_t colon = find_at(line, item, depth, ":");
    if (colon == line->count || colon == item.first)
        return NOWHERE;
    item.end = colon;
    uint32_t inner = depth;
    if (is_bracketed(line, item)) {
        item = (struct range){ item.first + 1, item.end - 1 };
        inner++;
        /* One comma may end the list. */
        item.end -= item.end > item.first && is(line, item.end - 1, ",");
    }
    if (find_at(line, item, inner, ",") != item.end)
        return NOWHERE;
    item.end = find_at(line, item, inner, "as");
    return item;
}

/* The `with` of the line that an expression beginning at this token is an item of; SIZE_MAX: none. */
static size_t find_with(const struct line *line, size_t first)
{
    const size_t with = is(line, 0, "async") ? 1 : 0;
    if (!is(line, with, "with") || first <= with)
        return SIZE_MAX;
    const bool is_list = is(line, with + 1, "(");
    const uint32_t depth = line->tokens[first].depth;
    const bool is_begin =
        is(line, first - 1, ",") || first - 1 == with || (is_list && first - 1 == with + 1);
    return is_begin && depth <= (is_list ? 1u : 0u) ? with : SIZE_MAX;
}

/* The token that a call at the end of the range begins its arguments with; range.end: it does not end with a call. */
static size_t find_arguments(const struct line *line, struct range range)
{
    const uint32_t depth = line->tokens[range.first].depth;
    const bool is_closed =
        is(line, range.end - 1, ")") && line->tokens[range.end - 1].depth == depth;
    size_t found = range.end;
    for (size_t i = range.first + 1; i < range.end; i++)
        if (line->tokens[i].depth == depth && is(line, i, "("))
            found = i;
    for (size_t i = found + 1; i < range.end && !is_closed; i++)
        if (line->tokens[i].depth <= depth)
            return range.end;
    return is_closed || range.end == line->count ? found : range.end;
}

/* The object that a range waits for: that of the method which is called at its end, or the range itself. */
static struct range find_object(const struct line *line, struct range range)
{
    static const char *const wrappers[] = { "wait_for", "shield", NULL };
    if (range.first < range.end && is(line, range.first, "await"))
        range.first++;
    for (int i = 0; i < 2 && range.first < range.end; i++) {
        const size_t open = find_arguments(line, range);
        if (open == range.end)
            return range;
        const bool is_method = open >= range.first + 3 && is(line, open - 2, ".");
        const bool is_of_module =
            is_method && is(line, range.first, "asyncio") && open == range.first + 3;
        if (is_method && !is_of_module)
            return (struct range){ range.first, open - 2 };
        if (!is_one_of(line, open - 1, wrappers))
            return NOWHERE;
        /* The first argument. */
        const uint32_t depth = line->tokens[open].depth + 1;
        const struct range rest = { open + 1, range.end };
        const size_t comma = find_at(line, rest, depth, ",");
        range =
            (struct range){ rest.first,
                            comma < rest.end ? comma : rest.end - is(line, rest.end - 1, ")") };
    }
    return range;
}

/* The primary that ends before this token, which is a dot. */
static struct range find_primary(const struct line *line, size_t dot)
{
    static const char *const keywords[] = { "and",    "assert", "await",  "elif", "if",
                                            "in",     "is",     "lambda", "not",  "or",
                                            "return", "while",  "yield",  NULL };
    size_t first = dot;
    while (first > 0) {
        size_t at = first - 1;
        if (is(line, at, ")") || is(line, at, "]")) {
            const uint32_t depth = line->tokens[at].depth;
            while (at > 0 && (at == first - 1 || line->tokens[at].depth > depth))
                at--;
            first = at;
            /* Brackets follow what is called or indexed, or stand alone. */
            if (first > 0 &&
                ((line->tokens[first - 1].is_word && !is_one_of(line, first - 1, keywords)) ||
                 is(line, first - 1, ")") || is(line, first - 1, "]")))
                continue;
        } else if (line->tokens[at].is_word) {
            first = at;
        } else {
            break;
        }
        if (first == 0 || !is(line, first - 1, "."))
            break;
        first--;
    }
    return (struct range){ first, dot };
}

/* Without columns. */
static struct range search_line(const struct line *line, bool is_held)
{
    const struct range all = { 0, line->count };
    const size_t with = is(line, 0, "async") ? 1 : 0;
    size_t calls = 0;
    for (size_t i = all.first; i < all.end; i++)
        calls += is_waiting_call(line, i);

    if (is(line, with, "with")) {
        const struct range item = find_item(line, with);
        const size_t colon = find_at(line, (struct range){ with, line->count }, 0, ":");
        const bool is_clear = is_held || (calls == 0 && colon == line->count - 1);
        return is_clear ? item : NOWHERE;
    }
    if (is_held)
        return NOWHERE;
    for (size_t i = 0; i < line->count && calls == 1; i++)
        if (is_waiting_call(line, i)) {
            const struct range object = find_primary(line, i - 1);
            const bool is_module =
                object.end - object.first == 1 && is(line, object.first, "asyncio");
            return is_module ? NOWHERE : object;
        }
    size_t await = line->count, awaits = 0;
    for (size_t i = 0; i < line->count; i++) {
        awaits += is(line, i, "await");
        await = is(line, i, "await") ? i : await;
    }
    /* `await task`, `x = await self.task` */
    const struct range rest = { await + 1, line->count };
    for (size_t i = rest.first; i < rest.end; i++)
        if (!line->tokens[i].is_word && !is(line, i, "."))
            return NOWHERE;
    return calls == 0 && awaits == 1 ? rest : NOWHERE;
}

/* The tokens from one column to the other; NOWHERE: no tokens begin and end there. */
static struct range find_range(const struct line *line, const struct lock_text *at)
{
    struct range range = { 0, line->count };
    while (range.first < line->count && line->tokens[range.first].start != (uint32_t)at->column)
        range.first++;
    if (at->end_line != at->line)
        return range.first < line->count ? range : NOWHERE;
    while (range.end > range.first &&
           line->tokens[range.end - 1].start + line->tokens[range.end - 1].length !=
               (uint32_t)at->end_column)
        range.end--;
    return range.end > range.first ? range : NOWHERE;
}

struct strtab_string expression_find(const char *source, size_t bytes,
                                     const struct lock_text *at, bool is_held)
{
    const struct strtab_string none = { "", 0 };
    struct line line;
    struct range range;
    if (!find_line(source, bytes, at->line, &line))
        return none;
    if (at->column < 0) {
        range = search_line(&line, is_held);
    } else {
        range = find_range(&line, at);
        const size_t with =
            range.first + (range.first < range.end && is(&line, range.first, "async"));
        if (range.first < range.end && is(&line, with, "with"))
            range = find_item(&line, with);
        else if (range.first < range.end && !is_held &&
                 find_with(&line, range.first) == SIZE_MAX)
            range = find_object(&line, range);
    }
    if (range.first >= range.end)
        return none;
    const struct token *const first = &line.tokens[range.first],
                              *const last = &line.tokens[range.end - 1];
    const uint32_t length = last->start + last->length - first->start;
    const struct strtab_string found = { line.text + first->start, length };
    const bool is_super = length == 7 && memcmp(found.text, "super()", 7) == 0;
    return length > EXPRESSION_MAX_BYTES || is_super ? none : found;
}

/* The place of the expression in a line, from `at` on: not as a part of a longer one.  SIZE_MAX: it is not there. */
static size_t find_whole(const char *line, size_t length, struct strtab_string expression,
                         size_t at)
{
    for (; at + expression.length <= length; at++)
        if (memcmp(line + at, expression.text, expression.length) == 0 &&
            (at == 0 || !(is_word_byte(line[at - 1]) || line[at - 1] == '.')) &&
            (at + expression.length == length || !is_word_byte(line[at + expression.length])))
            return at;
    return SIZE_MAX;
}

static bool begins_with(const char *text, size_t length, const char *prefix)
{
    const size_t bytes = strlen(prefix);
    return length >= bytes && memcmp(text, prefix, bytes) == 0;
}

/* Does the line give the name, which ends at `end`, a value? */
static bool is_assigned(const char *line, size_t length, size_t end)
{
    while (end < length && line[end] == ' ')
        end++;
    return end < length && line[end] == '=' && (end + 1 == length || line[end + 1] != '=');
}

int32_t expression_find_acquire(const char *source, size_t bytes,
                                struct strtab_string expression, int32_t from, int32_t to)
{
    static const char acquire[] = ".acquire(", release[] = ".release(";
    bool is_known = memchr(expression.text, '.', expression.length) != NULL;
    const bool is_word = !is_known;
    bool has_begun = from == 0;
    size_t inner = SIZE_MAX; /* the indent of a function or class in this one */
    int32_t found = 0, number = 1;
    for (size_t start = 0, end; start < bytes; start = end + 1, number++) {
        const char *const line = source + start;
        const char *const newline = memchr(line, '\n', bytes - start);
        end = newline ? (size_t)(newline - source) : bytes;
        const size_t length = end - start;
        size_t indent = 0;
        while (indent < length && (line[indent] == ' ' || line[indent] == '\t'))
            indent++;
        if (indent == length || line[indent] == '#')
            continue;
        if (indent <= inner)
            inner = SIZE_MAX;
        const bool is_inside = number >= from && number <= to && inner == SIZE_MAX;
        const bool is_def = begins_with(line + indent, length - indent, "def ") ||
                            begins_with(line + indent, length - indent, "async def ");
        if (is_inside && has_begun &&
            (is_def || begins_with(line + indent, length - indent, "class ")))
            inner = indent;
        has_begun |= is_inside && is_def;
        for (size_t at = find_whole(line, length, expression, 0); at != SIZE_MAX;
             at = find_whole(line, length, expression, at + 1)) {
            const size_t after = at + expression.length;
            is_known |= at == 0 && is_assigned(line, length, after);
            if (!is_inside)
                continue;
            if (is_word && (is_def || (at > 0 && is_assigned(line, length, after))))
                return 0;
            if (begins_with(line + after, length - after, acquire))
                found = number;
            else if (begins_with(line + after, length - after, release))
                found = 0;
        }
    }
    return is_known ? found : 0;
}
