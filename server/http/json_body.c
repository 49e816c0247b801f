#include "server/http/json_body.h"

#include <string.h>

#include "server/wire/json_value.h"

static enum err_code wrong_kind(const struct body_member *member, const char *must,
                                struct err *err)
{
    return err_set(err, ERR_INVALID, "member \"%s\" must be %s", member->name, must);
}

static enum err_code read_numbers(const struct json_value *list, struct body_member *member,
                                  struct err *err)
{
    if (json_value_type(list) != JSON_ARRAY)
        return wrong_kind(member, "a list of numbers", err);
    for (const struct json_value *item = json_value_first(list); item;
         item = json_value_next(item)) {
        if (json_value_type(item) != JSON_NUMBER)
            return wrong_kind(member, "a list of numbers", err);
        if (member->count == member->room)
            return err_set(err, ERR_INVALID, "member \"%s\" must have at most %zu numbers",
                           member->name, member->room);
        member->numbers[member->count++] = json_value_number(item);
    }
    return ERR_OK;
}

static enum err_code read_words(const struct json_value *list, struct body_member *member,
                                struct err *err)
{
    if (json_value_type(list) != JSON_ARRAY)
        return wrong_kind(member, "a list of texts", err);
    for (const struct json_value *item = json_value_first(list); item;
         item = json_value_next(item)) {
        if (!json_value_text(item) || strlen(json_value_text(item)) > BODY_MAX_WORD ||
            !*json_value_text(item))
            return err_set(err, ERR_INVALID, "member \"%s\": each text must have 1 to %d bytes",
                           member->name, BODY_MAX_WORD);
        if (member->count == member->room)
            return err_set(err, ERR_INVALID, "member \"%s\" must have at most %zu texts",
                           member->name, member->room);
        memcpy(member->words[member->count++], json_value_text(item),
               strlen(json_value_text(item)) + 1);
    }
    return ERR_OK;
}

static enum err_code read_member(const struct json_value *item, struct body_member *members,
                                 size_t count, struct err *err)
{
    struct body_member *member = members;
    const struct body_member *const end = members + count;
    while (member < end && strcmp(member->name, json_value_name(item)) != 0)
        member++;
    if (member == end)
        return err_set(err, ERR_INVALID, "unknown member \"%.64s\"", json_value_name(item));
    if (member->is_present)
        return err_set(err, ERR_INVALID, "member \"%s\" is given twice", member->name);
    if (json_value_type(item) == JSON_NULL)
        return ERR_OK;
    member->is_present = true;

    switch (member->kind) {
    case BODY_TEXT:
        if (!json_value_text(item) || strlen(json_value_text(item)) >= sizeof member->text)
            return wrong_kind(member, "a short text", err);
        memcpy(member->text, json_value_text(item), strlen(json_value_text(item)) + 1);
        return ERR_OK;
    case BODY_NUMBERS: return read_numbers(item, member, err);
    case BODY_WORDS: return read_words(item, member, err);
    case BODY_NUMBER:
        member->number = json_value_number(item);
        return json_value_type(item) == JSON_NUMBER ? ERR_OK
                                                    : wrong_kind(member, "a number", err);
    case BODY_FLAG:
        member->flag = json_value_flag(item);
        return json_value_type(item) == JSON_FLAG ? ERR_OK
                                                  : wrong_kind(member, "true or false", err);
    }
    return ERR_OK;
}

static enum err_code parse_object(const char *data, size_t bytes, struct json_value **out,
                                  struct err *err)
{
    if (!json_value_parse(data, bytes, out, NULL) && json_value_type(*out) == JSON_OBJECT)
        return ERR_OK;
    return err_set(err, ERR_INVALID, "the body is not a JSON object");
}

static enum body_type type_of(const struct json_value *item)
{
    switch (json_value_type(item)) {
    case JSON_TEXT: return BODY_IS_TEXT;
    case JSON_NUMBER: return BODY_IS_NUMBER;
    case JSON_FLAG: return BODY_IS_FLAG;
    case JSON_ARRAY: return BODY_IS_LIST;
    case JSON_NULL:
    case JSON_OBJECT: break;
    }
    return BODY_IS_OTHER;
}

static struct body_value value_of(const struct json_value *item, const char *name, bool is_item)
{
    return (struct body_value){ .name = name,
                                .type = type_of(item),
                                .is_item = is_item,
                                .text = json_value_text(item),
                                .number = json_value_number(item),
                                .flag = json_value_flag(item) };
}

enum err_code body_visit(const char *data, size_t bytes, body_visitor *visit, void *context,
                         struct body **out, struct err *err)
{
    struct json_value *root = NULL;
    enum err_code rc = parse_object(data, bytes, &root, err);
    *out = (struct body *)root;
    for (const struct json_value *member = json_value_first(root); member && !rc;
         member = json_value_next(member)) {
        if (json_value_type(member) == JSON_NULL)
            continue;
        const struct body_value value = value_of(member, json_value_name(member), false);
        rc = visit(context, &value, err);
        for (const struct json_value *item = json_value_first(member);
             value.type == BODY_IS_LIST && item && !rc; item = json_value_next(item)) {
            const struct body_value element = value_of(item, json_value_name(member), true);
            rc = visit(context, &element, err);
        }
    }
    return rc;
}

void body_destroy(struct body *body)
{
    json_value_destroy((struct json_value *)body);
}

enum err_code body_read(const char *data, size_t bytes, struct body_member *members,
                        size_t count, struct err *err)
{
    struct json_value *root = NULL;
    enum err_code rc = parse_object(data, bytes, &root, err);
    for (const struct json_value *item = json_value_first(root); item && !rc;
         item = json_value_next(item))
        rc = read_member(item, members, count, err);
    json_value_destroy(root);
    return rc;
}
