/* Whose a file is, as the metadata of installed packages say, below a folder that stands for the root of the target. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/source/distribution.h"
#include "tests/support/made_archive.h"
#include "tests/support/test.h"

static char *folder;
static int root = -1;

static void put(const char *path, const char *text)
{
    temp_dir_put(folder, path, text);
}

#define SITE    "/venv/lib/python3.13/site-packages"
#define SHIV    "/home/u/.shiv/shop_9/site-packages"
#define WHEEL   "/pex/installed_wheels/3/74/six-1.16-py3-none-any.whl"
#define DEBIAN  "/usr/lib/python3/dist-packages"
#define CONDA   "/opt/conda/lib/python3.13/site-packages"
#define EGGS    "/old/site-packages"
#define BESIDE  "/srv/site-packages/shop"
#define OF_PIP  "{\"url\": \"https://example.org/a.whl\", \"archive_info\": {}}"
#define OF_HERE "{\"dir_info\": {}, \"url\": \"file:///srv/shop\"}"

static int begin(void **state)
{
    (void)state;
    folder = temp_dir();
    root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    put(SITE "/requests-2.32.dist-info/RECORD",
        "requests-2.32.dist-info/RECORD,,\nrequests/__init__.py,sha256=a,9\n"
        "requests/api.py,sha256=b,7\n../../../bin/normalize,sha256=c,5\n");
    put(SITE "/requests-2.32.dist-info/direct_url.json", OF_PIP);
    put(SITE "/requests/__init__.py", "");
    put(SITE "/My.Shop-1.0.dist-info/RECORD",
        "my_shop/__init__.py,,\r\nmy_shop/cli.py,,\r\n\"acme/a,b.py\",,\r\n");
    put(SITE "/My.Shop-1.0.dist-info/direct_url.json", OF_HERE);
    put(SITE "/my_shop/__init__.py", "");
    put(SITE "/acme_store-1.dist-info/RECORD", "acme/store/db.py,,\n");
    put(SITE "/six-1.16.dist-info/RECORD", "six.py,,\n");
    put(SITE "/copied/app.py", "");
    put(SITE "/copied/below/__init__.py", "");
    put(SITE "/acme/store/more/__init__.py", "");
    put(SHIV "/requests-2.32.dist-info/RECORD", "requests/api.py,,\n");
    put(WHEEL "/six-1.16.dist-info/RECORD", "six.py,,\n");
    put(DEBIAN "/requests-2.28.dist-info/METADATA", "");
    put(DEBIAN "/six-1.16.dist-info/RECORD", "six.py,,\n");
    put("/opt/conda/conda-meta/history", "");
    put(CONDA "/six-1.16.dist-info/RECORD", "six.py,,\n");
    put(EGGS "/six-1.16.dist-info/RECORD", "six.py,,\n");
    put(EGGS "/old.egg/EGG-INFO/PKG-INFO", "");
    put(EGGS "/archive.egg", "PK");
    put("/srv/shop/shop.egg-info/PKG-INFO", "");
    put("/srv/vendored/six-1.16.dist-info/RECORD", "six.py,,\n");
    put("/srv/other-1.dist-info/RECORD", "other.py,,\n");
    put(BESIDE "/app.py", "");
    return root < 0 ? -1 : 0;
}

static int end(void **state)
{
    (void)state;
    close(root);
    temp_dir_remove(folder);
    return 0;
}

static void expect(const char *path, enum source_owner owner, const char *site, bool has_folder)
{
    struct source_distribution found;
    distribution_find(root, path, &found);
    if (found.owner != owner)
        fail_msg("%s: %u", path, found.owner);
    assert_true(distribution_is_valid(&found, path));
    if (owner != SOURCE_OF_UNKNOWN) {
        assert_int_equal(found.root_length, strlen(site));
        assert_int_equal(found.has_folder, has_folder);
    }
}

static void a_file_that_a_distribution_lists_is_of_a_package(void **state)
{
    (void)state;
    expect(SITE "/requests/api.py", SOURCE_OF_PACKAGE, SITE, true);
    expect(SITE "/six.py", SOURCE_OF_PACKAGE, SITE, false);
    expect(SITE "/acme/store/db.py", SOURCE_OF_PACKAGE, SITE, false);
    expect(SHIV "/requests/api.py", SOURCE_OF_PACKAGE, SHIV, false);
    expect(WHEEL "/six.py", SOURCE_OF_PACKAGE, WHEEL, false);
    expect("/srv/vendored/six.py", SOURCE_OF_PACKAGE, "/srv/vendored", false);
}

static void a_distribution_that_was_installed_from_a_folder_is_the_project(void **state)
{
    (void)state;
    expect(SITE "/my_shop/cli.py", SOURCE_OF_PROJECT, SITE, true);
    expect(SITE "/acme/a,b.py", SOURCE_OF_PROJECT, SITE, false);
}

static void a_file_that_none_lists_is_the_project_s(void **state)
{
    (void)state;
    expect(SITE "/copied/app.py", SOURCE_OF_PROJECT, SITE, false);
    expect(SITE "/requests", SOURCE_OF_PROJECT, SITE, false);
    expect(SHIV "/app/main.py", SOURCE_OF_PROJECT, SHIV, false);
    expect(BESIDE "/app.py", SOURCE_OF_PROJECT, "/srv", false);
}

static void a_file_beside_those_of_a_distribution_says_nothing_of_these(void **state)
{
    (void)state;
    put(SITE "/deep-1.dist-info/RECORD", "deep/below/core.py,,\n");
    put(SITE "/deep/__init__.py", "");
    expect(SITE "/requests/zzz.py", SOURCE_OF_PROJECT, SITE, false);
    expect(SITE "/my_shop/zzz.py", SOURCE_OF_PROJECT, SITE, false);
    expect(SITE "/deep/zzz.py", SOURCE_OF_PROJECT, SITE, false);
    expect(SITE "/copied/below/app.py", SOURCE_OF_PROJECT, SITE, true);
    expect(SITE "/acme/store/more/app.py", SOURCE_OF_PROJECT, SITE, true);
}

static void a_distribution_is_unlike_a_file_of_a_longer_name(void **state)
{
    (void)state;
    put("/short/a-1.dist-info/RECORD", "a.py,,\n");
    expect("/short/a_1_dist_info_____________.py", SOURCE_OF_PROJECT, "/short", false);
}

static void where_a_list_lacks_nothing_is_known_of_others(void **state)
{
    (void)state;
    expect(DEBIAN "/six.py", SOURCE_OF_PACKAGE, DEBIAN, false);
    expect(DEBIAN "/requests/api.py", SOURCE_OF_UNKNOWN, "", false);
    expect(CONDA "/six.py", SOURCE_OF_PACKAGE, CONDA, false);
    expect(CONDA "/libmambapy/__init__.py", SOURCE_OF_UNKNOWN, "", false);
    expect(EGGS "/old.egg/old/core.py", SOURCE_OF_UNKNOWN, "", false);
    expect(EGGS "/archive.egg/core/a.py", SOURCE_OF_UNKNOWN, "", false);
    expect("/srv/shop/src/app.py", SOURCE_OF_UNKNOWN, "", false);
    expect("/nowhere/app.py", SOURCE_OF_UNKNOWN, "", false);
    expect("/app.py", SOURCE_OF_UNKNOWN, "", false);
}

/* As zipapp makes one of what pip has installed, and as a pex is. */
static void put_archive(const char *path)
{
    struct made_archive archive = { .count = 0 };
    char whole[256];
    made_archive_add(&archive, "__main__.py", "", false);
    made_archive_add(&archive, "shop/cli.py", "", false);
    made_archive_add(&archive, "six.py", "", false);
    made_archive_add(&archive, "six-1.16.dist-info/RECORD", "six.py,,\n", true);
    made_archive_add(&archive, "six-1.16.dist-info/METADATA", "", false);
    made_archive_add(&archive, ".deps/req.whl/req/api.py", "", false);
    made_archive_add(&archive, ".deps/req.whl/req-2.dist-info/RECORD", "req/api.py,,\n", false);
    made_archive_add(&archive, ".deps/req.whl/req-2.dist-info/METADATA", "", false);
    made_archive_add(&archive, "bare/a.dist-info/METADATA", "", false);
    made_archive_add(&archive, "egg/EGG-INFO/PKG-INFO", "", false);
    made_archive_finish(&archive, "");
    snprintf(whole, sizeof whole, "%s%s", folder, path);
    FILE *const file = fopen(whole, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(archive.bytes, 1, archive.count, file), archive.count);
    fclose(file);
}

