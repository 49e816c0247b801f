/*
 * option_parts - what the table of options (option_table.c) and the reader of command lines
 * (options.c) share.
 *
 * Private to options.
 *
 * Depends on: options, report.
 */
#ifndef SERVER_COMMAND_OPTIONS_OPTION_PARTS_H
#define SERVER_COMMAND_OPTIONS_OPTION_PARTS_H

#include "server/command/options/options.h"

/* Commands that take the same options. */
enum {
    TELLING = COMMAND_ATTACH | COMMAND_RUN | COMMAND_RECORD,
    SAMPLING = TELLING | COMMAND_TOP,
    NAMING = COMMAND_ATTACH | COMMAND_RECORD | COMMAND_TOP,
    LOADING = COMMAND_REPLAY | COMMAND_SERVE,
    SERVING = COMMAND_ATTACH | COMMAND_RUN | LOADING,
    WRITING = COMMAND_RECORD | COMMAND_REPLAY,
    RESHAPING = COMMAND_REPLAY | COMMAND_DIFF,
    DESCRIBING = SAMPLING | LOADING | COMMAND_DIFF,
    READING = LOADING | COMMAND_MERGE | COMMAND_DIFF,
};

/* Asks for a format; output: its file, NULL: the one of --output. */
MUST_CHECK enum err_code option_add_format(struct options *options,
                                           const struct report_format *format,
                                           const char *output, struct err *err);
/* The same for one that compares with the capture `baseline`. */
MUST_CHECK enum err_code option_add_comparing_format(struct options *options,
                                                     const struct report_format *format,
                                                     const char *baseline, struct err *err);

#endif /* SERVER_COMMAND_OPTIONS_OPTION_PARTS_H */
