#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/native/python_names.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

static void note(struct python_names *names, const char *const *symbols, size_t count)
{
    for (size_t i = 0; i < count; i++)
        python_names_note(names, symbols[i], strlen(symbols[i]));
    python_names_close(names, true);
}

#define NOTE(names, symbols) note(names, symbols, sizeof(symbols) / sizeof *(symbols))

/* "MODULE:FUNCTION", "?" for a module that is not known; "" if it is not decoded. */
static const char *decoded(const struct python_names *names, const char *symbol)
{
    static char text[2 * PYTHON_NAME_BYTES];
    struct python_name name;
    if (!python_names_decode(names, symbol, &name))
        return "";
    if (name.module_bytes) {
        assert_int_equal(name.text[name.module_bytes], '.');
        snprintf(text, sizeof text, "%.*s:%s", (int)name.module_bytes, name.text,
                 name.text + name.module_bytes + 1);
    } else {
        snprintf(text, sizeof text, "?:%s", name.text);
    }
    return text;
}

struct expected {
    const char *symbol, *name;
};

static void check(const struct python_names *names, const struct expected *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_string_equal(decoded(names, table[i].symbol), table[i].name);
}

#define CHECK(names, table) check(names, table, sizeof(table) / sizeof *(table))

static void mypyc_names_are_split_after_the_end_of_a_module(void **state)
{
    static const char *const symbols[] = {
        "PyInit_6ec57f84c680d3a3778b__mypyc",
        "CPyInit_mypy",
        "CPyInit_mypy___build",
        "CPyInit_mypyc___build",
        "CPyInit_mypy___checker",
        "CPyInit_mypyc___lower___list_ops",
        "CPyInitOnly_mypy___build",
        "CPyInit_mypy___plugins___a___3_b",
    };
    static const struct expected table[] = {
        { "CPyDef_mypy___build___State___type_check_first_pass",
          "mypy.build:State.type_check_first_pass" },
        { "CPyDef_mypyc___build___mypycify", "mypyc.build:mypycify" },
        { "CPyPy_checker___TypeChecker_____init__", "mypy.checker:TypeChecker.__init__" },
        { "CPyDef_checker____private", "mypy.checker:_private" },
        { "CPyDef_checker_____top_level__", "mypy.checker:<module>" },
        { "CPyDef_checker___visit___3_it", "mypy.checker:visit___it" },
        { "CPyDef_mypy___f", "mypy:f" },
        { "CPyDef_list_ops___f", "mypyc.lower.list_ops:f" },
        { "CPyDef_a___3_b___f", "mypy.plugins.a___b:f" },
        { "CPyDef_checker___f.cold", "mypy.checker:f" },
        { "CPyDef_checker___f.part.0", "mypy.checker:f" },
        /* build is the end of two modules, and lists of none. */
        { "CPyDef_build___f", "" },
        { "CPyDef_lists___f", "" },
        { "CPyDef_checker___", "" },
        { "CPyDef_checker___3_f", "" },
        { "CPyDef_checker", "" },
        { "CPyDef_checker___f@plt", "" },
        { "CPyDef_", "" },
        { "CPyTagged_Add", "" },
        { "CPyInit_mypy", "" },
        { "main", "" },
        { "", "" },
    };
    struct python_names names = { 0 };
    struct python_name name;
    (void)state;
    NOTE(&names, symbols);
    CHECK(&names, table);
    assert_true(python_names_decode(&names, "CPyPy_checker___f", &name) && name.is_wrapper);
    assert_true(python_names_decode(&names, "CPyDef_checker___f", &name) && !name.is_wrapper);
    assert_int_equal(name.compiler, COMPILER_MYPYC);
    python_names_deinit(&names);
}

