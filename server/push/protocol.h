/*
 * protocol - what the receivers of profiles understand: one table of schemes.
 *
 * A series is what has the same labels and kind of value.
 *
 * Threads: any.
 */
#ifndef SERVER_PUSH_PROTOCOL_H
#define SERVER_PUSH_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "server/push/encoders.h"

struct buffer;

struct push_protocol {
    const char *scheme;
    const char *title;
    unsigned port;
    const char *path;
    const char *content_type;
    bool is_gzip;      /* bodies are compressed as a whole */
    bool is_divisible; /* push_divide can take a request apart */
    enum err_code (*encode)(const struct push_batch *batch, push_take *take, void *to,
                            struct err *err);
};

/* NULL: fewer than index + 1. */
const struct push_protocol *push_protocol_at(size_t index);
/* NULL: no such scheme. */
const struct push_protocol *push_protocol_find(const char *scheme, size_t length);

/* Gives each series of a request as a request of its own, which is the same whenever it is made.  Receivers that limit
 * each series take some of a request and refuse it as a whole. */
MUST_CHECK enum err_code push_divide(const struct push_protocol *protocol,
                                     const struct buffer *body, push_take *take, void *to,
                                     struct err *err);

#endif /* SERVER_PUSH_PROTOCOL_H */
