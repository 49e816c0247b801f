#include <string.h>

#include "sampler/base/utf8.h"
#include "sampler/native/demangle_work.h"
#include "sampler/native/punycode.h"

/* A name of version 0 is written while it is read. */
struct rust_reader {
    struct demangle_work *work;
    const char *begin, *at, *end;
    uint64_t lifetimes; /* that the types around this place bind */
    bool is_silent;     /* what is read is not written */
    bool is_open;       /* the path that was read last has arguments without their end */
};

static void read_path(struct rust_reader *reader, bool is_value);
static void read_type(struct rust_reader *reader);

static void fail_reading(struct rust_reader *reader)
{
    reader->work->has_failed = true;
}

static char peek_character(const struct rust_reader *reader)
{
    return reader->at < reader->end && !reader->work->has_failed ? *reader->at : '\0';
}

static bool skip_character(struct rust_reader *reader, char c)
{
    if (peek_character(reader) != c)
        return false;
    reader->at++;
    return true;
}

/* The next character; 0: there is none, and it has failed. */
static char take_character(struct rust_reader *reader)
{
    const char c = demangle_step(reader->work, 1) ? peek_character(reader) : '\0';
    if (c)
        reader->at++;
    else
        fail_reading(reader);
    return c;
}

static void put_text(struct rust_reader *reader, const char *text)
{
    if (!reader->is_silent)
        demangle_write_text(reader->work, text);
}

