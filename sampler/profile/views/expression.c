#include "sampler/profile/views/expression.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/views/characters.h"

/* Both ends of a text: no character. */
#define NONE           UINT32_MAX
#define LAST_CHARACTER 0x10ffffU

enum { NO_LIMIT = -1, MAX_COUNT = 1000000 };

enum op {
    OP_SET,
    OP_NOT_SET,
    OP_START,
    OP_END,
    OP_EDGE,
    OP_NO_EDGE,
    OP_SPLIT,
    OP_JUMP,
    OP_FOUND
};

/* Sets: ranges [a, a + b).  Split: goes on at both of a and b, jump: at a, counted from itself. */
struct step {
    enum op op;
    int a, b;
};

struct expression {
    bool ignores_case, has_lines, dot_is_all;
    int step_count, range_count;
    struct step steps[EXPRESSION_MAX_STEPS];
    struct character_range ranges[EXPRESSION_MAX_RANGES];
};

static const struct character_range digits[] = { { '0', '9' } };
static const struct character_range words[] = {
    { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' }
};
static const struct character_range line_ends[] = { { '\n', '\n' },
                                                    { '\r', '\r' },
                                                    { 0x2028, 0x2029 } };
static const struct character_range spaces[] = { { '\t', '\r' },     { ' ', ' ' },
                                                 { 0xa0, 0xa0 },     { 0x1680, 0x1680 },
                                                 { 0x2000, 0x200a }, { 0x2028, 0x2029 },
                                                 { 0x202f, 0x202f }, { 0x205f, 0x205f },
                                                 { 0x3000, 0x3000 }, { 0xfeff, 0xfeff } };

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* After a failure nothing is left to read. */
struct parser {
    struct expression *made;
    size_t at, count, depth;
    struct err *err;
    enum err_code rc;
    uint32_t text[EXPRESSION_MAX_TEXT];
};

static void fail(struct parser *parser, const char *what)
{
    if (parser->rc == ERR_OK)
        parser->rc = err_set(parser->err, ERR_INVALID, "the regular expression %s", what);
    parser->at = parser->count;
}

static uint32_t peek(const struct parser *parser, size_t ahead)
{
    return parser->at + ahead < parser->count ? parser->text[parser->at + ahead] : NONE;
}

static bool skip(struct parser *parser, uint32_t character)
{
    if (peek(parser, 0) != character)
        return false;
    parser->at++;
    return true;
}

static void emit(struct parser *parser, enum op op, int a, int b)
{
    struct expression *const made = parser->made;
    if (made->step_count == EXPRESSION_MAX_STEPS)
        fail(parser, "is too large");
    else
        made->steps[made->step_count++] = (struct step){ op, a, b };
}

/* Steps behind `at` move by one; within them all is counted from themselves. */
static void insert(struct parser *parser, int at, enum op op, int a, int b)
{
    struct step *const steps = parser->made->steps;
    const int moved = parser->made->step_count - at;
    emit(parser, op, a, b);
    if (parser->rc != ERR_OK)
        return;
    memmove(steps + at + 1, steps + at, (size_t)moved * sizeof *steps);
    steps[at] = (struct step){ op, a, b };
}

static void add_range(struct parser *parser, uint32_t first, uint32_t last)
{
    struct expression *const made = parser->made;
    if (made->range_count == EXPRESSION_MAX_RANGES)
        fail(parser, "is too large");
    else
        made->ranges[made->range_count++] = (struct character_range){ first, last };
}

static void add_ranges(struct parser *parser, const struct character_range *ranges,
                       size_t count, bool others)
{
    uint32_t from = 0;
    for (size_t i = 0; i < count; i++) {
        if (!others)
            add_range(parser, ranges[i].first, ranges[i].last);
        else if (from < ranges[i].first)
            add_range(parser, from, ranges[i].first - 1);
        from = ranges[i].last + 1;
    }
    if (others)
        add_range(parser, from, LAST_CHARACTER);
}

/* The set of a letter as in \d; false: it stands for none. */
static bool add_class(struct parser *parser, uint32_t letter)
{
    switch (letter) {
    case 'd':
    case 'D': add_ranges(parser, digits, COUNT_OF(digits), letter == 'D'); break;
    case 'w':
    case 'W': add_ranges(parser, words, COUNT_OF(words), letter == 'W'); break;
    case 's':
    case 'S': add_ranges(parser, spaces, COUNT_OF(spaces), letter == 'S'); break;
    default: return false;
    }
    parser->at++;
    return true;
}

static uint32_t read_hex(struct parser *parser, size_t count)
{
    uint32_t value = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t digit = peek(parser, 0);
        const char *const found =
            digit < 128 && digit ? strchr("0123456789abcdef", (int)(digit | 0x20)) : NULL;
        if (!found || (digit < '0' || (digit > '9' && digit < 'A')))
            fail(parser, "has \\x without two digits, or \\u without four");
        else
            value = value * 16 + (uint32_t)(found - "0123456789abcdef");
        parser->at += found != NULL;
    }
    return value;
}