static void mypyc_file_of_one_module_has_no_module_in_its_names(void **state)
{
    static const char *const alone[] = { "PyInit_native" }, *const group[] = {
        "CPyInit_a___b"
    };
    static const char *const none[] = { "CPyDef_f" }, *const two[] = { "PyInit_a", "PyInit_b" };
    static const struct {
        const char *const *symbols;
        size_t count;
        const char *name;
    } table[] = { { alone, 1, "native:Point.move" },
                  { group, 1, "a.b:Point.move" },
                  { none, 1, "" },
                  { two, 2, "" } };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct python_names names = { 0 };
        note(&names, table[i].symbols, table[i].count);
        assert_string_equal(decoded(&names, "CPyDef_Point___move"), table[i].name);
        python_names_deinit(&names);
    }
}

static void cython_names_are_split_into_scopes(void **state)
{
    static const char *const symbols[] = {
        "PyInit_mtrand",
        "__pyx_pw_5numpy_6random_6mtrand_11RandomState_7bytes",
        "__pyx_pw_5numpy_6random_6mtrand_11RandomState_9tomaxint",
        "__pyx_pw_5numpy_6random_6mtrand_3seed",
        "__pyx_pw_5numpy_6random_6mtrand_5single_1run",
        "__pyx_tp_new_5numpy_6random_6mtrand_Type",
        "__pyx_pw_5numpy_6random_6mtrand_11find_one",
        "_ZL49__pyx_pw_5numpy_6random_6mtrand_4wrapP7_object",
    };
    static const struct expected table[] = {
        { "__pyx_pw_5numpy_6random_6mtrand_11RandomState_7bytes",
          "numpy.random.mtrand:RandomState.bytes" },
        { "__pyx_pf_5numpy_6random_6mtrand_11RandomState_6bytes",
          "numpy.random.mtrand:RandomState.bytes" },
        { "__pyx_pf_5numpy_6random_6mtrand_11RandomState___init__",
          "numpy.random.mtrand:RandomState.__init__" },
        { "__pyx_pw_5numpy_6random_6mtrand_3seed", "numpy.random.mtrand:seed" },
        { "__pyx_pf_5numpy_6random_6mtrand_2seed", "numpy.random.mtrand:seed" },
        { "__pyx_f_5numpy_6random_6mtrand_legacy_seed", "numpy.random.mtrand:legacy_seed" },
        { "__pyx_f_5numpy_6random_6mtrand_5Other_f.isra.0", "numpy.random.mtrand:Other.f" },
        /* A class that __pyx_tp_new_ names. */
        { "__pyx_pw_5numpy_6random_6mtrand_4Type_1f", "numpy.random.mtrand:Type.f" },
        /* Another module's function, which is compiled into this one. */
        { "__pyx_f_5scipy_4blas_dot", "?:scipy.blas.dot" },
        { "__pyx_fuse_0_1__pyx_pw_5numpy_6random_6mtrand_3seed", "numpy.random.mtrand:seed" },
        { "__pyx_pw_5numpy_6random_6mtrand_35__pyx_fuse_0_seed", "numpy.random.mtrand:_seed" },
        { "__pyx_pw_5numpy_6random_6mtrand_8__pyx_lambda_funcdef_5numpy_lambda",
          "numpy.random.mtrand:<lambda>" },
        { "__pyx_pw_5numpy_6random_6mtrand___pyx_lambda_funcdef_5numpy_lambda",
          "numpy.random.mtrand:<lambda>" },
        { "__pyx_getprop_5numpy_6random_6mtrand_11RandomState_state",
          "numpy.random.mtrand:RandomState.state.__get__" },
        { "__pyx_setprop_5numpy_6random_6mtrand_11RandomState_state",
          "numpy.random.mtrand:RandomState.state.__set__" },
        { "__pyx_pf_15View_dot_MemoryView_10memoryview_4copy", "" },
        { "__pyx_f_15View_dot_MemoryView_10memoryview_copy",
          "?:View.MemoryView.memoryview.copy" },
        /* Names in a file of C++. */
        { "_ZL52__pyx_pw_5numpy_6random_6mtrand_11RandomState_7bytesP7_objectS0_",
          "numpy.random.mtrand:RandomState.bytes" },
        { "_Z42__pyx_f_5numpy_6random_6mtrand_legacy_seedv",
          "numpy.random.mtrand:legacy_seed" },
        /* A class single with one method run, or the third function, single_1run. */
        { "__pyx_pw_5numpy_6random_6mtrand_6single_1run", "" },
        { "__pyx_pf_5numpy_6random_6mtrand_4find_one", "" },
        /* Its wrapper shows that 10 is a number. */
        { "__pyx_pf_5numpy_6random_6mtrand_10find_one", "numpy.random.mtrand:find_one" },
        { "__pyx_pw_5numpy_6random_6mtrand_seed", "" },
        { "__pyx_pw_5numpy_6random_6mtrand_", "" },
        { "__pyx_pw_5numpy_6random_99mtrand_1f", "" },
        { "__pyx_pw_99999999999999999999_1f", "" },
        { "__pyx_pw___pyx_array_1f", "" },
        { "__pyx_f_", "" },
        { "__pyx_fuse_", "" },
        { "__pyx_pymod_exec_mtrand", "" },
        { "_ZL", "" },
        { "_ZL999__pyx_f_1a_f", "" },
    };
    struct python_names names = { 0 };
    struct python_name name;
    (void)state;
    NOTE(&names, symbols);
    CHECK(&names, table);
    assert_true(python_names_decode(&names, table[0].symbol, &name) && name.is_wrapper);
    assert_true(python_names_decode(&names, table[1].symbol, &name) && !name.is_wrapper);
    assert_int_equal(name.compiler, COMPILER_CYTHON);
    python_names_deinit(&names);
}

