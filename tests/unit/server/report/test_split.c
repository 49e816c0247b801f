#include <string.h>

#include "sampler/profile/views/view.h"
#include "server/command/output/split.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

static void the_process_stands_before_the_ending(void **state)
{
    static const struct {
        const char *name, *extension, *expected;
    } rows[] = {
        { "profile.html", "html", "profile_7.html" },
        { "/a.b/cpu.pb.gz", "pb.gz", "/a.b/cpu_7.pb.gz" },
        { "/a.b/cpu.v1.txt", "folded", "/a.b/cpu.v1_7.txt" },
        { "/a.b/cpu", "folded", "/a.b/cpu_7" },
        { ".folded", "folded", ".folded_7" },
        { "x/.hidden", "folded", "x/.hidden_7" },
    };
    char name[PATH_MAX], longest[PATH_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(split_name(rows[i].name, rows[i].extension, 7, name, NULL), ERR_OK);
        assert_string_equal(name, rows[i].expected);
    }
    memset(longest, 'x', sizeof longest - 2);
    longest[sizeof longest - 2] = '\0';
    assert_int_equal(split_name(longest, "folded", 7, name, NULL), ERR_SYS);
}

/* Rows of one number are one part; what has no samples is none. */
static void parts_are_the_processes_that_have_samples(void **state)
{
    struct profile *const profile = made_profile();
    const node_id node = made_node(profile, "main");
    const thread_id late = made_thread(profile, 30, 30), idle = made_thread(profile, 20, 20),
                    early = made_thread(profile, 10, 10), again = made_thread(profile, 30, 31);
    struct split split;
    struct err err = { 0 };
    (void)state;
    assert_int_not_equal(idle, early);
    assert_ok(profile_add(profile, late, 0, node, 1, &err), &err);
    assert_ok(profile_add(profile, early, 0, node, 1, &err), &err);
    assert_ok(profile_add(profile, again, 0, node, 1, &err), &err);
    assert_ok(profile_seal(profile, 1, &err), &err);
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_ok(split_init(&split, &snapshot, &(struct view_query){ 0 }, &err), &err);
    assert_int_equal(split.count, 2);
    assert_int_equal(split.parts[0].pid, 10);
    assert_int_equal(split.parts[0].count, 1);
    assert_int_equal(split.parts[1].pid, 30);
    for (size_t i = 0; i < split.parts[1].count; i++)
        assert_int_equal(
            profile_process_at(&snapshot, split.processes[split.parts[1].first + i]).pid, 30);
    split_deinit(&split);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

TEST_GROUP(cmocka_unit_test(the_process_stands_before_the_ending),
           cmocka_unit_test(parts_are_the_processes_that_have_samples))
