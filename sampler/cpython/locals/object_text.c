#include "sampler/cpython/locals/object_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/hash.h"
#include "sampler/base/plain_text.h"
#include "sampler/base/utf8.h"
#include "sampler/cpython/objects/dict.h"
#include "sampler/cpython/objects/number.h"
#include "sampler/cpython/objects/object.h"

enum {
    WORD = sizeof(uint64_t),
    NAME_BYTES = 64, /* of a type, and of its module */
    MODULE_AMONG = 64,
    DICT_AMONG = 4 * OBJECT_TEXT_ITEMS,
    SET_SLOTS = 256,
    FLOAT_BYTES = 40,
};

static const char *const kind_names[] = { [OBJECT_OTHER] = "",
#define X(kind, name) [OBJECT_##kind] = (name),
                                          OBJECT_KINDS(X)
#undef X
};

void object_texts_init(struct object_texts *texts, struct memory *memory,
                       const struct layout *layout)
{
    *texts = (struct object_texts){ .memory = memory, .layout = layout };
}

void object_texts_begin(struct object_texts *texts, size_t objects, uint64_t end_ns)
{
    memset(texts->types, 0, sizeof texts->types);
    texts->objects = objects;
    texts->end_ns = end_ns;
    texts->is_late = false;
}

bool object_texts_are_spent(struct object_texts *texts)
{
    texts->is_late |= texts->end_ns && clock_now_ns() > texts->end_ns;
    return texts->is_late || texts->objects == 0;
}

static enum object_kind kind_of(const char *name)
{
    for (size_t i = 1; i < sizeof kind_names / sizeof *kind_names; i++)
        if (strcmp(kind_names[i], name) == 0)
            return (enum object_kind)i;
    return OBJECT_OTHER;
}

/* Writes the module of a class and a dot.  A class statement puts the module among the first attributes. */
static void read_module(const struct object_texts *texts, remote_addr type,
                        char out[NAME_BYTES])
{
    enum { DICT_BEFORE_DICTOFFSET = 24 };
    struct memory *const memory = texts->memory;
    const struct layout *const layout = texts->layout;
    uint32_t characters[NAME_BYTES / 4];
    uint64_t attributes, count;
    remote_addr module;
    size_t length = 0;
    *out = '\0';
    if (memory_read_u64(memory, type + object_type_dictoffset(layout) - DICT_BEFORE_DICTOFFSET,
                        &attributes) ||
        dict_find_early(memory, layout, attributes, "__module__", MODULE_AMONG, &module) ||
        object_read_characters(memory, layout, module, NAME_BYTES / 4 - 1, characters, &count))
        return;
    for (size_t i = 0; i < count && i < NAME_BYTES / 4 - 1; i++)
        length += utf8_encode(characters[i], out + length);
    out[length] = '\0';
    if (strcmp(out, "builtins") == 0)
        length = 0;
    memcpy(out + length, ".", length ? sizeof "." : 0);
    if (!length)
        *out = '\0';
}

/* Reads the type at this address into its slot. */
static const struct object_type *read_type(struct object_texts *texts, remote_addr addr)
{
    struct object_type *const type = &texts->types[hash_mix(addr, 0) % OBJECT_TEXT_TYPES];
    char name[NAME_BYTES], module[NAME_BYTES] = "", whole[2 * NAME_BYTES];
    uint64_t flags, at;
    if (type->addr == addr && addr)
        return type;
    if (!addr || object_type_flags(texts->memory, texts->layout, addr, &flags) ||
        memory_read_u64(texts->memory, addr + texts->layout->type_name, &at) ||
        object_read_c_string(texts->memory, at, name, sizeof name))
        return NULL;
    if (flags & OBJECT_IS_MADE)
        read_module(texts, addr, module);
    /* Types of C have it in their name already. */
    if (strncmp(name, module, strlen(module)) == 0)
        *module = '\0';
    snprintf(whole, sizeof whole, "%s%s", module, name);
    type->addr = addr;
    type->kind = flags & OBJECT_IS_MADE ? OBJECT_OTHER : kind_of(name);
    plain_text_copy(type->name, sizeof type->name, whole);
    return type;
}

