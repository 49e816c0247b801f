#include "sampler/foreign/json_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/utf8.h"

enum err_code json_reader_open(struct json_reader *json, int fd, struct err *err)
{
    *json = (struct json_reader){ .text = malloc(JSON_READER_TEXT + 8) };
    return json->text ? input_open(&json->input, fd, err) : err_nomem(err);
}

void json_reader_close(struct json_reader *json)
{
    input_close(&json->input);
    free(json->text);
    json->text = NULL;
}

enum err_code json_reader_check(const struct json_reader *json, struct err *err)
{
    return input_check(&json->input, err);
}

enum err_code json_reader_pass(struct json_reader *json, int fd, json_reader_read *read,
                               void *context, struct err *err)
{
    enum err_code rc = json_reader_open(json, fd, err);
    if (!rc)
        rc = read(context, err);
    if (!rc)
        rc = json_reader_check(json, err);
    json_reader_close(json);
    return rc;
}

void json_reader_fail(struct json_reader *json, const char *format, ...)
{
    char what[128];
    va_list arguments;
    if (json->input.code)
        return;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    json->input.code = err_set(&json->input.err, ERR_CORRUPT, "%s at byte %" PRIu64, what,
                               json_reader_offset(json));
    json->token = JSON_END;
}

static enum json_token fail_at(struct json_reader *json, const char *what)
{
    json_reader_fail(json, "%s", input_peek(&json->input) < 0 ? "it was cut" : what);
    return JSON_END;
}

static void put_byte(struct json_reader *json, char byte)
{
    if (json->bytes < JSON_READER_TEXT)
        json->text[json->bytes++] = byte;
}

/* The four digits of \uNNNN; 0 and a failure: there are others. */
static uint32_t take_digits(struct json_reader *json)
{
    uint32_t code = 0;
    for (int i = 0; i < 4; i++) {
        const int byte = input_take(&json->input);
        const int digit = byte >= '0' && byte <= '9'   ? byte - '0'
                          : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                          : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                                       : -1;
        if (digit < 0) {
            (void)fail_at(json, "a wrong escape");
            return 0;
        }
        code = code << 4 | (uint32_t)digit;
    }
    return code;
}

static void take_escape(struct json_reader *json)
{
    static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    const int name = input_take(&json->input);
    const char *const at = name > 0 ? strchr(names, name) : NULL;
    if (at) {
        put_byte(json, bytes[at - names]);
        return;
    }
    if (name != 'u') {
        (void)fail_at(json, "a wrong escape");
        return;
    }
    uint32_t code = take_digits(json);
    const bool is_high = code >= 0xd800 && code < 0xdc00;
    if (is_high && input_ready(&json->input, 6) &&
        memcmp(json->input.data + json->input.at, "\\u", 2) == 0) {
        json->input.at += 2;
        const uint32_t low = take_digits(json);
        code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + low - 0xdc00
                                             : 0xfffd;
    }
    char character[4];
    const size_t count = utf8_encode(code, character);
    for (size_t i = 0; i < count; i++)
        put_byte(json, character[i]);
}

/* The opening quote was taken. */
static enum json_token take_string(struct json_reader *json, enum json_token kind)
{
    struct input *const input = &json->input;
    json->bytes = 0;
    for (;;) {
        /* Bytes that are in memory and stand for themselves go together. */
        const unsigned char *const from = input->data + input->at;
        const size_t left = input->end - input->at;
        size_t plain = 0;
        while (plain < left && from[plain] != '"' && from[plain] != '\\')
            plain++;
        const size_t room = JSON_READER_TEXT - json->bytes;
        memcpy(json->text + json->bytes, from, plain < room ? plain : room);
        json->bytes += plain < room ? plain : room;
        input->at += plain;
        const int byte = input_take(input);
        if (byte == '"')
            break;
        if (byte < 0)
            return fail_at(json, "");
        if (byte == '\\')
            take_escape(json);
        else
            put_byte(json, (char)byte);
        if (json->input.code)
            return JSON_END;
    }
    json->bytes = utf8_cut(json->text, json->bytes, JSON_READER_TEXT);
    json->text[json->bytes] = '\0';
    return kind;
}

