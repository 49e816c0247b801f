/*
 * tls - reads the certificate and the key of --tls-cert and --tls-key.
 *
 * Limits: TLS_MAX_BYTES each.
 * Depends on: err, exit (a warning).
 */
#ifndef SERVER_COMMAND_PROCESS_TLS_H
#define SERVER_COMMAND_PROCESS_TLS_H

#include "sampler/base/err.h"

enum { TLS_MAX_BYTES = 1 << 20 };

struct tls {
    char *cert, *key; /* NULL: no TLS */
};

/* Zeroed where neither is named.  tls_deinit accepts a zeroed one. */
MUST_CHECK enum err_code tls_read(const char *cert_file, const char *key_file, struct tls *out,
                                  struct err *err);
/* The key leaves no trace. */
void tls_deinit(struct tls *tls);

#endif /* SERVER_COMMAND_PROCESS_TLS_H */
