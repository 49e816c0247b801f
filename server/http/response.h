/*
 * response - one HTTP answer, as handlers make it.
 *
 * A handler sets status, type and body; response_finish adds validator and compression, the
 * pipeline adds security headers.
 *
 * Ownership: the response owns its header values and its hold on the body; bodies that are fixed are
 * borrowed and must outlive it.
 */
#ifndef SERVER_HTTP_RESPONSE_H
#define SERVER_HTTP_RESPONSE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

enum { RESPONSE_MAX_HEADERS = 16, RESPONSE_MAX_TAG = 96 };

#define MIME_JSON    "application/json"
#define MIME_PROBLEM "application/problem+json"
#define MIME_HTML    "text/html; charset=utf-8"
#define MIME_TEXT    "text/plain; charset=utf-8"

struct buffer;
struct request;

struct response_header {
    const char *name;
    char *value;
};

struct response {
    int status;
    const char *mime;
    const void *body;
    size_t body_bytes;
    int file_fd; /* the body is in a file; -1: in memory */
    void *owner; /* of the body, to be released; NULL: the body is borrowed */
    void (*release)(void *owner);
    char tag[RESPONSE_MAX_TAG]; /* for ETag; "": none yet */
    bool is_shared;             /* may be cached: its tag names all that it depends on */
    bool is_viewers;            /* a viewer wants it: then it is cached as theirs */
    bool is_encoded;            /* Content-Encoding is already set */
    struct response_header headers[RESPONSE_MAX_HEADERS];
    size_t header_count;
};

/* 200, no body. */
void response_init(struct response *response);
void response_deinit(struct response *response);

/* Replaces a header of that name.  Control characters of the value become '_'. */
void response_set_header(struct response *response, const char *name, const char *format, ...)
    PRINTF_LIKE(3, 4);
const char *response_header(const struct response *response, const char *name);

/* These five replace the body. */
void response_fix_body(struct response *response, const char *mime, const void *data,
                       size_t bytes);
/* A body made once of bytes that gzip made, and kept for ever.  Any thread may use it. */
struct gzip_body {
    pthread_mutex_t lock;
    char tag[RESPONSE_MAX_TAG]; /* "": not made yet */
    unsigned char *plain;       /* NULL: nobody has asked for it */
    size_t plain_bytes;
};

/* Answers with bytes that gzip made; a client that does not take them gets them plain. */
MUST_CHECK enum err_code response_fix_gzip(struct response *response,
                                           const struct request *request, const char *mime,
                                           const void *data, size_t bytes,
                                           struct gzip_body *kept, struct err *err);
/* Frees the bytes in the end. */
void response_own_body(struct response *response, const char *mime, void *data, size_t bytes);
/* Releases the owner of the bytes in the end, in any thread. */
void response_hold_body(struct response *response, const char *mime, const void *data,
                        size_t bytes, void *owner, void (*release)(void *owner));
/* Takes the buffer's bytes, or fails if the buffer did. */
MUST_CHECK enum err_code response_take_buffer(struct response *response, const char *mime,
                                              struct buffer *buffer, struct err *err);
/* The body is the file's first bytes; takes the descriptor.  The tag must be set. */
void response_own_file(struct response *response, const char *mime, int fd, size_t bytes);

/* An error as application/problem+json (RFC 9457). */
void response_problem(struct response *response, int status, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* The problem document for an error. */
void response_error(struct response *response, const struct err *err);
/* True if that errno means that a disk, a quota or a file is full: such errors are a 507. */
bool response_is_full(int sys);

/* The tag with the coding that the request asks for, as in ETag. */
void response_full_tag(const struct response *response, const struct request *request,
                       char out[RESPONSE_MAX_TAG + 16]);
/* Does the client hold the content named by response->tag, in the coding it asks for? */
bool response_is_fresh(const struct response *response, const struct request *request);

/* Adds what every answer to a safe request gets: a validator, 304, compression. */
void response_finish(struct response *response, const struct request *request);

const char *response_status_text(int status);

#endif /* SERVER_HTTP_RESPONSE_H */
