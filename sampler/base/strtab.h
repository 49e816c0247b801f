/*
 * strtab - interned strings: equal bytes give the same id, text never moves.
 *
 * Text enters once, as valid UTF-8 (strtab_intern repairs what is not: each bad byte becomes
 * U+FFFD), and everything behind carries a str_id.  Id 0 is the empty string.
 *
 * Ownership: the table owns all text.  Strings are also NUL-terminated, but may hold NULs.
 * Threads: one writer; readers may read ids below a count published to them (see pool.h).
 * Limits: STRTAB_MAX_STRINGS strings, STRTAB_MAX_LENGTH bytes each (longer text is cut at a
 * character and ends in an ellipsis).
 */
#ifndef SAMPLER_BASE_STRTAB_H
#define SAMPLER_BASE_STRTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/base/pool.h"

typedef uint32_t str_id;

enum { STRTAB_MAX_STRINGS = 1 << 24, STRTAB_MAX_LENGTH = 1 << 16 };

struct strtab_string {
    const char *text;
    uint32_t length; /* bytes */
};

struct strtab_block;

struct strtab {
    struct pool strings; /* of struct strtab_string */
    struct idmap index;
    struct strtab_block *blocks; /* text, newest first */
    size_t text_bytes;
    bool is_closed;
    str_id instead; /* of new text, once closed */
};

MUST_CHECK enum err_code strtab_init(struct strtab *tab, struct err *err);
void strtab_deinit(struct strtab *tab);

MUST_CHECK enum err_code strtab_intern(struct strtab *tab, const char *text, size_t length,
                                       str_id *id_out, struct err *err);

static inline struct strtab_string strtab_get(const struct strtab *tab, str_id id)
{
    return *(const struct strtab_string *)pool_at(&tab->strings, id);
}

/* Keeps the first `length` bytes of a string and erases the others.  Interning the old or the new text
 * makes another string.  Call before any reader knows the id. */
void strtab_cut(struct strtab *tab, str_id id, uint32_t length);

/* From now on new text is not kept: it gets the id of `instead`. */
MUST_CHECK enum err_code strtab_close(struct strtab *tab, const char *instead, struct err *err);

/* Bytes held, text and index together. */
size_t strtab_bytes(const struct strtab *tab);

#endif /* SAMPLER_BASE_STRTAB_H */