static void module_and_class_of_one_name_are_not_distinguished(void **state)
{
    static const char *const symbols[] = { "PyInit_regex", "__pyx_f_5regex_5regex_f" };
    struct python_names names = { 0 };
    (void)state;
    NOTE(&names, symbols);
    assert_string_equal(decoded(&names, symbols[1]), "?:regex.regex.f");
    python_names_deinit(&names);
}

static void generators_are_named_as_their_functions(void **state)
{
    /* Symbols that Cython 3 and mypyc made of modules with functions, methods, coroutines and
     * expressions. */
    static const char *const cython[] = {
        "PyInit_gens",
        "__pyx_gb_4gens_2generator",
        "__pyx_gb_4gens_6Walker_2generator1",
        "__pyx_gb_4gens_6Walker_8generator3",
        "__pyx_gb_4gens_3Box_2generator4",
        "__pyx_gb_4gens_4make_1generator8",
        "__pyx_gb_4gens_5outer_2generator7",
        "__pyx_gb_4gens_5total_2generator6",
        "__pyx_pw_4gens_1squares",
        "__pyx_pw_4gens_3Box_1__iter__",
        "__pyx_pw_4gens_3Box_4items",
        "__pyx_pw_4gens_4make___pyx_lambda_funcdef_lambda1",
        "__pyx_pw_4gens_4total",
        "__pyx_pw_4gens_5outer_1inner",
        "__pyx_pw_4gens_6Walker_1walk",
        "__pyx_pw_4gens_6Walker_4fetch",
        "__pyx_pw_4gens_6Walker_7stream",
        "__pyx_pw_4gens_6outer",
        "__pyx_pw_4gens_8make",
    };
    static const struct expected of_cython[] = {
        { "__pyx_gb_4gens_2generator", "gens:squares" },
        { "__pyx_gb_4gens_6Walker_2generator1", "gens:Walker.walk" },
        { "__pyx_gb_4gens_6Walker_5generator2", "gens:Walker.fetch" },
        { "__pyx_gb_4gens_6Walker_8generator3", "gens:Walker.stream" },
        { "__pyx_gb_4gens_3Box_2generator4", "gens:Box.__iter__" },
        { "__pyx_gb_4gens_3Box_5generator5", "gens:Box.items" },
        { "__pyx_gb_4gens_5total_2generator6", "gens:total.<genexpr>" },
        { "__pyx_gb_4gens_5outer_2generator7", "gens:outer.inner" },
        { "__pyx_gb_4gens_4make_1generator8", "gens:make.<lambda>" },
        { "__pyx_gb_4gens_2generator.constprop.0", "gens:squares" },
        { "__pyx_gb_4gens_2other", "" },
        { "__pyx_gb_4gens_generator", "" },
        { "__pyx_gb_4gens_0generator", "" },
        { "__pyx_gb_", "" },
    };
    static const char *const mypyc[] = {
        "PyInit_mgens",          "CPyDef_Walker___fetch",
        "CPyDef_Walker___parts", "CPyDef_get",
        "CPyDef_squares",        "CPyDef_one_two",
        "CPyDef_two___one",      "CPyDef_fetch_Walker_gen_____mypyc_generator_helper__",
    };
    static const struct expected of_mypyc[] = {
        { "CPyDef_fetch_Walker_gen_____mypyc_generator_helper__", "mgens:Walker.fetch" },
        { "CPyDef_parts_Walker_gen_____mypyc_generator_helper__", "mgens:Walker.parts" },
        { "CPyDef_get_gen_____mypyc_generator_helper__", "mgens:get" },
        { "CPyDef_squares_gen_____mypyc_generator_helper__", "mgens:squares" },
        { "CPyDef_inner_gen___3_20_____mypyc_generator_helper__", "mgens:inner" },
        { "CPyDef_one_two_gen_____mypyc_generator_helper__", "" },
        { "CPyDef_plain_____mypyc_generator_helper__", "" },
        { "CPyDef__gen_____mypyc_generator_helper__", "" },
        { "CPyDef_get_gen___close", "mgens:get_gen.close" },
    };
    static const char *const group[] = {
        "CPyInit_a___b",
        "CPyInit_a___c",
        "CPyDef_b___Walker___walk",
        "CPyDef_c___walk_Walker",
        "CPyDef_b___walk_Walker_gen_____mypyc_generator_helper__",
    };
    static const struct expected of_group[] = {
        { "CPyDef_b___walk_Walker_gen_____mypyc_generator_helper__", "a.b:Walker.walk" },
        { "CPyDef_c___walk_Walker_gen_____mypyc_generator_helper__", "a.c:walk_Walker" },
    };
    struct python_names names = { 0 };
    (void)state;
    NOTE(&names, cython);
    CHECK(&names, of_cython);
    assert_true(python_names_bytes(&names) > 0);
    python_names_deinit(&names);
    NOTE(&names, mypyc);
    CHECK(&names, of_mypyc);
    python_names_deinit(&names);
    NOTE(&names, group);
    CHECK(&names, of_group);
    python_names_deinit(&names);
}

