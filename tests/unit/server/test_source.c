/* Reads files as a process that is a child of the test, through the helper. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/channel.h"
#include "sampler/debug_lines.h"
#include "sampler/session.h"
#include "server/source/helper.h"
#include "server/source/request.h"
#include "server/source/source.h"
#include "tests/support/described.h"
#include "tests/support/test.h"

enum { OTHER = 65534 };

/* The folder is the root of the target if the test may change its root; otherwise files have absolute
 * paths. */
struct world {
    char *folder;
    bool has_root;
    pid_t pid;
    struct session_origin target;
    struct buffer text;
};

static const char mapped = 1;

static noreturn void be_target(const struct world *world, uid_t uid, int ready)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (world->has_root && (chroot(world->folder) != 0 || chdir("/") != 0))
        _exit(1);
    if (uid != geteuid() && (syscall(SYS_setgroups, 0, NULL) != 0 ||
                             setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0))
        _exit(1);
    if (write(ready, "x", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static void start_target(struct world *world, uid_t uid)
{
    int ends[2];
    char path[64], byte;
    struct err err = { 0 };
    assert_int_equal(pipe(ends), 0);
    world->pid = fork();
    if (world->pid == 0)
        be_target(world, uid, ends[1]);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    snprintf(path, sizeof path, "/proc/%d/mem", (int)world->pid);
    world->target = (struct session_origin){
        .pid = world->pid,
        .pidfd = (int)syscall(SYS_pidfd_open, world->pid, 0),
        .space_fd = open(path, O_RDONLY | O_CLOEXEC),
        .mapped_addr = (uint64_t)(uintptr_t)&mapped,
    };
    assert_true(world->target.pidfd >= 0 && world->target.space_fd >= 0);
    assert_ok(owner_read(world->pid, &world->target.owner, &err), &err);
}

static void stop_target(struct world *world)
{
    kill(world->pid, SIGKILL);
    waitpid(world->pid, NULL, 0);
}

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
    struct err err = { 0 };
    char path[512];
    /* Before there is anything else. */
    assert_ok(source_helper_start(&err), &err);
    world->folder = temp_dir();
    world->has_root = geteuid() == 0;
    assert_int_equal(chmod(world->folder, 0755), 0);
    put(world, "app.py", "import os\nprint(1)\n");
    snprintf(path, sizeof path, "%s/deep", world->folder);
    mkdir(path, 0755);
    put(world, "deep/b.py", "b\n");
    start_target(world, geteuid());
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *const world = *state;
    stop_target(world);
    session_origin_close(&world->target);
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

static enum err_code read_path(struct world *world, const char *path, struct err *err)
{
    uint64_t changed_ns = 0;
    const struct helper_request wanted = { .path = { path, (uint32_t)strlen(path) } };
    return source_helper_read(&world->target, &wanted, -1, &world->text, &changed_ns, NULL,
                              err);
}

/* As the target calls it. */
static enum err_code read_it(struct world *world, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s", world->has_root ? "" : world->folder, name);
    return read_path(world, path, NULL);
}

static void files_of_the_targets_root_are_read(void **state)
{
    struct world *const world = *state;
    assert_int_equal(read_it(world, "/app.py"), ERR_OK);
    assert_string_equal(buffer_string(&world->text), "import os\nprint(1)\n");
    assert_int_equal(read_it(world, "/deep/../deep//b.py"), ERR_OK);
    assert_string_equal(buffer_string(&world->text), "b\n");
    put(world, "empty.py", "");
    assert_int_equal(read_it(world, "/empty.py"), ERR_OK);
    assert_int_equal(world->text.length, 0);
}

static void call_edges_and_dots_do_not_lead_out(void **state)
{
    struct world *const world = *state;
    if (!world->has_root)
        skip();
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

static void what_is_no_regular_file_is_refused(void **state)
{
    struct world *const world = *state;
    char path[512];
    uint64_t changed_ns = 0;
    snprintf(path, sizeof path, "%s/pipe", world->folder);
    assert_int_equal(mkfifo(path, 0644), 0);
    assert_int_equal(read_it(world, "/pipe"), ERR_INVALID);
    assert_int_equal(read_it(world, "/deep"), ERR_INVALID);
    assert_int_equal(read_it(world, "/nothing.py"), ERR_NOT_FOUND);
    assert_int_equal(read_it(world, "/app.py/x"), ERR_NOT_FOUND);
    assert_int_equal(read_path(world, "app.py", NULL), ERR_INVALID);
    assert_int_equal(read_path(world, "<string>", NULL), ERR_INVALID);
    assert_int_equal(read_path(world, "", NULL), ERR_INVALID);
    const struct helper_request wanted = { .path = { "/app.py\0x", 9 } };
    assert_int_equal(
        source_helper_read(&world->target, &wanted, -1, &world->text, &changed_ns, NULL, NULL),
        ERR_INVALID);
}

static void the_kernels_files_are_refused(void **state)
{
    struct world *const world = *state;
    stop_target(world);
    session_origin_close(&world->target);
    world->has_root = false;
    start_target(world, geteuid());
    assert_int_equal(read_path(world, "/proc/self/environ", NULL), ERR_INVALID);
    assert_int_equal(read_path(world, "/proc/1/environ", NULL), ERR_INVALID);
    assert_int_equal(read_path(world, "/proc/self/root/etc/passwd", NULL), ERR_NOT_FOUND);
    assert_int_equal(read_path(world, "/dev/zero", NULL), ERR_INVALID);
    assert_int_equal(read_path(world, "/etc/passwd", NULL), ERR_OK);
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
    if (!world->has_root)
        skip();
    snprintf(path, sizeof path, "%s/app.py", world->folder);
    stop_target(world);
    session_origin_close(&world->target);
    start_target(world, OTHER);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(read_it(world, "/app.py"), ERR_PERM);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(read_it(world, "/app.py"), ERR_OK);
    assert_int_equal(chown(path, OTHER, OTHER), 0);
    assert_int_equal(chmod(path, 0400), 0);
    assert_int_equal(read_it(world, "/app.py"), ERR_OK);
}

/* Only root may have become somebody else since, and then counts what it is. */
static void another_owner_than_at_first_is_refused(void **state)
{
    struct world *const world = *state;
    struct err err = { 0 };
    const struct owner first = world->target.owner;
    world->target.owner.uid = first.uid + 1;
    assert_int_equal(read_it(world, "/app.py"), ERR_PERM);
    world->target.owner = first;
    world->target.owner.root_inode++;
    assert_int_equal(read_it(world, "/app.py"), ERR_PERM);
    world->target.owner = first;
    world->target.owner.groups[world->target.owner.group_count++] = 12345;
    assert_int_equal(read_path(world, "/app.py", &err), ERR_PERM);
    assert_non_null(strstr(err.message, "changed its owner"));
    if (!world->has_root)
        return;
    stop_target(world);
    session_origin_close(&world->target);
    start_target(world, OTHER);
    world->target.owner = first;
    assert_int_equal(read_it(world, "/app.py"), ERR_OK);
    char path[512];
    snprintf(path, sizeof path, "%s/app.py", world->folder);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(read_it(world, "/app.py"), ERR_PERM);
}

static void nothing_is_read_for_a_process_that_has_gone(void **state)
{
    struct world *const world = *state;
    assert_int_equal(read_it(world, "/app.py"), ERR_OK);
    stop_target(world);
    assert_int_equal(read_it(world, "/app.py"), ERR_GONE);
    /* Nor where its number is another's by now: our own is there, and as good as its owner's. */
    world->target.pid = getpid();
    assert_int_equal(read_it(world, "/app.py"), ERR_GONE);
}

static void copy(const struct world *world, const char *from, const char *name, size_t limit)
{
    char path[512], part[4096];
    size_t left = limit, got;
    snprintf(path, sizeof path, "%s/%s", world->folder, name);
    FILE *const in = fopen(from, "r");
    FILE *const out = fopen(path, "w");
    assert_true(in && out);
    while (left && (got = fread(part, 1, left < sizeof part ? left : sizeof part, in)) > 0) {
        assert_int_equal(fwrite(part, 1, got, out), got);
        left -= got;
    }
    fclose(in);
    fclose(out);
}

/* The linked address of the function of the library, and the line that the library itself
 * knows. */
static uint64_t entry_of_described(int *line_out)
{
    Dl_info info;
    void *const library = dlopen(DESCRIBED, RTLD_NOW);
    assert_non_null(library);
    void *const function = dlsym(library, "described_function");
    assert_true(function && dladdr(function, &info));
    *line_out = *(const int *)dlsym(library, "described_line");
    return (uint64_t)((char *)function - (char *)info.dli_fbase);
}

static enum err_code read_native(struct world *world, const char *name, const char *build_id,
                                 uint64_t entry, struct source_place *place, struct err *err)
{
    char path[512];
    uint64_t changed_ns = 0;
    snprintf(path, sizeof path, "%s%s", world->has_root ? "" : world->folder, name);
    const struct helper_request wanted = { .path = { path, (uint32_t)strlen(path) },
                                           .entries = &entry,
                                           .entry_count = 1,
                                           .build_id = { build_id,
                                                         (uint32_t)strlen(build_id) } };
    return source_helper_read(&world->target, &wanted, -1, &world->text, &changed_ns, place,
                              err);
}

/* The root of the test itself has no file of the name that the debug information has. */
static void native_code_is_read_where_debug_information_places_it(void **state)
{
    struct world *const world = *state;
    struct source_place place;
    struct err err = { 0 };
    char path[512];
    int line = 0;
    const uint64_t entry = entry_of_described(&line);
    if (!debug_lines_are_supported())
        skip();
    copy(world, DESCRIBED, "described.so", SIZE_MAX);
    assert_int_equal(read_native(world, "/described.so", "", entry, &place, &err),
                     ERR_NOT_FOUND);
    assert_string_equal(place.path, "/src/described.c");
    assert_int_equal(place.line, line);
    assert_non_null(strstr(err.message, "/src/described.c:"));
    if (!world->has_root)
        return;
    snprintf(path, sizeof path, "%s/src", world->folder);
    assert_int_equal(mkdir(path, 0755), 0);
    copy(world, DESCRIBED_SOURCE, "src/described.c", SIZE_MAX);
    assert_ok(read_native(world, "/described.so", "", entry, &place, &err), &err);
    assert_int_equal(place.line, line);
    assert_non_null(strstr(buffer_string(&world->text), "described_function"));
}

/* One that is not described does not keep the others from being found. */
static void places_of_several_functions_come_together(void **state)
{
    struct world *const world = *state;
    struct source_found_row row;
    struct err err = { 0 };
    char path[512];
    int line = 0;
    uint64_t changed_ns = 0;
    const uint64_t entry = entry_of_described(&line), entries[] = { 1, entry };
    if (!debug_lines_are_supported())
        skip();
    copy(world, DESCRIBED, "described.so", SIZE_MAX);
    snprintf(path, sizeof path, "%s/described.so", world->has_root ? "" : world->folder);
    const struct helper_request wanted = { .path = { path, (uint32_t)strlen(path) },
                                           .entries = entries,
                                           .entry_count = 2,
                                           .wants_places = true };
    assert_ok(
        source_helper_read(&world->target, &wanted, -1, &world->text, &changed_ns, NULL, &err),
        &err);
    assert_int_equal(world->text.length, 2 * sizeof row + strlen("/src/described.c"));
    memcpy(&row, world->text.data, sizeof row);
    assert_int_equal(row.path_length, 0);
    memcpy(&row, world->text.data + sizeof row, sizeof row);
    assert_int_equal(row.line, line);
    assert_memory_equal(world->text.data + 2 * sizeof row, "/src/described.c", row.path_length);
}

static void native_code_that_is_not_described_has_a_reason(void **state)
{
    struct world *const world = *state;
    struct source_place place;
    struct err err = { 0 };
    int line;
    const uint64_t entry = entry_of_described(&line);
    if (!debug_lines_are_supported())
        skip();
    copy(world, DESCRIBED, "described.so", SIZE_MAX);
    copy(world, DESCRIBED ".bare", "bare.so", SIZE_MAX);
    assert_int_equal(read_native(world, "/bare.so", "", entry, &place, &err), ERR_NOT_FOUND);
    assert_string_equal(err.message, "bare.so has no debug information");
    assert_string_equal(place.path, "");
    assert_int_equal(read_native(world, "/described.so", "", 1, &place, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "about this function"));
    assert_int_equal(read_native(world, "/described.so", "0123", entry, &place, &err),
                     ERR_GONE);
    assert_int_equal(read_native(world, "/app.py", "", entry, &place, &err), ERR_GONE);
    assert_int_equal(read_native(world, "/no.so", "", entry, &place, &err), ERR_GONE);
    assert_int_equal(read_native(world, "/deep", "", entry, &place, &err), ERR_GONE);
}

/* Whatever it does to the process that reads it, nothing else needs that process. */
static void damaged_debug_information_ends_nothing_else(void **state)
{
    struct world *const world = *state;
    struct source_place place;
    struct stat status;
    char path[512];
    int line;
    const uint64_t entry = entry_of_described(&line);
    copy(world, DESCRIBED, "described.so", SIZE_MAX);
    snprintf(path, sizeof path, "%s/described.so", world->folder);
    assert_int_equal(stat(path, &status), 0);
    const int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    /* The second half of the file, without the headers of the sections, is its debug information. */
    for (off_t at = status.st_size / 2; at < status.st_size * 3 / 4; at += 64) {
        assert_int_equal(pwrite(fd, "\xff\xff\xff\x7f\x80\x01", 6, at), 6);
        if (at % 512 == 0)
            assert_int_not_equal(read_native(world, "/described.so", "", entry, &place, NULL),
                                 ERR_OK);
    }
    close(fd);
    assert_int_equal(read_it(world, "/app.py"), ERR_OK);
}

static void more_descriptors_than_it_takes_are_closed(void **state)
{
    struct world *const world = *state;
    struct source_request request = { .pid = world->pid,
                                      .mapped_addr = world->target.mapped_addr,
                                      .owner = world->target.owner };
    struct source_answer answer = { 0 };
    int ends[2], pipes[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    const int fds[] = { pipes[1], world->target.pidfd, world->target.space_fd, ends[0] };
    const pid_t broker = source_helper_fork(ends[1], NULL);
    assert_true(broker > 0);
    snprintf(request.path, sizeof request.path, "%s/app.py",
             world->has_root ? "" : world->folder);
    assert_true(
        channel_send(ends[0], &request, sizeof request, fds, sizeof fds / sizeof *fds, 0));
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &answer, sizeof answer), sizeof answer);
    assert_int_equal(answer.outcome, SOURCE_DONE);
    close(pipes[0]);
    /* It has not kept the other end of its own socket, or it would not see that this one is closed. */
    close(ends[1]);
    close(ends[0]);
    assert_int_equal(waitpid(broker, NULL, 0), broker);
}

/* Comes last: it cannot be started again. */
static void without_the_helper_the_error_says_so(void **state)
{
    struct world *const world = *state;
    struct err err = { 0 };
    source_helper_stop();
    source_helper_stop();
    assert_int_equal(read_path(world, "/app.py", &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "unavailable"));
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

TEST_GROUP(WITH_WORLD(files_of_the_targets_root_are_read),
           WITH_WORLD(call_edges_and_dots_do_not_lead_out),
           WITH_WORLD(what_is_no_regular_file_is_refused),
           WITH_WORLD(the_kernels_files_are_refused), WITH_WORLD(large_files_are_refused),
           WITH_WORLD(the_owners_rights_count),
           WITH_WORLD(another_owner_than_at_first_is_refused),
           WITH_WORLD(nothing_is_read_for_a_process_that_has_gone),
           WITH_WORLD(native_code_is_read_where_debug_information_places_it),
           WITH_WORLD(places_of_several_functions_come_together),
           WITH_WORLD(native_code_that_is_not_described_has_a_reason),
           WITH_WORLD(damaged_debug_information_ends_nothing_else),
           WITH_WORLD(more_descriptors_than_it_takes_are_closed),
           WITH_WORLD(without_the_helper_the_error_says_so))
