#include "tests/unit/server/api/answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/server/client.h"
#include "tests/unit/server/fixture.h"

cJSON *get_json(const struct server *server, const char *target)
{
    struct reply reply;
    server_get(server, target, BEARER, &reply);
    assert_int_equal(reply.status, 200);
    cJSON *const json = cJSON_Parse(reply.body);
    assert_non_null(json);
    reply_deinit(&reply);
    return json;
}

const cJSON *member(const cJSON *json, const char *name)
{
    const cJSON *const found = cJSON_GetObjectItemCaseSensitive(json, name);
    assert_non_null(found);
    return found;
}

double number(const cJSON *json, const char *name)
{
    const cJSON *const found = member(json, name);
    assert_true(cJSON_IsNumber(found));
    return found->valuedouble;
}

double item(const cJSON *array, int index)
{
    return cJSON_GetArrayItem(array, index)->valuedouble;
}

double sum(const cJSON *array)
{
    double total = 0;
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, array) total += item->valuedouble;
    return total;
}
