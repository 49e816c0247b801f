#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "server/access/shares.h"
#include "tests/support/test.h"

static char folder[] = "/tmp/pyrometer-shares-XXXXXX";
static char file[sizeof folder + 16];

static struct shares *open_shares(const char *path)
{
    struct shares *shares = NULL;
    assert_int_equal(shares_create(path, &shares, NULL), ERR_OK);
    return shares;
}

static uint32_t add(struct shares *shares, const char *name, uint64_t expires_at_ns,
                    char token[DIGEST_SECRET_LENGTH + 1])
{
    struct share share;
    assert_int_equal(shares_add(shares, name, expires_at_ns, NULL, &share, token, NULL),
                     ERR_OK);
    assert_int_equal(strspn(token, "0123456789abcdef"), DIGEST_SECRET_LENGTH);
    return share.id;
}

static bool opens(struct shares *shares, const char *token)
{
    struct share share;
    char cookie[DIGEST_SECRET_LENGTH + 1];
    assert_int_equal(shares_cookie(token, cookie, NULL), ERR_OK);
    const bool by_token = shares_find_token(shares, token, strlen(token), &share);
    assert_int_equal(shares_find_cookie(shares, cookie, strlen(cookie), &share), by_token);
    /* Neither stands in for the other. */
    assert_false(shares_find_token(shares, cookie, strlen(cookie), &share));
    assert_false(shares_find_cookie(shares, token, strlen(token), &share));
    return by_token;
}

