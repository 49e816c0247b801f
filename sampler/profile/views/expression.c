#include "sampler/profile/views/expression.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "sampler/base/buffer.h"
#include "sampler/base/utf8.h"

struct expression {
    pcre2_code *code;
    pcre2_match_context *limits;
    pcre2_match_data *data;
};

/* The sets of JavaScript, which differ from those of PCRE2; the last two go between brackets. */
#define NO_LINE_END "[^\\n\\r\\u2028\\u2029]"
#define SPACES                                                   \
    "\\t-\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f" \
    "\\u205f\\u3000\\ufeff"
#define NO_SPACES                                                          \
    "\\x00-\\x08\\x0e-\\x1f!-\\u009f\\u00a1-\\u167f\\u1681-\\u1fff"        \
    "\\u200b-\\u2027\\u202a-\\u202e\\u2030-\\u205e\\u2060-\\u2fff\\u3001-" \
    "\\ufefe\\uff00-\xf4\x8f\xbf\xbf"

/* Translates a JavaScript expression into one of PCRE2. */
struct reader {
    const char *at, *end;
    struct buffer out;
    bool has_lines, dot_is_all;
    bool can_repeat; /* a quantifier may follow */
    int depth;
    const char *wrong; /* NULL: nothing so far */
};

static bool is_next(const struct reader *reader, char c)
{
    return reader->at < reader->end && *reader->at == c;
}

static void copy_bytes(struct reader *reader, size_t bytes)
{
    buffer_append(&reader->out, reader->at, bytes);
    reader->at += bytes;
}

/* Writes `text` for the next bytes. */
static void replace_bytes(struct reader *reader, size_t bytes, const char *text)
{
    buffer_text(&reader->out, text);
    reader->at += bytes;
}

/* The letter of a set such as \d; 0: something else comes. */
static char next_class(const struct reader *reader)
{
    const bool is_class = is_next(reader, '\\') && reader->at + 1 < reader->end &&
                          strchr("dDwWsS", reader->at[1]);
    return is_class ? reader->at[1] : '\0';
}

static bool has_hex(const struct reader *reader, size_t digits)
{
    for (size_t i = 2; i < 2 + digits; i++)
        if (reader->at + i >= reader->end || !isxdigit((unsigned char)reader->at[i]))
            return false;
    return true;
}

/* A backslash and the character that it stands for. */
static void read_escape(struct reader *reader, bool in_set)
{
    const char *const behind = reader->at + 2;
    if (behind > reader->end) {
        reader->wrong = "ends in \\";
        return;
    }
    const char c = behind[-1];
    if (c == 'v')
        replace_bytes(reader, 2, "\\x0b");
    else if (c == '0' && (behind == reader->end || !isdigit((unsigned char)*behind)))
        replace_bytes(reader, 2, "\\x00");
    else if ((c == 'x' || c == 'u') && !has_hex(reader, c == 'x' ? 2 : 4))
        reader->wrong = "has \\x without two digits, or \\u without four";
    else if (isalnum((unsigned char)c) && !strchr("tnfrxu", c) && !(c == 'b' && in_set))
        reader->wrong = "has an escape that filters do not support, such as a back-reference";
    else if ((unsigned char)c < 0x80)
        copy_bytes(reader, 2);
    else
        reader->at++;
}

/* One end of a range, or a set such as \d, within brackets. */
static void read_member(struct reader *reader)
{
    const char letter = next_class(reader);
    if (letter == 's')
        replace_bytes(reader, 2, SPACES);
    else if (letter == 'S')
        replace_bytes(reader, 2, NO_SPACES);
    else if (letter)
        copy_bytes(reader, 2);
    else if (is_next(reader, '\\'))
        read_escape(reader, true);
    else {
        /* Signs are literal here, but "[:" is not in PCRE2. */
        if (ispunct((unsigned char)*reader->at))
            buffer_char(&reader->out, '\\');
        copy_bytes(reader, utf8_char_length(reader->at, (size_t)(reader->end - reader->at)));
    }
}