static enum json_token take_word(struct json_reader *json, const char *word,
                                 enum json_token token)
{
    for (; *word; word++)
        if (input_take(&json->input) != *word)
            return fail_at(json, "a wrong word");
    return token;
}

static enum json_token take_number(struct json_reader *json)
{
    enum { MOST = 64 };
    struct input *const input = &json->input;
    json->bytes = 0;
    while (input->at < input->end || input_peek(input) >= 0) {
        const unsigned char byte = input->data[input->at];
        const bool is_digit = byte >= '0' && byte <= '9';
        if (!is_digit && byte != '.' && byte != '-' && byte != '+' && byte != 'e' &&
            byte != 'E')
            break;
        input->at++;
        if (json->bytes < MOST)
            json->text[json->bytes++] = (char)byte;
    }
    json->text[json->bytes] = '\0';
    return json->bytes ? JSON_NUMBER : fail_at(json, "an unexpected character");
}

static int skip_space(struct json_reader *json)
{
    struct input *const input = &json->input;
    while (input->at < input->end || input_peek(input) >= 0) {
        const unsigned char byte = input->data[input->at];
        if (byte != ' ' && byte != '\n' && byte != '\t' && byte != '\r')
            return byte;
        input->at++;
    }
    return -1;
}

static enum json_token open_value(struct json_reader *json, enum json_token kind)
{
    if (json->depth == JSON_READER_DEPTH)
        return fail_at(json, "too many levels");
    json->input.at++;
    json->open[json->depth++] = kind;
    json->needs_comma = json->needs_value = false;
    return kind;
}

static enum json_token take_token(struct json_reader *json)
{
    int byte = skip_space(json);
    const bool is_in_object = json->depth && json->open[json->depth - 1] == JSON_OBJECT;
    const bool is_value = json->token == JSON_KEY || !is_in_object;
    if (json->input.code)
        return JSON_END;
    if (json->depth && byte == (is_in_object ? '}' : ']') && !json->needs_value) {
        json->input.at++;
        json->depth--;
        json->needs_comma = true;
        return JSON_CLOSE;
    }
    if (json->depth && json->needs_comma) {
        if (byte != ',')
            return fail_at(json, "an unexpected character");
        json->input.at++;
        byte = skip_space(json);
    }
    json->needs_comma = true;
    json->needs_value = false;
    if (!is_value) {
        if (byte != '"')
            return fail_at(json, "an unexpected character");
        json->input.at++;
        if (take_string(json, JSON_KEY) == JSON_END)
            return JSON_END;
        if (skip_space(json) != ':')
            return fail_at(json, "an unexpected character");
        json->input.at++;
        json->needs_comma = false;
        json->needs_value = true;
        return JSON_KEY;
    }
    switch (byte) {
    case '{': return open_value(json, JSON_OBJECT);
    case '[': return open_value(json, JSON_ARRAY);
    case '"': json->input.at++; return take_string(json, JSON_STRING);
    case 't': return take_word(json, "true", JSON_TRUE);
    case 'f': return take_word(json, "false", JSON_FALSE);
    case 'n': return take_word(json, "null", JSON_NULL);
    default: return take_number(json);
    }
}

enum json_token json_reader_next(struct json_reader *json)
{
    json->token = take_token(json);
    return json->token;
}

bool json_reader_enter(struct json_reader *json, enum json_token kind)
{
    if (json_reader_next(json) == kind)
        return true;
    json_reader_fail(json, "%s is missing", kind == JSON_OBJECT ? "an object" : "a list");
    return false;
}

bool json_reader_key(struct json_reader *json)
{
    return json_reader_next(json) == JSON_KEY;
}

bool json_reader_item(struct json_reader *json)
{
    const enum json_token token = json_reader_next(json);
    return token != JSON_CLOSE && token != JSON_END;
}

