/*
 * listen - a listening TCP or Unix socket, and its address as text.
 *
 * A Unix socket is created with mode 0600.  If its path exists, it is replaced if it is a socket of
 * ours on which nobody listens; anything else is left alone and is an error.
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
    bool is_loopback; /* or Unix: not reachable from the network */
    bool is_unix;
    unsigned port; /* 0: Unix */
    /* As a URL wants it: [::1]; this machine's name for all; a path with its '/' as %2F. */
    char host[3 * LISTEN_HOST_BYTES];
    char path[LISTEN_HOST_BYTES]; /* of the Unix socket to remove; "": none */
    uint64_t device, inode;       /* of that socket */
};

/* "HOST:PORT", "[V6]:PORT", ":PORT", "HOST", "unix:PATH".  ERR_INVALID: none of these. */
MUST_CHECK enum err_code listen_parse(const char *text, struct listen_address *out,
                                      struct err *err);

/* The caller closes fd.  err->sys is EADDRINUSE when the port is taken. */
MUST_CHECK enum err_code listen_open(const struct listen_address *address, struct listener *out,
                                     struct err *err);
/* Uses a listening socket that another program has opened. */
MUST_CHECK enum err_code listen_adopt(int fd, struct listener *out, struct err *err);
/* Removes the file of a Unix socket if it still is ours.  Does not close fd. */
void listen_forget(struct listener *listener);

/* The address as a URL, as in "http://127.0.0.1:7997", without a final '/'. */
void listen_format(const struct listener *listener, bool is_tls, char *out, size_t bytes);

#endif /* SERVER_HTTP_LISTEN_H */
