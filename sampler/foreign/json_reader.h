/*
 * json_reader - a JSON text token by token, of any length, in bounded memory.
 *
 *     if (json_reader_enter(json, JSON_OBJECT))
 *         while (json_reader_key(json))
 *             if (json_reader_is(json, "frames"))
 *                 ...
 *             else
 *                 json_reader_skip(json);
 *
 * Failures are sticky: after one there is only JSON_END, and every loop ends.  json_reader_check has what was wrong, and where.
 *
 * Ownership: json_reader_open makes room, json_reader_close frees it and accepts a zeroed struct.
 * Threads: one.
 * Limits: JSON_READER_DEPTH, then it fails; strings are cut at JSON_READER_TEXT bytes.
 */
#ifndef SAMPLER_FOREIGN_JSON_READER_H
#define SAMPLER_FOREIGN_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/foreign/gather.h"
#include "sampler/foreign/input.h"

enum { JSON_READER_DEPTH = 256, JSON_READER_TEXT = 1 << 16 };

enum json_token {
    JSON_END, /* of the text, or a failure */
    JSON_OBJECT,
    JSON_ARRAY,
    JSON_CLOSE, /* of the innermost object or array */
    JSON_KEY,
    JSON_STRING,
    JSON_NUMBER,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
};

struct json_reader {
    struct input input;
    enum json_token token; /* the last one */
    char *text;            /* of a key, a string or a number */
    size_t bytes;
    size_t depth;
    bool needs_comma, needs_value; /* before the next token: a comma, or a value and no end */
    enum json_token open[JSON_READER_DEPTH];
};

MUST_CHECK enum err_code json_reader_open(struct json_reader *json, int fd, struct err *err);
void json_reader_close(struct json_reader *json);
MUST_CHECK enum err_code json_reader_check(const struct json_reader *json, struct err *err);
/* Opens a file, has it read, and closes it.  The failure of `read` goes before that of the text. */
typedef enum err_code json_reader_read(void *context, struct err *err);
MUST_CHECK enum err_code json_reader_pass(struct json_reader *json, int fd,
                                          json_reader_read *read, void *context,
                                          struct err *err);
/* Makes what is read from now on a failure. */
void json_reader_fail(struct json_reader *json, const char *format, ...) PRINTF_LIKE(2, 3);

enum json_token json_reader_next(struct json_reader *json);
/* Takes the next token, which must begin an object or an array; else it fails. */
bool json_reader_enter(struct json_reader *json, enum json_token kind);
/* Takes the next key of an object; false: its end. */
bool json_reader_key(struct json_reader *json);
/* Takes the next token of an array, the beginning of a value; false: its end. */
bool json_reader_item(struct json_reader *json);
/* Is the last key or string that one? */
bool json_reader_is(const struct json_reader *json, const char *text);
/* Passes over the next value. */
void json_reader_skip(struct json_reader *json);
/* Passes over the rest of a value whose first token was taken; of what is within it only brackets and strings are checked. */
void json_reader_skip_rest(struct json_reader *json);

/* Takes a value that is a string; another one is passed over, and the empty string. */
struct gather_text json_reader_string(struct json_reader *json);
/* The text of the last token. */
static inline struct gather_text json_reader_text(const struct json_reader *json)
{
    return (struct gather_text){ json->text, json->bytes };
}

/* The last token, a number or a string of one, times ten to the power of `shift`, rounded to a whole number.  false: it is no number, or
 * too large. */
bool json_reader_scaled(const struct json_reader *json, int shift, int64_t *out);
/* Takes a value that is a number, scaled likewise; another one is passed over, and 0. */
int64_t json_reader_number(struct json_reader *json, int shift);
static inline int64_t json_reader_int(struct json_reader *json)
{
    return json_reader_number(json, 0);
}

/* The place at which the next token begins, or behind which it does. */
static inline uint64_t json_reader_offset(const struct json_reader *json)
{
    return input_offset(&json->input);
}
/* Goes forward to a value that begins at that offset or behind it. */
void json_reader_go_to(struct json_reader *json, uint64_t offset);

#endif /* SAMPLER_FOREIGN_JSON_READER_H */
