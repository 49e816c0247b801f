/*
 * fetch - reads a source file with the rights of a process that runs its code.
 *
 * After a file that took as long as a read may take, nothing of its owner is read for a while.
 *
 * Ownership: the caller's storage; borrows the sampler.
 * Threads: any, after fetcher_init.
 * Depends on: helper, cache, sampler.h, profile.
 */
#ifndef SERVER_SOURCE_FETCH_H
#define SERVER_SOURCE_FETCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "server/source/cache.h"
#include "server/source/source.h"

struct buffer;
struct sampler;

/* FETCH_MAX_ORIGINS: processes with whose rights one file is tried. */
enum { FETCH_MAX_ORIGINS = 8, FETCH_STUCK_OWNERS = 16 };

struct fetcher {
    struct sampler *sampler;
    pthread_mutex_t mutex; /* guards what follows */
    /* An owner whose files were too slow is not tried before this time; by owner modulo the size. */
    uint64_t stuck_until_ns[FETCH_STUCK_OWNERS];
};

/* The processes with whose rights a file can be read. */
struct file_origins {
    struct cache_key key;
    uint64_t entries[SOURCE_MAX_PLACES]; /* of native functions whose library the key names */
    size_t entry_count;                  /* 0: a source file */
    bool wants_places;                   /* instead of the text */
    bool
        wants_checkout; /* instead of the text a struct source_checkout, which must be validated */
    struct strtab_string build_id; /* of that library */
    profile_origin items[FETCH_MAX_ORIGINS];
    size_t count;
};

void fetcher_init(struct fetcher *fetcher, struct sampler *sampler);
void fetcher_deinit(struct fetcher *fetcher);

enum fetch_want {
    FETCH_TEXT,        /* of a file that is known */
    FETCH_NATIVE_TEXT, /* also of native code whose file is unknown, if it is the only function */
    FETCH_PLACES,      /* of native functions of one library, whose file is unknown */
};

/* ERR_PERM: they have several owners; ERR_NOT_FOUND: no process is known. */
MUST_CHECK enum err_code fetch_find_origins(const struct profile_snapshot *snapshot,
                                            const function_id *functions, size_t count,
                                            enum fetch_want want, struct file_origins *out,
                                            struct err *err);
/* Reads the file, or the places (request.h), with the rights of a running process.  cancel_fd: readable ends it; -1: none.
 * place_out: may be NULL for a source file.
 * ERR_GONE: no such process runs; ERR_LIMIT: too slow. */
MUST_CHECK enum err_code fetch_file(struct fetcher *fetcher, const struct file_origins *origins,
                                    int cancel_fd, struct buffer *out, uint64_t *changed_ns_out,
                                    struct source_place *place_out, struct err *err);

#endif /* SERVER_SOURCE_FETCH_H */
