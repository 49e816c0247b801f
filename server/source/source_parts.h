/*
 * source_parts - shared by source.c, which reads on request, and keeper.c, which fetches in advance.
 *
 * Private to the folder.
 */
#ifndef SERVER_SOURCE_SOURCE_PARTS_H
#define SERVER_SOURCE_SOURCE_PARTS_H

#include <pthread.h>
#include <stdbool.h>

#include "server/source/cache.h"
#include "server/source/source.h"

/* SOURCE_MAX_ORIGINS: processes with whose rights one file is tried. */
enum { SOURCE_MAX_ORIGINS = 8, SOURCE_STUCK_OWNERS = 16 };

struct source {
    struct sampler *sampler;
    struct cache cache;
    pthread_mutex_t mutex; /* guards what follows */
    /* An owner whose files were too slow is not tried before this time; by owner modulo the size. */
    uint64_t stuck_until_ns[SOURCE_STUCK_OWNERS];
    pthread_t keeper;
    bool has_keeper;
    int stop_fd; /* readable: the keeper is to end */
};

/* The processes with whose rights a file can be read. */
struct source_origins {
    struct cache_key key;
    profile_origin items[SOURCE_MAX_ORIGINS];
    size_t count;
};

/* ERR_PERM: they have several owners; ERR_NOT_FOUND: no process is known. */
MUST_CHECK enum err_code source_find_origins(const struct profile_snapshot *snapshot,
                                             const function_id *functions, size_t count,
                                             struct source_origins *out, struct err *err);
/* Reads the file with the rights of a running process.  ERR_GONE: none runs. */
MUST_CHECK enum err_code source_fetch(struct source *source,
                                      const struct source_origins *origins, int cancel_fd,
                                      struct buffer *out, uint64_t *changed_ns_out,
                                      struct err *err);

/* The thread that fetches; its argument is the source. */
void *keeper_main(void *context);

#endif /* SERVER_SOURCE_SOURCE_PARTS_H */
