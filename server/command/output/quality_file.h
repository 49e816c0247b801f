/*
 * quality_file - the file of --quality: the data quality of a session as JSON.
 */
#ifndef SERVER_COMMAND_OUTPUT_QUALITY_FILE_H
#define SERVER_COMMAND_OUTPUT_QUALITY_FILE_H

#include "sampler/base/err.h"

struct output;
struct quality_capture;
struct session_info;
struct state_sums;
struct usage;

/* Completes the file.  sums: of all samples; usage and capture: NULL, or what a recording has of them. */
MUST_CHECK enum err_code quality_file_write(
    struct output *output, const struct session_info *info, const struct state_sums *sums,
    const struct usage *usage, const struct quality_capture *capture, struct err *err);

#endif /* SERVER_COMMAND_OUTPUT_QUALITY_FILE_H */
