#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/utf8.h"
#include "sampler/native/demangle.h"
#include "tests/support/test.h"

static void names_are_those_of_their_authors(void **state)
{
    static const struct {
        const char *mangled, *name;
        enum demangled language;
    } table[] = {
        { "main", "main", DEMANGLED_NONE },
        { "", "", DEMANGLED_NONE },
        { "_Z", "_Z", DEMANGLED_NONE },
        { "_R", "_R", DEMANGLED_NONE },
        { "_PyEval_EvalFrameDefault", "_PyEval_EvalFrameDefault", DEMANGLED_NONE },
        { "_Znot_mangled", "_Znot_mangled", DEMANGLED_NONE },
        { "_ZNSt6vectorIiSaIiEE9push_backEOi",
          "std::vector<int, std::allocator<int> >::push_back(int&&)", DEMANGLED_CPP },
        /* Without the type that it returns. */
        { "_Z5twiceIiET_S0_", "twice<int>(int)", DEMANGLED_CPP },
        { "_Z3foov.part.0", "foo() [clone .part.0]", DEMANGLED_CPP },
        { "_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place",
          DEMANGLED_RUST },
        { "_ZN4core3ptr13drop_in_place17h0123456789abcdefE.llvm.42", "core::ptr::drop_in_place",
          DEMANGLED_RUST },
        /* A hash of few digits. */
        { "_ZN4core3ptr13drop_in_place17h0000000000000001E", "core::ptr::drop_in_place",
          DEMANGLED_RUST },
        { "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar", DEMANGLED_RUST },
        { "_RNvC01a", "::a", DEMANGLED_RUST },
        { "_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>", DEMANGLED_RUST },
        { "_RNvNtCs1234_7mycrate3foou8gdel_5qa",
          "mycrate::foo::g\xc3\xb6"
          "del",
          DEMANGLED_RUST },
    };
    char name[DEMANGLE_MAX_NAME + 1];
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_int_equal(demangle(table[i].mangled, name), table[i].language);
        assert_string_equal(name, table[i].name);
    }
}

/* Pieces of text one after the other. */
struct text {
    char bytes[2 * DEMANGLE_MAX_INPUT];
    size_t length;
};

static void repeat(struct text *text, const char *piece, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        const size_t bytes = strlen(piece);
        assert_true(bytes < sizeof text->bytes - text->length);
        memcpy(text->bytes + text->length, piece, bytes + 1);
        text->length += bytes;
    }
}

static void long_names_lose_inner_arguments_before_their_end(void **state)
{
    struct text text = { .length = 0 };
    char name[DEMANGLE_MAX_NAME + 1];
    (void)state;
    /* outer<list<list<... int ...> > >::run() */
    repeat(&text, "_ZN5outerI", 1);
    repeat(&text, "15list_of_integerI", 40);
    repeat(&text, "i", 1);
    repeat(&text, "E", 41);
    repeat(&text, "3runEv", 1);
    assert_int_equal(demangle(text.bytes, name), DEMANGLED_CPP);
    assert_string_equal(
        name,
        "outer<list_of_integer<list_of_integer<list_of_integer<\xe2\x80\xa6> > > >::run()");
}

static void long_name_without_arguments_is_cut_at_a_character(void **state)
{
    char name[DEMANGLE_MAX_NAME + 1];
    (void)state;
    for (size_t shift = 0; shift < 3; shift++) {
        struct text text = { .length = 0 };
        repeat(&text, "x", (unsigned)shift);
        repeat(&text, "\xe2\x82\xac", 300);
        assert_int_equal(demangle(text.bytes, name), DEMANGLED_NONE);
        assert_true(strlen(name) <= DEMANGLE_MAX_NAME && strlen(name) > DEMANGLE_MAX_NAME - 6);
        assert_true(utf8_is_valid(name, strlen(name)));
        assert_string_equal(name + strlen(name) - 3, "\xe2\x80\xa6");
    }
}