static void read_set(struct reader *reader)
{
    if (reader->at + 1 < reader->end && reader->at[1] == ']') {
        /* PCRE2 can repeat this group, but not the empty set. */
        replace_bytes(reader, 2, "(?:[])");
        return;
    }
    copy_bytes(reader, 1);
    if (is_next(reader, '^'))
        copy_bytes(reader, 1);
    while (reader->at < reader->end && *reader->at != ']' && !reader->wrong) {
        const bool is_class = next_class(reader) != '\0';
        read_member(reader);
        if (!is_next(reader, '-') || reader->at + 1 == reader->end || reader->at[1] == ']')
            continue;
        reader->at++;
        buffer_text(&reader->out, is_class || next_class(reader) ? "\\-" : "-");
        read_member(reader);
    }
    if (is_next(reader, ']'))
        copy_bytes(reader, 1);
    else if (!reader->wrong)
        reader->wrong = "lacks a ]";
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && isdigit((unsigned char)*at))
        at++;
    return at;
}

/* The length of {n}, {n,} or {n,m}; 0: a literal brace. */
static size_t braces_length(const struct reader *reader)
{
    const char *const first = reader->at + 1;
    const char *at = skip_digits(first, reader->end);
    if (at == first)
        return 0;
    if (at < reader->end && *at == ',')
        at = skip_digits(at + 1, reader->end);
    return at < reader->end && *at == '}' ? (size_t)(at - first) + 2 : 0;
}

/* *, +, ? or a brace. */
static void read_quantifier(struct reader *reader)
{
    const size_t length = is_next(reader, '{') ? braces_length(reader) : 1;
    if (length == 0) {
        replace_bytes(reader, 1, "\\{");
        reader->can_repeat = true;
        return;
    }
    if (!reader->can_repeat)
        reader->wrong = "has nothing to repeat before *, +, ? or {";
    copy_bytes(reader, length);
    if (is_next(reader, '?'))
        copy_bytes(reader, 1);
    reader->can_repeat = false;
}

static void read_one(struct reader *reader)
{
    const char c = *reader->at;
    if (strchr("*+?{", c)) {
        read_quantifier(reader);
        return;
    }
    reader->can_repeat = !strchr("(|^$", c);
    switch (c) {
    case '(': {
        const bool has_mark = reader->at + 1 < reader->end && reader->at[1] == '?';
        if (has_mark && (reader->at + 2 == reader->end || reader->at[2] != ':'))
            reader->wrong = "has lookaround or a named group, which filters do not support";
        else if (++reader->depth > EXPRESSION_MAX_GROUPS)
            reader->wrong = "has too many groups in groups";
        replace_bytes(reader, has_mark ? 3 : 1, "(?:");
        break;
    }
    case ')':
        if (--reader->depth < 0)
            reader->wrong = "has a ) without (";
        copy_bytes(reader, 1);
        break;
    case '[': read_set(reader); break;
    case '\\': {
        const bool is_edge = reader->at + 1 < reader->end && strchr("bB", reader->at[1]);
        reader->can_repeat = !is_edge;
        if (is_edge)
            copy_bytes(reader, 2);
        else if (next_class(reader)) {
            buffer_char(&reader->out, '[');
            read_member(reader);
            buffer_char(&reader->out, ']');
        } else
            read_escape(reader, false);
        break;
    }
    case '.': replace_bytes(reader, 1, reader->dot_is_all ? "[^]" : NO_LINE_END); break;
    case '^': replace_bytes(reader, 1, reader->has_lines ? "(?<!" NO_LINE_END ")" : "^"); break;
    case '$':
        replace_bytes(reader, 1, reader->has_lines ? "(?!" NO_LINE_END ")" : "\\z");
        break;
    default: copy_bytes(reader, 1);
    }
}

/* The translation begins with "any text": one match tries all places, so the limit of steps covers
 * all of them. */
static enum err_code translate_expression(struct reader *reader, struct err *err)
{
    buffer_text(&reader->out, "[^]*?(?:");
    while (reader->at < reader->end && !reader->wrong)
        read_one(reader);
    buffer_char(&reader->out, ')');
    if (!reader->wrong && reader->depth > 0)
        reader->wrong = "lacks a )";
    if (reader->wrong)
        return err_set(err, ERR_INVALID, "the regular expression %s", reader->wrong);
    return buffer_check(&reader->out, err);
}

