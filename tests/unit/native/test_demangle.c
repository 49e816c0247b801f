#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/utf8.h"
#include "sampler/native/demangle.h"
#include "sampler/native/demangle_work.h"
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
        { "_Z1fDF16_DF32xDv4_fDn",
          "f(_Float16, _Float32x, float __vector(4), decltype(nullptr))", DEMANGLED_CPP },
        { "_Z1fPFvvEPA3_iM1AFvvEM1Bi", "f(void (*)(), int (*) [3], void (A::*)(), int B::*)",
          DEMANGLED_CPP },
        { "_ZN1AcvT_IiEEv", "A::operator int<int>()", DEMANGLED_CPP },
        { "_ZNK1AcvPT_IiEEv", "A::operator int*<int>() const", DEMANGLED_CPP },
        { "_Z1fIJicEEvDpRT_", "f<int, char>(int&, char&)", DEMANGLED_CPP },
        { "_Z1fIJEEviDpT_", "f<>(int)", DEMANGLED_CPP },
        { "_Z1fILi3EEvDTplT_Li4EE", "f<3>(decltype ((3)+(4)))", DEMANGLED_CPP },
        { "_Z1fIXadL_ZN1A1gEiEEEvv", "f<&A::g>()", DEMANGLED_CPP },
        { "_ZNDTcl1fspfp_EE1gEv", "decltype (f({parm#1}...))::g()", DEMANGLED_CPP },
        { "_ZGVZ1fvE1x", "guard variable for f()::x", DEMANGLED_CPP },
        { "_ZTv0_n12_N1A1fEv", "virtual thunk to A::f()", DEMANGLED_CPP },
        { "_ZTCN1AE8_1B", "construction vtable for B-in-A", DEMANGLED_CPP },
        { "_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()", DEMANGLED_CPP },
        { "_ZN1AC1ERKS_", "A::A(A const&)", DEMANGLED_CPP },
        { "_ZN1AD0Ev", "A::~A()", DEMANGLED_CPP },
        { "_ZNSsC1EPKc",
          "std::basic_string<char, std::char_traits<char>, std::allocator<char> >::basic_string(char const*)",
          DEMANGLED_CPP },
        { "_ZZN1AC1EvENKUlT_E_clIiEEDaS1_",
          "A::A()::{lambda(auto:1)#1}::operator()<int>({lambda(auto:1)#1}) const",
          DEMANGLED_CPP },
        { "_Z3eatIZ3FoovEUlRiRT_E_EvS2_",
          "eat<Foo()::{lambda(int&, auto:1&)#1}>(Foo()::{lambda(int&, auto:1&)#1}&)",
          DEMANGLED_CPP },
        { "_ZNK5l_varMUlTpTyDpT_E_clIJiiiEEEDaS1_",
          "l_var::{lambda<typename... $T0>(($T0)...)#1}::operator()<int, int, int>(int, int, int) const",
          DEMANGLED_CPP },
        { "_ZZ1fiEd_N1AUt_E", "f(int)::{default arg#1}::A::{unnamed type#1}", DEMANGLED_CPP },
        { "_ZNKR1A1fEv", "A::f() const &", DEMANGLED_CPP },
        { "_ZN1AnwEm", "A::operator new(unsigned long)", DEMANGLED_CPP },
        { "_Zli2_xPKc", "operator\"\" _x(char const*)", DEMANGLED_CPP },
        { "_ZN1A1fB5cxx11Ev", "A::f[abi:cxx11]()", DEMANGLED_CPP },
        { "_Z1fILb1ELj3ELln4EEvv", "f<true, 3u, -4l>()", DEMANGLED_CPP },
        { "_Z1fRA3_KPFiiE", "f(int (* const (&) [3])(int))", DEMANGLED_CPP },
        { "_Z1fIRiEvOT_", "f<int&>(int&)", DEMANGLED_CPP },
        { "_Z1fPFPFvvEiE", "f(void (*(*)(int))())", DEMANGLED_CPP },
        { "_Z1fIJiiEEvDTsZT_E", "f<int, int>(decltype (2))", DEMANGLED_CPP },
        { "_Z1fU8__vectorf", "f(float __vector)", DEMANGLED_CPP },
        { "_Z1fDTquLb1ELi1ELi2EE", "f(decltype ((true)?(1) : (2)))", DEMANGLED_CPP },
        { "_Z1fPDoFvvE", "f(void (*)() noexcept)", DEMANGLED_CPP },
        { "_Z1fDTscifp_E", "f(decltype (static_cast<int>({parm#1})))", DEMANGLED_CPP },
        { "_RNvXC1aNtC1b1dNtC1c1e1f", "<b::d as c::e>::f", DEMANGLED_RUST },
        { "_RINvC1a1bDNtC1c1dp1eTmEEL_E", "a::b::<dyn c::d<e = (u32,)>>", DEMANGLED_RUST },
        { "_RINvC1a1bDINtC1c1dhEp1emEL_E", "a::b::<dyn c::d<u8, e = u32>>", DEMANGLED_RUST },
        { "_RINvC1a1bFUKChEuKca_Kb1_Kan7f_E",
          "a::b::<unsafe extern \"C\" fn(u8), '\\n', true, -127>", DEMANGLED_RUST },
        { "_RNCNvC1a1b0", "a::b::{closure#0}", DEMANGLED_RUST },
        { "_RNSNvC1a1b1c", "a::b::{shim:c#0}", DEMANGLED_RUST },
        { "_RNvMs_C1aNtB4_1b1c", "<a::b>::c", DEMANGLED_RUST },
        { "_RINvC1a1bPAhj3_SiOxQmE", "a::b::<*const [u8; 3], [isize], *mut i64, &mut u32>",
          DEMANGLED_RUST },
        { "_RINvC1a1bFG_RL0_hEuE", "a::b::<for<'a> fn(&'a u8)>", DEMANGLED_RUST },
        { "_ZN42_$LT$a..b$u20$as$u20$c..D$LT$$RF$T$GT$$GT$1e17h0123456789abcdefE",
          "<a::b as c::D<&T>>::e", DEMANGLED_RUST },
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

