/* The commit of a git checkout, as git's files say, below a folder that stands for the root of the target. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "server/source/checkout.h"
#include "tests/support/test.h"

#define ONE   "0123456789abcdef0123456789abcdef01234567"
#define OTHER "fedcba9876543210fedcba9876543210fedcba98"
#define LONG  ONE "89abcdef0123456789abcdef"

static char *folder;
static int root = -1;

static void put(const char *path, const char *text)
{
    temp_dir_put(folder, path, text);
}

static int begin(void **state)
{
    (void)state;
    folder = temp_dir();
    root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    put("/srv/loose/.git/HEAD", "ref: refs/heads/main\n");
    put("/srv/loose/.git/refs/heads/main", ONE "\n");
    put("/srv/loose/inner/.git/HEAD", OTHER "\n");
    put("/srv/packed/.git/HEAD", "ref: refs/heads/feature/a\n");
    put("/srv/packed/.git/packed-refs",
        "# pack-refs with: peeled fully-peeled sorted\n" OTHER " refs/heads/feature\n" ONE
        " refs/heads/feature/a\n^" OTHER "\n");
    put("/srv/sha256/.git/HEAD", LONG "\n");
    put("/srv/loose/.git/worktrees/tree/HEAD", "ref: refs/heads/main\n");
    put("/srv/loose/.git/worktrees/tree/commondir", "../..\n");
    put("/srv/tree/.git", "gitdir: /srv/loose/.git/worktrees/tree\n");
    put("/srv/near/.git", "gitdir: ../loose/inner/.git\n");
    put("/srv/unborn/.git/HEAD", "ref: refs/heads/none\n");
    put("/srv/upwards/.git/HEAD", "ref: refs/../../../../commit\n");
    put("/commit", ONE "\n");
    put("/srv/words/.git/HEAD", "a secret of somebody\n");
    put("/srv/short/.git/HEAD", "0123456789abcdef\n");
    put("/srv/endless/.git/HEAD", ONE OTHER "\n");
    put("/srv/plain/app.py", "pass\n");
    return root < 0 ? -1 : 0;
}

static int end(void **state)
{
    (void)state;
    close(root);
    temp_dir_remove(folder);
    return 0;
}

static void expect(const char *path, const char *checkout, const char *commit)
{
    struct source_checkout found;
    assert_true(checkout_find(root, path, &found));
    assert_true(checkout_is_valid(&found));
    assert_string_equal(found.root, checkout);
    assert_string_equal(found.commit, commit);
}

static void the_commit_is_the_one_that_is_checked_out(void **state)
{
    (void)state;
    expect("/srv/loose/app.py", "/srv/loose", ONE);
    expect("/srv/loose/a/b/app.py", "/srv/loose", ONE);
    expect("/srv/loose/inner/app.py", "/srv/loose/inner", OTHER);
    expect("/srv/packed/a.py", "/srv/packed", ONE);
    expect("/srv/sha256/a.py", "/srv/sha256", LONG);
    expect("/srv/tree/a.py", "/srv/tree", ONE);
    expect("/srv/near/a.py", "/srv/near", OTHER);
}

static void without_a_commit_there_is_no_checkout(void **state)
{
    static const char *const paths[] = {
        "/srv/plain/app.py", "/app.py", "app.py", "/", "/srv/unborn/a.py", "/nowhere/at/all.py"
    };
    struct source_checkout found;
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_false(checkout_find(root, paths[i], &found));
}

static void hostile_files_give_nothing_away(void **state)
{
    static const char *const paths[] = { "/srv/upwards/a.py", "/srv/words/a.py",
                                         "/srv/short/a.py", "/srv/endless/a.py" };
    struct source_checkout found;
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_false(checkout_find(root, paths[i], &found));
}

static void an_answer_of_a_reader_that_was_taken_over_is_checked(void **state)
{
    struct source_checkout right = { "/srv", ONE }, wrong = right;
    (void)state;
    assert_true(checkout_is_valid(&right));
    wrong.root[0] = 's';
    assert_false(checkout_is_valid(&wrong));
    wrong = right;
    wrong.commit[3] = 'x';
    assert_false(checkout_is_valid(&wrong));
    wrong = right;
    memset(wrong.root, '/', sizeof wrong.root);
    assert_false(checkout_is_valid(&wrong));
    wrong = right;
    memset(wrong.commit, 'a', sizeof wrong.commit);
    assert_false(checkout_is_valid(&wrong));
    wrong = (struct source_checkout){ "/srv", ONE " x" };
    assert_false(checkout_is_valid(&wrong));
}

TEST_GROUP_WITHIN(begin, end, cmocka_unit_test(the_commit_is_the_one_that_is_checked_out),
                  cmocka_unit_test(without_a_commit_there_is_no_checkout),
                  cmocka_unit_test(hostile_files_give_nothing_away),
                  cmocka_unit_test(an_answer_of_a_reader_that_was_taken_over_is_checked))
