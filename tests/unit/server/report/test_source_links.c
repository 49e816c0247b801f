#include <string.h>

#include <cjson/cJSON.h>

#include "sampler/base/buffer.h"
#include "server/report/source_links.h"
#include "server/wire/json.h"
#include "tests/support/shared_cases.h"
#include "tests/support/test.h"

/* tests/source-links.json, which tests/web/model/links.test.mjs runs through the page. */
static cJSON *cases;

static int read_cases(void **state)
{
    (void)state;
    cases = shared_cases_read("source-links.json");
    return 0;
}

static int free_cases(void **state)
{
    (void)state;
    cJSON_Delete(cases);
    return 0;
}

static void texts_are_taken_that_the_page_takes(void **state)
{
    static const struct {
        const char *name;
        enum err_code (*read)(const struct setting *setting, void *out, const char *text,
                              struct err *why);
    } kinds[] = { { "editors", source_links_read_editor },
                  { "repositories", source_links_read_repository },
                  { "services", source_links_read_service },
                  { "maps", source_links_read_map } };
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const cJSON *row;
        cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, kinds[i].name))
        {
            const char *const text = shared_cases_text(row, 0);
            const bool fits = cJSON_IsTrue(cJSON_GetArrayItem(row, 1));
            struct setting_texts out = { 0 };
            struct err why = { 0 };
            if ((kinds[i].read(NULL, &out, text, &why) == ERR_OK) != fits)
                fail_msg("%s: '%s'", kinds[i].name, text);
            assert_true(fits || strncmp(why.message, "want ", 5) == 0);
        }
    }
}

static void too_long_and_too_many_are_refused(void **state)
{
    static char text[SOURCE_LINKS_MAX_TEMPLATE + 2] = "https://git.example/{path}";
    static struct setting_texts maps;
    struct err why = { 0 };
    const char *out = NULL;
    (void)state;
    memset(text + strlen(text), 'x', sizeof text - 1 - strlen(text));
    assert_int_equal(source_links_read_repository(NULL, &out, text, &why), ERR_INVALID);
    assert_null(out);
    text[SOURCE_LINKS_MAX_TEMPLATE] = '\0';
    assert_ok(source_links_read_repository(NULL, &out, text, &why), &why);
    for (size_t i = 0; i < SETTING_MAX_TEXTS; i++)
        assert_ok(source_links_read_map(NULL, &maps, "/a=/b", &why), &why);
    assert_int_equal(source_links_read_map(NULL, &maps, "/a=/b", &why), ERR_INVALID);
    assert_int_equal(source_links_read_commit(NULL, &out, "two words", &why), ERR_INVALID);
    assert_int_equal(source_links_read_commit(NULL, &out, "", &why), ERR_INVALID);
}

static void links_are_a_member(void **state)
{
    const struct source_links links = { .editor = "vscode",
                                        .maps = { .items = { "/a=/\"b" }, .count = 1 } };
    struct buffer out = { 0 };
    struct err err = { 0 };
    struct json json;
    (void)state;
    json_init(&json, &out);
    json_object(&json);
    source_links_write(&json, &links);
    json_end(&json);
    assert_ok(json_finish(&json, &err), &err);
    assert_string_equal(buffer_string(&out),
                        "{\"links\":{\"editor\":\"vscode\",\"repository\":null,"
                        "\"commit\":null,\"service\":null,\"maps\":[\"/a=/\\\"b\"]}}");
    buffer_deinit(&out);
}

TEST_GROUP_WITHIN(read_cases, free_cases, cmocka_unit_test(texts_are_taken_that_the_page_takes),
                  cmocka_unit_test(too_long_and_too_many_are_refused),
                  cmocka_unit_test(links_are_a_member))