/* Behind a backslash: one character. */
static uint32_t read_escape(struct parser *parser, bool in_class)
{
    static const char letters[] = "tnvfr", values[] = "\t\n\v\f\r";
    const uint32_t letter = peek(parser, 0);
    if (letter == NONE) {
        fail(parser, "ends in \\");
        return 0;
    }
    parser->at++;
    const char *const known = letter < 128 && letter ? strchr(letters, (int)letter) : NULL;
    if (known)
        return (uint32_t)values[known - letters];
    if (letter == 'x' || letter == 'u')
        return read_hex(parser, letter == 'x' ? 2 : 4);
    if (letter == '0' && !characters_has(digits, 1, peek(parser, 0)))
        return 0;
    if (letter == 'b' && in_class)
        return '\b';
    if (letter != '_' && characters_has(words, COUNT_OF(words), letter))
        fail(parser, "has an escape that filters do not know, such as a back-reference");
    return letter;
}

/* One end of a range, or a set such as \d; false: a set. */
static bool read_end(struct parser *parser, uint32_t *out)
{
    if (!skip(parser, '\\')) {
        *out = peek(parser, 0);
        parser->at++;
        return true;
    }
    if (add_class(parser, peek(parser, 0)))
        return false;
    *out = read_escape(parser, true);
    return true;
}

/* Behind the opening bracket. */
static void parse_set(struct parser *parser)
{
    const bool is_negated = skip(parser, '^');
    const int first = parser->made->range_count;
    while (parser->at < parser->count && peek(parser, 0) != ']') {
        uint32_t from = 0, to = 0;
        if (!read_end(parser, &from))
            continue;
        if (peek(parser, 0) != '-' || peek(parser, 1) == ']') {
            add_range(parser, from, from);
            continue;
        }
        parser->at++;
        if (!read_end(parser, &to)) {
            add_range(parser, from, from);
            add_range(parser, '-', '-');
        } else if (to < from)
            fail(parser, "has a range that ends before it begins");
        else
            add_range(parser, from, to);
    }
    if (!skip(parser, ']'))
        fail(parser, "lacks a ]");
    emit(parser, is_negated ? OP_NOT_SET : OP_SET, first, parser->made->range_count - first);
}

static void put_character(struct parser *parser, uint32_t character)
{
    add_range(parser, character, character);
    emit(parser, OP_SET, parser->made->range_count - 1, 1);
}

/* Does it stand for a place between characters? */
static bool parse_place(struct parser *parser)
{
    if (skip(parser, '^'))
        emit(parser, OP_START, 0, 0);
    else if (skip(parser, '$'))
        emit(parser, OP_END, 0, 0);
    else if (peek(parser, 0) == '\\' && (peek(parser, 1) == 'b' || peek(parser, 1) == 'B')) {
        emit(parser, peek(parser, 1) == 'b' ? OP_EDGE : OP_NO_EDGE, 0, 0);
        parser->at += 2;
    } else
        return false;
    return true;
}

static void parse_alternatives(struct parser *parser);

/* Behind the opening parenthesis. */
static void parse_group(struct parser *parser)
{
    if (skip(parser, '?') && !skip(parser, ':'))
        fail(parser, "has look-around or a named group, which filters do not know");
    if (++parser->depth > EXPRESSION_MAX_DEPTH)
        fail(parser, "has too many groups in groups");
    parse_alternatives(parser);
    parser->depth--;
    if (!skip(parser, ')'))
        fail(parser, "lacks a )");
}

static bool read_number(const struct parser *parser, size_t *ahead, int *out)
{
    const size_t from = *ahead;
    *out = 0;
    for (; characters_has(digits, 1, peek(parser, *ahead)); ++*ahead)
        if (*out < MAX_COUNT)
            *out = *out * 10 + (int)(peek(parser, *ahead) - '0');
    return *ahead > from;
}

