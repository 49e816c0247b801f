/*
 * dict - reads dictionaries of the target, and attributes of instances of plain classes.
 *
 * The layout of the keys (dk_*) is in Objects/dictobject.c and pycore_dict.h.  There are two: 3.8 to
 * 3.10, and 3.11 to 3.15.  These reads are rare (thread names), so they are simple and copy all keys.
 *
 * Ownership: the caller's storage; dict_entries_deinit accepts a zeroed one.
 * Limits: DICT_MAX_ENTRIES.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_DICT_H
#define SAMPLER_CPYTHON_OBJECTS_DICT_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/cpython/layout/layout.h"
#include "sampler/process/memory.h"

enum { DICT_MAX_ENTRIES = 1 << 18 };

struct dict_entry {
    uint64_t hash; /* 0: all keys are str, which store their own hash */
    remote_addr key, value;
};

struct dict_entries {
    struct dict_entry *items; /* without deleted ones */
    size_t count;
};

/* most: of its first entries, deleted ones included; 0: all are wanted. */
MUST_CHECK enum err_code dict_read(struct memory *memory, const struct layout *layout,
                                   remote_addr dict, size_t most, struct dict_entries *out);
void dict_entries_deinit(struct dict_entries *entries);

/* The value of an ASCII str key.  ERR_NOT_FOUND: no such key. */
MUST_CHECK enum err_code dict_find(struct memory *memory, const struct layout *layout,
                                   remote_addr dict, const char *key, remote_addr *out);
/* A key that is among the first `most` entries. */
MUST_CHECK enum err_code dict_find_early(struct memory *memory, const struct layout *layout,
                                         remote_addr dict, const char *key, size_t most,
                                         remote_addr *out);

/* A global variable of an imported module.  ERR_NOT_FOUND: it is not imported, or has no such variable. */
MUST_CHECK enum err_code dict_find_global(struct memory *memory, const struct layout *layout,
                                          remote_addr interp, const char *module,
                                          const char *name, remote_addr *out);

/* The attribute of an instance of a plain Python class.  Depending on the version it is in a dictionary,
 * or in values beside or inside the object. */
MUST_CHECK enum err_code object_attribute(struct memory *memory, const struct layout *layout,
                                          remote_addr object, const char *name,
                                          remote_addr *out);

#endif /* SAMPLER_CPYTHON_OBJECTS_DICT_H */
