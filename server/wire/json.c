#include "server/wire/json.h"

#include <math.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/plain_text.h"
#include "sampler/base/strtab.h"
#include "sampler/base/utf8.h"

void json_init(struct json *json, struct buffer *out)
{
    memset(json, 0, sizeof *json);
    json->out = out;
}

static void fail_json(struct json *json, const char *fault)
{
    if (!json->fault)
        json->fault = fault;
}

static struct json_level *top_level(struct json *json)
{
    return &json->levels[json->depth];
}

/* Every value passes here: true when one may stand at this place. */
static bool begin_value(struct json *json)
{
    struct json_level *const level = top_level(json);
    if (json->fault)
        return false;
    if (level->is_object && !level->has_key) {
        fail_json(json, "a value without a key");
        return false;
    }
    if (json->depth == 0 && level->has_items) {
        fail_json(json, "a second document");
        return false;
    }
    if (!level->is_object && level->has_items)
        buffer_char(json->out, ',');
    level->has_items = true;
    level->has_key = false;
    return true;
}

static void open_level(struct json *json, bool is_object)
{
    if (!begin_value(json))
        return;
    if (json->depth == JSON_MAX_DEPTH) {
        fail_json(json, "too many levels");
        return;
    }
    json->levels[++json->depth] = (struct json_level){ .is_object = is_object };
    buffer_char(json->out, is_object ? '{' : '[');
}

void json_object(struct json *json)
{
    open_level(json, true);
}

void json_array(struct json *json)
{
    open_level(json, false);
}

void json_end(struct json *json)
{
    if (json->depth == 0)
        fail_json(json, "an end without a begin");
    else if (top_level(json)->has_key)
        fail_json(json, "a key without a value");
    if (json->fault)
        return;
    buffer_char(json->out, top_level(json)->is_object ? '}' : ']');
    json->depth--;
}

static void put_escape(struct buffer *out, unsigned code)
{
    static const char hex[] = "0123456789abcdef";
    const char text[] = {
        '\\',          'u', hex[code >> 12 & 15], hex[code >> 8 & 15], hex[code >> 4 & 15],
        hex[code & 15]
    };
    buffer_append(out, text, sizeof text);
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '<';
}

/* One character beyond ASCII, or one bad byte; returns the bytes consumed. */
static size_t put_wide(struct buffer *out, const char *text, size_t length)
{
    const size_t n = utf8_char_length(text, length);
    if (n == 0) {
        put_escape(out, 0xfffd);
        return 1;
    }
    const uint32_t code = utf8_decode(text, n);
    if (plain_text_shows(code)) {
        buffer_append(out, text, n);
    } else if (code < 0x10000) {
        put_escape(out, code);
    } else {
        put_escape(out, 0xd800 | (code - 0x10000) >> 10);
        put_escape(out, 0xdc00 | (code & 0x3ff));
    }
    return n;
}

static void put_string(struct buffer *out, const char *text, size_t length)
{
    buffer_char(out, '"');
    for (size_t i = 0; i < length;) {
        size_t run = i;
        while (run < length && is_plain((unsigned char)text[run]))
            run++;
        buffer_append(out, text + i, run - i);
        i = run;
        if (i == length)
            break;
        if ((unsigned char)text[i] < 0x80) {
            const unsigned char c = (unsigned char)text[i++];
            switch (c) {
            case '"': buffer_append(out, "\\\"", 2); break;
            case '\\': buffer_append(out, "\\\\", 2); break;
            case '\n': buffer_append(out, "\\n", 2); break;
            case '\t': buffer_append(out, "\\t", 2); break;
            default: put_escape(out, c); break;
            }
        } else
            i += put_wide(out, text + i, length - i);
    }
    buffer_char(out, '"');
}

