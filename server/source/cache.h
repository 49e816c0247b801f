/*
 * cache - texts of source files, for the time after their process has ended.
 *
 * A text belongs to an owner (session_origin_owner) and a path, and is stored compressed.  If there is
 * not enough room, the texts of the hottest files stay.  A file whose text could not be read or had no
 * room has an entry without a text.
 *
 * Private to the folder.
 *
 * Ownership: the caller's storage; cache_deinit accepts a zeroed one.
 * Threads: any.
 * Limits: CACHE_MAX_FILES, CACHE_MAX_BYTES of compressed text.
 */
#ifndef SERVER_SOURCE_CACHE_H
#define SERVER_SOURCE_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/strtab.h"

struct buffer;

enum { CACHE_MAX_FILES = 512, CACHE_MAX_BYTES = 8 << 20 };

struct cache_key {
    unsigned owner;
    struct strtab_string path;
};

struct cache {
    pthread_mutex_t mutex;
    struct cache_file {
        unsigned owner;
        uint32_t rank; /* 0: the hottest */
        char *path;
        size_t path_length;
        unsigned char *packed; /* NULL: there is no text */
        size_t packed_bytes, bytes;
        uint64_t changed_ns;
    } files[CACHE_MAX_FILES];
    size_t count, packed_bytes;
};

void cache_init(struct cache *cache);
void cache_deinit(struct cache *cache);

/* Call this before giving all files new ranks by cache_rank and cache_put. */
void cache_begin_ranking(struct cache *cache);
/* False: the file has no entry. */
bool cache_rank(struct cache *cache, const struct cache_key *key, uint32_t rank);
/* Adds a file that has no entry.  text NULL: it cannot be read.  If there is no room, colder texts are
 * dropped, or this one. */
void cache_put(struct cache *cache, const struct cache_key *key, uint32_t rank,
               const struct buffer *text, uint64_t changed_ns);
/* False: there is no such text; *out is empty then. */
bool cache_get(struct cache *cache, const struct cache_key *key, struct buffer *out,
               uint64_t *changed_ns_out);

#endif /* SERVER_SOURCE_CACHE_H */