/* {n}, {n,} or {n,m}; anything else is a brace that stands for itself. */
static bool read_braces(struct parser *parser, int *least, int *most)
{
    size_t ahead = 1;
    if (peek(parser, 0) != '{' || !read_number(parser, &ahead, least))
        return false;
    *most = *least;
    if (peek(parser, ahead) == ',') {
        ahead++;
        if (!read_number(parser, &ahead, most))
            *most = NO_LIMIT;
    }
    if (peek(parser, ahead) != '}')
        return false;
    parser->at += ahead + 1;
    return true;
}

static bool read_quantifier(struct parser *parser, int *least, int *most)
{
    *least = peek(parser, 0) == '+';
    *most = peek(parser, 0) == '?' ? 1 : NO_LIMIT;
    if (!skip(parser, '*') && !skip(parser, '+') && !skip(parser, '?') &&
        !read_braces(parser, least, most))
        return false;
    (void)skip(parser, '?'); /* lazy: what matches is the same */
    return true;
}

static const char nothing_to_repeat[] = "has nothing to repeat before *, +, ? or {";

static void parse_atom(struct parser *parser)
{
    const uint32_t character = peek(parser, 0);
    const int first = parser->made->range_count;
    int least, most;
    if (read_quantifier(parser, &least, &most)) {
        fail(parser, nothing_to_repeat);
        return;
    }
    parser->at++;
    if (character == '(')
        parse_group(parser);
    else if (character == '[')
        parse_set(parser);
    else if (character == '.' && parser->made->dot_is_all)
        emit(parser, OP_NOT_SET, 0, 0);
    else if (character == '.') {
        add_ranges(parser, line_ends, COUNT_OF(line_ends), false);
        emit(parser, OP_NOT_SET, first, parser->made->range_count - first);
    } else if (character != '\\')
        put_character(parser, character);
    else if (add_class(parser, peek(parser, 0)))
        emit(parser, OP_SET, first, parser->made->range_count - first);
    else
        put_character(parser, read_escape(parser, false));
}

/* The steps from `start` on, so many times. */
static void repeat(struct parser *parser, int start, int least, int most)
{
    struct expression *const made = parser->made;
    const int length = made->step_count - start;
    const int copies = most != NO_LIMIT ? most : least == 0 ? 1 : least + 1;
    int body = start;
    if (most != NO_LIMIT && most < least)
        fail(parser, "has {n,m} with m below n");
    if (copies == 0)
        made->step_count = start;
    if (length == 0 || copies == 0)
        return;
    if (least == 0)
        insert(parser, body++, OP_SPLIT, 1,
               most == NO_LIMIT ? length + 2 : (length + 1) * most);
    for (int i = 1; i < copies && parser->rc == ERR_OK; i++) {
        if (i >= least)
            emit(parser, OP_SPLIT, 1,
                 most == NO_LIMIT ? length + 2 : (length + 1) * (most - i));
        for (int j = 0; j < length && parser->rc == ERR_OK; j++) {
            const struct step step = made->steps[body + j];
            emit(parser, step.op, step.a, step.b);
        }
    }
    if (most == NO_LIMIT)
        emit(parser, OP_JUMP, -length - 1, 0);
}

static void parse_term(struct parser *parser)
{
    const int start = parser->made->step_count;
    const bool is_place = parse_place(parser);
    int least, most;
    if (!is_place)
        parse_atom(parser);
    if (parser->rc != ERR_OK || !read_quantifier(parser, &least, &most))
        return;
    if (is_place)
        fail(parser, nothing_to_repeat);
    else
        repeat(parser, start, least, most);
}

static void parse_sequence(struct parser *parser)
{
    while (parser->at < parser->count && peek(parser, 0) != '|' && peek(parser, 0) != ')')
        parse_term(parser);
}

static void parse_alternatives(struct parser *parser)
{
    struct expression *const made = parser->made;
    const int start = made->step_count;
    parse_sequence(parser);
    while (parser->rc == ERR_OK && skip(parser, '|')) {
        insert(parser, start, OP_SPLIT, 1, made->step_count - start + 2);
        const int jump = made->step_count;
        emit(parser, OP_JUMP, 0, 0);
        parse_sequence(parser);
        if (parser->rc == ERR_OK)
            made->steps[jump].a = made->step_count - jump;
    }
}

static enum err_code read_flags(struct expression *made, const char *flags, struct err *err)
{
    for (const char *flag = flags; *flag; flag++) {
        if (!strchr("imsu", *flag) || strchr(flag + 1, *flag))
            return err_set(err, ERR_INVALID,
                           "the flags of a regular expression are i, m, s and u, once each");
        made->ignores_case |= *flag == 'i';
        made->has_lines |= *flag == 'm';
        made->dot_is_all |= *flag == 's';
    }
    return ERR_OK;
}

