#include "server/source/cache.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/compress.h"

enum { LEVEL = 3 };

void cache_init(struct cache *cache)
{
    memset(cache, 0, sizeof *cache);
    pthread_mutex_init(&cache->mutex, NULL);
}

static void drop_file(struct cache *cache, struct cache_file *file)
{
    cache->packed_bytes -= file->packed_bytes;
    free(file->path);
    free(file->packed);
    *file = cache->files[--cache->count];
}

void cache_deinit(struct cache *cache)
{
    while (cache->count > 0)
        drop_file(cache, &cache->files[cache->count - 1]);
    pthread_mutex_destroy(&cache->mutex);
}

static struct cache_file *find_file(struct cache *cache, const struct cache_key *key)
{
    for (size_t i = 0; i < cache->count; i++) {
        struct cache_file *const file = &cache->files[i];
        if (file->owner == key->owner && file->path_length == key->path.length &&
            memcmp(file->path, key->path.text, key->path.length) == 0)
            return file;
    }
    return NULL;
}

void cache_begin_ranking(struct cache *cache)
{
    pthread_mutex_lock(&cache->mutex);
    for (size_t i = 0; i < cache->count; i++)
        cache->files[i].rank = UINT32_MAX;
    pthread_mutex_unlock(&cache->mutex);
}

bool cache_rank(struct cache *cache, const struct cache_key *key, uint32_t rank)
{
    pthread_mutex_lock(&cache->mutex);
    struct cache_file *const file = find_file(cache, key);
    if (file)
        file->rank = rank;
    pthread_mutex_unlock(&cache->mutex);
    return file != NULL;
}

/* The coldest of the files with text, or of all; NULL: none is colder than `rank`. */
static struct cache_file *find_coldest(struct cache *cache, bool with_text, uint32_t rank)
{
    struct cache_file *found = NULL;
    for (size_t i = 0; i < cache->count; i++) {
        struct cache_file *const file = &cache->files[i];
        if (file->rank > (found ? found->rank : rank) && (!with_text || file->packed))
            found = file;
    }
    return found;
}

static bool has_place(struct cache *cache, uint32_t rank)
{
    if (cache->count < CACHE_MAX_FILES)
        return true;
    struct cache_file *const file = find_coldest(cache, false, rank);
    if (file)
        drop_file(cache, file);
    return file != NULL;
}

static bool has_room(struct cache *cache, uint32_t rank, size_t bytes)
{
    while (cache->packed_bytes + bytes > CACHE_MAX_BYTES) {
        struct cache_file *const file = find_coldest(cache, true, rank);
        if (!file)
            return false;
        drop_file(cache, file);
    }
    return true;
}

void cache_put(struct cache *cache, const struct cache_key *key, uint32_t rank,
               const struct buffer *text, uint64_t changed_ns)
{
    struct cache_file file = { .owner = key->owner,
                               .rank = rank,
                               .path = malloc(key->path.length + 1),
                               .path_length = key->path.length,
                               .bytes = text ? text->length : 0,
                               .changed_ns = changed_ns };
    if (!file.path)
        return;
    memcpy(file.path, key->path.text, key->path.length);
    if (text && compress_zstd(text->length > 0 ? text->data : "", text->length, LEVEL,
                              &file.packed, &file.packed_bytes, NULL))
        file.packed = NULL;
    pthread_mutex_lock(&cache->mutex);

    if (!has_room(cache, file.rank, file.packed_bytes)) {
        free(file.packed);
        file.packed = NULL;
        file.packed_bytes = 0;
    }
    if (!has_place(cache, file.rank)) {
        free(file.packed);
        free(file.path);
    } else {
        cache->files[cache->count++] = file;
        cache->packed_bytes += file.packed_bytes;
    }

    pthread_mutex_unlock(&cache->mutex);
}

bool cache_get(struct cache *cache, const struct cache_key *key, struct buffer *out,
               uint64_t *changed_ns_out)
{
    bool has_text = false;
    buffer_clear(out);
    pthread_mutex_lock(&cache->mutex);
    const struct cache_file *const file = find_file(cache, key);
    if (file && file->packed) {
        char *const room = buffer_reserve(out, file->bytes + 1);
        has_text =
            room && !compress_unzstd(file->packed, file->packed_bytes, room, file->bytes, NULL);
        *changed_ns_out = file->changed_ns;
        if (has_text)
            buffer_grow(out, file->bytes);
    }
    pthread_mutex_unlock(&cache->mutex);
    return has_text;
}