void json_key(struct json *json, const char *key)
{
    struct json_level *const level = top_level(json);
    if (!level->is_object || level->has_key)
        fail_json(json, "a key where none may stand");
    if (json->fault)
        return;
    if (level->has_items)
        buffer_char(json->out, ',');
    level->has_items = true;
    level->has_key = true;
    put_string(json->out, key, strlen(key));
    buffer_char(json->out, ':');
}

void json_string(struct json *json, const char *text, size_t length)
{
    if (begin_value(json))
        put_string(json->out, text, length);
}

void json_text(struct json *json, const char *text)
{
    if (text)
        json_string(json, text, strlen(text));
    else
        json_null(json);
}

void json_uint(struct json *json, uint64_t value)
{
    if (begin_value(json))
        buffer_uint(json->out, value);
}

void json_int(struct json *json, int64_t value)
{
    if (!begin_value(json))
        return;
    if (value < 0)
        buffer_char(json->out, '-');
    buffer_uint(json->out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void json_decimal(struct json *json, uint64_t value, unsigned decimals)
{
    uint64_t unit = 1;
    if (!begin_value(json))
        return;
    for (unsigned i = 0; i < decimals; i++)
        unit *= 10;
    buffer_uint(json->out, value / unit);
    if (value % unit == 0)
        return;
    buffer_char(json->out, '.');
    for (uint64_t rest = value % unit; rest > 0; rest %= unit) {
        unit /= 10;
        buffer_char(json->out, (char)('0' + rest / unit));
    }
}

void json_number(struct json *json, double value)
{
    if (!isfinite(value))
        json_null(json);
    else if (begin_value(json))
        buffer_printf(json->out, "%.9g", value);
}

void json_bool(struct json *json, bool value)
{
    if (begin_value(json))
        buffer_text(json->out, value ? "true" : "false");
}

void json_gap(struct json *json, const char *text)
{
    if (begin_value(json))
        buffer_text(json->out, text);
}

void json_null(struct json *json)
{
    if (begin_value(json))
        buffer_text(json->out, "null");
}

void json_member_object(struct json *json, const char *key)
{
    json_key(json, key);
    json_object(json);
}

void json_member_array(struct json *json, const char *key)
{
    json_key(json, key);
    json_array(json);
}

void json_member_string(struct json *json, const char *key, struct strtab_string text)
{
    json_key(json, key);
    json_string(json, text.text, text.length);
}

void json_member_buffer(struct json *json, const char *key, const struct buffer *text)
{
    json_key(json, key);
    json_string(json, text->data ? text->data : "", text->length);
}

void json_member_text(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_text(json, text);
}

void json_member_uint(struct json *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_uint(json, value);
}

void json_member_int(struct json *json, const char *key, int64_t value)
{
    json_key(json, key);
    json_int(json, value);
}

void json_member_decimal(struct json *json, const char *key, uint64_t value, unsigned decimals)
{
    json_key(json, key);
    json_decimal(json, value, decimals);
}

void json_member_ns(struct json *json, const char *key, uint64_t ns)
{
    json_key(json, key);
    json_decimal(json, ns, NS_DECIMALS);
}

void json_member_number(struct json *json, const char *key, double value)
{
    json_key(json, key);
    json_number(json, value);
}

void json_member_bool(struct json *json, const char *key, bool value)
{
    json_key(json, key);
    json_bool(json, value);
}

void json_member_null(struct json *json, const char *key)
{
    json_key(json, key);
    json_null(json);
}

bool json_member_if(struct json *json, const char *key, bool has_value)
{
    json_key(json, key);
    if (!has_value)
        json_null(json);
    return has_value;
}

enum err_code json_finish(struct json *json, struct err *err)
{
    if (!json->fault && json->depth > 0)
        fail_json(json, "a level is still open");
    if (!json->fault && !json->levels[0].has_items)
        fail_json(json, "an empty document");
    if (json->fault)
        return err_set(err, ERR_INVALID, "JSON writer: %s", json->fault);
    return buffer_check(json->out, err);
}
