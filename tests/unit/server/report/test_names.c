#include <string.h>

#include <cjson/cJSON.h>

#include "server/report/names.h"
#include "tests/support/shared_cases.h"
#include "tests/support/test.h"

/* tests/short-paths.json, which tests/web/model/text.test.mjs runs through the page. */
static void a_path_has_one_short_form(void **state)
{
    cJSON *const cases = shared_cases_read("short-paths.json");
    const cJSON *row;
    (void)state;
    assert_true(cJSON_GetArraySize(cases) > 10);
    cJSON_ArrayForEach(row, cases)
    {
        const struct strtab_string path = { row->string, (uint32_t)strlen(row->string) };
        const struct strtab_string found = names_short(path);
        assert_int_equal(found.length, strlen(row->valuestring));
        assert_memory_equal(found.text, row->valuestring, found.length);
    }
    cJSON_Delete(cases);
}

TEST_GROUP(cmocka_unit_test(a_path_has_one_short_form))
