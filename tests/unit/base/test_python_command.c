#include <string.h>

#include "sampler/base/python_command.h"
#include "tests/support/test.h"

static void the_script_is_found_where_the_interpreter_finds_it(void **state)
{
    static const struct {
        const char *argv[8];
        const char *wanted;
    } rows[] = {
        { { "python3", "app.py", "-c", "x" }, "app.py" },
        { { "python3", "-m", "app.main", "-c", "x" }, "app.main" },
        { { "python3", "-Im", "app" }, "app" },
        { { "python3", "-mapp", "words" }, "app" },
        { { "python3", "-W", "ignore", "-Xdev", "-u", "app.py" }, "app.py" },
        { { "python3", "-X", "dev", "-Wignore", "app.py" }, "app.py" },
        { { "python3", "--check-hash-based-pycs", "never", "app.py" }, "app.py" },
        { { "python3", "-Ic", "import app", "app.py" }, NULL },
        { { "python3", "-cimport app", "app.py" }, NULL },
        { { "python3", "-", "app.py" }, NULL },
        { { "python3", "-m" }, NULL },
        { { "python3", "-i" }, NULL },
        { { "python3", "" }, NULL },
        { { NULL }, NULL },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t argc = 0;
        while (rows[i].argv[argc])
            argc++;
        const char *const found = python_command_script(argc, rows[i].argv);
        if (!found != !rows[i].wanted || (found && strcmp(found, rows[i].wanted) != 0))
            fail_msg("row %zu: %s", i, found ? found : "none");
    }
}

static void the_last_part_of_a_path_is_behind_its_last_slash(void **state)
{
    (void)state;
    assert_string_equal(python_command_last_part("/srv/app.py"), "app.py");
    assert_string_equal(python_command_last_part("app.py"), "app.py");
    assert_string_equal(python_command_last_part("/srv/app/"), "/srv/app/");
}

TEST_GROUP(cmocka_unit_test(the_script_is_found_where_the_interpreter_finds_it),
           cmocka_unit_test(the_last_part_of_a_path_is_behind_its_last_slash))
