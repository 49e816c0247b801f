#include <signal.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/permission.h"
#include "server/access/admission.h"
#include "tests/support/test.h"

enum { FIRST = 65534, SECOND = 54321 };

static void use(struct admission *admission, const char *const *users, const char *command)
{
    *admission = (struct admission){ .user_count = 0 };
    for (; users && *users; users++)
        assert_int_equal(admission_add_user(admission, *users, NULL), ERR_OK);
    if (command)
        admission->commands.items[admission->commands.count++] = command;
    permission_use(NULL, NULL);
    admission_use(admission);
}

/* A process with these users, of which each may be another one. */
static pid_t start(uid_t real, uid_t effective, uid_t saved, uid_t files)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (setresuid(real, effective, saved) != 0)
            _exit(1);
        if (files != effective)
            setfsuid(files);
        (void)!write(ends[1], "", 1);
        pause();
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void a_process_is_of_a_user_if_all_its_users_are_listed(void **state)
{
    static const char *const first[] = { "65534", NULL }, *const both[] = { "65534", "0",
                                                                            NULL };
    static const struct {
        uid_t users[4];
        bool is_of_first, is_of_both;
    } cases[] = {
        { { FIRST, FIRST, FIRST, FIRST }, true, true },
        { { 0, 0, 0, 0 }, false, true },
        /* A set-user-id program, and one that has given up the rights for now. */
        { { FIRST, 0, 0, 0 }, false, true },
        { { FIRST, FIRST, 0, FIRST }, false, true },
        { { 0, FIRST, FIRST, FIRST }, false, true },
        { { 0, 0, 0, FIRST }, false, true },
        { { FIRST, SECOND, SECOND, SECOND }, false, false },
    };
    struct admission admission;
    (void)state;
    if (getuid() != 0)
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uid_t *const users = cases[i].users;
        const pid_t pid = start(users[0], users[1], users[2], users[3]);
        struct permission_users seen = { .ids = { 1, 2, 3, 4 } };
        use(&admission, first, NULL);
        assert_int_equal(permission_ask(pid, &seen, NULL),
                         cases[i].is_of_first ? ERR_OK : ERR_PERM);
        assert_int_equal(permission_is_same(pid, &seen), cases[i].is_of_first);
        use(&admission, both, NULL);
        assert_int_equal(permission_ask(pid, &seen, NULL),
                         cases[i].is_of_both ? ERR_OK : ERR_PERM);
        if (cases[i].is_of_both)
            assert_memory_equal(seen.ids, users, sizeof seen.ids);
        end(pid);
    }
}

static void a_command_is_the_whole_command_line(void **state)
{
    static const char *const nobody[] = { "65533", NULL };
    struct admission admission;
    struct err err = { 0 };
    (void)state;
    use(&admission, NULL, "*test_server*");
    assert_int_equal(permission_ask(getpid(), NULL, NULL), ERR_OK);
    use(&admission, NULL, "test_server");
    assert_int_equal(permission_ask(getpid(), NULL, &err), ERR_PERM);
    assert_non_null(strstr(err.message, "--allow-command"));
    use(&admission, nobody, "*test_server*");
    assert_int_equal(permission_ask(getpid(), NULL, NULL), ERR_PERM);
}

static void empty_lists_admit_all(void **state)
{
    static const struct permission_users other = { .ids = { 1, 2, 3, 4 } };
    struct admission admission;
    (void)state;
    use(&admission, NULL, NULL);
    assert_false(permission_has_rule());
    assert_int_equal(permission_ask(getpid(), NULL, NULL), ERR_OK);
    assert_true(permission_is_same(getpid(), &other));
}

static void a_process_that_has_ended_is_gone(void **state)
{
    static const char *const own[] = { "0", NULL };
    struct admission admission;
    struct permission_users users = { .ids = { 0 } };
    (void)state;
    const pid_t pid = start(getuid(), getuid(), getuid(), getuid());
    use(&admission, own, NULL);
    end(pid);
    assert_int_equal(permission_ask(pid, NULL, NULL), ERR_GONE);
    assert_false(permission_is_same(pid, &users));
}

static void a_user_is_a_name_or_a_number_that_exists(void **state)
{
    struct admission admission = { .user_count = 0 };
    (void)state;
    assert_int_equal(admission_add_user(&admission, "root", NULL), ERR_OK);
    assert_int_equal(admission_add_user(&admission, "4294967294", NULL), ERR_OK);
    /* It would be root's; and that of nobody at all. */
    assert_int_equal(admission_add_user(&admission, "4294967296", NULL), ERR_INVALID);
    assert_int_equal(admission_add_user(&admission, "4294967295", NULL), ERR_INVALID);
    assert_int_equal(admission_add_user(&admission, "no such user", NULL), ERR_INVALID);
    assert_int_equal(admission.user_count, 2);
    assert_int_equal(admission.users[0], 0);
    assert_int_equal(admission.users[1], 4294967294u);
}

TEST_GROUP(cmocka_unit_test(a_process_is_of_a_user_if_all_its_users_are_listed),
           cmocka_unit_test(a_command_is_the_whole_command_line),
           cmocka_unit_test(empty_lists_admit_all),
           cmocka_unit_test(a_process_that_has_ended_is_gone),
           cmocka_unit_test(a_user_is_a_name_or_a_number_that_exists))
