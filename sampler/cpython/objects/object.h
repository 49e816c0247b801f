/*
 * object - copies str and bytes objects of the target; every length is bounded.
 *
 * Ownership: struct object_bytes is the caller's storage and grows as needed; object_bytes_deinit
 * accepts a zeroed one.
 * Limits: OBJECT_MAX_CHARACTERS of a str (the rest is cut off), OBJECT_MAX_SHOWN of one that is read as it is;
 * OBJECT_MAX_HASHED bytes of one that is hashed; OBJECT_MAX_BYTES of a bytes object.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_OBJECT_H
#define SAMPLER_CPYTHON_OBJECTS_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/cpython/layout/layout.h"
#include "sampler/process/memory.h"

enum {
    OBJECT_MAX_CHARACTERS = 1 << 17,
    OBJECT_MAX_BYTES = 16 << 20,
    OBJECT_MAX_SHOWN = 128,
    OBJECT_MAX_HASHED = 256
};

struct object_bytes {
    unsigned char *bytes;
    size_t count, room;
};

void object_bytes_deinit(struct object_bytes *bytes);
MUST_CHECK enum err_code object_bytes_reserve(struct object_bytes *bytes, size_t room);

/* A str as UTF-8 (lone surrogates become U+FFFD).  ERR_CORRUPT: it is not a str. */
MUST_CHECK enum err_code object_read_str(struct memory *memory, const struct layout *layout,
                                         remote_addr addr, struct object_bytes *out);
/* Reads the name of a file; bytes that are not UTF-8 are kept (file_name.h). */
MUST_CHECK enum err_code object_read_file_name(struct memory *memory,
                                               const struct layout *layout, remote_addr addr,
                                               struct object_bytes *out);
/* Reads the first `most` characters of a string, OBJECT_MAX_CHARACTERS or fewer. */
MUST_CHECK enum err_code object_read_str_start(struct memory *memory,
                                               const struct layout *layout, remote_addr addr,
                                               size_t most, struct object_bytes *out);
/* Reads the first `most` characters of a string as they are, lone surrogates too, OBJECT_MAX_SHOWN or fewer; *count_out: how many
 * it has. */
MUST_CHECK enum err_code object_read_characters(struct memory *memory,
                                                const struct layout *layout, remote_addr addr,
                                                size_t most, uint32_t *out,
                                                uint64_t *count_out);
/* Hashes how many characters a string has, *count_out, and the first `most` bytes that they take in memory, OBJECT_MAX_HASHED or
 * fewer. */
MUST_CHECK enum err_code object_hash_str(struct memory *memory, const struct layout *layout,
                                         remote_addr addr, size_t most, uint64_t *count_out,
                                         uint64_t *hash_out);
/* A bytes object.  ERR_LIMIT: longer than OBJECT_MAX_BYTES. */
MUST_CHECK enum err_code object_read_bytes(struct memory *memory, const struct layout *layout,
                                           remote_addr addr, struct object_bytes *out);

/* Bits of tp_flags: which built-in type an object's type is derived from. */
#define OBJECT_IS_INT   (UINT64_C(1) << 24)
#define OBJECT_IS_TUPLE (UINT64_C(1) << 26)
#define OBJECT_IS_BYTES (UINT64_C(1) << 27)
#define OBJECT_IS_STR   (UINT64_C(1) << 28)
#define OBJECT_IS_DICT  (UINT64_C(1) << 29)
/* ... or that it was made while the program ran, as classes are. */
#define OBJECT_IS_MADE (UINT64_C(1) << 9)
MUST_CHECK enum err_code object_type_flags(struct memory *memory, const struct layout *layout,
                                           remote_addr type, uint64_t *out);

uint32_t object_type_flags_offset(const struct layout *layout);

/* Does the type have this name?  Reads its tp_name. */
bool object_type_is(struct memory *memory, const struct layout *layout, remote_addr type,
                    const char *name);

/* Reads a C string that ends within `room` bytes.  ERR_CORRUPT: it does not end there. */
MUST_CHECK enum err_code object_read_c_string(struct memory *memory, remote_addr addr,
                                              char *out, size_t room);
/* Reads one of plain text.  ERR_CORRUPT also: it is empty, or has other than visible ASCII characters. */
MUST_CHECK enum err_code object_read_text(struct memory *memory, remote_addr addr, char *out,
                                          size_t room);
bool object_text_is_plain(const char *text, size_t length);

/* An int from 0 to 2^60 - 1.  ERR_LIMIT: another number.  ERR_CORRUPT: not an int. */
MUST_CHECK enum err_code object_read_int(struct memory *memory, const struct layout *layout,
                                         remote_addr object, uint64_t *out);

/* The offset of the field of a type that gives the offset of the dictionary in its objects, if
 * the interpreter does not place it. */
static inline uint32_t object_type_dictoffset(const struct layout *layout)
{
    enum { DICTOFFSET = 288 }; /* if the layout lacks it; in builds with a GIL */
    return layout->type_dictoffset ? layout->type_dictoffset
                                   : DICTOFFSET + layout_object_shift(layout);
}

/* The number of words between the pointer to the dictionary and the object, if the interpreter
 * places it. In builds with a GIL the links of the garbage collector are between. */
static inline uint32_t object_dict_words_before(const struct layout *layout)
{
    enum { WITH_LINKS = 3, WITHOUT = 1 };
    return layout->is_free_threaded ? WITHOUT : WITH_LINKS;
}

/* The offset of an object's first field, behind its type. */
static inline uint32_t object_first_field(const struct layout *layout)
{
    return layout->object_type + (uint32_t)sizeof(uint64_t);
}

static inline uint32_t object_tuple_items(const struct layout *layout)
{
    return object_first_field(layout) +
           (layout->has_tuple_hash ? 2u : 1u) * (uint32_t)sizeof(uint64_t);
}

/* A field of a local copy of a structure. */
static inline uint64_t field_u64(const void *copy, uint32_t offset)
{
    uint64_t value;
    __builtin_memcpy(&value, (const unsigned char *)copy + offset, sizeof value);
    return value;
}

static inline uint32_t field_u32(const void *copy, uint32_t offset)
{
    uint32_t value;
    __builtin_memcpy(&value, (const unsigned char *)copy + offset, sizeof value);
    return value;
}

#endif /* SAMPLER_CPYTHON_OBJECTS_OBJECT_H */
