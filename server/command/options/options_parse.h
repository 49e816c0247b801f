/*
 * options_parse - reads the command line.
 */
#ifndef SERVER_COMMAND_OPTIONS_OPTIONS_PARSE_H
#define SERVER_COMMAND_OPTIONS_OPTIONS_PARSE_H

#include "sampler/base/err.h"

struct options;

/* ERR_INVALID: err holds a message for the user. */
MUST_CHECK enum err_code options_parse(char **argv, struct options *out, struct err *err);

#endif /* SERVER_COMMAND_OPTIONS_OPTIONS_PARSE_H */