static void digests_are_those_of_the_standard(void **state)
{
    struct digest digest, again;
    char text[2 * DIGEST_BYTES + 1];
    (void)state;
    assert_int_equal(digest_make("abc", 3, &digest, NULL), ERR_OK);
    digest_format(&digest, text);
    assert_string_equal(text,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_true(digest_parse(text, &again));
    assert_true(digest_equals(&digest, &again));
    text[0] = 'c';
    assert_true(digest_parse(text, &again));
    assert_false(digest_equals(&digest, &again));
    text[0] = 'x';
    assert_false(digest_parse(text, &again));
    assert_false(digest_parse("", &again));
}

static void share_opens_until_it_is_revoked(void **state)
{
    struct shares *const shares = open_shares(NULL);
    char a[DIGEST_SECRET_LENGTH + 1], b[DIGEST_SECRET_LENGTH + 1];
    struct share list[SHARES_MAX];
    (void)state;
    const uint32_t first = add(shares, "ann\n\033[1m", 0, a), second = add(shares, "", 0, b);
    assert_int_not_equal(first, second);
    assert_string_not_equal(a, b);
    assert_true(opens(shares, a) && opens(shares, b));
    assert_int_equal(shares_list(shares, list, SHARES_MAX), 2);
    assert_string_equal(list[0].name, "ann  [1m");
    assert_true(list[0].last_used_at_ns > 0);
    assert_int_equal(shares_revoke(shares, first, NULL), ERR_OK);
    assert_int_equal(shares_revoke(shares, first, NULL), ERR_NOT_FOUND);
    assert_false(opens(shares, a));
    assert_true(opens(shares, b));
    shares_destroy(shares);
}

static void wrong_tokens_open_nothing(void **state)
{
    struct shares *const shares = open_shares(NULL);
    char token[DIGEST_SECRET_LENGTH + 1];
    struct share share;
    (void)state;
    add(shares, "", 0, token);
    assert_false(shares_find_token(shares, token, DIGEST_SECRET_LENGTH - 1, &share));
    assert_false(shares_find_token(shares, "", 0, &share));
    token[0] = token[0] == '0' ? '1' : '0';
    assert_false(opens(shares, token));
    shares_destroy(shares);
}

static void share_expires(void **state)
{
    struct shares *const shares = open_shares(NULL);
    char past[DIGEST_SECRET_LENGTH + 1], future[DIGEST_SECRET_LENGTH + 1];
    struct share list[SHARES_MAX];
    (void)state;
    add(shares, "", clock_wall_ns() - 1, past);
    add(shares, "", clock_wall_ns() + 3600 * NS_PER_S, future);
    assert_false(opens(shares, past));
    assert_true(opens(shares, future));
    assert_int_equal(shares_list(shares, list, SHARES_MAX), 1);
    shares_destroy(shares);
}

static void number_of_shares_is_bounded(void **state)
{
    struct shares *const shares = open_shares(NULL);
    char token[DIGEST_SECRET_LENGTH + 1];
    struct share share;
    struct err err = { 0 };
    (void)state;
    for (int i = 0; i < SHARES_MAX; i++)
        add(shares, "", 0, token);
    assert_int_equal(shares_add(shares, "", 0, NULL, &share, token, &err), ERR_LIMIT);
    assert_non_null(strstr(err.message, "256"));
    assert_int_equal(shares_revoke(shares, 1, NULL), ERR_OK);
    assert_int_equal(add(shares, "", 0, token), SHARES_MAX + 1);
    shares_destroy(shares);
}

static void file_outlives_us_and_holds_no_token(void **state)
{
    char a[DIGEST_SECRET_LENGTH + 1], b[DIGEST_SECRET_LENGTH + 1], text[2048];
    struct stat status;
    struct share list[SHARES_MAX];
    (void)state;
    struct shares *shares = open_shares(file);
    add(shares, "a name of words", 0, a);
    const uint32_t second = add(shares, "", 0, b);
    assert_int_equal(shares_revoke(shares, second, NULL), ERR_OK);
    shares_destroy(shares);
    assert_int_equal(stat(file, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    FILE *const stream = fopen(file, "re");
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    fclose(stream);
    assert_null(strstr(text, a));
    shares = open_shares(file);
    assert_true(opens(shares, a));
    assert_false(opens(shares, b));
    assert_int_equal(shares_list(shares, list, SHARES_MAX), 1);
    assert_string_equal(list[0].name, "a name of words");
    assert_int_equal(add(shares, "", 0, b), second + 1);
    shares_destroy(shares);
}

static void other_files_are_refused(void **state)
{
    static const char *const texts[] = { "", "hello\n", "pyrometer-shares 1 1\n1 2 3 x y z\n",
                                         "pyrometer-shares 2 1\n" };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct shares *shares = NULL;
        FILE *const stream = fopen(file, "we");
        fputs(texts[i], stream);
        fclose(stream);
        assert_int_equal(shares_create(file, &shares, NULL), ERR_CORRUPT);
    }
    unlink(file);
    assert_int_equal(symlink("/etc/hostname", file), 0);
    struct shares *shares = NULL;
    assert_int_not_equal(shares_create(file, &shares, NULL), ERR_OK);
    unlink(file);
}

/* Shared links in it would let whoever has written it in. */
static void root_believes_no_file_that_another_user_has_put_there(void **state)
{
    char path[sizeof folder + 32], text[1024] = "", token[DIGEST_SECRET_LENGTH + 1];
    struct shares *shares = open_shares(file);
    struct err err = { 0 };
    (void)state;
    if (geteuid() != 0) {
        shares_destroy(shares);
        skip();
    }
    add(shares, "", 0, token);
    shares_destroy(shares);
    FILE *const from = fopen(file, "re");
    assert_true(fread(text, 1, sizeof text - 1, from) > 0);
    fclose(from);
    unlink(file);
    /* As /tmp is. */
    assert_int_equal(chmod(folder, 01777), 0);
    snprintf(path, sizeof path, "%s/planted", folder);
    FILE *const to = fopen(path, "we");
    fputs(text, to);
    fclose(to);
    shares = open_shares(path);
    assert_true(opens(shares, token));
    shares_destroy(shares);
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_int_equal(shares_create(path, &shares, &err), ERR_PERM);
    assert_non_null(strstr(err.message, "another user"));
    unlink(path);
    /* Nor where a folder of the path is a link of another user's. */
    snprintf(path, sizeof path, "%s/link", folder);
    assert_int_equal(symlink("/nowhere", path), 0);
    assert_int_equal(lchown(path, 65534, 65534), 0);
    snprintf(path, sizeof path, "%s/link/shares", folder);
    assert_int_equal(shares_create(path, &shares, &err), ERR_PERM);
    *strrchr(path, '/') = '\0';
    unlink(path);
    assert_int_equal(chmod(folder, 0700), 0);
}

static void folder_that_is_gone_is_an_error_and_leaves_no_share(void **state)
{
    struct shares *const shares = open_shares("/nowhere/at/all/shares");
    char token[DIGEST_SECRET_LENGTH + 1];
    struct share share;
    (void)state;
    assert_int_equal(shares_add(shares, "", 0, NULL, &share, token, NULL), ERR_SYS);
    assert_int_equal(shares_list(shares, &share, 1), 0);
    shares_destroy(shares);
}

static int begin(void **state)
{
    (void)state;
    snprintf(file, sizeof file, "%s/shares", mkdtemp(folder));
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(folder);
}

TEST_GROUP_WITHIN(begin, end, cmocka_unit_test(digests_are_those_of_the_standard),
                  cmocka_unit_test(share_opens_until_it_is_revoked),
                  cmocka_unit_test(wrong_tokens_open_nothing), cmocka_unit_test(share_expires),
                  cmocka_unit_test(number_of_shares_is_bounded),
                  cmocka_unit_test(file_outlives_us_and_holds_no_token),
                  cmocka_unit_test(other_files_are_refused),
                  cmocka_unit_test(root_believes_no_file_that_another_user_has_put_there),
                  cmocka_unit_test(folder_that_is_gone_is_an_error_and_leaves_no_share))