const struct object_type *object_texts_type(struct object_texts *texts, remote_addr object)
{
    uint64_t type;
    if (!object || memory_read_u64(texts->memory, object + texts->layout->object_type, &type))
        return NULL;
    return read_type(texts, type);
}

/* Writes a float as Python does: with as few digits as tell it from any other.  Parts of a complex number have no ".0". */
static void put_float(struct buffer *out, double value, bool is_part)
{
    enum { MOST_DIGITS = 17, LEAST_EXPONENT = -4, MOST_EXPONENT = 16 };
    char text[FLOAT_BYTES];
    int digits = 1, exponent = 0;
    if (isnan(value) || isinf(value)) {
        buffer_text(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    for (; digits <= MOST_DIGITS; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, value);
        if (strtod(text, NULL) == value || digits == MOST_DIGITS)
            break;
    }
    const char *const at = strchr(text, 'e');
    exponent = at ? atoi(at + 1) : 0;
    if (exponent < LEAST_EXPONENT || exponent >= MOST_EXPONENT) {
        buffer_text(out, text);
        return;
    }
    const int decimals = digits - 1 - exponent, least = is_part ? 0 : 1;
    buffer_printf(out, "%.*f", decimals > least ? decimals : least, value);
}

static void put_complex(struct buffer *out, double real, double imaginary)
{
    const bool has_real = real != 0 || signbit(real);
    if (has_real) {
        buffer_char(out, '(');
        put_float(out, real, true);
        if (isnan(imaginary) || !signbit(imaginary))
            buffer_char(out, '+');
    }
    put_float(out, imaginary, true);
    buffer_text(out, has_real ? "j)" : "j");
}

static enum err_code put_int(const struct object_texts *texts, struct buffer *out,
                             remote_addr object)
{
    struct number number;
    char text[NUMBER_TEXT_BYTES];
    const enum err_code rc = number_read(texts->memory, texts->layout, object, &number);
    if (rc == ERR_LIMIT && number.count < UINT64_MAX / NUMBER_DIGIT_BITS) {
        uint64_t bits = (number.count - 1) * NUMBER_DIGIT_BITS;
        for (uint32_t top = number.digits[0]; top; top >>= 1)
            bits++;
        buffer_printf(out, "<int of %" PRIu64 " bits at %#" PRIx64 ">", bits, object);
        return ERR_OK;
    }
    if (rc)
        return ERR_CORRUPT;
    number_put(&number, text);
    buffer_text(out, text);
    return ERR_OK;
}

static enum err_code put_bool(const struct object_texts *texts, struct buffer *out,
                              remote_addr object)
{
    struct number number;
    const enum err_code rc = number_read(texts->memory, texts->layout, object, &number);
    if (!rc)
        buffer_text(out, number_is_zero(&number) ? "False" : "True");
    return rc;
}

static enum err_code put_double(const struct object_texts *texts, struct buffer *out,
                                remote_addr object, bool is_complex)
{
    double parts[2];
    const enum err_code rc =
        memory_read(texts->memory, object + object_first_field(texts->layout), parts,
                    is_complex ? sizeof parts : sizeof *parts);
    if (!rc && is_complex)
        put_complex(out, parts[0], parts[1]);
    else if (!rc)
        put_float(out, parts[0], false);
    return rc;
}

/* Writes a character as the repr of a text with these quotes does. */
static void put_character(struct buffer *out, uint32_t code, char quote)
{
    static const char escaped[] = "\n\r\t\\", letters[] = "nrt\\";
    const char *const escape = code && code < 0x80 ? strchr(escaped, (int)code) : NULL;
    char text[4];
    if (escape)
        buffer_printf(out, "\\%c", letters[escape - escaped]);
    else if (code == (uint32_t)(unsigned char)quote)
        buffer_printf(out, "\\%c", quote);
    else if (code < 0x100 && !plain_text_shows(code))
        buffer_printf(out, "\\x%02" PRIx32, code);
    else if (code > 0x10ffff)
        buffer_text(out, "\\?");
    else if (!plain_text_shows(code) || (code >= 0xd800 && code <= 0xdfff))
        buffer_printf(out, code < 0x10000 ? "\\u%04" PRIx32 : "\\U%08" PRIx32, code);
    else
        buffer_append(out, text, utf8_encode(code, text));
}

static void put_rest(struct buffer *out, uint64_t count, uint64_t shown, const char *unit)
{
    if (count > shown)
        buffer_printf(out, "… (%" PRIu64 " %s)", count, unit);
}

static enum err_code put_str(const struct object_texts *texts, struct buffer *out,
                             remote_addr object)
{
    uint32_t codes[OBJECT_TEXT_CHARACTERS];
    uint64_t count;
    bool has_single = false, has_double = false;
    const enum err_code rc = object_read_characters(texts->memory, texts->layout, object,
                                                    OBJECT_TEXT_CHARACTERS, codes, &count);
    if (rc)
        return rc;
    const size_t shown =
        count < OBJECT_TEXT_CHARACTERS ? (size_t)count : OBJECT_TEXT_CHARACTERS;
    for (size_t i = 0; i < shown; i++) {
        has_single |= codes[i] == '\'';
        has_double |= codes[i] == '"';
    }
    const char quote = has_single && !has_double ? '"' : '\'';
    buffer_char(out, quote);
    for (size_t i = 0; i < shown; i++)
        put_character(out, codes[i], quote);
    buffer_char(out, quote);
    put_rest(out, count, shown, "characters");
    return ERR_OK;
}

static enum err_code put_octets(const struct object_texts *texts, struct buffer *out,
                                remote_addr addr, uint64_t count)
{
    unsigned char octets[OBJECT_TEXT_OCTETS];
    const size_t shown = count < sizeof octets ? (size_t)count : sizeof octets;
    const enum err_code rc = shown ? memory_read(texts->memory, addr, octets, shown) : ERR_OK;
    if (rc)
        return rc;
    const char quote = memchr(octets, '\'', shown) && !memchr(octets, '"', shown) ? '"' : '\'';
    buffer_printf(out, "b%c", quote);
    for (size_t i = 0; i < shown; i++)
        if (octets[i] < 0x80)
            put_character(out, octets[i], quote);
        else
            buffer_printf(out, "\\x%02x", octets[i]);
    buffer_char(out, quote);
    put_rest(out, count, shown, "bytes");
    return ERR_OK;
}

static enum err_code put_bytes(const struct object_texts *texts, struct buffer *out,
                               remote_addr object)
{
    uint64_t count;
    const enum err_code rc =
        memory_read_u64(texts->memory, object + texts->layout->bytes_length, &count);
    return rc ? rc : put_octets(texts, out, object + texts->layout->bytes_data, count);
}

/* A bytearray has its size, the allocated size, the allocated memory and where its bytes begin there. */
static enum err_code put_bytearray(const struct object_texts *texts, struct buffer *out,
                                   remote_addr object)
{
    enum { SIZE, START = 3, WORDS };
    uint64_t words[WORDS];
    enum err_code rc = memory_read(texts->memory, object + object_first_field(texts->layout),
                                   words, sizeof words);
    if (rc)
        return rc;
    const size_t begin = out->length;
    buffer_text(out, "bytearray(");
    rc = put_octets(texts, out, words[START], words[SIZE]);
    if (rc && !out->failed)
        out->length = begin;
    else
        buffer_char(out, ')');
    return rc;
}

static void put_object(struct object_texts *texts, struct buffer *out, remote_addr object,
                       unsigned depth);

/* The members of a container that are shown; of a mapping, keys and values. */
struct members {
    remote_addr keys[OBJECT_TEXT_ITEMS], values[OBJECT_TEXT_ITEMS];
    size_t shown;
    uint64_t count;
    bool are_pairs;
};

static enum err_code read_sequence(const struct object_texts *texts, remote_addr object,
                                   bool is_tuple, struct members *out)
{
    const remote_addr fields = object + object_first_field(texts->layout);
    remote_addr items = object + object_tuple_items(texts->layout);
    enum err_code rc = memory_read_u64(texts->memory, fields, &out->count);
    if (!rc && !is_tuple)
        rc = memory_read_u64(texts->memory, fields + WORD, &items);
    out->shown = out->count < OBJECT_TEXT_ITEMS ? (size_t)out->count : OBJECT_TEXT_ITEMS;
    if (!rc && out->shown)
        rc = memory_read(texts->memory, items, out->keys, out->shown * WORD);
    return rc;
}

static enum err_code read_mapping(const struct object_texts *texts, remote_addr object,
                                  struct members *out)
{
    struct dict_entries entries;
    enum err_code rc =
        memory_read_u64(texts->memory, object + object_first_field(texts->layout), &out->count);
    out->are_pairs = true;
    if (!rc && out->count)
        rc = dict_read(texts->memory, texts->layout, object, DICT_AMONG, &entries);
    if (rc || !out->count)
        return rc;
    for (; out->shown < entries.count && out->shown < OBJECT_TEXT_ITEMS &&
           out->shown < out->count;
         out->shown++) {
        out->keys[out->shown] = entries.items[out->shown].key;
        out->values[out->shown] = entries.items[out->shown].value;
    }
    dict_entries_deinit(&entries);
    return ERR_OK;
}

/* A set has the number of its used entries, of its members, a mask, and a table of members and hashes. */
static enum err_code read_set(const struct object_texts *texts, remote_addr object,
                              struct members *out)
{
    enum { MEMBERS = 1, MASK, TABLE, WORDS };
    uint64_t words[WORDS], slots[SET_SLOTS][2];
    enum err_code rc = memory_read(texts->memory, object + object_first_field(texts->layout),
                                   words, sizeof words);
    if (rc)
        return rc;
    const size_t count = words[MASK] < SET_SLOTS ? (size_t)words[MASK] + 1 : SET_SLOTS;
    rc = memory_read(texts->memory, words[TABLE], slots, count * sizeof *slots);
    out->count = words[MEMBERS];
    for (size_t i = 0;
         i < count && !rc && out->shown < OBJECT_TEXT_ITEMS && out->shown < out->count; i++)
        /* A removed entry has a hash that no object has. */
        if (slots[i][0] && slots[i][1] != UINT64_MAX)
            out->keys[out->shown++] = slots[i][0];
    return rc;
}

/* How a container is written. */
static const struct brackets {
    const char *open, *close, *empty, *cycle, *deep;
} kind_brackets[] = {
    [OBJECT_LIST] = { "[", "]", "[]", "[...]", "[…]" },
    [OBJECT_TUPLE] = { "(", ")", "()", "(...)", "(…)" },
    [OBJECT_DICT] = { "{", "}", "{}", "{...}", "{…}" },
    [OBJECT_FROZENDICT] = { "frozendict({", "})", "frozendict({})", "frozendict(...)",
                            "frozendict(…)" },
    [OBJECT_SET] = { "{", "}", "set()", "{...}", "{…}" },
    [OBJECT_FROZENSET] = { "frozenset({", "})", "frozenset()", "frozenset(...)",
                           "frozenset(…)" },
};

static enum err_code put_container(struct object_texts *texts, struct buffer *out,
                                   remote_addr object, enum object_kind kind, unsigned depth)
{
    struct members members = { .count = 0 };
    const struct brackets *const brackets = &kind_brackets[kind];
    for (unsigned i = 0; i < depth; i++)
        if (texts->path[i] == object) {
            buffer_text(out, brackets->cycle);
            return ERR_OK;
        }
    const enum err_code rc = kind == OBJECT_LIST || kind == OBJECT_TUPLE
                                 ? read_sequence(texts, object, kind == OBJECT_TUPLE, &members)
                             : kind == OBJECT_SET || kind == OBJECT_FROZENSET
                                 ? read_set(texts, object, &members)
                                 : read_mapping(texts, object, &members);
    /* A count below zero. */
    if (rc || members.count >> 63)
        return ERR_CORRUPT;
    if (!members.count || depth == OBJECT_TEXT_DEPTH) {
        buffer_text(out, members.count ? brackets->deep : brackets->empty);
        return ERR_OK;
    }
    texts->path[depth] = object;
    buffer_text(out, brackets->open);
    size_t i = 0;
    for (; i < members.shown && !object_texts_are_spent(texts) && out->length < texts->text_end;
         i++) {
        buffer_text(out, i ? ", " : "");
        put_object(texts, out, members.keys[i], depth + 1);
        if (members.are_pairs) {
            buffer_text(out, ": ");
            put_object(texts, out, members.values[i], depth + 1);
        }
    }
    if (i < members.count)
        buffer_printf(out, "%s… %" PRIu64 " more", i ? ", " : "", members.count - i);
    else if (kind == OBJECT_TUPLE && members.count == 1)
        buffer_char(out, ',');
    buffer_text(out, brackets->close);
    return ERR_OK;
}

static enum err_code put_range(const struct object_texts *texts, struct buffer *out,
                               remote_addr object)
{
    enum { START, STOP, STEP, WORDS };
    uint64_t words[WORDS];
    struct number step;
    const size_t begin = out->length;
    enum err_code rc = memory_read(texts->memory, object + object_first_field(texts->layout),
                                   words, sizeof words);
    buffer_text(out, "range(");
    if (!rc)
        rc = put_int(texts, out, words[START]);
    buffer_text(out, ", ");
    if (!rc)
        rc = put_int(texts, out, words[STOP]);
    if (!rc && (number_read(texts->memory, texts->layout, words[STEP], &step) ||
                step.is_negative || step.count != 1 || step.digits[0] != 1)) {
        buffer_text(out, ", ");
        rc = put_int(texts, out, words[STEP]);
    }
    buffer_char(out, ')');
    if (rc && !out->failed)
        out->length = begin;
    return rc;
}

static void put_object(struct object_texts *texts, struct buffer *out, remote_addr object,
                       unsigned depth)
{
    if (object_texts_are_spent(texts)) {
        buffer_text(out, "…");
        return;
    }
    texts->objects--;
    const struct object_type *const type = object_texts_type(texts, object);
    enum err_code rc = ERR_CORRUPT;
    switch (type ? type->kind : OBJECT_OTHER) {
    case OBJECT_OTHER:
    case OBJECT_CELL: break;
    case OBJECT_NONE: buffer_text(out, "None"); return;
    case OBJECT_ELLIPSIS: buffer_text(out, "Ellipsis"); return;
    case OBJECT_NOT_IMPLEMENTED: buffer_text(out, "NotImplemented"); return;
    case OBJECT_BOOL: rc = put_bool(texts, out, object); break;
    case OBJECT_INT: rc = put_int(texts, out, object); break;
    case OBJECT_FLOAT: rc = put_double(texts, out, object, false); break;
    case OBJECT_COMPLEX: rc = put_double(texts, out, object, true); break;
    case OBJECT_STR: rc = put_str(texts, out, object); break;
    case OBJECT_BYTES: rc = put_bytes(texts, out, object); break;
    case OBJECT_BYTEARRAY: rc = put_bytearray(texts, out, object); break;
    case OBJECT_RANGE: rc = put_range(texts, out, object); break;
    case OBJECT_LIST:
    case OBJECT_TUPLE:
    case OBJECT_DICT:
    case OBJECT_FROZENDICT:
    case OBJECT_SET:
    case OBJECT_FROZENSET: rc = put_container(texts, out, object, type->kind, depth); break;
    }
    /* The type may have made room for another one meanwhile. */
    if (!rc)
        return;
    const struct object_type *const again = object_texts_type(texts, object);
    buffer_printf(out, "<%s at %#" PRIx64 ">", again ? again->name : "unreadable object",
                  object);
}

void object_texts_put(struct object_texts *texts, remote_addr object, struct buffer *out)
{
    texts->text_end = out->length + OBJECT_TEXT_BYTES;
    put_object(texts, out, object, 0);
}