static void archives_have_metadata_too(void **state)
{
    (void)state;
    put("/srv/apps/plain.txt", "");
    put_archive("/srv/apps/app.pyz");
    expect("/srv/apps/app.pyz/six.py", SOURCE_OF_PACKAGE, "/srv/apps/app.pyz", false);
    expect("/srv/apps/app.pyz/shop/cli.py", SOURCE_OF_PROJECT, "/srv/apps/app.pyz", false);
    expect("/srv/apps/app.pyz/__main__.py", SOURCE_OF_PROJECT, "/srv/apps/app.pyz", false);
    expect("/srv/apps/app.pyz/.deps/req.whl/req/api.py", SOURCE_OF_PACKAGE,
           "/srv/apps/app.pyz/.deps/req.whl", false);
    expect("/srv/apps/app.pyz/bare/b.py", SOURCE_OF_UNKNOWN, "", false);
    expect("/srv/apps/app.pyz/egg/b.py", SOURCE_OF_UNKNOWN, "", false);
    expect("/srv/apps/plain.txt/six.py", SOURCE_OF_UNKNOWN, "", false);
}

static void links_lead_nowhere_but_beneath_the_root(void **state)
{
    char link[256], target[256];
    (void)state;
    snprintf(target, sizeof target, "%s/srv/vendored", folder);
    snprintf(link, sizeof link, "%s/out", folder);
    assert_int_equal(symlink(target, link), 0);
    expect("/out/six.py", SOURCE_OF_UNKNOWN, "", false);
    snprintf(link, sizeof link, "%s/in", folder);
    assert_int_equal(symlink("/srv/vendored", link), 0);
    expect("/in/six.py", SOURCE_OF_PACKAGE, "/in", false);
}

