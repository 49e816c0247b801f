#include <string.h>

#include "sampler/base/buffer.h"
#include "server/source/def_line.h"
#include "tests/support/test.h"

static struct strtab_string string(const char *text)
{
    return (struct strtab_string){ text, (uint32_t)strlen(text) };
}

static int32_t find_in(const char *path, const char *text, const char *name)
{
    struct def_line items[] = { { .name = string("mod.walk.none"), .id = 1 },
                                { .name = string(name), .id = 7 },
                                { .name = string("zz"), .id = 2 } };
    def_line_find(string(path), text, strlen(text), items, 3);
    for (size_t i = 0; i < 3; i++)
        if (items[i].id == 7)
            return items[i].line;
    return -1;
}

static int32_t find(const char *text, const char *name)
{
    return find_in("/srv/pkg/mod.py", text, name);
}

static const char python[] = "import os\n"
                             "def walk(x):\n"
                             "    def inner():\n"
                             "        pass\n"
                             "class Tree:\n"
                             "    size = 3\n"
                             "    async def walk(self):\n"
                             "        return 'def no(self):'\n"
                             "    class Leaf:\n"
                             "        def walk(self): pass\n"
                             "    def last(self): pass\n"
                             "def last(): pass\n";

static void a_definition_is_found_by_its_whole_name(void **state)
{
    (void)state;
    assert_int_equal(find(python, "pkg.mod.walk"), 2);
    assert_int_equal(find(python, "mod.walk"), 2);
    assert_int_equal(find(python, "pkg.mod.walk.inner"), 3);
    assert_int_equal(find(python, "pkg.mod.Tree"), 5);
    assert_int_equal(find(python, "pkg.mod.Tree.walk"), 7);
    assert_int_equal(find(python, "pkg.mod.Tree.Leaf.walk"), 10);
    assert_int_equal(find(python, "pkg.mod.Tree.last"), 11);
    assert_int_equal(find(python, "pkg.mod.last"), 12);
}

static void what_is_not_defined_has_no_line(void **state)
{
    (void)state;
    assert_int_equal(find(python, "pkg.mod.Tree.no"), 0);
    assert_int_equal(find(python, "pkg.mod.Other.walk"), 0);
    assert_int_equal(find(python, "pkg.other.walk"), 0);
    assert_int_equal(find(python, "walk"), 0);
    assert_int_equal(find(python, ""), 0);
    assert_int_equal(find("", "pkg.mod.walk"), 0);
}

static void the_last_of_several_definitions_counts(void **state)
{
    static const char text[] = "@overload\ndef f(x: int): ...\n@overload\ndef f(x: str): ...\n"
                               "def f(x): pass\n";
    (void)state;
    assert_int_equal(find(text, "mod.f"), 5);
}

static void text_in_strings_and_comments_defines_nothing(void **state)
{
    static const char text[] = "\"\"\"A module.\n"
                               "def f(): it's here\n"
                               "\"\"\"\n"
                               "# '''\n"
                               "x = '\"\"\"' + \"it's\" + '\\''\n"
                               "def f(): pass\n"
                               "r'''\n"
                               "def f():\n"
                               "''' ; y = 1\n";
    (void)state;
    assert_int_equal(find(text, "mod.f"), 6);
}

static void lines_inside_brackets_neither_begin_nor_end_a_definition(void **state)
{
    static const char text[] = "class Tree(\n    Base,\n):\n    size = [\n1, {'}': 2}]\n"
                               "    def f(\n        self,\n    ) -> None:\n        pass\n"
                               "    def g(self): pass\n";
    (void)state;
    assert_int_equal(find(text, "mod.Tree.f"), 6);
    assert_int_equal(find(text, "mod.Tree.g"), 10);
}

static void a_package_is_named_by_its_folder(void **state)
{
    (void)state;
    assert_int_equal(find_in("/srv/pkg/__init__.py", "def f(): pass\n", "pkg.f"), 1);
    assert_int_equal(find_in("/srv/pkg/__init__.py", "def f(): pass\n", "srv.f"), 0);
    assert_int_equal(find_in("__init__.py", "def f(): pass\n", "__init__.f"), 1);
}

static void cython_declares_functions_in_its_own_ways(void **state)
{
    static const char text[] = "cdef double factor = f(2)\n"
                               "cdef class Shape:\n"
                               "\tcpdef double area(self, int w) nogil:\n"
                               "\t\treturn w\n"
                               "\tcdef inline int *rows(self):\n"
                               "\t\tpass\n"
                               "cpdef f(x):\n"
                               "    pass\n";
    (void)state;
    assert_int_equal(find(text, "mod.Shape.area"), 3);
    assert_int_equal(find(text, "mod.Shape.rows"), 5);
    assert_int_equal(find(text, "mod.f"), 7);
}

static void deeper_definitions_than_the_limit_are_not_found(void **state)
{
    char text[4096] = "", name[512] = "mod";
    (void)state;
    for (size_t i = 0; i <= DEF_LINE_MAX_DEPTH + 1; i++) {
        memset(text + strlen(text), ' ', i);
        strcat(text, "def f():\n");
        strcat(name, ".f");
        assert_int_equal(find(text, name), i <= DEF_LINE_MAX_DEPTH ? i + 1 : 0);
    }
    strcat(text, "def g(): pass\n");
    assert_int_equal(find(text, "mod.g"), DEF_LINE_MAX_DEPTH + 3);
}

