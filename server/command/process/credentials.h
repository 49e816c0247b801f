/*
 * credentials - reads the secrets that the user names by file: the access token (--token-file),
 * the certificate and the key (--tls-cert, --tls-key).
 *
 * A file may be a pipe, also one whose writer comes later.
 *
 * Ownership: the caller's storage; credentials_wipe_tls frees, and accepts a zeroed struct.
 * Threads: the main one.
 * Limits: CREDENTIALS_MAX_TLS_BYTES for each file of TLS.
 * Errors: ERR_SYS if a file cannot be read.
 * Depends on: access/auth, err, signals, exit (warnings).
 */
#ifndef SERVER_COMMAND_PROCESS_CREDENTIALS_H
#define SERVER_COMMAND_PROCESS_CREDENTIALS_H

#include "server/access/auth.h"

enum { CREDENTIALS_MAX_TLS_BYTES = 1 << 20 };

struct tls {
    char *cert, *key; /* NULL: no TLS */
};

/* The first word of the file.  ERR_PERM: everybody may read the file; warns if its group may. */
MUST_CHECK enum err_code credentials_read_token(const char *path, char out[AUTH_MAX_TOKEN + 1],
                                                struct err *err);

/* Zeroes `out` if cert_file is NULL. */
MUST_CHECK enum err_code credentials_read_tls(const char *cert_file, const char *key_file,
                                              struct tls *out, struct err *err);
/* Overwrites the key before it is freed. */
void credentials_wipe_tls(struct tls *tls);

#endif /* SERVER_COMMAND_PROCESS_CREDENTIALS_H */
