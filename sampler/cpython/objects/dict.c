#include "sampler/cpython/objects/dict.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/objects/object.h"

/* Until 3.10: dk_size, dk_nentries, dk_indices; dk_size determines the width of an index. */
enum {
    OLD_KEYS_SIZE = 8,
    OLD_KEYS_ENTRY_COUNT = 32,
    OLD_KEYS_INDICES = 40,
};

/* struct _dictkeysobject. */
enum {
    KEYS_LOG2_INDEX_BYTES = 9,
    KEYS_KIND = 10,
    KEYS_ENTRY_COUNT = 24,
    KEYS_INDICES = 32,
    KIND_GENERAL = 0, /* entries are hash, key, value; otherwise key, value */
    KIND_SPLIT = 2,   /* values are elsewhere */
    MAX_LOG2_INDEX_BYTES = 28,
    WORD = sizeof(uint64_t),
    BATCH = 256,
    MAX_KEY_BYTES = 64,
};

struct keys {
    remote_addr entries;
    size_t count;
    unsigned kind;
};

void dict_entries_deinit(struct dict_entries *entries)
{
    free(entries->items);
    *entries = (struct dict_entries){ 0 };
}

static enum err_code read_old_keys(struct memory *memory, remote_addr addr, struct keys *out)
{
    unsigned char head[OLD_KEYS_INDICES];
    const enum err_code rc = memory_read(memory, addr, head, sizeof head);
    if (rc)
        return rc;
    const uint64_t size = field_u64(head, OLD_KEYS_SIZE);
    const uint64_t count = field_u64(head, OLD_KEYS_ENTRY_COUNT);
    const uint64_t width = size <= UINT8_MAX ? 1 : size <= UINT16_MAX ? 2 : 4;
    if (size >> MAX_LOG2_INDEX_BYTES)
        return ERR_CORRUPT;
    *out = (struct keys){ .entries = addr + OLD_KEYS_INDICES + size * width,
                          .count = (size_t)count,
                          .kind = KIND_GENERAL };
    return ERR_OK;
}

static enum err_code read_keys(struct memory *memory, remote_addr addr, struct keys *out)
{
    unsigned char head[KEYS_INDICES];
    const enum err_code rc = memory_read(memory, addr, head, sizeof head);
    if (rc)
        return rc;
    const uint64_t count = field_u64(head, KEYS_ENTRY_COUNT);
    const unsigned log2_bytes = head[KEYS_LOG2_INDEX_BYTES];
    if (log2_bytes > MAX_LOG2_INDEX_BYTES || head[KEYS_KIND] > KIND_SPLIT)
        return ERR_CORRUPT;
    *out = (struct keys){ .entries = addr + KEYS_INDICES + (1ull << log2_bytes),
                          .count = (size_t)count,
                          .kind = head[KEYS_KIND] };
    return ERR_OK;
}

static enum err_code fill_values(struct memory *memory, remote_addr values,
                                 struct dict_entries *entries)
{
    uint64_t *const raw = malloc((entries->count + 1) * WORD);
    if (!raw)
        return ERR_NOMEM;
    enum err_code rc = ERR_OK;
    if (entries->count)
        rc = memory_read(memory, values, raw, entries->count * WORD);
    for (size_t i = 0; i < entries->count && !rc; i++)
        entries->items[i].value = raw[i];
    free(raw);
    return rc;
}