static void an_answer_that_is_wrong_is_refused(void **state)
{
    const char *const path = "/srv/six.py";
    (void)state;
    const struct source_distribution right = { SOURCE_OF_PACKAGE, 4, 0 };
    assert_true(distribution_is_valid(&right, path));
    const struct source_distribution wrong[] = {
        { SOURCE_OF_PACKAGE, 0, 0 },  { SOURCE_OF_PACKAGE, 3, 0 },
        { SOURCE_OF_PACKAGE, 11, 0 }, { SOURCE_OF_PACKAGE, UINT32_MAX, 0 },
        { SOURCE_OF_PACKAGE, 4, 2 },  { SOURCE_OF_PACKAGE + 1, 4, 0 },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(distribution_is_valid(&wrong[i], path));
}

TEST_GROUP_WITHIN(
    begin, end, cmocka_unit_test(a_file_that_a_distribution_lists_is_of_a_package),
    cmocka_unit_test(a_distribution_that_was_installed_from_a_folder_is_the_project),
    cmocka_unit_test(a_file_that_none_lists_is_the_project_s),
    cmocka_unit_test(a_file_beside_those_of_a_distribution_says_nothing_of_these),
    cmocka_unit_test(a_distribution_is_unlike_a_file_of_a_longer_name),
    cmocka_unit_test(where_a_list_lacks_nothing_is_known_of_others),
    cmocka_unit_test(archives_have_metadata_too),
    cmocka_unit_test(links_lead_nowhere_but_beneath_the_root),
    cmocka_unit_test(an_answer_that_is_wrong_is_refused))