static void put_number(struct rust_reader *reader, uint64_t number)
{
    if (!reader->is_silent)
        demangle_write_number(reader->work, number);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "_" is 0, "0_" is 1; digits, small and capital letters. */
static uint64_t take_base_62(struct rust_reader *reader)
{
    uint64_t value = 0;
    if (skip_character(reader, '_'))
        return 0;
    while (!reader->work->has_failed && !skip_character(reader, '_')) {
        const char c = take_character(reader);
        const unsigned digit = is_digit(c)            ? (unsigned)(c - '0')
                               : c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10
                               : c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 36
                                                      : 62;
        if (digit == 62 || value > (UINT64_MAX - digit) / 62)
            fail_reading(reader);
        value = value * 62 + digit;
    }
    if (value == UINT64_MAX)
        fail_reading(reader);
    return value + 1;
}

static uint64_t take_disambiguator(struct rust_reader *reader)
{
    return skip_character(reader, 's') ? take_base_62(reader) + 1 : 0;
}

/* Says where the bytes of an identifier are. */
struct identifier {
    const char *text;
    size_t bytes;
    bool is_punycode;
};

static struct identifier take_identifier(struct rust_reader *reader)
{
    struct identifier identifier = { .is_punycode = skip_character(reader, 'u') };
    if (!is_digit(peek_character(reader)))
        fail_reading(reader);
    const bool is_empty = peek_character(reader) == '0';
    while (is_digit(peek_character(reader)) && identifier.bytes < DEMANGLE_MAX_INPUT) {
        identifier.bytes = identifier.bytes * 10 + (size_t)(take_character(reader) - '0');
        if (is_empty)
            break;
    }
    (void)skip_character(reader, '_');
    if (identifier.bytes > (size_t)(reader->end - reader->at))
        fail_reading(reader);
    identifier.bytes = reader->work->has_failed ? 0 : identifier.bytes;
    identifier.text = reader->at;
    reader->at += identifier.bytes;
    return identifier;
}

static void put_identifier(struct rust_reader *reader, struct identifier identifier)
{
    uint32_t characters[PUNYCODE_MAX_CHARACTERS];
    if (reader->is_silent || !demangle_step(reader->work, 1))
        return;
    if (!identifier.is_punycode) {
        demangle_write(reader->work, identifier.text, identifier.bytes);
        return;
    }
    if (!demangle_step(reader->work, PUNYCODE_MAX_CHARACTERS))
        return;
    const size_t count = punycode_decode(identifier.text, identifier.bytes, characters);
    if (count == 0)
        fail_reading(reader);
    for (size_t i = 0; i < count; i++) {
        char bytes[4];
        demangle_write(reader->work, bytes, utf8_encode(characters[i], bytes));
    }
}

/* Reads what stands at an earlier place of the name.  In what is not written that is not necessary. */
static void read_again(struct rust_reader *reader, const char *from,
                       void (*read)(struct rust_reader *))
{
    const uint64_t place = take_base_62(reader);
    const char *const at = reader->at;
    if (place >= (uint64_t)(from - reader->begin))
        fail_reading(reader);
    if (reader->is_silent || reader->work->has_failed)
        return;
    reader->at = reader->begin + place;
    read(reader);
    reader->at = at;
}

static void put_lifetime(struct rust_reader *reader, uint64_t number)
{
    if (number > reader->lifetimes)
        fail_reading(reader);
    const uint64_t index = reader->lifetimes - number;
    const char letter[] = { (char)('a' + index % 26), '\0' };
    put_text(reader, "'");
    if (number == 0) {
        put_text(reader, "_");
    } else if (index < 26) {
        put_text(reader, letter);
    } else {
        put_text(reader, "_");
        put_number(reader, index);
    }
}

/* "G": lifetimes that a type binds. */
static void read_binder(struct rust_reader *reader)
{
    const uint64_t count = skip_character(reader, 'G') ? take_base_62(reader) + 1 : 0;
    if (!demangle_step(reader->work,
                       count < DEMANGLE_MAX_STEPS ? (uint32_t)count : DEMANGLE_MAX_STEPS))
        return;
    for (uint64_t i = 0; i < count; i++) {
        put_text(reader, i ? ", " : "for<");
        reader->lifetimes++;
        put_lifetime(reader, 1);
    }
    put_text(reader, count ? "> " : "");
}

static const char *basic_type(char letter)
{
    static const char *const names[] = {
        ['a' - 'a'] = "i8",   ['b' - 'a'] = "bool",  ['c' - 'a'] = "char",
        ['d' - 'a'] = "f64",  ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",
        ['h' - 'a'] = "u8",   ['i' - 'a'] = "isize", ['j' - 'a'] = "usize",
        ['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",   ['n' - 'a'] = "i128",
        ['o' - 'a'] = "u128", ['p' - 'a'] = "_",     ['s' - 'a'] = "i16",
        ['t' - 'a'] = "u16",  ['u' - 'a'] = "()",    ['v' - 'a'] = "...",
        ['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",   ['z' - 'a'] = "!",
    };
    return letter >= 'a' && letter <= 'z' ? names[letter - 'a'] : NULL;
}

static void put_character(struct rust_reader *reader, uint64_t value)
{
    static const char hex[] = "0123456789abcdef";
    char text[16] = "\\u{";
    size_t length = 3;
    if (value == '\t' || value == '\r' || value == '\n') {
        put_text(reader, value == '\t' ? "\\t" : value == '\r' ? "\\r" : "\\n");
        return;
    }
    if (value > ' ' && value < '~') {
        const char plain[] = { (char)value, '\0' };
        put_text(reader, plain);
        return;
    }
    for (int shift = 28; shift >= 0; shift -= 4)
        if (value >> shift || shift == 0)
            text[length++] = hex[value >> shift & 15];
    text[length++] = '}';
    text[length] = '\0';
    put_text(reader, text);
}

static void read_value(struct rust_reader *reader, char type)
{
    uint64_t value;
    const bool is_negative = strchr("aslxni", type) && skip_character(reader, 'n');

    /* Digits up to "_"; more than 16 of them are no number of 64 bits. */
    struct identifier digits = { .text = reader->at };
    value = 0;
    while (!reader->work->has_failed && !skip_character(reader, '_')) {
        const char c = take_character(reader);
        if (!is_digit(c) && !(c >= 'a' && c <= 'f'))
            fail_reading(reader);
        value = value << 4 | (uint64_t)(is_digit(c) ? c - '0' : c - 'a' + 10);
        digits.bytes++;
    }

    if (digits.bytes == 0)
        fail_reading(reader);
    if (type == 'b') {
        if (digits.bytes != 1 || value > 1)
            fail_reading(reader);
        put_text(reader, value ? "true" : "false");
    } else if (type == 'c') {
        if (digits.bytes > 8)
            fail_reading(reader);
        put_text(reader, "'");
        put_character(reader, value);
        put_text(reader, "'");
    } else {
        put_text(reader, is_negative ? "-" : "");
        if (digits.bytes > 16) {
            put_text(reader, "0x");
            put_identifier(reader, digits);
        } else {
            put_number(reader, value);
        }
    }
}

static void read_constant(struct rust_reader *reader)
{
    if (!demangle_enter(reader->work))
        return;
    const char *const from = reader->at;
    const char type = take_character(reader);
    if (type == 'B')
        read_again(reader, from, read_constant);
    else if (type == 'p')
        put_text(reader, "_");
    else if (type && strchr("htmyojaslxnibc", type))
        read_value(reader, type);
    else
        fail_reading(reader);
    demangle_leave(reader->work);
}

static void read_argument(struct rust_reader *reader)
{
    if (skip_character(reader, 'L'))
        put_lifetime(reader, take_base_62(reader));
    else if (skip_character(reader, 'K'))
        read_constant(reader);
    else
        read_type(reader);
}

/* Up to "E"; returns how many. */
static size_t read_list(struct rust_reader *reader, const char *between,
                        void (*read)(struct rust_reader *))
{
    size_t count = 0;
    for (; !reader->work->has_failed && !skip_character(reader, 'E'); count++) {
        put_text(reader, count ? between : "");
        read(reader);
    }
    return count;
}

/* "fn" of a calling convention, whose "-" are "_" in a name. */
static void read_convention(struct rust_reader *reader)
{
    char text[64] = "C";
    if (!skip_character(reader, 'C')) {
        const struct identifier name = take_identifier(reader);
        if (name.is_punycode || name.bytes == 0 || name.bytes >= sizeof text) {
            fail_reading(reader);
            return;
        }
        memcpy(text, name.text, name.bytes);
        text[name.bytes] = '\0';
        for (char *at = text; *at; at++)
            *at = *at == '_' ? '-' : *at;
    }
    put_text(reader, "extern \"");
    put_text(reader, text);
    put_text(reader, "\" ");
}

static void read_function(struct rust_reader *reader)
{
    const uint64_t outer = reader->lifetimes;
    read_binder(reader);
    put_text(reader, skip_character(reader, 'U') ? "unsafe " : "");
    if (skip_character(reader, 'K'))
        read_convention(reader);
    put_text(reader, "fn(");
    (void)read_list(reader, ", ", read_type);
    put_text(reader, ")");
    if (!skip_character(reader, 'u')) {
        put_text(reader, " -> ");
        read_type(reader);
    }
    reader->lifetimes = outer;
}

/* A trait's path; its arguments, if it has some, stay open for the types that are bound to names. */
static void read_open_path(struct rust_reader *reader)
{
    const char *const from = reader->at;
    reader->is_open = false;
    if (!demangle_enter(reader->work))
        return;
    if (skip_character(reader, 'B')) {
        read_again(reader, from, read_open_path);
    } else if (skip_character(reader, 'I')) {
        read_path(reader, false);
        put_text(reader, "<");
        (void)read_list(reader, ", ", read_argument);
        reader->is_open = true;
    } else {
        read_path(reader, false);
    }
    demangle_leave(reader->work);
}

static void read_trait(struct rust_reader *reader)
{
    read_open_path(reader);
    bool is_open = reader->is_open;
    for (; !reader->work->has_failed && skip_character(reader, 'p'); is_open = true) {
        put_text(reader, is_open ? ", " : "<");
        put_identifier(reader, take_identifier(reader));
        put_text(reader, " = ");
        read_type(reader);
    }
    put_text(reader, is_open ? ">" : "");
}

static void read_traits(struct rust_reader *reader)
{
    const uint64_t outer = reader->lifetimes;
    put_text(reader, "dyn ");
    read_binder(reader);
    (void)read_list(reader, " + ", read_trait);
    reader->lifetimes = outer;
    if (!skip_character(reader, 'L'))
        fail_reading(reader);
    const uint64_t lifetime = take_base_62(reader);
    if (lifetime) {
        put_text(reader, " + ");
        put_lifetime(reader, lifetime);
    }
}

static void read_type(struct rust_reader *reader)
{
    const char *const basic = basic_type(peek_character(reader));
    if (!demangle_enter(reader->work))
        return;
    if (basic) {
        reader->at++;
        put_text(reader, basic);
    } else {
        const char *const from = reader->at;
        const char letter = take_character(reader);
        switch (letter) {
        case 'R':
        case 'Q': {
            const uint64_t lifetime = skip_character(reader, 'L') ? take_base_62(reader) : 0;
            put_text(reader, "&");
            if (lifetime) {
                put_lifetime(reader, lifetime);
                put_text(reader, " ");
            }
            put_text(reader, letter == 'Q' ? "mut " : "");
            read_type(reader);
            break;
        }
        case 'P':
        case 'O':
            put_text(reader, letter == 'O' ? "*mut " : "*const ");
            read_type(reader);
            break;
        case 'A':
        case 'S':
            put_text(reader, "[");
            read_type(reader);
            if (letter == 'A') {
                put_text(reader, "; ");
                read_constant(reader);
            }
            put_text(reader, "]");
            break;
        case 'T':
            put_text(reader, "(");
            put_text(reader, read_list(reader, ", ", read_type) == 1 ? ",)" : ")");
            break;
        case 'F': read_function(reader); break;
        case 'D': read_traits(reader); break;
        case 'B': read_again(reader, from, read_type); break;
        default: reader->at = from; read_path(reader, false);
        }
    }
    demangle_leave(reader->work);
}

/* A path and a name in it, behind "N"; a capital letter is a thing without a name in the source. */
static void read_nested(struct rust_reader *reader, bool is_value)
{
    const char space = take_character(reader);
    const bool is_special = space >= 'A' && space <= 'Z';
    if (!is_special && !(space >= 'a' && space <= 'z'))
        fail_reading(reader);
    read_path(reader, is_value);
    const uint64_t disambiguator = take_disambiguator(reader);
    const struct identifier name = take_identifier(reader);
    if (!is_special && name.bytes)
        put_text(reader, "::");
    if (is_special) {
        const char letter[] = { space, '\0' };
        put_text(reader, "::{");
        put_text(reader, space == 'C' ? "closure" : space == 'S' ? "shim" : letter);
        put_text(reader, name.bytes ? ":" : "");
    }
    put_identifier(reader, name);
    if (is_special) {
        put_text(reader, "#");
        put_number(reader, disambiguator);
        put_text(reader, "}");
    }
}

static void read_plain_path(struct rust_reader *reader)
{
    read_path(reader, false);
}

static void read_value_path(struct rust_reader *reader)
{
    read_path(reader, true);
}

static void read_path(struct rust_reader *reader, bool is_value)
{
    if (!demangle_enter(reader->work))
        return;
    const char *const from = reader->at;
    const char letter = take_character(reader);
    switch (letter) {
    case 'C':
        (void)take_disambiguator(reader);
        put_identifier(reader, take_identifier(reader));
        break;
    case 'N': read_nested(reader, is_value); break;
    case 'M':
    case 'X':
    case 'Y':
        if (letter != 'Y') {
            /* The path of an implementation says nothing beside its type. */
            const bool was_silent = reader->is_silent;
            (void)take_disambiguator(reader);
            reader->is_silent = true;
            read_path(reader, is_value);
            reader->is_silent = was_silent;
        }
        put_text(reader, "<");
        read_type(reader);
        if (letter != 'M') {
            put_text(reader, " as ");
            read_path(reader, false);
        }
        put_text(reader, ">");
        break;
    case 'I':
        read_path(reader, is_value);
        put_text(reader, is_value ? "::<" : "<");
        (void)read_list(reader, ", ", read_argument);
        put_text(reader, ">");
        break;
    case 'B': read_again(reader, from, is_value ? read_value_path : read_plain_path); break;
    default: fail_reading(reader);
    }
    demangle_leave(reader->work);
}

bool demangle_rust(struct demangle_work *work, const char *mangled, size_t length)
{
    struct rust_reader reader = {
        .work = work, .begin = mangled + 2, .at = mangled + 2, .end = mangled + length
    };
    if (length < 3 || memcmp(mangled, "_R", 2) != 0)
        return false;
    const char *const suffix = memchr(mangled, '.', length);
    reader.end = suffix ? suffix : reader.end;
    read_path(&reader, true);
    /* Behind the name may be the crate that needed it. */
    if (!work->has_failed && reader.at < reader.end) {
        reader.is_silent = true;
        read_path(&reader, false);
    }
    return !work->has_failed && reader.at == reader.end && work->length > 0;
}
