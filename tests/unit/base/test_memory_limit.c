#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "sampler/base/memory_limit.h"
#include "tests/support/test.h"

enum { MIB = 1 << 20 };

static void put(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void make(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* The process has one limit, so that these are the steps of one test. */
static void the_smallest_limit_around_the_process_counts(void **state)
{
    char *const folder = temp_dir();
    char own[512];
    struct rlimit before, now;
    (void)state;
    snprintf(own, sizeof own, "%s/own", folder);
    memory_limit_find(folder, own);
    memory_limit_begin();
    assert_int_equal(memory_limit_scale(1000), 1000);
    assert_true(memory_limit_left() == UINT64_MAX);
    memory_limit_renew(true);
    assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);

    /* Nobody reaches the numbers that stand for none. */
    put(folder, "own", "4:memory:/pod/app\n0::/pod/app\n");
    make(folder, "memory");
    put(folder, "memory/memory.limit_in_bytes", "9223372036854771712\n");
    make(folder, "pod");
    make(folder, "pod/app");
    put(folder, "pod/app/memory.max", "max\n");
    memory_limit_find(folder, own);
    assert_int_equal(memory_limit_scale(1000), 1000);

    put(folder, "pod/memory.max", "67108864\n");
    put(folder, "pod/app/memory.max", "134217728\n");
    put(folder, "pod/memory.current", "41943040\n");
    put(folder, "pod/memory.stat",
        "anon 1\nfile 9\ninactive_file 4194304\nactive_file 2097152\nslab_reclaimable 2097152\n");
    memory_limit_find(folder, own);
    assert_int_equal(memory_limit_scale(16 * MIB), MIB);
    assert_int_equal(memory_limit_scale(3), 1);
    assert_true(memory_limit_left() == UINT64_MAX);
    memory_limit_begin();
    assert_true(memory_limit_left() == 24 * MIB);

    /* Allocations can take that, what is there already not counted. */
    assert_int_equal(getrlimit(RLIMIT_DATA, &now), 0);
    assert_true(now.rlim_cur < before.rlim_cur);
    const rlim_t narrow = now.rlim_cur;
    put(folder, "pod/memory.current", "33554432\n");
    memory_limit_renew(false);
    assert_int_equal(getrlimit(RLIMIT_DATA, &now), 0);
    assert_true(now.rlim_cur == narrow);
    memory_limit_add(MIB);
    assert_int_equal(getrlimit(RLIMIT_DATA, &now), 0);
    assert_true(now.rlim_cur == narrow + MIB);
    memory_limit_renew(true);
    assert_int_equal(getrlimit(RLIMIT_DATA, &now), 0);
    assert_true(now.rlim_cur > narrow + 4 * MIB);
    /* Who is over the limit gets nothing more, and no less. */
    put(folder, "pod/memory.current", "99999999999\n");
    assert_true(memory_limit_left() == 0);
    assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
    temp_dir_remove(folder);
}

TEST_GROUP(cmocka_unit_test(the_smallest_limit_around_the_process_counts))
