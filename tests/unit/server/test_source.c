#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/buffer.h"
#include "server/source.h"
#include "tests/support/test.h"

/* The folder stands for the root that the target sees. */
struct world {
    char *folder;
    struct source_root root;
    struct buffer text;
};

static void put(const struct world *world, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", world->folder, name);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int setup(void **state)
{
    struct world *const world = calloc(1, sizeof *world);
    char path[512];
    world->folder = temp_dir();
    world->root = (struct source_root){ .fd = open(world->folder, O_PATH | O_CLOEXEC),
                                        .uid = geteuid(),
                                        .gid = getegid() };
    put(world, "app.py", "import os\nprint(1)\n");
    snprintf(path, sizeof path, "%s/deep", world->folder);
    mkdir(path, 0755);
    put(world, "deep/b.py", "b\n");
    *state = world;
    return world->root.fd < 0;
}

static int teardown(void **state)
{
    struct world *const world = *state;
    source_close(&world->root);
    temp_dir_remove(world->folder);
    buffer_deinit(&world->text);
    free(world);
    return 0;
}

static void add_link(const struct world *world, const char *to, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", world->folder, name);
    assert_int_equal(symlink(to, path), 0);
}

static enum err_code read_it(struct world *world, const char *path)
{
    uint64_t changed_ns = 0;
    return source_read(&world->root, path, strlen(path), &world->text, &changed_ns, NULL);
}

static void files_of_the_targets_root_are_read(void **state)
{
    struct world *const world = *state;
    uint64_t changed_ns = 0;
    assert_int_equal(source_read(&world->root, "/app.py", 7, &world->text, &changed_ns, NULL),
                     ERR_OK);
    assert_string_equal(buffer_string(&world->text), "import os\nprint(1)\n");
    assert_true(changed_ns > 0);
    assert_int_equal(read_it(world, "/deep/../deep//b.py"), ERR_OK);
    assert_string_equal(buffer_string(&world->text), "b\n");
}

static void links_and_dots_do_not_lead_out(void **state)
{
    struct world *const world = *state;
    add_link(world, "/app.py", "inside.py");
    add_link(world, "/etc/passwd", "outside.py");
    add_link(world, "../../../../../../etc/passwd", "up.py");
    add_link(world, "loop.py", "loop.py");
    assert_int_equal(read_it(world, "/inside.py"), ERR_OK);
    assert_int_equal(read_it(world, "/outside.py"), ERR_NOT_FOUND);
    assert_int_equal(read_it(world, "/up.py"), ERR_NOT_FOUND);
    assert_int_equal(read_it(world, "/loop.py"), ERR_NOT_FOUND);
    assert_int_equal(read_it(world, "/../../../../etc/passwd"), ERR_NOT_FOUND);
}

static void what_is_no_ordinary_file_is_refused(void **state)
{
    struct world *const world = *state;
    char path[512];
    snprintf(path, sizeof path, "%s/pipe", world->folder);
    assert_int_equal(mkfifo(path, 0644), 0);
    assert_int_equal(read_it(world, "/pipe"), ERR_INVALID);
    assert_int_equal(read_it(world, "/deep"), ERR_INVALID);
    assert_int_equal(read_it(world, "/nothing.py"), ERR_NOT_FOUND);
    assert_int_equal(read_it(world, "/app.py/x"), ERR_NOT_FOUND);
    assert_int_equal(read_it(world, "app.py"), ERR_INVALID);
    assert_int_equal(read_it(world, "<string>"), ERR_INVALID);
    assert_int_equal(read_it(world, ""), ERR_INVALID);
    uint64_t changed_ns = 0;
    assert_int_equal(
        source_read(&world->root, "/app.py\0x", 9, &world->text, &changed_ns, NULL),
        ERR_INVALID);
}

static void the_kernels_files_are_refused(void **state)
{
    struct world *const world = *state;
    source_close(&world->root);
    world->root.fd = open("/", O_PATH | O_CLOEXEC);
    assert_int_equal(read_it(world, "/proc/self/environ"), ERR_INVALID);
    assert_int_equal(read_it(world, "/proc/1/environ"), ERR_INVALID);
    assert_int_equal(read_it(world, "/dev/zero"), ERR_INVALID);
}

static void large_files_are_refused(void **state)
{
    struct world *const world = *state;
    char path[512];
    snprintf(path, sizeof path, "%s/app.py", world->folder);
    assert_int_equal(truncate(path, SOURCE_MAX_BYTES), 0);
    assert_int_equal(read_it(world, "/app.py"), ERR_OK);
    assert_int_equal(world->text.length, SOURCE_MAX_BYTES);
    assert_int_equal(truncate(path, SOURCE_MAX_BYTES + 1), 0);
    assert_int_equal(read_it(world, "/app.py"), ERR_LIMIT);
}

/* A program of somebody else gets nothing that its owner may not read, whoever we are. */
static void the_owners_rights_count(void **state)
{
    struct world *const world = *state;
    char path[512];
    if (geteuid() != 0) {
        world->root.uid = geteuid() + 1;
        assert_int_equal(read_it(world, "/app.py"), ERR_PERM);
        return;
    }
    assert_int_equal(chmod(world->folder, 0755), 0);
    snprintf(path, sizeof path, "%s/app.py", world->folder);
    world->root.uid = 65534;
    world->root.gid = 65534;
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(read_it(world, "/app.py"), ERR_PERM);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(read_it(world, "/app.py"), ERR_OK);
    /* And ours are ours again. */
    assert_int_equal(chmod(path, 0600), 0);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    close(fd);
}

static void the_root_of_a_process_is_found(void **state)
{
    struct source_root root;
    struct world *const world = *state;
    uint64_t changed_ns = 0;
    assert_int_equal(source_open(&root, getpid(), NULL), ERR_OK);
    assert_int_equal(
        source_read(&root, __FILE__, strlen(__FILE__), &world->text, &changed_ns, NULL),
        ERR_OK);
    assert_non_null(strstr(buffer_string(&world->text), "the_root_of_a_process_is_found"));
    source_close(&root);
    source_close(&root);
    assert_int_equal(source_open(&root, 2000000001, NULL), ERR_NOT_FOUND);
    assert_int_equal(source_read(&root, "/x", 2, &world->text, &changed_ns, NULL),
                     ERR_NOT_FOUND);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

TEST_MAIN(WITH_WORLD(files_of_the_targets_root_are_read),
          WITH_WORLD(links_and_dots_do_not_lead_out),
          WITH_WORLD(what_is_no_ordinary_file_is_refused),
          WITH_WORLD(the_kernels_files_are_refused), WITH_WORLD(large_files_are_refused),
          WITH_WORLD(the_owners_rights_count), WITH_WORLD(the_root_of_a_process_is_found))
