#include "sampler/cpython/objects/object.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/file_name.h"
#include "sampler/base/hash.h"
#include "sampler/base/utf8.h"
#include "sampler/base/vec.h"

void object_bytes_deinit(struct object_bytes *bytes)
{
    free(bytes->bytes);
    memset(bytes, 0, sizeof *bytes);
}

enum err_code object_bytes_reserve(struct object_bytes *bytes, size_t room)
{
    return VEC_RESERVE(bytes->bytes, bytes->room, room) ? ERR_OK : ERR_NOMEM;
}

/* How the characters of a str are stored (PEP 393).  The bit-field has been the same since 3.11; but
 * free-threaded builds from 3.14 on have a byte before it where others have two bits. */
struct str_form {
    size_t width; /* bytes a character */
    bool compact, ascii;
};

static struct str_form str_form(const struct layout *layout, uint32_t state)
{
    const uint32_t form = state >> (layout->is_free_threaded && layout->has_str_byte ? 8 : 2);
    return (
        struct str_form){ .width = form & 7, .compact = form >> 3 & 1, .ascii = form >> 4 & 1 };
}

/* The characters of a str. */
struct str_characters {
    remote_addr addr;
    uint64_t count;
    size_t width;
};

static enum err_code find_characters(struct memory *memory, const struct layout *layout,
                                     remote_addr addr, struct str_characters *out)
{
    unsigned char head[LAYOUT_MAX_STR_HEAD_BYTES];
    if (addr == 0)
        return ERR_CORRUPT;
    /* Reads as much as the shortest form has: the bytes after it may not be mapped. */
    const enum err_code rc = memory_read(memory, addr, head, layout->unicode_ascii_bytes);
    if (rc)
        return rc;
    const struct str_form form = str_form(layout, field_u32(head, layout->unicode_state));
    if (!form.compact || (form.width != 1 && form.width != 2 && form.width != 4))
        return ERR_CORRUPT;
    *out = (struct str_characters){ .addr = addr + (form.ascii ? layout->unicode_ascii_bytes
                                                               : layout->unicode_compact_bytes),
                                    .count = field_u64(head, layout->unicode_length),
                                    .width = form.width };
    return ERR_OK;
}

static enum err_code read_str(struct memory *memory, const struct layout *layout,
                              remote_addr addr, size_t most, bool is_file_name,
                              struct object_bytes *out)
{
    enum { MAX_UTF8_BYTES = 4 };
    struct str_characters characters;
    enum err_code rc = find_characters(memory, layout, addr, &characters);
    if (rc)
        return rc;
    const uint64_t count = characters.count < most ? characters.count : most;
    /* The characters start after the largest size of the encoded text, so it never overwrites them. */
    const size_t text_room = (size_t)count * MAX_UTF8_BYTES;
    const size_t raw_bytes = (size_t)count * characters.width;
    rc = object_bytes_reserve(out, text_room + raw_bytes + 1);
    if (!rc && raw_bytes)
        rc = memory_read(memory, characters.addr, out->bytes + text_room, raw_bytes);
    if (!rc)
        rc = memory_confirm(memory);
    if (!rc) {
        size_t used = 0;
        for (size_t i = 0; i < (size_t)count; i++) {
            uint32_t code = 0;
            char text[4];
            memcpy(&code, out->bytes + text_room + i * characters.width, characters.width);
            const size_t n = utf8_encode(is_file_name ? file_name_of_python(code) : code, text);
            memcpy(out->bytes + used, text, n);
            used += n;
        }
        out->count = used;
    }
    return rc;
}

enum err_code object_read_str(struct memory *memory, const struct layout *layout,
                              remote_addr addr, struct object_bytes *out)
{
    return read_str(memory, layout, addr, OBJECT_MAX_CHARACTERS, false, out);
}

enum err_code object_read_file_name(struct memory *memory, const struct layout *layout,
                                    remote_addr addr, struct object_bytes *out)
{
    return read_str(memory, layout, addr, OBJECT_MAX_CHARACTERS, true, out);
}

enum err_code object_read_str_start(struct memory *memory, const struct layout *layout,
                                    remote_addr addr, size_t most, struct object_bytes *out)
{
    return read_str(memory, layout, addr, most, false, out);
}

enum err_code object_read_characters(struct memory *memory, const struct layout *layout,
                                     remote_addr addr, size_t most, uint32_t *out,
                                     uint64_t *count_out)
{
    unsigned char raw[OBJECT_MAX_SHOWN * sizeof *out];
    struct str_characters characters;
    enum err_code rc = most <= OBJECT_MAX_SHOWN
                           ? find_characters(memory, layout, addr, &characters)
                           : ERR_LIMIT;
    if (rc)
        return rc;
    const size_t count = characters.count < most ? (size_t)characters.count : most;
    if (count)
        rc = memory_read(memory, characters.addr, raw, count * characters.width);
    for (size_t i = 0; i < count && !rc; i++) {
        out[i] = 0;
        memcpy(&out[i], raw + i * characters.width, characters.width);
    }
    *count_out = characters.count;
    return rc;
}

