/*
 * body - reads the JSON object a request brings.  The only place that sees cJSON.
 *
 * The caller lists the members it knows, and what each is; any other member, another type or
 * trailing bytes are an error that names it.  A member that is null is as good as absent.
 *
 * Ownership: the caller's storage, lists too.
 * Depends on: err.
 */
#ifndef SERVER_HTTP_JSON_BODY_H
#define SERVER_HTTP_JSON_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

enum { BODY_MAX_TEXT = 1024, BODY_MAX_WORD = 60 };

enum body_kind { BODY_TEXT, BODY_NUMBER, BODY_FLAG, BODY_NUMBERS, BODY_WORDS };

struct body_member {
    const char *name;
    enum body_kind kind;
    bool is_present;
    bool flag;
    double number;
    double *numbers;                  /* `room` of them */
    char (*words)[BODY_MAX_WORD + 1]; /* so are these */
    size_t room, count;
    char text[BODY_MAX_TEXT];
};

/* ERR_INVALID: not an object of these members. */
MUST_CHECK enum err_code body_read(const char *data, size_t bytes, struct body_member *members,
                                   size_t count, struct err *err);

#endif /* SERVER_HTTP_JSON_BODY_H */
