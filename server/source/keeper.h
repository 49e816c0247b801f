/*
 * keeper - a thread that fetches source files in advance, hottest first, into a cache.
 *
 * So their text is there after the processes have ended.  Of files of your code it also asks for the checkout, until
 * one has been found; and of other files than those of Python's library for their distribution, where their paths mislead.
 * What is found of a path holds for the whole session, so that where processes have several owners none is asked: one
 * owner's files say nothing of another's.
 *
 * Ownership: the caller's storage; borrows the fetcher and the cache until keeper_stop.
 * Threads: keeper_start and keeper_stop from one; keeper_checkout from any.
 * Limits: KEEPER_MAX_TRIES files are asked for their checkout; KEEPER_MAX_SETTLED.
 */
#ifndef SERVER_SOURCE_KEEPER_H
#define SERVER_SOURCE_KEEPER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "server/source/source_reader.h"

struct cache;
struct fetcher;

enum { KEEPER_MAX_TRIES = 16, KEEPER_MAX_SETTLED = 512 };

struct keeper {
    struct fetcher *fetcher;
    struct cache *cache;
    bool keeps_texts; /* otherwise only what is known of packages */
    pthread_t thread;
    bool is_started;
    int stop_fd;                     /* readable: the thread is to end */
    struct source_checkout checkout; /* written once, before has_checkout */
    atomic_bool has_checkout;
    unsigned checkout_tries;
    struct keeper_settled {
        unsigned owner; /* of the process that was asked */
        uint64_t hash;  /* of a folder whose files are all of one distribution */
    } settled[KEEPER_MAX_SETTLED];
    size_t settled_count;
};

MUST_CHECK enum err_code keeper_start(struct keeper *keeper, struct fetcher *fetcher,
                                      struct cache *cache, bool keeps_texts, struct err *err);
/* NULL: none has been found. */
const struct source_checkout *keeper_checkout(const struct keeper *keeper);
/* A zeroed one is fine. */
void keeper_stop(struct keeper *keeper);

#endif /* SERVER_SOURCE_KEEPER_H */
