/*
 * token - an access token the user brings in a file.
 *
 * Depends on: auth, err.
 */
#ifndef SERVER_COMMAND_PROCESS_TOKEN_H
#define SERVER_COMMAND_PROCESS_TOKEN_H

#include "server/access/auth.h"

/* The file's first word.  ERR_PERM: everybody may read the file; warns where its group may. */
MUST_CHECK enum err_code token_read(const char *path, char out[AUTH_MAX_TOKEN + 1],
                                    struct err *err);

#endif /* SERVER_COMMAND_PROCESS_TOKEN_H */