enum err_code object_hash_str(struct memory *memory, const struct layout *layout,
                              remote_addr addr, size_t most, uint64_t *count_out,
                              uint64_t *hash_out)
{
    unsigned char raw[OBJECT_MAX_HASHED];
    struct str_characters characters;
    enum err_code rc =
        most <= sizeof raw ? find_characters(memory, layout, addr, &characters) : ERR_LIMIT;
    if (rc)
        return rc;
    const uint64_t whole = most / characters.width;
    const size_t bytes =
        (size_t)(characters.count < whole ? characters.count : whole) * characters.width;
    if (bytes)
        rc = memory_read(memory, characters.addr, raw, bytes);
    if (rc)
        return rc;
    *count_out = characters.count;
    *hash_out = hash_bytes(raw, bytes,
                           hash_bytes(&characters.count, sizeof characters.count, HASH_SEED));
    return ERR_OK;
}

enum err_code object_read_bytes(struct memory *memory, const struct layout *layout,
                                remote_addr addr, struct object_bytes *out)
{
    uint64_t count;
    if (addr == 0)
        return ERR_CORRUPT;
    enum err_code rc = memory_read_u64(memory, addr + layout->bytes_length, &count);
    if (!rc && count > OBJECT_MAX_BYTES)
        rc = ERR_LIMIT;
    if (!rc)
        rc = object_bytes_reserve(out, (size_t)count + 1);
    if (!rc && count)
        rc = memory_read(memory, addr + layout->bytes_data, out->bytes, (size_t)count);
    if (!rc)
        out->count = (size_t)count;
    return rc;
}

enum err_code object_type_flags(struct memory *memory, const struct layout *layout,
                                remote_addr type, uint64_t *out)
{
    return memory_read_u64(memory, type + object_type_flags_offset(layout), out);
}

uint32_t object_type_flags_offset(const struct layout *layout)
{
    enum { FLAGS = 168 }; /* in builds with a GIL */
    return FLAGS + layout_object_shift(layout);
}

bool object_type_is(struct memory *memory, const struct layout *layout, remote_addr type,
                    const char *name)
{
    char text[32];
    uint64_t at;
    const size_t bytes = strlen(name) + 1;
    return bytes <= sizeof text && !memory_read_u64(memory, type + layout->type_name, &at) &&
           !memory_read(memory, at, text, bytes) && memcmp(text, name, bytes) == 0;
}

bool object_text_is_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return length > 0;
}

/* A short read is fine: the next page may not be mapped. */
enum err_code object_read_c_string(struct memory *memory, remote_addr addr, char *out,
                                   size_t room)
{
    enum { PAGE_BYTES = 4096 };
    const size_t left = PAGE_BYTES - (size_t)(addr % PAGE_BYTES);
    const size_t first = left < room ? left : room;
    const struct memory_span spans[] = {
        { addr, out, first },
        { addr + first, out + first, room - first },
    };
    size_t arrived;
    if (!addr)
        return ERR_CORRUPT;
    const enum err_code rc = memory_readv(memory, spans, first < room ? 2 : 1, &arrived);
    if (rc && rc != ERR_FAULT)
        return rc;
    return memchr(out, 0, arrived) ? memory_confirm(memory) : ERR_CORRUPT;
}

enum err_code object_read_text(struct memory *memory, remote_addr addr, char *out, size_t room)
{
    const enum err_code rc = object_read_c_string(memory, addr, out, room);
    return !rc && !object_text_is_plain(out, strlen(out)) ? ERR_CORRUPT : rc;
}

enum err_code object_read_int(struct memory *memory, const struct layout *layout,
                              remote_addr object, uint64_t *out)
{
    enum { TAG_SIGN = 3, TAG_NEGATIVE = 2, TAG_BITS = 3, DIGIT_BITS = 30, MOST_DIGITS = 2 };
    const remote_addr size_at = object + object_first_field(layout);
    uint64_t type, flags, size;
    uint32_t digits[MOST_DIGITS] = { 0 };
    enum err_code rc = memory_read_u64(memory, object + layout->object_type, &type);
    if (!rc)
        rc = object_type_flags(memory, layout, type, &flags);
    if (!rc && !(flags & OBJECT_IS_INT))
        rc = ERR_CORRUPT;
    if (!rc)
        rc = memory_read_u64(memory, size_at, &size);
    if (rc)
        return rc;
    if (layout->has_int_tag && (size & TAG_SIGN) == TAG_NEGATIVE)
        return ERR_LIMIT;
    const uint64_t count = layout->has_int_tag ? size >> TAG_BITS : size;
    if (count > MOST_DIGITS)
        return ERR_LIMIT;
    if (count)
        rc = memory_read(memory, size_at + sizeof size, digits, count * sizeof *digits);
    if (!rc && (digits[0] >> DIGIT_BITS || digits[1] >> DIGIT_BITS))
        rc = ERR_CORRUPT;
    *out = digits[0] | (uint64_t)digits[1] << DIGIT_BITS;
    return rc;
}
