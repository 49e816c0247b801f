/*
 * json - a streaming writer that cannot emit invalid JSON.
 *
 * It keeps a stack of open levels and refuses misuse: a key in an array, a value without a key,
 * a second document, an end without a beginning.  The first refusal is sticky;
 * json_finish reports it.  The output is also safe inside a <script> element and in JavaScript:
 * `<` is escaped.  Printed in a terminal it is harmless: what plain_text does not show is escaped,
 * and bytes that are not UTF-8 become U+FFFD.
 *
 * Ownership: the buffer is the caller's.
 * Limits: JSON_MAX_DEPTH levels.
 */
#ifndef SERVER_WIRE_JSON_H
#define SERVER_WIRE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

enum { JSON_MAX_DEPTH = 16, NS_DECIMALS = 9 };

struct buffer;
struct strtab_string;

struct json {
    struct buffer *out;
    const char *fault; /* the first misuse, NULL: none */
    unsigned depth;
    struct json_level {
        bool is_object, has_items, has_key;
    } levels[JSON_MAX_DEPTH + 1]; /* [0]: the document itself */
};

void json_init(struct json *json, struct buffer *out);

void json_object(struct json *json);
void json_array(struct json *json);
/* Closes the innermost object or array. */
void json_end(struct json *json);

/* A member's name; its value follows. */
void json_key(struct json *json, const char *key);

void json_string(struct json *json, const char *text, size_t length);
void json_text(struct json *json, const char *text); /* NULL: null */
void json_uint(struct json *json, uint64_t value);
void json_int(struct json *json, int64_t value);
/* value / 10^decimals, exactly: (12345, 3) is 12.345. */
void json_decimal(struct json *json, uint64_t value, unsigned decimals);
/* Shortest form of up to 9 significant digits; not finite: null. */
void json_number(struct json *json, double value);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);
/* Text in the place of a value that the caller replaces by one; until then it is no JSON. */
void json_gap(struct json *json, const char *text);

/* A member's name and its value, or the beginning of its value, in one call. */
void json_member_object(struct json *json, const char *key);
void json_member_array(struct json *json, const char *key);
void json_member_string(struct json *json, const char *key, struct strtab_string text);
void json_member_buffer(struct json *json, const char *key, const struct buffer *text);
void json_member_text(struct json *json, const char *key, const char *text); /* NULL: null */
void json_member_uint(struct json *json, const char *key, uint64_t value);
void json_member_int(struct json *json, const char *key, int64_t value);
void json_member_decimal(struct json *json, const char *key, uint64_t value, unsigned decimals);
void json_member_ns(struct json *json, const char *key, uint64_t ns); /* as seconds */
void json_member_number(struct json *json, const char *key, double value);
void json_member_bool(struct json *json, const char *key, bool value);
void json_member_null(struct json *json, const char *key);
/* true: the value is to be written next.  false: null stands there. */
bool json_member_if(struct json *json, const char *key, bool has_value);

/* ERR_INVALID: misuse or an open level, ERR_NOMEM: the buffer failed. */
MUST_CHECK enum err_code json_finish(struct json *json, struct err *err);

#endif /* SERVER_WIRE_JSON_H */
