/*
 * serve - captures that a server shows from the start.
 *
 * Depends on: options, sessions.
 */
#ifndef SERVER_COMMAND_SERVE_H
#define SERVER_COMMAND_SERVE_H

#include "sampler/base/err.h"

struct options;
struct session;
struct sessions;

/* Reads a capture, or the part of it that --from and --to say, and says what is missing of it. */
MUST_CHECK enum err_code serve_load(struct sessions *sessions, const struct options *options,
                                    const char *path, struct session **out, struct err *err);

#endif /* SERVER_COMMAND_SERVE_H */