/* values 0: the entries hold the values.  most 0: all entries are wanted. */
static enum err_code read_pairs(struct memory *memory, const struct layout *layout,
                                remote_addr keys_addr, remote_addr values, size_t most,
                                struct dict_entries *out)
{
    struct keys keys;
    *out = (struct dict_entries){ 0 };
    enum err_code rc = layout->has_plain_keys ? read_old_keys(memory, keys_addr, &keys)
                                              : read_keys(memory, keys_addr, &keys);
    if (!rc && most && keys.count > most)
        keys.count = most;
    if (!rc && keys.count > DICT_MAX_ENTRIES)
        rc = ERR_CORRUPT;
    if (!rc) {
        /* All entries, deleted ones included. */
        const size_t words = keys.kind == KIND_GENERAL ? 3 : 2;
        uint64_t *const raw = malloc((keys.count * words + 1) * WORD);
        out->items = calloc(keys.count + 1, sizeof *out->items);
        rc = raw && out->items ? ERR_OK : ERR_NOMEM;
        if (!rc && keys.count)
            rc = memory_read(memory, keys.entries, raw, keys.count * words * WORD);
        for (size_t i = 0; i < keys.count && !rc; i++) {
            const uint64_t *const entry = raw + i * words;
            out->items[i] = (struct dict_entry){ .hash = words == 3 ? entry[0] : 0,
                                                 .key = entry[words - 2],
                                                 .value = entry[words - 1] };
        }
        out->count = keys.count;
        free(raw);
        if (rc)
            dict_entries_deinit(out);
    }
    if (!rc && (keys.kind == KIND_SPLIT || (layout->has_plain_keys && values)))
        rc = values ? fill_values(memory, values, out) : ERR_CORRUPT;
    if (rc)
        dict_entries_deinit(out);
    else {
        size_t kept = 0;
        for (size_t i = 0; i < out->count; i++)
            if (out->items[i].key && out->items[i].value)
                out->items[kept++] = out->items[i];
        out->count = kept;
    }
    return rc;
}

enum err_code dict_read(struct memory *memory, const struct layout *layout, remote_addr dict,
                        size_t most, struct dict_entries *out)
{
    uint64_t keys, values;
    enum err_code rc = memory_read_u64(memory, dict + layout->dict_keys, &keys);
    if (!rc)
        rc = memory_read_u64(memory, dict + layout->dict_values, &values);
    if (rc)
        return rc;
    return read_pairs(memory, layout, keys, values ? values + layout->values_bytes : 0, most,
                      out);
}

/* Compares a batch of keys with `key`: the length and the characters of a compact ASCII str. */
static enum err_code find_in_batch(struct memory *memory, const struct layout *layout,
                                   const struct dict_entry *entries, size_t count,
                                   const char *key, const struct dict_entry **out)
{
    static const size_t length_bytes = WORD;
    const size_t key_bytes = strlen(key);
    unsigned char copies[BATCH][WORD + MAX_KEY_BYTES];
    struct memory_span spans[BATCH * 2] = { { 0 } };
    size_t arrived;
    for (size_t i = 0; i < count; i++) {
        spans[i * 2] = (struct memory_span){ entries[i].key + layout->unicode_length, copies[i],
                                             length_bytes };
        spans[i * 2 + 1] = (struct memory_span){ entries[i].key + layout->unicode_ascii_bytes,
                                                 copies[i] + length_bytes, key_bytes };
    }
    const enum err_code rc = memory_readv(memory, spans, count * 2, &arrived);
    for (size_t i = 0; i < count && (i + 1) * (length_bytes + key_bytes) <= arrived; i++) {
        if (field_u64(copies[i], 0) != key_bytes ||
            memcmp(copies[i] + length_bytes, key, key_bytes) != 0)
            continue;
        *out = &entries[i];
        return ERR_OK;
    }
    return rc ? rc : ERR_NOT_FOUND;
}

static enum err_code find_entry(struct memory *memory, const struct layout *layout,
                                const struct dict_entries *entries, const char *key,
                                remote_addr *out)
{
    enum err_code rc = ERR_NOT_FOUND;
    if (strlen(key) > MAX_KEY_BYTES)
        return ERR_LIMIT;
    for (size_t at = 0; at < entries->count && rc == ERR_NOT_FOUND; at += BATCH) {
        const size_t left = entries->count - at;
        const struct dict_entry *found;
        rc = find_in_batch(memory, layout, entries->items + at, left < BATCH ? left : BATCH,
                           key, &found);
        if (!rc)
            *out = found->value;
    }
    return rc;
}

enum err_code dict_find(struct memory *memory, const struct layout *layout, remote_addr dict,
                        const char *key, remote_addr *out)
{
    return dict_find_early(memory, layout, dict, key, 0, out);
}

