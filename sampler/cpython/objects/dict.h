/*
 * dict - dictionaries of the target, and attributes of its plain objects.
 *
 * Layout of the keys (dk_*): Objects/dictobject.c and pycore_dict.h, 3.8 to 3.10, and the same from 3.11 to
 * 3.15.
 * These reads are rare (thread names), so they are simple: keys are copied whole.
 *
 * Ownership: the caller's storage; dict_entries_deinit accepts a zeroed one.
 * Limits: DICT_MAX_ENTRIES.
 * Depends on: err, memory, layout, object.
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
    uint64_t hash; /* 0 where keys are all str: theirs is in the key */
    remote_addr key, value;
};

struct dict_entries {
    struct dict_entry *items; /* deleted ones are left out */
    size_t count;
};

MUST_CHECK enum err_code dict_read(struct memory *memory, const struct layout *layout,
                                   remote_addr dict, struct dict_entries *out);
void dict_entries_deinit(struct dict_entries *entries);

/* The value under a str key of ASCII characters.  ERR_NOT_FOUND: there is none. */
MUST_CHECK enum err_code dict_find(struct memory *memory, const struct layout *layout,
                                   remote_addr dict, const char *key, remote_addr *out);

/* The attribute of an instance of a plain Python class, wherever its version keeps it: in a
 * dictionary, or in values beside or inside the object. */
MUST_CHECK enum err_code object_attribute(struct memory *memory, const struct layout *layout,
                                          remote_addr object, const char *name,
                                          remote_addr *out);

#endif /* SAMPLER_CPYTHON_OBJECTS_DICT_H */
