#include <errno.h>
#include <string.h>

#include "sampler/base/err.h"
#include "tests/support/test.h"

static void failing_is_one_statement(void **state)
{
    struct err err = { 0 };
    (void)state;
    assert_int_equal(err_set(&err, ERR_LIMIT, "%d of %s", 3, "them"), ERR_LIMIT);
    assert_int_equal(err.code, ERR_LIMIT);
    assert_int_equal(err.sys, 0);
    assert_string_equal(err.message, "3 of them");
}

static void nobody_has_to_listen(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, ERR_CORRUPT, "x"), ERR_CORRUPT);
    assert_int_equal(err_nomem(NULL), ERR_NOMEM);
    assert_int_equal(err_sys(NULL, ESRCH, "x"), ERR_GONE);
    assert_int_equal(err_wrap(NULL, ERR_FAULT, "x"), ERR_FAULT);
}

static void errno_maps_to_a_code_and_keeps_its_number(void **state)
{
    struct err err = { 0 };
    (void)state;
    assert_int_equal(err_sys(&err, EPERM, "reading %s", "it"), ERR_PERM);
    assert_int_equal(err.sys, EPERM);
    assert_string_equal(err.message, "reading it: Operation not permitted");
}

static void each_errno_has_its_code(void **state)
{
    static const struct {
        int sys;
        enum err_code code;
    } table[] = {
        { 0, ERR_OK },        { ENOMEM, ERR_NOMEM },       { EPERM, ERR_PERM },
        { EACCES, ERR_PERM }, { ESRCH, ERR_GONE },         { EFAULT, ERR_FAULT },
        { EIO, ERR_FAULT },   { ENOENT, ERR_NOT_FOUND },   { EINVAL, ERR_INVALID },
        { EMFILE, ERR_SYS },  { ENOSYS, ERR_UNSUPPORTED }, { -1, ERR_SYS },
        { 1 << 30, ERR_SYS },
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_int_equal(err_code_of_errno(table[i].sys), table[i].code);
}

static void wrapping_says_what_was_being_done(void **state)
{
    struct err err = { 0 };
    (void)state;
    (void)err_sys(&err, ENOENT, "maps");
    assert_int_equal(err_wrap(&err, ERR_NOT_PYTHON, "looking at %d", 7), ERR_NOT_PYTHON);
    assert_int_equal(err.code, ERR_NOT_PYTHON);
    assert_int_equal(err.sys, ENOENT);
    assert_string_equal(err.message, "looking at 7: maps: No such file or directory");
}

static void a_long_message_is_cut_and_stays_text(void **state)
{
    struct err err;
    char word[2 * sizeof err.message];
    (void)state;
    memset(&err, 'x', sizeof err);
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    (void)err_set(&err, ERR_SYS, "%s", word);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    (void)err_wrap(&err, ERR_SYS, "%s", word);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    (void)err_sys(&err, EPERM, "%s", word);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

static void an_old_message_without_an_end_is_harmless(void **state)
{
    struct err err;
    (void)state;
    memset(&err, 'x', sizeof err);
    (void)err_wrap(&err, ERR_SYS, "a");
    assert_memory_equal(err.message, "a: xxx", 6);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

static void every_code_has_a_text(void **state)
{
    (void)state;
#define X(code, text) assert_string_equal(err_text(ERR_##code), text);
    ERR_CODES(X)
#undef X
    assert_string_equal(err_text((enum err_code)1000), "unknown error");
    assert_string_equal(err_text((enum err_code) - 1), "unknown error");
}

TEST_GROUP(cmocka_unit_test(failing_is_one_statement), cmocka_unit_test(nobody_has_to_listen),
           cmocka_unit_test(errno_maps_to_a_code_and_keeps_its_number),
           cmocka_unit_test(each_errno_has_its_code),
           cmocka_unit_test(wrapping_says_what_was_being_done),
           cmocka_unit_test(a_long_message_is_cut_and_stays_text),
           cmocka_unit_test(an_old_message_without_an_end_is_harmless),
           cmocka_unit_test(every_code_has_a_text))
