#include "sampler/cpython/contexts/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/utf8.h"
#include "sampler/cpython/objects/dict.h"
#include "sampler/cpython/objects/number.h"

enum {
    MAX_DIGITS = 5,  /* of an int: 128 bits and more */
    MAX_ENTRIES = 64 /* of an OpenTelemetry context */
};

#define CUT_MARK "\xe2\x80\xa6" /* U+2026, an ellipsis */

/* The first `room` bytes or fewer; returns how many. */
static size_t put_text(const unsigned char *bytes, size_t length, size_t room,
                       char out[VALUE_MAX_TEXT])
{
    const size_t cut = utf8_cut((const char *)bytes, length, room);
    for (size_t i = 0; i < cut; i++)
        out[i] = bytes[i] < ' ' || bytes[i] == 0x7f ? '?' : (char)bytes[i];
    out[cut] = '\0';
    return cut;
}

/* The begin of a text that is longer than is shown. */
static void put_cut_text(const unsigned char *bytes, size_t length, uint64_t hash,
                         char out[VALUE_MAX_TEXT])
{
    enum { HASH_DIGITS = 16 };
    const size_t used =
        put_text(bytes, length, VALUE_MAX_TEXT - sizeof CUT_MARK - HASH_DIGITS, out);
    snprintf(out + used, VALUE_MAX_TEXT - used, CUT_MARK "%016" PRIx64, hash);
}

static enum err_code read_str(struct memory *memory, const struct layout *layout,
                              remote_addr object, struct object_bytes *scratch,
                              char out[VALUE_MAX_TEXT])
{
    uint64_t count = 0, hash = 0;
    enum err_code rc =
        object_read_str_start(memory, layout, object, VALUE_MAX_CHARACTERS, scratch);
    /* A character has a byte or more. */
    if (!rc && scratch->count >= VALUE_MAX_CHARACTERS)
        rc = object_hash_str(memory, layout, object, VALUE_HASHED_BYTES, &count, &hash);
    if (rc)
        return rc;
    if (count > VALUE_MAX_CHARACTERS || scratch->count >= VALUE_MAX_TEXT)
        put_cut_text(scratch->bytes, scratch->count, hash, out);
    else
        put_text(scratch->bytes, scratch->count, VALUE_MAX_TEXT - 1, out);
    return ERR_OK;
}

static enum err_code read_bytes(struct memory *memory, const struct layout *layout,
                                remote_addr object, char out[VALUE_MAX_TEXT])
{
    unsigned char bytes[VALUE_HASHED_BYTES];
    uint64_t length;
    enum err_code rc = memory_read_u64(memory, object + layout->bytes_length, &length);
    if (rc)
        return rc;
    const size_t count = length < sizeof bytes ? (size_t)length : sizeof bytes;
    if (count)
        rc = memory_read(memory, object + layout->bytes_data, bytes, count);
    if (rc)
        return rc;
    const uint64_t hash =
        hash_bytes(bytes, count, hash_bytes(&length, sizeof length, HASH_SEED));
    for (size_t i = 0; i < count; i++)
        if (bytes[i] > '~')
            bytes[i] = '?';
    if (length <= VALUE_MAX_CHARACTERS)
        put_text(bytes, count, VALUE_MAX_TEXT - 1, out);
    else
        put_cut_text(bytes, VALUE_MAX_CHARACTERS, hash, out);
    return ERR_OK;
}

/* ERR_LIMIT: it has more digits. */
static enum err_code read_int(struct memory *memory, const struct layout *layout,
                              remote_addr object, struct number *out)
{
    const enum err_code rc = number_read(memory, layout, object, out);
    return !rc && out->count > MAX_DIGITS ? ERR_LIMIT : rc;
}

/* In `count` hexadecimal digits.  ERR_CORRUPT: it does not fit. */
static enum err_code put_hex(struct number *number, size_t count, char *out)
{
    for (size_t at = count; at-- > 0;)
        out[at] = "0123456789abcdef"[number_divide(number, 16)];
    return number->is_negative || !number_is_zero(number) ? ERR_CORRUPT : ERR_OK;
}

static enum err_code put_type(struct memory *memory, const struct layout *layout,
                              remote_addr type, char out[VALUE_MAX_TEXT])
{
    char name[VALUE_MAX_CHARACTERS];
    uint64_t at;
    enum err_code rc = memory_read_u64(memory, type + layout->type_name, &at);
    if (!rc)
        rc = object_read_text(memory, at, name, sizeof name);
    if (rc)
        return rc;
    if (strcmp(name, "ellipsis") == 0)
        return ERR_NOT_FOUND;
    snprintf(out, VALUE_MAX_TEXT, strcmp(name, "NoneType") == 0 ? "None" : "<%s>", name);
    return ERR_OK;
}