static void equal_names_have_the_same_line(void **state)
{
    struct def_line items[] = { { .name = string("mod.walk") },
                                { .name = string("mod.walk") } };
    (void)state;
    def_line_find(string("/mod.py"), python, sizeof python - 1, items, 2);
    assert_int_equal(items[0].line, 2);
    assert_int_equal(items[1].line, 2);
}

/* Keeps of the text what the marks want.  A mark below 0 is a line with samples; the others begin functions. */
static bool keep(const char *text, const int *lines, size_t count, struct buffer *out)
{
    struct def_line_mark marks[8];
    bool is_whole = false;
    struct err err = { 0 };
    for (size_t i = 0; i < count; i++)
        marks[i] = (struct def_line_mark){ lines[i] < 0 ? -lines[i] : lines[i], lines[i] > 0 };
    assert_ok(def_line_keep(text, strlen(text), marks, count, out, &is_whole, &err), &err);
    return is_whole;
}

static void assert_kept(const char *text, int line, const char *wanted)
{
    struct buffer out = { 0 };
    assert_false(keep(text, &line, 1, &out));
    assert_string_equal(buffer_string(&out), wanted);
    buffer_deinit(&out);
}

static void a_function_is_kept_with_what_it_is_in(void **state)
{
    (void)state;
    assert_kept(python, 7,
                "\n\n\n\nclass Tree:\n\n    async def walk(self):\n"
                "        return 'def no(self):'\n\n\n\n\n");
    assert_kept(python, 10,
                "\n\n\n\nclass Tree:\n\n\n\n    class Leaf:\n"
                "        def walk(self): pass\n\n\n");
    assert_kept(python, 2, "\ndef walk(x):\n    def inner():\n        pass\n\n\n\n\n\n\n\n\n");
}

static void a_function_ends_where_its_code_does(void **state)
{
    static const char text[] = "import os\n"
                               "@cache(\n"
                               "    1)\n"
                               "@other\n"
                               "def f(\n"
                               "    a,\n"
                               ") -> int:\n"
                               "    x = '''\n"
                               "no end\n"
                               "'''\n"
                               "\n"
                               "    return x\n"
                               "# secret\n"
                               "KEY = 'secret'";
    (void)state;
    assert_kept(text, 2,
                "\n@cache(\n    1)\n@other\ndef f(\n    a,\n) -> int:\n    x = '''\nno "
                "end\n'''\n\n    return x\n\n");
}

static void a_lambda_is_its_statement(void **state)
{
    (void)state;
    assert_kept("a = 1\nf = sorted(\n    key=lambda x: x)\nb = 2\n", 2,
                "\nf = sorted(\n    key=lambda x: x)\n\n");
}

static void around_other_lines_with_samples_some_are_kept(void **state)
{
    char text[256] = "", wanted[256] = "";
    struct buffer out = { 0 };
    (void)state;
    for (int line = 1; line <= 30; line++) {
        const bool is_near = line >= 20 - DEF_LINE_AROUND && line <= 21 + DEF_LINE_AROUND;
        strcat(text, "x\n");
        strcat(wanted, is_near ? "x\n" : "\n");
    }
    assert_false(keep(text, (const int[]){ -20, -21, -99 }, 3, &out));
    assert_string_equal(buffer_string(&out), wanted);
    assert_true(keep(text, (const int[]){ -7, -14, -24 }, 3, &out));
    assert_string_equal(buffer_string(&out), text);
    assert_true(keep("", (const int[]){ 1, -1 }, 2, &out));
    assert_int_equal(out.length, 0);
    buffer_deinit(&out);
}

static void lines_with_samples_in_a_kept_function_keep_no_others(void **state)
{
    struct buffer out = { 0 };
    (void)state;
    assert_false(keep("def f():\n    return 1\nKEY = 1\n", (const int[]){ 1, -2 }, 2, &out));
    assert_string_equal(buffer_string(&out), "def f():\n    return 1\n\n");
    buffer_deinit(&out);
}

TEST_GROUP(cmocka_unit_test(a_definition_is_found_by_its_whole_name),
           cmocka_unit_test(what_is_not_defined_has_no_line),
           cmocka_unit_test(the_last_of_several_definitions_counts),
           cmocka_unit_test(text_in_strings_and_comments_defines_nothing),
           cmocka_unit_test(lines_inside_brackets_neither_begin_nor_end_a_definition),
           cmocka_unit_test(a_package_is_named_by_its_folder),
           cmocka_unit_test(cython_declares_functions_in_its_own_ways),
           cmocka_unit_test(equal_names_have_the_same_line),
           cmocka_unit_test(a_function_is_kept_with_what_it_is_in),
           cmocka_unit_test(a_function_ends_where_its_code_does),
           cmocka_unit_test(a_lambda_is_its_statement),
           cmocka_unit_test(around_other_lines_with_samples_some_are_kept),
           cmocka_unit_test(lines_with_samples_in_a_kept_function_keep_no_others),
           cmocka_unit_test(deeper_definitions_than_the_limit_are_not_found))
