#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/process/process_stats.h"
#include "tests/support/test.h"

#define REST \
    " 3 4 5 6 7 8 9 10 11 120 30 0 0 20 0 4 0 777 99 25 18446744073709551615 64 65 66 0\n"

static void names_do_not_shift_what_follows(void **state)
{
    static const char *const texts[] = {
        "1 (python3) S 2" REST,
        "1 (a) R 9) S 2" REST,
        "1 (() S 2" REST,
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct process_stats stats;
        assert_int_equal(process_stats_parse(texts[i], &stats), ERR_OK);
        assert_int_equal(stats.state, 'S');
        assert_int_equal(stats.parent, 2);
        assert_int_equal(stats.minor_faults, 8);
        assert_int_equal(stats.cpu_ticks, 150);
        assert_int_equal(stats.threads, 4);
        assert_int_equal(stats.start_ticks, 777);
        assert_int_equal(stats.rss_bytes, 25 * (uint64_t)sysconf(_SC_PAGESIZE));
        assert_int_equal(stats.code_start, 64);
        assert_int_equal(stats.stack_start, 66);
    }
}

static void a_truncated_text_is_refused(void **state)
{
    static const char text[] = "1 (python3) S 2 3 4 5 6 7 8 9 10 11 120 30 0 0 20 0 4 0 777 99";
    char cut[sizeof text];
    (void)state;
    for (size_t length = 0; length < sizeof text; length++) {
        struct process_stats stats = { .parent = 42 };
        memcpy(cut, text, length);
        cut[length] = '\0';
        assert_int_equal(process_stats_parse(cut, &stats), ERR_CORRUPT);
        assert_int_equal(stats.parent, 42);
    }
}

#define ID "3f1c0e9a5b7d3f1c0e9a5b7d3f1c0e9a5b7d3f1c0e9a5b7d3f1c0e9a5b7d0123"

static void the_path_identifies_a_container(void **state)
{
    static const struct {
        const char *text, *id, *name;
    } rows[] = {
        { "", "", "" },
        { "0::/\n", "", "" },
        { "0::/user.slice/user-1000.slice/session-3.scope\n", "", "" },
        { "0::/system.slice/docker-" ID ".scope\n", ID, "docker" },
        { "12:cpu:/docker/" ID "\n0::/\n", ID, "docker" },
        { "0::/machine.slice/libpod-" ID ".scope/container\n", ID, "libpod" },
        { "0::/kubepods/burstable/pod0c3e-11/" ID "\n", ID, "" },
        { "0::/kubepods.slice/cri-containerd-" ID ".scope", ID, "cri-containerd" },
        { "0::/docker/" ID
          "/docker/0123456789abcdef0123456789abcdef", /* the innermost counts */
          "0123456789abcdef0123456789abcdef", "docker" },
        { "0::/x/0123456789abcdef0123456789abcde\n", "", "" }, /* one digit too few */
        { "0::/" ID ID "\n", "", "" },                         /* too long for an id */
        { ID, ID, "" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct container container;
        container_parse(rows[i].text, &container);
        assert_string_equal(container.id, rows[i].id);
        assert_string_equal(container.name, rows[i].name);
    }
}

#define UID "0c3e1f7a-11aa-4bcd-9e00-0123456789ab"

static void the_path_identifies_a_pod(void **state)
{
    static const struct {
        const char *text, *uid;
    } rows[] = {
        { "0::/system.slice/docker-" ID ".scope\n", "" },
        { "0::/kubepods/burstable/pod" UID "/" ID "\n", UID },
        { "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-"
          "pod0c3e1f7a_11aa_4bcd_9e00_0123456789ab.slice/cri-containerd-" ID ".scope\n",
          UID },
        { "0::/../../kubepods-besteffort-pod" UID ".slice/crio-" ID ".scope\n", UID },
        { "12:cpu:/kubepods/pod0123456789abcdef0123456789abcdef/" ID "\n", /* a static pod */
          "0123456789abcdef0123456789abcdef" },
        { "0::/kubepods/pod0c3e-11/" ID "\n", "" },
        { "0::/pod" UID, "" }, /* in no container of it */
        { "0::/pods/" ID "\n", "" },
        /* Groups that a program has made below its own. */
        { "0::/user.slice/user-1000.slice/user@1000.service/pod" UID "/" ID "\n", "" },
        { "0::/kubepods/pod" UID "/" ID "/pod11111111-11aa-4bcd-9e00-0123456789ab/" ID "\n",
          UID },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct container container;
        container_parse(rows[i].text, &container);
        assert_string_equal(container.pod_uid, rows[i].uid);
    }
}

/* The pod of a process of that control group, with what a node has in its folder. */
static void assert_pod(const char *folder, const char *uid, const char *expected)
{
    struct container container = { .id = ID };
    snprintf(container.pod_uid, sizeof container.pod_uid, "%s", uid);
    container_name_pod(folder, &container);
    assert_string_equal(container.pod, expected);
}

static void the_node_or_the_environment_names_the_pod(void **state)
{
    static const char *const folders[] = { ("shop_web-7d9f_" UID),
                                           "a<b_x_11111111-11aa-4bcd-9e00-0123456789ab",
                                           "no-name_22222222-11aa-4bcd-9e00-0123456789ab" };
    char root[] = "/tmp/pyrometer-pods-XXXXXX", path[256];
    (void)state;
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_pod(root, UID, "shop/web-7d9f");
    assert_pod(root, "11111111-11aa-4bcd-9e00-0123456789ab",
               "11111111-11aa-4bcd-9e00-0123456789ab");
    assert_pod(root, "22222222-11aa-4bcd-9e00-0123456789ab",
               "22222222-11aa-4bcd-9e00-0123456789ab");
    assert_pod("/nonexistent", UID, UID);
    assert_pod(root, "", "");
    setenv(POD_NAME_VARIABLE, "api-0", 1);
    assert_pod(root, "", "api-0");
    setenv(POD_NAMESPACE_VARIABLE, "shop", 1);
    assert_pod(root, "", "shop/api-0");
    assert_pod(root, UID, "shop/web-7d9f"); /* the control group knows better */
    unsetenv(POD_NAME_VARIABLE);
    unsetenv(POD_NAMESPACE_VARIABLE);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        assert_int_equal(rmdir(path), 0);
    }
    assert_int_equal(rmdir(root), 0);
}

static void our_own_process_can_be_read(void **state)
{
    struct process_stats stats;
    unsigned uid = 0;
    (void)state;
    assert_int_equal(process_stats_read((int)getpid(), &stats, NULL), ERR_OK);
    assert_int_equal(stats.parent, getppid());
    assert_int_equal(process_stats_user((int)getpid(), &uid, NULL), ERR_OK);
    assert_int_equal(uid, getuid());
    assert_int_equal(process_stats_read(1 << 22, &stats, NULL), ERR_GONE);
}

TEST_GROUP(cmocka_unit_test(names_do_not_shift_what_follows),
           cmocka_unit_test(a_truncated_text_is_refused),
           cmocka_unit_test(the_path_identifies_a_container),
           cmocka_unit_test(the_path_identifies_a_pod),
           cmocka_unit_test(the_node_or_the_environment_names_the_pod),
           cmocka_unit_test(our_own_process_can_be_read))
