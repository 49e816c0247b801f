/*
 * listen - a listening TCP socket and the names to reach it by.
 *
 * Depends on: err.
 */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H

#include <stdbool.h>

#include "sampler/base/err.h"

enum { LISTEN_DEFAULT_PORT = 7997, LISTEN_HOST_BYTES = 256 };

struct listen_address {
    char host[LISTEN_HOST_BYTES]; /* without brackets */
    unsigned port;                /* 0: any free one */
};

struct listener {
    int fd;
    bool is_loopback;
    unsigned port;
    char
        host[LISTEN_HOST_BYTES + 2]; /* as a URL wants it: [::1]; this machine's name for all */
};

/* "HOST:PORT", "[V6]:PORT", ":PORT", "HOST".  ERR_INVALID: none of these. */
MUST_CHECK enum err_code listen_parse(const char *text, struct listen_address *out,
                                      struct err *err);

/* The caller closes fd.  err->sys is EADDRINUSE when the port is taken. */
MUST_CHECK enum err_code listen_open(const struct listen_address *address, struct listener *out,
                                     struct err *err);

#endif /* SERVER_LISTEN_H */
