/*
 * keeper - a thread that fetches source files in advance, hottest first, into a cache.
 *
 * So their text is there after the processes have ended.
 *
 * Ownership: the caller's storage; borrows the fetcher and the cache until keeper_stop.
 * Threads: keeper_start and keeper_stop from one.
 * Depends on: fetch, cache, sampler.h, profile.
 */
#ifndef SERVER_SOURCE_KEEPER_H
#define SERVER_SOURCE_KEEPER_H

#include <pthread.h>
#include <stdbool.h>

#include "sampler/base/err.h"

struct cache;
struct fetcher;

struct keeper {
    struct fetcher *fetcher;
    struct cache *cache;
    pthread_t thread;
    bool is_started;
    int stop_fd; /* readable: the thread is to end */
};

MUST_CHECK enum err_code keeper_start(struct keeper *keeper, struct fetcher *fetcher,
                                      struct cache *cache, struct err *err);
/* A zeroed one is fine. */
void keeper_stop(struct keeper *keeper);

#endif /* SERVER_SOURCE_KEEPER_H */
