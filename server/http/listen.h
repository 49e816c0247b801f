/*
 * listen - a listening socket, of TCP or in the file system, and the names to reach it by.
 *
 * A Unix socket is made for its owner only (mode 0600).  One that nobody listens to is
 * taken away first, if it is ours; anything else at that place is left alone and is an error.
 *
 * Depends on: err.
 */
#ifndef SERVER_HTTP_LISTEN_H
#define SERVER_HTTP_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

enum { LISTEN_DEFAULT_PORT = 7997, LISTEN_HOST_BYTES = 256 };

struct listen_address {
    char host[LISTEN_HOST_BYTES]; /* without brackets; of a Unix socket its path */
    unsigned port;                /* 0: any free one */
    bool is_unix;
};

struct listener {
    int fd;
    bool is_loopback; /* or Unix: not for the network */
    bool is_unix;
    unsigned port; /* 0: Unix */
    /* As a URL wants it: [::1]; this machine's name for all; a path with its '/' as %2F. */
    char host[3 * LISTEN_HOST_BYTES];
    char path[LISTEN_HOST_BYTES]; /* of a Unix socket that is to be taken away; "": none */
    uint64_t device, inode;       /* of that */
};

/* "HOST:PORT", "[V6]:PORT", ":PORT", "HOST", "unix:PATH".  ERR_INVALID: none of these. */
MUST_CHECK enum err_code listen_parse(const char *text, struct listen_address *out,
                                      struct err *err);

/* The caller closes fd.  err->sys is EADDRINUSE when the port is taken. */
MUST_CHECK enum err_code listen_open(const struct listen_address *address, struct listener *out,
                                     struct err *err);
/* A socket somebody else has opened and listens on. */
MUST_CHECK enum err_code listen_adopt(int fd, struct listener *out, struct err *err);
/* Takes the file of a Unix socket away, if it still is ours.  fd stays as it is. */
void listen_forget(struct listener *listener);

/* Whoever that is, as in "http://127.0.0.1:7997"; without a '/' at the end. */
void listen_format(const struct listener *listener, bool is_tls, char *out, size_t bytes);

#endif /* SERVER_HTTP_LISTEN_H */