static enum err_code compile_code(struct expression *made, const char *text, size_t length,
                                  uint32_t options, struct err *err)
{
    PCRE2_UCHAR why[128];
    int code;
    PCRE2_SIZE where;
    made->code =
        pcre2_compile((PCRE2_SPTR)text, length, options | PCRE2_UTF, &code, &where, NULL);
    if (!made->code && code != PCRE2_ERROR_HEAP_FAILED) {
        pcre2_get_error_message(code, why, sizeof why);
        return err_set(err, ERR_INVALID, "invalid regular expression: %s", (const char *)why);
    }
    made->limits = pcre2_match_context_create(NULL);
    made->data = pcre2_match_data_create(1, NULL);
    if (!made->code || !made->limits || !made->data)
        return err_nomem(err);
    pcre2_set_match_limit(made->limits, EXPRESSION_MAX_STEPS);
    pcre2_set_depth_limit(made->limits, EXPRESSION_MAX_STEPS);
    pcre2_set_heap_limit(made->limits, EXPRESSION_MAX_BACKTRACK_KIB);
    return ERR_OK;
}

static enum err_code compile_expression(struct expression *made, const char *text,
                                        size_t length, const char *flags, struct err *err)
{
    struct reader reader = { .at = text,
                             .end = text + length,
                             .has_lines = strchr(flags, 'm') != NULL,
                             .dot_is_all = strchr(flags, 's') != NULL };
    for (const char *flag = flags; *flag; flag++)
        if (!strchr("imsu", *flag) || strchr(flag + 1, *flag))
            return err_set(err, ERR_INVALID,
                           "the flags of a regular expression are i, m, s and u, once each");
    enum err_code rc = translate_expression(&reader, err);
    if (!rc)
        rc = compile_code(made, reader.out.data, reader.out.length,
                          PCRE2_ANCHORED | PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS |
                              (strchr(flags, 'i') ? PCRE2_CASELESS : 0),
                          err);
    buffer_deinit(&reader.out);
    return rc;
}

enum err_code expression_compile(const char *text, size_t length, const char *flags,
                                 struct expression **out, struct err *err)
{
    *out = NULL;
    if (length > EXPRESSION_MAX_TEXT)
        return err_set(err, ERR_INVALID, "a pattern has at most %d bytes", EXPRESSION_MAX_TEXT);
    if (!utf8_is_valid(text, length))
        return err_set(err, ERR_INVALID, "a pattern is UTF-8");
    struct expression *const made = calloc(1, sizeof *made);
    if (!made)
        return err_nomem(err);
    const enum err_code rc =
        flags ? compile_expression(made, text, length, flags, err)
              : compile_code(made, text, length, PCRE2_LITERAL | PCRE2_CASELESS, err);
    if (!rc)
        *out = made;
    else
        expression_destroy(made);
    return rc;
}

void expression_destroy(struct expression *expression)
{
    if (!expression)
        return;
    pcre2_match_data_free(expression->data);
    pcre2_match_context_free(expression->limits);
    pcre2_code_free(expression->code);
    free(expression);
}

static int match_text(struct expression *expression, const char *text, size_t length)
{
    return pcre2_match(expression->code, (PCRE2_SPTR)text, length, 0, 0, expression->data,
                       expression->limits);
}

enum err_code expression_matches(struct expression *expression, const char *text, size_t length,
                                 bool *out, struct err *err)
{
    int rc = match_text(expression, text, length);
    if (rc <= PCRE2_ERROR_UTF8_ERR1 && rc >= PCRE2_ERROR_UTF8_ERR21) {
        /* Bytes that are no UTF-8 match as U+FFFD. */
        struct buffer clean = { 0 };
        for (size_t at = 0; at < length;) {
            const size_t bytes = utf8_char_length(text + at, length - at);
            buffer_append(&clean, bytes ? text + at : "\xef\xbf\xbd", bytes ? bytes : 3);
            at += bytes ? bytes : 1;
        }
        rc = clean.failed ? PCRE2_ERROR_NOMEMORY
                          : match_text(expression, clean.data, clean.length);
        buffer_deinit(&clean);
    }
    if (rc == PCRE2_ERROR_NOMEMORY)
        return err_nomem(err);
    if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
        return err_set(err, ERR_INVALID, "it takes too long on these names; make it simpler");
    *out = rc >= 0;
    return ERR_OK;
}
