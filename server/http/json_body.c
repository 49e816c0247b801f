#include "server/http/json_body.h"

#include <pthread.h>
#include <string.h>

#include <cjson/cJSON.h>

/* cJSON notes where it last failed in a global. */
static pthread_mutex_t parser_lock = PTHREAD_MUTEX_INITIALIZER;

static cJSON *parse(const char *data, size_t bytes, const char **end_out)
{
    if (bytes == 0)
        return NULL;
    pthread_mutex_lock(&parser_lock);
    cJSON *const root = cJSON_ParseWithLengthOpts(data, bytes, end_out, false);
    pthread_mutex_unlock(&parser_lock);
    return root;
}

static struct body_member *find(struct body_member *members, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(members[i].name, name) == 0)
            return &members[i];
    return NULL;
}

static enum err_code wrong(const struct body_member *member, const char *must, struct err *err)
{
    return err_set(err, ERR_INVALID, "member \"%s\" must be %s", member->name, must);
}

static enum err_code read_text(const cJSON *item, struct body_member *member, struct err *err)
{
    if (!cJSON_IsString(item) || strlen(item->valuestring) >= sizeof member->text)
        return wrong(member, "a short text", err);
    memcpy(member->text, item->valuestring, strlen(item->valuestring) + 1);
    return ERR_OK;
}

static enum err_code read_numbers(const cJSON *list, struct body_member *member,
                                  struct err *err)
{
    if (!cJSON_IsArray(list))
        return wrong(member, "a list of numbers", err);
    for (const cJSON *item = list->child; item; item = item->next) {
        if (!cJSON_IsNumber(item))
            return wrong(member, "a list of numbers", err);
        if (member->count == member->room)
            return err_set(err, ERR_INVALID, "member \"%s\" must have at most %zu numbers",
                           member->name, member->room);
        member->numbers[member->count++] = item->valuedouble;
    }
    return ERR_OK;
}

static enum err_code read_words(const cJSON *list, struct body_member *member, struct err *err)
{
    if (!cJSON_IsArray(list))
        return wrong(member, "a list of texts", err);
    for (const cJSON *item = list->child; item; item = item->next) {
        if (!cJSON_IsString(item) || strlen(item->valuestring) > BODY_MAX_WORD ||
            !*item->valuestring)
            return err_set(err, ERR_INVALID, "member \"%s\": each text must have 1 to %d bytes",
                           member->name, BODY_MAX_WORD);
        if (member->count == member->room)
            return err_set(err, ERR_INVALID, "member \"%s\" must have at most %zu texts",
                           member->name, member->room);
        memcpy(member->words[member->count++], item->valuestring,
               strlen(item->valuestring) + 1);
    }
    return ERR_OK;
}

static enum err_code read_value(const cJSON *item, struct body_member *member, struct err *err)
{
    switch (member->kind) {
    case BODY_TEXT: return read_text(item, member, err);
    case BODY_NUMBERS: return read_numbers(item, member, err);
    case BODY_WORDS: return read_words(item, member, err);
    case BODY_NUMBER:
        member->number = item->valuedouble;
        return cJSON_IsNumber(item) ? ERR_OK : wrong(member, "a number", err);
    case BODY_FLAG:
        member->flag = cJSON_IsTrue(item) != 0;
        return cJSON_IsBool(item) ? ERR_OK : wrong(member, "true or false", err);
    }
    return ERR_OK;
}

static enum err_code read_member(const cJSON *item, struct body_member *members, size_t count,
                                 struct err *err)
{
    struct body_member *const member = find(members, count, item->string);
    if (!member)
        return err_set(err, ERR_INVALID, "unknown member \"%.64s\"", item->string);
    if (member->is_present)
        return err_set(err, ERR_INVALID, "member \"%s\" is given twice", member->name);
    if (cJSON_IsNull(item))
        return ERR_OK;
    member->is_present = true;
    return read_value(item, member, err);
}

/* Given a length, cJSON leaves the check of the end to us. */
static bool only_space_follows(const char *at, const char *end)
{
    while (at < end && *at != '\0' && strchr(" \t\r\n", *at))
        at++;
    return at == end;
}

static enum err_code parse_object(const char *data, size_t bytes, cJSON **out, struct err *err)
{
    const char *end = NULL;
    *out = parse(data, bytes, &end);
    if (*out && cJSON_IsObject(*out) && only_space_follows(end, data + bytes))
        return ERR_OK;
    return err_set(err, ERR_INVALID, "the body is not a JSON object");
}

static enum body_type type_of(const cJSON *item)
{
    if (cJSON_IsString(item))
        return BODY_IS_TEXT;
    if (cJSON_IsNumber(item))
        return BODY_IS_NUMBER;
    if (cJSON_IsBool(item))
        return BODY_IS_FLAG;
    return cJSON_IsArray(item) ? BODY_IS_LIST : BODY_IS_OTHER;
}

static struct body_value value_of(const cJSON *item, const char *name, bool is_item)
{
    return (struct body_value){ .name = name,
                                .type = type_of(item),
                                .is_item = is_item,
                                .text = cJSON_IsString(item) ? item->valuestring : NULL,
                                .number = item->valuedouble,
                                .flag = cJSON_IsTrue(item) != 0 };
}

enum err_code body_visit(const char *data, size_t bytes, body_visitor *visit, void *context,
                         struct body **out, struct err *err)
{
    cJSON *root = NULL;
    enum err_code rc = parse_object(data, bytes, &root, err);
    *out = (struct body *)root;
    for (const cJSON *member = root ? root->child : NULL; member && rc == ERR_OK;
         member = member->next) {
        if (cJSON_IsNull(member))
            continue;
        const struct body_value value = value_of(member, member->string, false);
        rc = visit(context, &value, err);
        for (const cJSON *item = member->child;
             value.type == BODY_IS_LIST && item && rc == ERR_OK; item = item->next) {
            const struct body_value element = value_of(item, member->string, true);
            rc = visit(context, &element, err);
        }
    }
    return rc;
}

void body_destroy(struct body *body)
{
    cJSON_Delete((cJSON *)body);
}

enum err_code body_read(const char *data, size_t bytes, struct body_member *members,
                        size_t count, struct err *err)
{
    cJSON *root = NULL;
    enum err_code rc = parse_object(data, bytes, &root, err);
    for (const cJSON *item = root ? root->child : NULL; item && rc == ERR_OK; item = item->next)
        rc = read_member(item, members, count, err);
    cJSON_Delete(root);
    return rc;
}