bool json_reader_is(const struct json_reader *json, const char *text)
{
    return strlen(text) == json->bytes && memcmp(text, json->text, json->bytes) == 0;
}

void json_reader_skip(struct json_reader *json)
{
    (void)json_reader_next(json);
    json_reader_skip_rest(json);
}

void json_reader_skip_rest(struct json_reader *json)
{
    struct input *const input = &json->input;
    if (json->token != JSON_OBJECT && json->token != JSON_ARRAY)
        return;
    const size_t depth = json->depth - 1;
    /* Brackets must match; what is between them is not read, which is faster. */
    while (json->depth > depth && !input->code &&
           (input->at < input->end || input_peek(input) >= 0)) {
        const unsigned char byte = input->data[input->at++];
        if (byte > '"' && byte < '[')
            continue;
        if (byte == '"') {
            (void)take_string(json, JSON_STRING);
        } else if (byte == '[' || byte == '{') {
            input->at--;
            (void)open_value(json, byte == '[' ? JSON_ARRAY : JSON_OBJECT);
        } else if (byte == ']' || byte == '}') {
            if (json->open[json->depth - 1] != (byte == ']' ? JSON_ARRAY : JSON_OBJECT))
                (void)fail_at(json, "an unexpected character");
            json->depth--;
        }
    }
    if (json->depth > depth)
        (void)fail_at(json, "it was cut");
    json->needs_comma = true;
    json->needs_value = false;
    json->token = json->input.code ? JSON_END : JSON_CLOSE;
}

struct gather_text json_reader_string(struct json_reader *json)
{
    if (json_reader_next(json) == JSON_STRING)
        return json_reader_text(json);
    json_reader_skip_rest(json);
    return (struct gather_text){ "", 0 };
}

bool json_reader_scaled(const struct json_reader *json, int shift, int64_t *out)
{
    /* Digits beyond these change nothing that a whole number of that size has. */
    enum { DIGITS = 18 };
    const char *at = json->text;
    const bool is_negative = *at == '-';
    uint64_t value = 0;
    int digits = 0, power = shift;
    bool is_fraction = false, has_digits = false;
    if (json->token != JSON_NUMBER && json->token != JSON_STRING)
        return false;
    for (at += is_negative; (*at >= '0' && *at <= '9') || (*at == '.' && !is_fraction); at++) {
        if (*at == '.') {
            is_fraction = true;
            continue;
        }
        has_digits = true;
        if (digits < DIGITS) {
            value = value * 10 + (uint64_t)(*at - '0');
            digits += value > 0;
            power -= is_fraction;
        } else {
            power += !is_fraction;
        }
    }
    if (*at == 'e' || *at == 'E') {
        char *end;
        const long exponent = strtol(at + 1, &end, 10);
        if (end == at + 1 || exponent > 1000 || exponent < -1000)
            return false;
        power += (int)exponent;
        at = end;
    }
    if (!has_digits || *at != '\0')
        return false;
    for (; power > 0 && value > 0; power--) {
        if (value > INT64_MAX / 10)
            return false;
        value *= 10;
    }
    bool rounds_up = false;
    for (; power < 0 && value > 0; power++) {
        rounds_up = value % 10 >= 5;
        value /= 10;
    }
    value += power == 0 && rounds_up;
    *out = is_negative ? -(int64_t)value : (int64_t)value;
    return true;
}

int64_t json_reader_number(struct json_reader *json, int shift)
{
    int64_t value = 0;
    (void)json_reader_next(json);
    if (!json_reader_scaled(json, shift, &value))
        json_reader_skip_rest(json);
    return value;
}

void json_reader_go_to(struct json_reader *json, uint64_t offset)
{
    json->depth = 0;
    json->needs_comma = json->needs_value = false;
    json->token = JSON_END;
    (void)input_skip_to(&json->input, offset);
    if (input_peek(&json->input) == ':')
        json->input.at++;
}