enum err_code dict_find_early(struct memory *memory, const struct layout *layout,
                              remote_addr dict, const char *key, size_t most, remote_addr *out)
{
    struct dict_entries entries;
    enum err_code rc = dict_read(memory, layout, dict, most, &entries);
    if (rc)
        return rc;
    rc = find_entry(memory, layout, &entries, key, out);
    dict_entries_deinit(&entries);
    return rc;
}

/* A module's dictionary comes right after the object header. */
enum err_code dict_find_global(struct memory *memory, const struct layout *layout,
                               remote_addr interp, const char *module, const char *name,
                               remote_addr *out)
{
    remote_addr modules, object, globals;
    enum err_code rc =
        memory_read_u64(memory, interp + layout->interp_imports_modules, &modules);
    if (!rc)
        rc = dict_find(memory, layout, modules, module, &object);
    if (!rc)
        rc = memory_read_u64(memory, object + object_first_field(layout), &globals);
    return rc ? rc : dict_find(memory, layout, globals, name, out);
}

/* The storage of an instance's attributes; one of the two is 0. */
struct storage {
    remote_addr dict, values;
};

/* Until 3.10, and for types of C that place the dictionary themselves, the type holds the dictionary's
 * offset in the object.  Types of variable size count it from the end; they are not supported. */
static enum err_code find_old_storage(struct memory *memory, const struct layout *layout,
                                      remote_addr object, remote_addr type, struct storage *out)
{
    uint64_t offset, dict = 0;
    enum err_code rc = memory_read_u64(memory, type + object_type_dictoffset(layout), &offset);
    if (!rc && offset && offset <= INT32_MAX)
        rc = memory_read_u64(memory, object + offset, &dict);
    if (!rc)
        *out = (struct storage){ dict, 0 };
    return rc;
}

/* The pointers are before the object header.  3.11 has one to values and one to the dictionary; 3.12 has
 * a tagged one to either; 3.13 and later have one to the dictionary, and values inside the object. */
static enum err_code find_storage(struct memory *memory, const struct layout *layout,
                                  remote_addr object, remote_addr type, struct storage *out)
{
    enum { VALUES_WORDS_BEFORE = 4, VALUES_TAG = 1 };
    const remote_addr before = object_dict_words_before(layout);
    uint64_t dict, values = 0, basic_size;
    enum err_code rc = memory_read_u64(memory, object - before * WORD, &dict);
    if (!rc && layout->has_values_pointer)
        rc = memory_read_u64(memory, object - VALUES_WORDS_BEFORE * WORD, &values);
    if (!rc && layout->has_tagged_values && (dict & VALUES_TAG)) {
        values = dict + VALUES_TAG;
        dict = 0;
    }
    if (!rc && layout->has_inline_values && !dict) {
        rc = memory_read_u64(memory, type + layout->type_basicsize, &basic_size);
        values = object + basic_size;
    }
    if (!rc)
        *out = (struct storage){ dict, dict ? 0 : values };
    return rc;
}

enum err_code object_attribute(struct memory *memory, const struct layout *layout,
                               remote_addr object, const char *name, remote_addr *out)
{
    uint64_t type, keys;
    struct storage storage;
    enum err_code rc = memory_read_u64(memory, object + layout->object_type, &type);
    if (!rc) {
        static const uint64_t MANAGED_DICT = 1 << 4;
        uint64_t flags;
        rc = layout->has_managed_dicts && !object_type_flags(memory, layout, type, &flags) &&
                     (flags & MANAGED_DICT)
                 ? find_storage(memory, layout, object, type, &storage)
                 : find_old_storage(memory, layout, object, type, &storage);
    }
    if (rc)
        return rc;
    if (storage.dict)
        return dict_find(memory, layout, storage.dict, name, out);
    if (!storage.values)
        return ERR_NOT_FOUND;
    struct dict_entries entries;
    rc = memory_read_u64(memory, type + layout->heap_type_cached_keys, &keys);
    if (!rc)
        rc = read_pairs(memory, layout, keys, storage.values + layout->values_bytes, 0,
                        &entries);
    if (rc)
        return rc;
    rc = find_entry(memory, layout, &entries, name, out);
    dict_entries_deinit(&entries);
    return rc;
}
