/*
 * body - reads the JSON object a request brings.  The only place that sees cJSON.
 *
 * The caller lists the members it knows, all of them texts; any other member, another type or
 * trailing bytes are an error that names it.
 *
 * Depends on: err.
 */
#ifndef SERVER_BODY_H
#define SERVER_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

enum { BODY_MAX_TEXT = 256 };

struct body_member {
    const char *name;
    bool is_present;
    char text[BODY_MAX_TEXT];
};

/* ERR_INVALID: not an object of these members. */
MUST_CHECK enum err_code body_read(const char *data, size_t bytes, struct body_member *members,
                                   size_t count, struct err *err);

#endif /* SERVER_BODY_H */
