#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/access/identity.h"
#include "tests/support/test.h"

enum { COUNT = 8, SOME_START = 1234 };

static void numbers_are_different_ones_of_the_range(void **state)
{
    static const unsigned starts[] = { 0, SOME_START, IDENTITY_LAST - IDENTITY_FIRST,
                                       1u << 31 };
    uid_t uids[COUNT];
    (void)state;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        assert_true(identity_find(starts[i], uids, COUNT));
        for (size_t k = 0; k < COUNT; k++) {
            assert_in_range(uids[k], IDENTITY_FIRST, IDENTITY_LAST);
            for (size_t n = 0; n < k; n++)
                assert_int_not_equal(uids[k], uids[n]);
        }
    }
}

/* Waits until it is ended, as another user. */
static pid_t start_as(uid_t uid)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const char done = setresuid((uid_t)-1, uid, (uid_t)-1) == 0;
        (void)!write(ends[1], &done, 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    close(ends[0]);
    close(ends[1]);
    return pid;
}

static void a_number_that_a_process_has_is_left_out(void **state)
{
    uid_t before, after;
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_true(identity_find(SOME_START, &before, 1));
    const pid_t pid = start_as(before);
    const bool is_found = identity_find(SOME_START, &after, 1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_true(is_found);
    assert_int_not_equal(after, before);
}

static void there_are_only_so_many(void **state)
{
    static uid_t uids[IDENTITY_LAST - IDENTITY_FIRST + 2];
    (void)state;
    assert_false(identity_find(0, uids, sizeof uids / sizeof *uids));
}

static void a_user_has_a_name_or_a_number_and_is_not_root(void **state)
{
    struct process_user user;
    struct err err = { 0 };
    (void)state;
    assert_int_equal(identity_read("61999", &user, &err), ERR_OK);
    assert_int_equal(user.uid, 61999);
    assert_int_equal(user.gid, 61999);
    assert_int_equal(identity_read("daemon", &user, &err), ERR_OK);
    assert_int_not_equal(user.uid, 0);
    assert_int_equal(identity_read("root", &user, &err), ERR_INVALID);
    assert_int_equal(identity_read("0", &user, &err), ERR_INVALID);
    assert_int_equal(identity_read("no_such_user", &user, &err), ERR_INVALID);
    assert_int_equal(identity_read("99999999999", &user, &err), ERR_INVALID);
}

TEST_GROUP(cmocka_unit_test(numbers_are_different_ones_of_the_range),
           cmocka_unit_test(a_number_that_a_process_has_is_left_out),
           cmocka_unit_test(there_are_only_so_many),
           cmocka_unit_test(a_user_has_a_name_or_a_number_and_is_not_root))
