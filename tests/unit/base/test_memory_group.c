#include <stdio.h>
#include <string.h>

#include "sampler/base/memory_group.h"
#include "tests/support/test.h"

/* The limit of a process whose file of groups has this text. */
static uint64_t limit_of(const char *folder, const char *groups)
{
    static struct memory_group found;
    char of[512];
    temp_dir_put(folder, "/groups", groups);
    snprintf(of, sizeof of, "%s/groups", folder);
    memory_group_find(folder, of, &found);
    return found.limit;
}

static void the_smallest_limit_of_the_line_of_memory_counts(void **state)
{
    char *const folder = temp_dir();
    (void)state;
    temp_dir_put(folder, "/pod/memory.max", "1000\n");
    temp_dir_put(folder, "/pod/app/memory.max", "2000\n");
    temp_dir_put(folder, "/free/memory.max", "max\n");
    temp_dir_put(folder, "/memory/old/memory.limit_in_bytes", "3000\n");
    temp_dir_put(folder, "/memory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(limit_of(folder, "0::/pod/app\n"), 1000);
    assert_int_equal(limit_of(folder, "0::/free\n"), 0);
    assert_int_equal(limit_of(folder, "5:cpu,memory:/old\n1:name=systemd:/pod\n"), 3000);
    assert_int_equal(limit_of(folder, "0::/gone\n"), 0);
    assert_int_equal(limit_of(folder, ""), 0);
    temp_dir_remove(folder);
}

/* The owner of a group chooses its name. */
static void a_name_does_not_choose_another_group(void **state)
{
    char *const folder = temp_dir();
    char below[512];
    (void)state;
    temp_dir_put(folder, "/pod/memory.max", "1000\n");
    temp_dir_put(folder, "/below/x", "");
    temp_dir_put(folder, "/memory/pod/memory.limit_in_bytes", "2000\n");
    snprintf(below, sizeof below, "%s/below", folder);
    assert_int_equal(limit_of(folder, "0::/user/0::/pod\n"), 0);
    assert_int_equal(limit_of(folder, "1:name=x:memory:/pod\n"), 0);
    assert_int_equal(limit_of(folder, "1:memoryx,xmemory:/pod\n"), 0);
    assert_int_equal(limit_of(folder, "0::/../pod\n"), 0);
    assert_int_equal(limit_of(folder, "0::/x/..\n"), 0);
    assert_int_equal(limit_of(folder, "0::/..pod\n"), 0);
    assert_int_equal(limit_of(below, "0::/../pod\n"), 0);
    temp_dir_remove(folder);
}

TEST_GROUP(cmocka_unit_test(the_smallest_limit_of_the_line_of_memory_counts),
           cmocka_unit_test(a_name_does_not_choose_another_group))
