/*
 * json_value - a JSON document in memory, to read.  The only place that sees cJSON.
 *
 * Ownership: json_value_destroy the document; its parts and texts belong to it.  NULL is fine for every
 * function that reads: it is a null, without members.
 * Threads: any, each on its own document.
 * Limits: as many levels as cJSON takes (1000).
 */
#ifndef SERVER_WIRE_JSON_VALUE_H
#define SERVER_WIRE_JSON_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

enum json_type { JSON_NULL, JSON_FLAG, JSON_NUMBER, JSON_TEXT, JSON_ARRAY, JSON_OBJECT };

struct json_value;

/* ERR_INVALID: it is not JSON, or something follows it. */
MUST_CHECK enum err_code json_value_parse(const char *data, size_t bytes,
                                          struct json_value **out, struct err *err);
/* NULL: there is no memory for it, or it is NULL. */
struct json_value *json_value_copy(const struct json_value *value);
void json_value_destroy(struct json_value *value);

enum json_type json_value_type(const struct json_value *value);
/* Values of another type: NULL, 0, false. */
const char *json_value_text(const struct json_value *value);
double json_value_number(const struct json_value *value);
bool json_value_flag(const struct json_value *value);

/* The name of a member, NULL: it is not one. */
const char *json_value_name(const struct json_value *value);
/* Members or items; NULL: there are no more. */
const struct json_value *json_value_first(const struct json_value *value);
const struct json_value *json_value_next(const struct json_value *value);
/* NULL: not an object, or no such member. */
const struct json_value *json_value_member(const struct json_value *value, const char *name);

#endif /* SERVER_WIRE_JSON_VALUE_H */
