/*
 * serve_options - the options of the server of a whole host.
 *
 * Depends on: err.
 */
#ifndef SERVER_COMMAND_OPTIONS_SERVE_OPTIONS_H
#define SERVER_COMMAND_OPTIONS_SERVE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct options;

/* What serve is told beside its addresses.  0: the usual. */
struct serve_settings {
    double max_rate_hz;
    size_t max_sessions;
    const char *data; /* the folder of captures; NULL: the usual one */
    bool keeps_nothing, is_continuous;
    double continuous_hz; /* 0: the usual */
    uint64_t turn_ns;     /* of a continuous session; 0: the usual */
    bool has_keep_days, has_keep_bytes;
    uint64_t keep_ns, keep_bytes, max_upload;
};

/* The setters of the table of options. */
enum err_code serve_set_data(struct options *options, const char *value, struct err *err);
enum err_code serve_set_no_data(struct options *options, const char *value, struct err *err);
enum err_code serve_set_keep_days(struct options *options, const char *value, struct err *err);
enum err_code serve_set_keep_bytes(struct options *options, const char *value, struct err *err);
enum err_code serve_set_max_upload(struct options *options, const char *value, struct err *err);
enum err_code serve_set_continuous(struct options *options, const char *value, struct err *err);
enum err_code serve_set_turn(struct options *options, const char *value, struct err *err);
enum err_code serve_set_max_rate(struct options *options, const char *value, struct err *err);
enum err_code serve_set_max_sessions(struct options *options, const char *value,
                                     struct err *err);

#endif /* SERVER_COMMAND_OPTIONS_SERVE_OPTIONS_H */
