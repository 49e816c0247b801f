/*
 * upload - the body of a request as it comes in: in memory, or a large one in a file.
 *
 * A body over the limit is read to its end, up to UPLOAD_DISCARD_MAX more, so that the client sees the
 * refusal instead of a reset connection.  For the same reason a full disk is reported after the
 * whole body has come: most clients read no answer while they send.
 *
 * Ownership: the caller's storage; upload_deinit closes and frees.
 * Threads: one at a time.
 * Limits: REQUEST_MAX_BODY bytes in memory, `file_left` in a file.
 */
#ifndef SERVER_HTTP_UPLOAD_H
#define SERVER_HTTP_UPLOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/buffer.h"

enum { UPLOAD_DISCARD_MAX = 1024 * 1024 };

struct upload {
    struct buffer data;
    int file_fd; /* of a large body; -1: none */
    size_t file_left;
    size_t discarded;
    int refusal; /* the status to refuse the request with; 0: none */
};

/* In memory, until the caller sets file_fd and file_left. */
void upload_init(struct upload *upload);
void upload_deinit(struct upload *upload);
/* Closes the file. */
void upload_close(struct upload *upload);

/* Call before the first byte.  length: the Content-Length; NULL: unknown.  false: the body is too large
 * even to be discarded. */
bool upload_announce(struct upload *upload, const char *length);
/* false: the connection must end. */
bool upload_take(struct upload *upload, const char *data, size_t bytes);

#endif /* SERVER_HTTP_UPLOAD_H */
