#include <string.h>

#include "sampler/cpython/objects/command_text.h"
#include "tests/support/test.h"

static char text[] = "x";

static void the_text_is_found_where_the_interpreter_finds_it(void **state)
{
    static char python[] = "python3", c[] = "-c", joined[] = "-cx", several[] = "-Ic",
                warn[] = "-W", ignore[] = "ignore", warned[] = "-Wignore", dev[] = "-X",
                mode[] = "dev", script[] = "app.py", m[] = "-m", module[] = "app", dash[] = "-",
                pycs[] = "--check-hash-based-pycs", never[] = "never",
                spawn[] = "from multiprocessing.spawn import spawn_main; spawn_main()";
    const struct {
        char *argv[8];
        const char *wanted;
    } rows[] = {
        { { python, c, text }, "x" },
        { { python, joined }, "x" },
        { { python, several, text, c }, "x" },
        { { python, warn, ignore, dev, mode, c, text }, "x" },
        { { python, warned, pycs, never, c, text }, "x" },
        { { python, c }, "" },
        { { python }, NULL },
        { { NULL }, NULL },
        { { python, script, c, text }, NULL },
        { { python, m, module, c, text }, NULL },
        { { python, dash, c, text }, NULL },
        { { python, warn, c, text }, NULL },
        { { python, c, spawn }, NULL },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t argc = 0;
        while (rows[i].argv[argc])
            argc++;
        const char *const found = command_text_find(argc, rows[i].argv);
        if (!found != !rows[i].wanted || (found && strcmp(found, rows[i].wanted) != 0))
            fail_msg("row %zu: %s", i, found ? found : "none");
    }
}

static const char program[] = "\n# a comment\n"
                              "import time\n"
                              "@decorated(\n"
                              "    1)\n"
                              "async def serve(x): pass\n"
                              "class C:\n"
                              "    def run(self): return [y for y in x]\n"
                              "f = lambda: 1\n"
                              "def running(): pass";

static void a_function_is_known_by_its_name_and_line(void **state)
{
    static const struct {
        const char *name;
        int32_t line;
        bool has;
    } rows[] = {
        { "<module>", 0, true },   { "<module>", 1, true },
        { "<module>", 3, true },   { "<module>", 4, false },
        { "serve", 4, true },      { "serve", 6, true },
        { "serve", 7, false },     { "C", 7, true },
        { "C.run", 8, true },      { "run", 8, true },
        { "run", 7, false },       { "run", 10, false },
        { "running", 10, true },   { "C.run.<locals>.<listcomp>", 8, true },
        { "<lambda>", 9, true },   { "<lambda>", 8, false },
        { "<genexpr>", 9, false }, { "__create_fn__.<locals>.__init__", 2, false },
        { "__init__", 3, false },  { "running", 11, false },
        { "running", -1, false },  { "running", INT32_MAX, false },
        { "", 10, false },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (command_text_has(program, rows[i].name, strlen(rows[i].name), rows[i].line) !=
            rows[i].has)
            fail_msg("row %zu: %s", i, rows[i].name);
    assert_false(command_text_has("", "f", 1, 1));
    assert_true(command_text_has("", "<module>", 8, 1));
}

TEST_GROUP(cmocka_unit_test(the_text_is_found_where_the_interpreter_finds_it),
           cmocka_unit_test(a_function_is_known_by_its_name_and_line))