static enum err_code parse(struct expression *made, const char *text, size_t length,
                           bool is_plain, struct err *err)
{
    struct parser parser = { .made = made, .err = err };
    for (size_t at = 0; at < length;)
        parser.text[parser.count++] = characters_next(text, length, &at);
    if (is_plain)
        while (parser.at < parser.count)
            put_character(&parser, parser.text[parser.at++]);
    else
        parse_alternatives(&parser);
    if (parser.at < parser.count)
        fail(&parser, "has a ) without (");
    emit(&parser, OP_FOUND, 0, 0);
    return parser.rc;
}

enum err_code expression_compile(const char *text, size_t length, const char *flags,
                                 struct expression **out, struct err *err)
{
    *out = NULL;
    if (length > EXPRESSION_MAX_TEXT)
        return err_set(err, ERR_INVALID, "a pattern has at most %d bytes", EXPRESSION_MAX_TEXT);
    struct expression *const made = calloc(1, sizeof *made);
    if (!made)
        return err_nomem(err);
    made->ignores_case = !flags;
    enum err_code rc = read_flags(made, flags ? flags : "", err);
    if (rc == ERR_OK)
        rc = parse(made, text, length, !flags, err);
    if (rc == ERR_OK)
        *out = made;
    else
        free(made);
    return rc;
}

void expression_destroy(struct expression *expression)
{
    free(expression);
}

/* All that may come next, as of a place between two characters. */
struct state {
    const struct expression *expression;
    uint32_t before, after;
    uint32_t place;
    int waiting_count, reading_count;
    int waiting[EXPRESSION_MAX_STEPS];   /* steps still to be looked at here */
    int reading[EXPRESSION_MAX_STEPS];   /* those that want a character */
    uint32_t seen[EXPRESSION_MAX_STEPS]; /* the place at which each waited last; 0: none */
};

static void wait_at(struct state *state, int step)
{
    if (state->seen[step] == state->place)
        return;
    state->seen[step] = state->place;
    state->waiting[state->waiting_count++] = step;
}

static bool holds(const struct state *state, enum op op)
{
    const bool has_lines = state->expression->has_lines;
    const size_t ends = COUNT_OF(line_ends);
    if (op == OP_START)
        return state->before == NONE ||
               (has_lines && characters_has(line_ends, ends, state->before));
    if (op == OP_END)
        return state->after == NONE ||
               (has_lines && characters_has(line_ends, ends, state->after));
    return (characters_has(words, COUNT_OF(words), state->before) !=
            characters_has(words, COUNT_OF(words), state->after)) == (op == OP_EDGE);
}

/* true: it is found. */
static bool follow(struct state *state)
{
    state->reading_count = 0;
    while (state->waiting_count > 0) {
        const int at = state->waiting[--state->waiting_count];
        const struct step step = state->expression->steps[at];
        switch (step.op) {
        case OP_FOUND: return true;
        case OP_SPLIT:
            wait_at(state, at + step.b);
            wait_at(state, at + step.a);
            break;
        case OP_JUMP: wait_at(state, at + step.a); break;
        case OP_SET:
        case OP_NOT_SET: state->reading[state->reading_count++] = at; break;
        case OP_START:
        case OP_END:
        case OP_EDGE:
        case OP_NO_EDGE:
            if (holds(state, step.op))
                wait_at(state, at + 1);
            break;
        }
    }
    return false;
}

static bool accepts(const struct expression *expression, const struct step *step,
                    uint32_t character)
{
    const struct character_range *const ranges = expression->ranges + step->a;
    const size_t count = (size_t)step->b;
    const bool is_one = characters_has(ranges, count, character) ||
                        (expression->ignores_case &&
                         characters_has(ranges, count, characters_other_case(character)));
    return is_one == (step->op == OP_SET);
}

bool expression_matches(const struct expression *expression, const char *text, size_t length)
{
    struct state state;
    size_t at = 0;
    state.expression = expression;
    state.before = NONE;
    state.waiting_count = 0;
    memset(state.seen, 0, (size_t)expression->step_count * sizeof *state.seen);
    for (state.place = 1;;) {
        state.after = at < length ? characters_next(text, length, &at) : NONE;
        wait_at(&state, 0); /* it may begin anywhere */
        if (follow(&state))
            return true;
        if (state.after == NONE)
            return false;
        state.place++;
        for (int i = 0; i < state.reading_count; i++)
            if (accepts(expression, &expression->steps[state.reading[i]], state.after))
                wait_at(&state, state.reading[i] + 1);
        state.before = state.after;
    }
}
