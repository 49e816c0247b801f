/* The table of endpoints and the document that describes them say the same. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "sampler/base/compress.h"
#include "server/api/routes.h"
#include "server/wire/assets.h"
#include "tests/support/test.h"

static cJSON *document;

/* "/sessions/{id}/tree" is what the table calls "/sessions/" "*" "/tree". */
static void as_pattern(const char *path, char *out)
{
    for (const char *c = path; *c; c++)
        if (*c == '{') {
            *out++ = '*';
            c += strcspn(c, "}");
        } else {
            *out++ = *c;
        }
    *out = '\0';
}

static bool is_method(const char *name)
{
    static const char *const names[] = { "get", "post", "put", "patch", "delete" };
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        found |= strcmp(names[i], name) == 0;
    return found;
}

static bool has_name(enum method method, const char *name)
{
    return strcasecmp(method_text(method), name) == 0;
}

static const cJSON *find_operation(const struct route *route)
{
    char pattern[256];
    for (const cJSON *path = cJSON_GetObjectItem(document, "paths")->child; path;
         path = path->next) {
        as_pattern(path->string, pattern);
        for (const cJSON *item = path->child; item; item = item->next)
            if (strcmp(pattern, route->pattern) == 0 && is_method(item->string) &&
                has_name(route->method, item->string))
                return item;
    }
    return NULL;
}

static void every_endpoint_is_described_with_its_scope_and_whether_it_acts(void **state)
{
    static const char *const scopes[] = { [SCOPE_OPEN] = "open",
                                          [SCOPE_SESSION] = "session",
                                          [SCOPE_VIEWER] = "viewer",
                                          [SCOPE_OPERATOR] = "operator" };
    const struct route *route = NULL;
    (void)state;
    for (size_t i = 0; (route = routes_at(i)); i++) {
        const cJSON *const operation = find_operation(route);
        if (!operation)
            fail_msg("openapi.json lacks %s %s", method_text(route->method), route->pattern);
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(operation, "x-scope")),
                            scopes[route->marks & ROUTE_SCOPE]);
        assert_int_equal(cJSON_IsTrue(cJSON_GetObjectItem(operation, "x-acts")),
                         (route->marks & ROUTE_ACTS) != 0);
    }
}

static bool is_in_table(const char *path, const char *method)
{
    char pattern[256];
    const struct route *route = NULL;
    bool found = false;
    as_pattern(path, pattern);
    for (size_t i = 0; (route = routes_at(i)); i++)
        found |= strcmp(route->pattern, pattern) == 0 && has_name(route->method, method);
    return found;
}

static void every_description_has_an_endpoint(void **state)
{
    (void)state;
    for (const cJSON *path = cJSON_GetObjectItem(document, "paths")->child; path;
         path = path->next)
        for (const cJSON *item = path->child; item; item = item->next)
            if (is_method(item->string) && !is_in_table(path->string, item->string))
                fail_msg("no endpoint is %s %s of openapi.json", item->string, path->string);
}

/* "#/components/parameters/Id" */
static bool leads_somewhere(const char *reference)
{
    char part[64];
    const cJSON *at = document;
    size_t length = 0;
    if (*reference++ != '#')
        return false;
    for (; at && *reference == '/'; reference += length) {
        length = strcspn(++reference, "/");
        snprintf(part, sizeof part, "%.*s", (int)length, reference);
        at = cJSON_GetObjectItemCaseSensitive(at, part);
    }
    return at != NULL;
}

static size_t check_references(const cJSON *node)
{
    size_t count = 0;
    for (const cJSON *item = node->child; item; item = item->next) {
        const char *const reference = item->string && strcmp(item->string, "$ref") == 0
                                          ? cJSON_GetStringValue(item)
                                          : NULL;
        if (reference && !leads_somewhere(reference))
            fail_msg("openapi.json has no %s", reference);
        count += (reference != NULL) + check_references(item);
    }
    return count;
}

static void every_reference_leads_somewhere(void **state)
{
    (void)state;
    assert_false(leads_somewhere("#/components/parameters/Nowhere"));
    assert_true(check_references(document) > 0);
}

static int parse(void **state)
{
    const struct asset asset = asset_openapi();
    (void)state;
    unsigned char *text = NULL;
    size_t bytes = 0;
    if (compress_gunzip(asset.data, asset.bytes, &text, &bytes, NULL) != ERR_OK)
        return -1;
    document = cJSON_ParseWithLength((const char *)text, bytes);
    free(text);
    return document ? 0 : -1;
}

static int drop(void **state)
{
    (void)state;
    cJSON_Delete(document);
    return 0;
}

TEST_GROUP_WITHIN(
    parse, drop,
    cmocka_unit_test(every_endpoint_is_described_with_its_scope_and_whether_it_acts),
    cmocka_unit_test(every_description_has_an_endpoint),
    cmocka_unit_test(every_reference_leads_somewhere))
