/*
 * fetch - reads a source file with the rights of a process that runs its code.
 *
 * After a file that took as long as a read may take, nothing of its owner is read for a while.
 *
 * Ownership: the caller's storage; borrows the session.
 * Threads: any, after fetcher_init.
 */
#ifndef SERVER_SOURCE_FETCH_H
#define SERVER_SOURCE_FETCH_H

#include <pthread.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct buffer;
struct file_origins;
struct session;
struct source_place;

enum { FETCH_STUCK_OWNERS = 16 };

struct fetcher {
    struct session *session;
    pthread_mutex_t mutex; /* guards what follows */
    /* An owner whose files were too slow is not tried before this time; by owner modulo the size. */
    uint64_t stuck_until_ns[FETCH_STUCK_OWNERS];
};

void fetcher_init(struct fetcher *fetcher, struct session *session);
void fetcher_deinit(struct fetcher *fetcher);

/* Reads the file, or what else is wanted of it (relay_codec.h), with the rights of a running process.  cancel_fd: readable
 * ends it; -1: none.  place_out: may be NULL for a source file.
 * ERR_GONE: no such process runs; ERR_LIMIT: too slow. */
MUST_CHECK enum err_code fetch_file(struct fetcher *fetcher, const struct file_origins *origins,
                                    int cancel_fd, struct buffer *out, uint64_t *changed_ns_out,
                                    struct source_place *place_out, struct err *err);

#endif /* SERVER_SOURCE_FETCH_H */