static void names_that_left_something_out_decode_nothing(void **state)
{
    static const char module[] = "CPyInit_a", function[] = "CPyDef_f";
    struct python_names names = { 0 };
    (void)state;
    python_names_note(&names, module, strlen(module));
    python_names_close(&names, false);
    assert_string_equal(decoded(&names, function), "");
    python_names_deinit(&names);
    for (int i = 0; i <= PYTHON_NAMES_MAX_MODULES; i++) {
        char symbol[32];
        snprintf(symbol, sizeof symbol, "CPyInit_a___m%d", i);
        python_names_note(&names, symbol, strlen(symbol));
    }
    python_names_close(&names, true);
    assert_int_equal(names.module_count, PYTHON_NAMES_MAX_MODULES);
    assert_string_equal(decoded(&names, "CPyDef_m1___f"), "");
    python_names_deinit(&names);
    for (int i = 0; i <= PYTHON_NAMES_MAX_SCOPES; i++) {
        char symbol[64];
        snprintf(symbol, sizeof symbol, "__pyx_pw_1a_5b%04x_1f", (unsigned)i);
        python_names_note(&names, symbol, strlen(symbol));
        snprintf(symbol, sizeof symbol, "__pyx_f_6c%05x_f", (unsigned)i);
        python_names_note(&names, symbol, strlen(symbol));
    }
    python_names_close(&names, true);
    assert_true(names.fact_count <= 2 * PYTHON_NAMES_MAX_SCOPES);
    assert_string_equal(decoded(&names, "__pyx_f_1a_f"), "");
    python_names_deinit(&names);
    python_names_note(&names, module, strlen(module));
    python_names_deinit(&names);
    failing_alloc_at(0);
    python_names_note(&names, module, strlen(module));
    failing_alloc_never();
    python_names_close(&names, true);
    assert_string_equal(decoded(&names, function), "");
    python_names_deinit(&names);
}