enum err_code value_read(struct memory *memory, const struct layout *layout, remote_addr object,
                         struct object_bytes *scratch, char out[VALUE_MAX_TEXT])
{
    uint64_t type, flags;
    struct number number;
    if (!object)
        return ERR_CORRUPT;
    enum err_code rc = memory_read_u64(memory, object + layout->object_type, &type);
    if (!rc)
        rc = object_type_flags(memory, layout, type, &flags);
    if (rc)
        return rc;
    if (flags & OBJECT_IS_STR && object_type_is(memory, layout, type, "str"))
        return read_str(memory, layout, object, scratch, out);
    if (flags & OBJECT_IS_BYTES)
        return read_bytes(memory, layout, object, out);
    if (!(flags & OBJECT_IS_INT))
        return put_type(memory, layout, type, out);
    rc = read_int(memory, layout, object, &number);
    if (rc == ERR_LIMIT)
        return put_type(memory, layout, type, out);
    if (!rc && object_type_is(memory, layout, type, "bool"))
        snprintf(out, VALUE_MAX_TEXT, "%s", number_is_zero(&number) ? "False" : "True");
    else if (!rc) {
        char text[NUMBER_TEXT_BYTES];
        number_put(&number, text);
        snprintf(out, VALUE_MAX_TEXT, "%.*s", VALUE_MAX_TEXT - 1, text);
    }
    return rc;
}

/* The value of the first key that begins with this text; the API makes the rest of it up. */
static enum err_code find_key(struct memory *memory, const struct layout *layout,
                              remote_addr dict, const char *begin, struct object_bytes *scratch,
                              remote_addr *out)
{
    struct dict_entries entries;
    const size_t length = strlen(begin);
    enum err_code rc = dict_read(memory, layout, dict, 0, &entries);
    if (rc)
        return rc;
    rc = ERR_NOT_FOUND;
    for (size_t i = 0; i < entries.count && i < MAX_ENTRIES && rc == ERR_NOT_FOUND; i++) {
        rc = object_read_str_start(memory, layout, entries.items[i].key, length, scratch);
        if (!rc && (scratch->count != length || memcmp(scratch->bytes, begin, length) != 0))
            rc = ERR_NOT_FOUND;
        *out = entries.items[i].value;
    }
    dict_entries_deinit(&entries);
    return rc;
}

static enum err_code flags_of(struct memory *memory, const struct layout *layout,
                              remote_addr object, uint64_t *out)
{
    uint64_t type;
    if (!object)
        return ERR_CORRUPT;
    const enum err_code rc = memory_read_u64(memory, object + layout->object_type, &type);
    return rc ? rc : object_type_flags(memory, layout, type, out);
}

/* A SpanContext: a tuple that begins with the id of the trace and that of the span. */
static enum err_code read_ids(struct memory *memory, const struct layout *layout,
                              remote_addr tuple, char out[VALUE_MAX_TEXT])
{
    enum { TRACE_DIGITS = 32, SPAN_DIGITS = 16 };
    static const size_t digits[] = { TRACE_DIGITS, SPAN_DIGITS };
    uint64_t flags, ids[2];
    const remote_addr items = tuple + object_tuple_items(layout);
    enum err_code rc = flags_of(memory, layout, tuple, &flags);
    if (!rc && !(flags & OBJECT_IS_TUPLE))
        rc = ERR_CORRUPT;
    if (!rc)
        rc = memory_read(memory, items, ids, sizeof ids);
    for (size_t i = 0; i < 2 && !rc; i++) {
        struct number number;
        rc = flags_of(memory, layout, ids[i], &flags);
        if (!rc)
            rc =
                flags & OBJECT_IS_INT ? read_int(memory, layout, ids[i], &number) : ERR_CORRUPT;
        if (!rc && number_is_zero(&number))
            rc = ERR_NOT_FOUND; /* that of no span */
        if (!rc)
            rc = put_hex(&number, digits[i], out + i * (TRACE_DIGITS + 1));
    }
    out[TRACE_DIGITS] = ' ';
    out[TRACE_DIGITS + 1 + SPAN_DIGITS] = '\0';
    return rc;
}

enum err_code value_read_span(struct memory *memory, const struct layout *layout,
                              remote_addr object, struct object_bytes *scratch,
                              char out[VALUE_MAX_TEXT])
{
    uint64_t flags;
    remote_addr span, ids;
    enum err_code rc = flags_of(memory, layout, object, &flags);
    if (!rc && !(flags & OBJECT_IS_DICT))
        rc = ERR_CORRUPT;
    if (!rc)
        rc = find_key(memory, layout, object, "current-span", scratch, &span);
    if (rc)
        return rc;
    rc = object_attribute(memory, layout, span, "_context", &ids);
    if (!rc)
        rc = read_ids(memory, layout, ids, out);
    /* A value that is no span, such as None. */
    return rc == ERR_NOT_FOUND ? ERR_NOT_FOUND : rc;
}
