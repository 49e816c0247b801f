/* The error when the kernel refuses the engine: a right that is missing, a limit, or the verdict of the verifier. */
#include <errno.h>
#include <string.h>

#include "sampler/kernel/refusal.h"
#include "tests/support/test.h"

static PRINTF_LIKE(1, 2) void note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    refusal_note(format, arguments);
    va_end(arguments);
}

static void expect(int sys, enum err_code code, const char *part)
{
    struct err err = { 0 };
    assert_int_equal(refusal_explain(&err, sys, "the program"), code);
    assert_non_null(strstr(err.message, part));
}

static void the_verdict_of_the_verifier_is_no_missing_right(void **state)
{
    (void)state;
    refusal_forget();
    note("libbpf: prog '%s': BPF program load failed: Permission denied\n", "on_tick");
    expect(EACCES, ERR_PERM, "CAP_BPF");
    note("libbpf: prog 'on_tick': -- BEGIN PROG LOAD LOG --\n%s-- END PROG LOAD LOG --\n",
         "68: (85) call bpf_map_lookup_elem#1\nR2 type=mem expected=fp, pkt\n"
         "processed 34 insns (limit 1000000) max_states_per_insn 0\n");
    expect(EACCES, ERR_UNSUPPORTED, "verifier of this kernel refuses the program");
    expect(EACCES, ERR_UNSUPPORTED, ": R2 type=mem expected=fp, pkt");
    refusal_forget();
    expect(EACCES, ERR_PERM, "CAP_BPF");
}

static void a_lockdown_is_named(void **state)
{
    static const char *const verdicts[] = {
        "program of this type cannot use helper bpf_probe_read#4",
        "unknown func bpf_probe_read_user#112",
    };
    (void)state;
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        refusal_forget();
        note("21: (85) call\n%s\nprocessed 34 insns (limit 1000000)\n", verdicts[i]);
        expect(EINVAL, ERR_UNSUPPORTED, "lockdown (confidentiality)");
    }
}

static void a_log_that_is_cut_or_empty_has_no_verdict(void **state)
{
    static const char *const logs[] = {
        "", "\n", "processed 1 insns\n", "R1 is bad\n", "R1 is bad", "R1 is bad\nprocesse"
    };
    (void)state;
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        refusal_forget();
        note("%s", logs[i]);
        expect(EPERM, ERR_PERM, "CAP_BPF");
    }
}

static void other_refusals_have_the_first_warning_or_the_reason(void **state)
{
    (void)state;
    refusal_forget();
    expect(EINVAL, ERR_UNSUPPORTED, "the program: Invalid argument");
    note("libbpf: failed to find %s\nmore", "kernel BTF");
    note("libbpf: something later\n");
    expect(EINVAL, ERR_UNSUPPORTED, "the program: libbpf: failed to find kernel BTF");
    expect(EMFILE, ERR_UNSUPPORTED, "ulimit -n");
}

static void what_is_older_than_519_is_too_old(void **state)
{
    (void)state;
    assert_true(refusal_is_too_old("5.10.0-32-cloud-amd64"));
    assert_true(refusal_is_too_old("5.18"));
    assert_true(refusal_is_too_old("4.19.0"));
    assert_false(refusal_is_too_old("5.19.0"));
    assert_false(refusal_is_too_old("6.1.0-50-amd64"));
    assert_false(refusal_is_too_old("unknown"));
}

TEST_GROUP(cmocka_unit_test(what_is_older_than_519_is_too_old),
           cmocka_unit_test(the_verdict_of_the_verifier_is_no_missing_right),
           cmocka_unit_test(a_lockdown_is_named),
           cmocka_unit_test(a_log_that_is_cut_or_empty_has_no_verdict),
           cmocka_unit_test(other_refusals_have_the_first_warning_or_the_reason))