static void operators_are_no_brackets(void **state)
{
    static const char *const operators[] = { "ls", "rs", "lt", "gt", "pt", "ge", "ss" };
    char name[DEMANGLE_MAX_NAME + 1];
    (void)state;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        struct text text = { .length = 0 };
        repeat(&text, "_ZN5outerI", 1);
        repeat(&text, "15list_of_integerI", 40);
        repeat(&text, "i", 1);
        repeat(&text, "E", 41);
        repeat(&text, operators[i], 1);
        repeat(&text, "ES_", 1);
        assert_int_equal(demangle(text.bytes, name), DEMANGLED_CPP);
        assert_non_null(strstr(name, "operator"));
        assert_true(strlen(name) < 200);
    }
}

/* Each type is made of two of the type before: a<a<int, int>, a<int, int>>. */
static void add_cpp_types(struct text *text, int types)
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    repeat(text, "_Z1f1aIiiE", 1);
    for (int i = 0; i < types; i++) {
        const char type[] = {
            'S', '_', 'I', 'S', letters[i], '_', 'S', letters[i], '_', 'E', 0
        };
        repeat(text, type, 1);
    }
}

/* The same with tuples, which refer to a position in the name. */
static void add_rust_types(struct text *text, int types)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    repeat(text, "_RINvC1a1b", 1);
    size_t last = text->length - 2;
    repeat(text, "ThhE", 1);
    for (int i = 0; i < types; i++) {
        const size_t at = text->length - 2, number = last - 1;
        const char far[] = { 'B', digits[number / 62], digits[number % 62], '_', 0 };
        const char near[] = { 'B', digits[number % 62], '_', 0 };
        repeat(text, "T", 1);
        repeat(text, number < 62 ? near : far, 2);
        repeat(text, "E", 1);
        last = at;
    }
    repeat(text, "E", 1);
}

static void name_that_stands_for_gigabytes_is_given_up(void **state)
{
    struct text text = { .length = 0 };
    char name[DEMANGLE_MAX_NAME + 1];
    (void)state;
    add_cpp_types(&text, 36);
    assert_int_equal(demangle(text.bytes, name), DEMANGLED_NONE);
    assert_string_equal(name, text.bytes);
    text.length = 0;
    add_cpp_types(&text, 9);
    assert_int_equal(demangle(text.bytes, name), DEMANGLED_CPP);
    text.length = 0;
    add_rust_types(&text, 40);
    assert_int_equal(demangle(text.bytes, name), DEMANGLED_NONE);
    assert_string_equal(name, text.bytes);
    text.length = 0;
    add_rust_types(&text, 9);
    assert_int_equal(demangle(text.bytes, name), DEMANGLED_RUST);
}

/* Names that nest as deep as they can. */
static void *demangle_deep_names(void *unused)
{
    static const char *const pieces[] = { "P",  "1aI",  "RK",  "DpT_", "PF", "X",
                                          "A_", "M1aF", "N",   "sr",   "dc", "T",
                                          "J",  "I1a",  "FvP", "TB_",  "S",  "O" };
    static const char *const begins[] = { "_Z1f",  "_ZN1a1bI", "_RINvC1a1b", "_RMC0",
                                          "_RYNv", "_ZZ",      "_ZTv0_n12_N" };
    char name[DEMANGLE_MAX_NAME + 1];
    for (size_t b = 0; b < sizeof begins / sizeof *begins; b++)
        for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++)
            for (unsigned bytes = 200; bytes < DEMANGLE_MAX_INPUT; bytes += 700) {
                struct text text = { .length = 0 };
                repeat(&text, begins[b], 1);
                repeat(&text, pieces[p], bytes / (unsigned)strlen(pieces[p]));
                (void)demangle(text.bytes, name);
                repeat(&text, "i", 1);
                repeat(&text, "E", 60);
                (void)demangle(text.bytes, name);
            }
    return unused;
}

static void deep_names_need_little_stack(void **state)
{
    pthread_attr_t attributes;
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, DEMANGLE_STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, demangle_deep_names, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
}

TEST_MAIN(cmocka_unit_test(names_are_those_of_their_authors),
          cmocka_unit_test(long_names_lose_inner_arguments_before_their_end),
          cmocka_unit_test(long_name_without_arguments_is_cut_at_a_character),
          cmocka_unit_test(operators_are_no_brackets),
          cmocka_unit_test(name_that_stands_for_gigabytes_is_given_up),
          cmocka_unit_test(deep_names_need_little_stack))