static const char *decoded_beside(unsigned candidates)
{
    struct python_names names = { 0 };
    static const char *const symbols[] = { "PyInit_mod", "__pyx_gb_3mod_2generator" };
    char symbol[64];
    for (unsigned i = 0; i < candidates; i++) {
        snprintf(symbol, sizeof symbol, "__pyx_pw_3mod_1a_%uf", i);
        python_names_note(&names, symbol, strlen(symbol));
    }
    NOTE(&names, symbols);
    const char *const name = decoded(&names, symbols[1]);
    python_names_deinit(&names);
    return name;
}

static void generator_that_many_functions_may_have_is_not_decoded(void **state)
{
    (void)state;
    assert_string_equal(decoded_beside(2), "mod:<genexpr>");
    assert_string_equal(decoded_beside(200), "");
}

static void long_names_are_not_decoded(void **state)
{
    static const char *const symbols[] = { "CPyInit_a" };
    struct python_names names = { 0 };
    char *const symbol = malloc(4096);
    (void)state;
    assert_non_null(symbol);
    NOTE(&names, symbols);
    for (size_t bytes = 480; bytes < 560; bytes++) {
        memset(symbol, 'x', bytes);
        memcpy(symbol, "CPyDef_", 7);
        symbol[bytes] = '\0';
        const char *const name = decoded(&names, symbol);
        /* "a.", the name and the end. */
        assert_int_equal(*name != '\0', bytes - 7 + 2 < PYTHON_NAME_BYTES);
    }
    memcpy(symbol, "__pyx_f_", 8);
    for (size_t at = 8; at + 4 < 4096; at += 3)
        memcpy(symbol + at, "1a_", 4);
    assert_string_equal(decoded(&names, symbol), "");
    free(symbol);
    python_names_deinit(&names);
}

static void source_is_beside_the_library(void **state)
{
    char path[64];
    (void)state;
    static const char library[] = "/usr/lib.so/6ec__mypyc.so";
    assert_true(mypyc_source(library, "mypy.build.State", 10, 0, path, sizeof path));
    assert_string_equal(path, "/usr/lib.so/mypy/build.py");
    assert_true(mypyc_source(library, "mypy", 4, 1, path, sizeof path));
    assert_string_equal(path, "/usr/lib.so/mypy/__init__.py");
    assert_false(mypyc_source(library, "mypy", 4, 2, path, sizeof path));
    assert_false(mypyc_source(library, "mypy", 4, 0, path, 19));
    assert_true(mypyc_source(library, "mypy", 4, 0, path, 20));
    assert_false(mypyc_source("anonymous", "mypy", 4, 0, path, sizeof path));
    static const char cython[] = "/usr/lib.so/_pcg64.cpython-311.so";
    assert_true(cython_source(cython, 0, path, sizeof path));
    assert_string_equal(path, "/usr/lib.so/_pcg64.pyx");
    assert_true(cython_source(cython, 1, path, sizeof path));
    assert_string_equal(path, "/usr/lib.so/_pcg64.py");
    assert_false(cython_source(cython, 2, path, sizeof path));
    assert_false(cython_source(cython, 0, path, 22));
    assert_true(cython_source(cython, 0, path, 23));
    assert_false(cython_source("anonymous", 0, path, sizeof path));
}

TEST_GROUP(cmocka_unit_test(mypyc_names_are_split_after_the_end_of_a_module),
           cmocka_unit_test(mypyc_file_of_one_module_has_no_module_in_its_names),
           cmocka_unit_test(cython_names_are_split_into_scopes),
           cmocka_unit_test(module_and_class_of_one_name_are_not_distinguished),
           cmocka_unit_test(generators_are_named_as_their_functions),
           cmocka_unit_test(names_that_left_something_out_decode_nothing),
           cmocka_unit_test(generator_that_many_functions_may_have_is_not_decoded),
           cmocka_unit_test(long_names_are_not_decoded),
           cmocka_unit_test(source_is_beside_the_library))
