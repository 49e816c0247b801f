#include "server/wire/json_value.h"

#include <pthread.h>
#include <string.h>

#include <cjson/cJSON.h>

/* cJSON notes where it last failed in a global. */
static pthread_mutex_t parser_lock = PTHREAD_MUTEX_INITIALIZER;

static cJSON *parse_locked(const char *data, size_t bytes, const char **end_out)
{
    if (bytes == 0)
        return NULL;
    pthread_mutex_lock(&parser_lock);
    cJSON *const root = cJSON_ParseWithLengthOpts(data, bytes, end_out, false);
    pthread_mutex_unlock(&parser_lock);
    return root;
}

/* Given a length, cJSON leaves the check of the end to us. */
static bool only_space_follows(const char *at, const char *end)
{
    while (at < end && *at != '\0' && strchr(" \t\r\n", *at))
        at++;
    return at == end;
}

enum err_code json_value_parse(const char *data, size_t bytes, struct json_value **out,
                               struct err *err)
{
    const char *end = NULL;
    cJSON *const root = parse_locked(data, bytes, &end);
    *out = NULL;
    if (!root || !only_space_follows(end, data + bytes)) {
        cJSON_Delete(root);
        return err_set(err, ERR_INVALID, "it is not JSON");
    }
    *out = (struct json_value *)root;
    return ERR_OK;
}

struct json_value *json_value_copy(const struct json_value *value)
{
    return (struct json_value *)cJSON_Duplicate((const cJSON *)value, true);
}

void json_value_destroy(struct json_value *value)
{
    cJSON_Delete((cJSON *)value);
}

static const cJSON *item_of(const struct json_value *value)
{
    return (const cJSON *)value;
}

enum json_type json_value_type(const struct json_value *value)
{
    const cJSON *const item = item_of(value);
    if (cJSON_IsString(item))
        return JSON_TEXT;
    if (cJSON_IsNumber(item))
        return JSON_NUMBER;
    if (cJSON_IsBool(item))
        return JSON_FLAG;
    if (cJSON_IsArray(item))
        return JSON_ARRAY;
    return cJSON_IsObject(item) ? JSON_OBJECT : JSON_NULL;
}

const char *json_value_text(const struct json_value *value)
{
    return cJSON_IsString(item_of(value)) ? item_of(value)->valuestring : NULL;
}

double json_value_number(const struct json_value *value)
{
    return cJSON_IsNumber(item_of(value)) ? item_of(value)->valuedouble : 0;
}

bool json_value_flag(const struct json_value *value)
{
    return cJSON_IsTrue(item_of(value)) != 0;
}

const char *json_value_name(const struct json_value *value)
{
    return value ? item_of(value)->string : NULL;
}

const struct json_value *json_value_first(const struct json_value *value)
{
    return value ? (const struct json_value *)item_of(value)->child : NULL;
}

const struct json_value *json_value_next(const struct json_value *value)
{
    return value ? (const struct json_value *)item_of(value)->next : NULL;
}

const struct json_value *json_value_member(const struct json_value *value, const char *name)
{
    const struct json_value *member =
        json_value_type(value) == JSON_OBJECT ? json_value_first(value) : NULL;
    while (member && strcmp(json_value_name(member), name) != 0)
        member = json_value_next(member);
    return member;
}
