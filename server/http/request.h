/*
 * request - one HTTP request, as handlers see it: no sockets, no library types.
 *
 * http.c fills one from the wire, tests fill one by hand.  If the request as a whole is invalid (too
 * long, not decodable), `refusal` says so, and the pipeline refuses it after the Host check.
 *
 * Ownership: the request owns its decoded target; headers and body are borrowed.
 * Limits: REQUEST_MAX_*; over them the request is refused.
 */
#ifndef SERVER_HTTP_REQUEST_H
#define SERVER_HTTP_REQUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

enum {
    REQUEST_MAX_TARGET = 4096,
    REQUEST_MAX_QUERY = 256,
    REQUEST_MAX_HEADERS = 64,
    REQUEST_MAX_BODY = 64 * 1024,
    REQUEST_PEER_BYTES = 64,
};

#define REQUEST_METHODS(X) \
    X(GET)                 \
    X(HEAD)                \
    X(POST)                \
    X(PUT)                 \
    X(PATCH)               \
    X(DELETE)              \
    X(OPTIONS)             \
    X(OTHER)

enum method {
#define X(name) METHOD_##name,
    REQUEST_METHODS(X)
#undef X
};

struct request_pair {
    const char *name;
    const char *value;
};

struct request {
    enum method method;
    int refusal; /* the status to refuse it with, 0: none */
    char *target;
    const char *path; /* decoded, begins with '/' */
    struct request_pair query[REQUEST_MAX_QUERY];
    size_t query_count;
    struct request_pair headers[REQUEST_MAX_HEADERS];
    size_t header_count;
    const char *body;
    size_t body_bytes;
    int body_fd;                   /* a file with the whole body; -1: it is in `body` */
    char peer[REQUEST_PEER_BYTES]; /* who sent it: an address, or "unix:uid=N"; "": unknown */
    const atomic_bool *is_ending;  /* true: the server ends, so give up; NULL: never */
};

/* Zeroes the rest; a target that is too long or malformed becomes a refusal. */
void request_init(struct request *request, const char *method, const char *target);
void request_deinit(struct request *request);
void request_add_header(struct request *request, const char *name, const char *value);

/* The first of that name (names of headers ignore case), NULL: absent. */
const char *request_header(const struct request *request, const char *name);
size_t request_count_headers(const struct request *request, const char *name);
const char *request_query(const struct request *request, const char *name);

/* GET and HEAD change nothing. */
bool request_is_safe(const struct request *request);

const char *method_text(enum method method);

#endif /* SERVER_HTTP_REQUEST_H */
