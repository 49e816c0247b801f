/*
 * credentials - reads the access token (--token-file), the certificate and the key (--tls-cert,
 * --tls-key), and headers of requests (--push-headers) from files.
 *
 * A file may be a pipe; its writer may open it later.
 *
 * Ownership: the caller's storage; credentials_wipe_tls frees, and accepts a zeroed struct.
 * Threads: the main one.
 * Limits: CREDENTIALS_MAX_TLS_BYTES for the certificate, and for the key.
 * Errors: ERR_SYS if a file cannot be read.
 */
#ifndef SERVER_COMMAND_PROCESS_CREDENTIALS_H
#define SERVER_COMMAND_PROCESS_CREDENTIALS_H

#include "server/access/auth.h"

enum { CREDENTIALS_MAX_TLS_BYTES = 1 << 20, CREDENTIALS_MAX_HEADERS_BYTES = 16 << 10 };

struct tls {
    char *cert, *key; /* NULL: no TLS */
};

/* Reads the first word of the file.  ERR_PERM: everyone can read the file.  Warns if its group can. */
MUST_CHECK enum err_code credentials_read_token(const char *path, char out[AUTH_MAX_TOKEN + 1],
                                                struct err *err);

/* Zeroes `out` if cert_file is NULL. */
MUST_CHECK enum err_code credentials_read_tls(const char *cert_file, const char *key_file,
                                              struct tls *out, struct err *err);
/* Overwrites the key before it is freed. */
void credentials_wipe_tls(struct tls *tls);

/* The whole text; ERR_PERM: everyone can read the file. */
MUST_CHECK enum err_code credentials_read_headers(const char *path, char **out,
                                                  struct err *err);
/* Overwrites and frees it.  NULL is fine. */
void credentials_wipe_headers(char *headers);

#endif /* SERVER_COMMAND_PROCESS_CREDENTIALS_H */
