#include "server/api/body_settings.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "server/http/request.h"

struct reading {
    const struct setting *table;
    size_t count;
    uint32_t seen; /* a bit for each row */
    void *out;
};

static enum body_type type_of(const struct setting *setting)
{
    if (setting_is_number(setting))
        return BODY_IS_NUMBER;
    return setting->kind == SETTING_FLAG ? BODY_IS_FLAG : BODY_IS_TEXT;
}

static enum err_code wrong_type(const struct setting *setting, struct err *err)
{
    static const char *const wanted[][2] = { [BODY_IS_NUMBER] = { "a number",
                                                                  "a list of numbers" },
                                             [BODY_IS_FLAG] = { "true or false", NULL },
                                             [BODY_IS_TEXT] = { "a text", "a list of texts" } };
    return err_set(err, ERR_INVALID, "member \"%s\" must be %s", setting->name,
                   wanted[type_of(setting)][setting_is_repeatable(setting)]);
}

static enum err_code take_member(void *context, const struct body_value *value, struct err *err)
{
    struct reading *const reading = context;
    const struct setting *setting = reading->table;
    const struct setting *const end = setting + reading->count;
    while (setting < end && strcmp(setting->name, value->name) != 0)
        setting++;
    if (setting == end)
        return err_set(err, ERR_INVALID, "unknown member \"%.64s\"", value->name);
    const uint32_t bit = (uint32_t)1 << (setting - reading->table);
    const bool is_list = setting_is_repeatable(setting);
    if (!value->is_item && (reading->seen & bit))
        return err_set(err, ERR_INVALID, "member \"%s\" is given twice", setting->name);
    reading->seen |= bit;
    if (is_list && !value->is_item)
        return value->type == BODY_IS_LIST ? ERR_OK : wrong_type(setting, err);
    if (value->type != type_of(setting))
        return wrong_type(setting, err);

    void *const out = reading->out;
    struct err why = { 0 };
    enum err_code rc;
    if (value->type == BODY_IS_NUMBER)
        rc = setting_read_number(setting, out, value->number, &why);
    else
        rc = setting_read(setting, out,
                          value->type == BODY_IS_TEXT ? value->text
                          : value->flag               ? "1"
                                                      : "0",
                          &why);
    if (!rc)
        return rc;
    if (value->type == BODY_IS_NUMBER)
        return err_set(err, rc, "invalid member \"%s\" (%.10g): %s", setting->name,
                       value->number, why.message);
    return err_set(err, rc, "invalid member \"%s\" (\"%.64s\"): %s", setting->name, value->text,
                   why.message);
}

enum err_code body_settings_read(const struct request *request, const struct setting *table,
                                 size_t count, void *out, struct body **body_out,
                                 struct err *err)
{
    struct reading reading = { .table = table, .count = count, .out = out };
    return body_visit(request->body, request->body_bytes, take_member, &reading, body_out, err);
}
