/*
 * pushing - what commands that push profiles share: the files of --push-headers, and messages.
 */
#ifndef SERVER_COMMAND_PUSHING_H
#define SERVER_COMMAND_PUSHING_H

#include "sampler/base/err.h"

struct options;
struct push;

/* Call it while all rights are held.  NULL in `out`: the options name no endpoint. */
MUST_CHECK enum err_code pushing_open(const struct options *options, struct push **out,
                                      struct err *err);

#endif /* SERVER_COMMAND_PUSHING_H */