/* Adds types with tuples, which refer to a position in the name. */
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

/* S_, S0_ and so on; "_" is number 0. */
static void repeat_substitution(struct text *text, unsigned number)
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const unsigned digit = number - 1;
    char piece[] = { 'S', letters[digit / 36 % 36], letters[digit % 36], '_', 0 };
    if (number == 0 || digit < 36)
        snprintf(piece, sizeof piece, "S%.*s_", number != 0, &letters[digit % 36]);
    repeat(text, piece, 1);
}

/* A pack is searched in a type that is made of two of the type before, again and again. */
static void add_pack_in_doubled_type(struct text *text)
{
    enum { TYPES = 60 };
    repeat(text, "_Z1fIiEvDp", 1);
    repeat(text, "1aI", TYPES);
    repeat(text, "iiE", 1);
    for (unsigned i = 0; i + 1 < TYPES; i++) {
        repeat_substitution(text, 1 + TYPES + i);
        repeat(text, "E", 1);
    }
}

/* Packs in packs: each writes all of the next one for each of its items. */
static void add_nested_packs(struct text *text)
{
    repeat(text, "_Z1fIJ", 1);
    repeat(text, "i", 50);
    repeat(text, "EEv", 1);
    repeat(text, "Dp1aIJ", 40);
    repeat(text, "T_", 1);
    repeat(text, "EE", 40);
}

static void add_conversion(struct text *text)
{
    repeat(text, "_ZN1acv", 1);
    repeat(text, "T_I", 1000);
    repeat(text, "i", 1);
    repeat(text, "E", 1000);
    repeat(text, "Ev", 1);
}

static void add_operator_of_itself(struct text *text)
{
    repeat(text, "_ZN1acvT_I1aIXadL_ZNS_cvT_IS_EEvEEEEEv", 1);
}

/* So many lifetimes are bound, in a type that is written and in a path that is not. */
static void add_lifetimes(struct text *text)
{
    repeat(text, "_RYFGzzzzzzzz_EuC1aE", 1);
}

static void add_hidden_lifetimes(struct text *text)
{
    repeat(text, "_RMYFGzzzzzzzz_EuC1aC1bu", 1);
}

/* Long digits and long identifiers, which are read again at each of many places. */
static void add_repeated_digits(struct text *text)
{
    repeat(text, "_RINvC1a1bKj", 1);
    repeat(text, "1", 2000);
    repeat(text, "_", 1);
    repeat(text, "KB8_", 400);
    repeat(text, "E", 1);
}

static void add_repeated_punycode(struct text *text)
{
    repeat(text, "_RINvC1a1bTNvC1cu250_", 1);
    repeat(text, "a", 250);
    repeat(text, "B8_", 500);
    repeat(text, "EE", 1);
}

static void work_ends_whatever_a_name_stands_for(void **state)
{
    static void (*const adders[])(struct text *) = {
        add_pack_in_doubled_type, add_nested_packs,      add_conversion,
        add_operator_of_itself,   add_lifetimes,         add_hidden_lifetimes,
        add_repeated_digits,      add_repeated_punycode,
    };
    char name[DEMANGLE_MAX_NAME + 1];
    uint32_t steps;
    (void)state;
    for (size_t i = 0; i < sizeof adders / sizeof *adders; i++) {
        struct text text = { .length = 0 };
        adders[i](&text);
        if (demangle_counted(text.bytes, name, &steps) == DEMANGLED_NONE)
            assert_memory_equal(name, text.bytes, 7);
        assert_in_range(steps, 1, DEMANGLE_MAX_STEPS);
        printf("%u steps of %u: %.40s\n", steps, DEMANGLE_MAX_STEPS, name);
    }
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

TEST_GROUP(cmocka_unit_test(names_are_those_of_their_authors),
           cmocka_unit_test(long_names_lose_inner_arguments_before_their_end),
           cmocka_unit_test(long_name_without_arguments_is_cut_at_a_character),
           cmocka_unit_test(operators_are_no_brackets),
           cmocka_unit_test(name_that_stands_for_gigabytes_is_given_up),
           cmocka_unit_test(work_ends_whatever_a_name_stands_for),
           cmocka_unit_test(deep_names_need_little_stack))
