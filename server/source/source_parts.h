/*
 * source_parts - what source.c, which reads, and keeper.c, which fetches beforehand, share.
 *
 * Private to the folder.
 */
#ifndef SERVER_SOURCE_SOURCE_PARTS_H
#define SERVER_SOURCE_SOURCE_PARTS_H

#include <pthread.h>
#include <stdbool.h>

#include "server/source/cache.h"
#include "server/source/source.h"

/* Processes that one file is tried as. */
enum { SOURCE_MAX_ORIGINS = 8, SOURCE_STUCK_OWNERS = 16 };

struct source {
    struct sampler *sampler;
    struct cache cache;
    pthread_mutex_t mutex; /* guards what follows */
    /* Until when nothing more is read as an owner whose files were too slow; by number, wrapped. */
    uint64_t stuck_until_ns[SOURCE_STUCK_OWNERS];
    pthread_t keeper;
    bool has_keeper;
    int stop_fd; /* readable: the keeper is to end */
};

/* What a file may be read as. */
struct source_origins {
    struct cache_key key;
    profile_origin items[SOURCE_MAX_ORIGINS];
    size_t count;
};

/* ERR_PERM: of several owners; ERR_NOT_FOUND: nobody knows whose it is. */
MUST_CHECK enum err_code source_find_origins(const struct profile_snapshot *snapshot,
                                             const function_id *functions, size_t count,
                                             struct source_origins *out, struct err *err);
/* As one of its processes that runs.  ERR_GONE: none does. */
MUST_CHECK enum err_code source_fetch(struct source *source,
                                      const struct source_origins *origins, int cancel_fd,
                                      struct buffer *out, uint64_t *changed_ns_out,
                                      struct err *err);

/* The thread that fetches; its argument is the source. */
void *keeper_main(void *context);

#endif /* SERVER_SOURCE_SOURCE_PARTS_H */
