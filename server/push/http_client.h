/*
 * http_client - posts bodies to a server, with libcurl.
 *
 * The server may be hostile: a request takes at most HTTP_CLIENT_SECONDS, an answer at most
 * HTTP_CLIENT_ANSWER_BYTES, redirections are not followed, and what is not HTTP is an error.
 *
 * Without libcurl, in the build or on the machine, there are no clients: http_client_create is ERR_UNSUPPORTED.
 *
 * Ownership: http_client_create makes, http_client_destroy frees.
 * Threads: one; http_client_stop: any.
 */
#ifndef SERVER_PUSH_HTTP_CLIENT_H
#define SERVER_PUSH_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

enum {
    HTTP_CLIENT_SECONDS = 30,
    HTTP_CLIENT_CONNECT_SECONDS = 10,
    HTTP_CLIENT_ANSWER_BYTES = 64 << 10,
    HTTP_CLIENT_TEXT_BYTES = 800
};

struct http_client;

struct http_answer {
    unsigned status;
    uint64_t retry_after_ns; /* 0: not said */
    char text[HTTP_CLIENT_TEXT_BYTES +
              1]; /* its body, in one line of ASCII; a long one without its middle */
};

bool http_client_is_built(void);

/* headers: lines "Name: value" that every request has, NULL at the end; copied.  ca_file: certificates to trust;
 * NULL: those of the system. */
MUST_CHECK enum err_code http_client_create(const char *url, const char *const *headers,
                                            const char *ca_file, struct http_client **out,
                                            struct err *err);
/* NULL is fine. */
void http_client_destroy(struct http_client *client);

/* ERR_SYS: no valid answer came in time, or http_client_stop was called.  ERR_PERM: the server's certificate
 * is not trusted, which another attempt does not change. */
MUST_CHECK enum err_code http_client_post(struct http_client *client, const void *body,
                                          size_t bytes, struct http_answer *out,
                                          struct err *err);
/* Ends the current request and all later ones. */
void http_client_stop(struct http_client *client);

#endif /* SERVER_PUSH_HTTP_CLIENT_H */
