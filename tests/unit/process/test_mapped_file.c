#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sampler/process/mapped_file.h"
#include "tests/support/test.h"

/* A folder that holds a file "d/file" of a few bytes. */
struct place {
    char folder[64], file[96];
    int root_fd;
    struct mapping mapping; /* of the file, with its path beneath the folder */
    char path[16];
};

static void describe(const char *file, struct mapping *mapping)
{
    struct stat st;
    assert_int_equal(stat(file, &st), 0);
    mapping->inode = st.st_ino;
    mapping->device_major = major(st.st_dev);
    mapping->device_minor = minor(st.st_dev);
}

static void write_file(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void begin(struct place *place)
{
    char folder[96];
    *place = (struct place){ .root_fd = -1 };
    snprintf(place->folder, sizeof place->folder, "/tmp/mapped_file-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    snprintf(folder, sizeof folder, "%s/d", place->folder);
    assert_int_equal(mkdir(folder, 0755), 0);
    snprintf(place->file, sizeof place->file, "%s/d/file", place->folder);
    write_file(place->file, "hello");
    place->root_fd = open(place->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(place->root_fd >= 0);
    describe(place->file, &place->mapping);
    snprintf(place->path, sizeof place->path, "/d/file");
    place->mapping.path = place->path;
}

static void end(struct place *place)
{
    char path[96];
    close(place->root_fd);
    unlink(place->file);
    snprintf(path, sizeof path, "%s/d", place->folder);
    unlink(path);
    rmdir(path);
    rmdir(place->folder);
}

static enum mapped_file open_below(struct place *place)
{
    int fd = -1;
    const enum mapped_file state = mapped_file_open_below(place->root_fd, &place->mapping, &fd);
    char text[6] = "";
    assert_true((state == MAPPED_FILE_OPENED) == (fd >= 0));
    if (fd >= 0) {
        assert_int_equal(read(fd, text, 5), 5);
        assert_string_equal(text, "hello");
        close(fd);
    }
    return state;
}

static void a_file_is_found_beneath_the_root_by_its_path(void **state)
{
    struct place place;
    (void)state;
    begin(&place);
    assert_int_equal(open_below(&place), MAPPED_FILE_OPENED);
    snprintf(place.path, sizeof place.path, "/d/none");
    assert_int_equal(open_below(&place), MAPPED_FILE_REFUSED);
    snprintf(place.path, sizeof place.path, "d/file");
    assert_int_equal(open_below(&place), MAPPED_FILE_REFUSED);
    snprintf(place.path, sizeof place.path, "/d/../d/file");
    assert_int_equal(open_below(&place), MAPPED_FILE_REFUSED);
    end(&place);
}

/* Two devices may have the same inode number. */
static void another_file_is_refused_and_another_device_too(void **state)
{
    struct place place;
    (void)state;
    begin(&place);
    place.mapping.inode++;
    assert_int_equal(open_below(&place), MAPPED_FILE_REFUSED);
    place.mapping.inode--;
    place.mapping.device_minor++;
    struct statfs fs;
    assert_int_equal(fstatfs(place.root_fd, &fs), 0);
    const bool has_same_device =
        fs.f_type != OVERLAYFS_SUPER_MAGIC && fs.f_type != BTRFS_SUPER_MAGIC;
    assert_int_equal(open_below(&place),
                     has_same_device ? MAPPED_FILE_REFUSED : MAPPED_FILE_OPENED);
    end(&place);
}

/* On tmpfs the mapping and the file have the same device. */
static void the_device_is_compared_where_the_file_system_reports_it(void **state)
{
    struct mapping mapping = { .path = NULL };
    char name[] = "/dev/shm/pyrometer-test-file-XXXXXX";
    int fd = -1;
    (void)state;
    const int made = mkstemp(name);
    const int root_fd = open("/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(made >= 0 && root_fd >= 0);
    close(made);
    describe(name, &mapping);
    mapping.path = name + strlen("/dev/shm");
    assert_int_equal(mapped_file_open_below(root_fd, &mapping, &fd), MAPPED_FILE_OPENED);
    close(fd);
    mapping.device_minor++;
    assert_int_equal(mapped_file_open_below(root_fd, &mapping, &fd), MAPPED_FILE_REFUSED);
    unlink(name);
    close(root_fd);
}

/* Opening a FIFO for reading would unblock its writer. */
static void a_fifo_at_the_path_is_not_opened(void **state)
{
    struct place place;
    (void)state;
    begin(&place);
    assert_int_equal(unlink(place.file), 0);
    assert_int_equal(mkfifo(place.file, 0600), 0);
    describe(place.file, &place.mapping);
    assert_int_equal(open_below(&place), MAPPED_FILE_REFUSED);
    errno = 0;
    assert_int_equal(open(place.file, O_WRONLY | O_NONBLOCK | O_CLOEXEC), -1);
    assert_int_equal(errno, ENXIO);
    end(&place);
}

static void no_symbolic_link_is_followed(void **state)
{
    struct place place;
    char other[96], folder[96];
    (void)state;
    begin(&place);
    /* The link leads to the mapped file, and is refused because it is a link. */
    snprintf(other, sizeof other, "%s/other", place.folder);
    assert_int_equal(rename(place.file, other), 0);
    assert_int_equal(symlink("../other", place.file), 0);
    assert_int_equal(open_below(&place), MAPPED_FILE_REFUSED);
    assert_int_equal(unlink(place.file), 0);
    assert_int_equal(rename(other, place.file), 0);
    assert_int_equal(open_below(&place), MAPPED_FILE_OPENED);
    /* A link to a folder outside of the root is refused too. */
    snprintf(folder, sizeof folder, "%s/d", place.folder);
    assert_int_equal(rename(place.file, other), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(symlink("/dev", folder), 0);
    snprintf(place.path, sizeof place.path, "/d/null");
    describe("/dev/null", &place.mapping);
    assert_int_equal(open_below(&place), MAPPED_FILE_REFUSED);
    assert_int_equal(unlink(other), 0);
    end(&place);
}

static void files_of_the_kernel_and_devices_are_not_opened(void **state)
{
    static const char *const files[] = { "/proc/version", "/sys/kernel/notes", "/dev/null",
                                         "/dev/zero" };
    const int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[32];
        struct mapping mapping = { .path = path };
        int fd = -1;
        snprintf(path, sizeof path, "%s", files[i]);
        describe(path, &mapping);
        assert_int_equal(mapped_file_open_below(root_fd, &mapping, &fd), MAPPED_FILE_REFUSED);
        assert_int_equal(fd, -1);
    }
    close(root_fd);
}

/* The holder of a lease may take lease-break-time to give it up; the open does not wait. */
static void a_leased_file_is_busy_at_once(void **state)
{
    struct place place;
    int fd = -1;
    (void)state;
    begin(&place);
    signal(SIGIO, SIG_IGN);
    const int held = open(place.file, O_RDWR | O_CLOEXEC);
    assert_true(held >= 0);
    assert_int_equal(fcntl(held, F_SETLEASE, F_WRLCK), 0);
    assert_int_equal(open_below(&place), MAPPED_FILE_BUSY);
    assert_int_equal(fcntl(held, F_SETLEASE, F_UNLCK), 0);
    assert_int_equal(mapped_file_open_below(place.root_fd, &place.mapping, &fd),
                     MAPPED_FILE_OPENED);
    close(fd);
    close(held);
    end(&place);
}

/* Maps the file and finds the mapping, whose path is what the kernel reports now. */
static void map(int fd, struct maps *maps, const struct mapping **out)
{
    void *const at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_true(at != MAP_FAILED);
    assert_int_equal(maps_read(maps, getpid(), NULL), ERR_OK);
    *out = maps_find(maps, (remote_addr)(uintptr_t)at);
    assert_non_null(*out);
}

static void deleted_files_and_memory_files_are_opened_where_map_files_may_be_read(void **state)
{
    struct place place;
    struct maps maps;
    const struct mapping *mapping;
    (void)state;
    if (geteuid() != 0)
        skip();
    begin(&place);
    const int file = open(place.file, O_RDONLY | O_CLOEXEC);
    assert_int_equal(unlink(place.file), 0);
    const int memory = memfd_create("program", MFD_CLOEXEC);
    assert_int_equal(ftruncate(memory, 4096), 0);
    const int files[] = { file, memory };
    for (size_t i = 0; i < 2; i++) {
        int fd = -1;
        map(files[i], &maps, &mapping);
        assert_int_equal(mapped_file_open(getpid(), mapping, &fd), MAPPED_FILE_OPENED);
        struct stat wanted, got;
        assert_int_equal(fstat(files[i], &wanted) | fstat(fd, &got), 0);
        assert_true(wanted.st_ino == got.st_ino && wanted.st_dev == got.st_dev);
        maps_deinit(&maps);
        close(fd);
        close(files[i]);
    }
    end(&place);
}

static void the_program_of_a_process_is_opened(void **state)
{
    struct stat wanted, got;
    int fd = -1;
    (void)state;
    assert_int_equal(stat("/proc/self/exe", &wanted), 0);
    assert_int_equal(mapped_file_open_program(getpid(), &fd), MAPPED_FILE_OPENED);
    assert_int_equal(fstat(fd, &got), 0);
    assert_true(wanted.st_ino == got.st_ino);
    assert_true(mapped_file_program_inode(getpid()) == wanted.st_ino);
    assert_true(mapped_file_program_inode(0) == 0);
    close(fd);
}

TEST_GROUP(
    cmocka_unit_test(a_file_is_found_beneath_the_root_by_its_path),
    cmocka_unit_test(another_file_is_refused_and_another_device_too),
    cmocka_unit_test(the_device_is_compared_where_the_file_system_reports_it),
    cmocka_unit_test(a_fifo_at_the_path_is_not_opened),
    cmocka_unit_test(no_symbolic_link_is_followed),
    cmocka_unit_test(files_of_the_kernel_and_devices_are_not_opened),
    cmocka_unit_test(a_leased_file_is_busy_at_once),
    cmocka_unit_test(deleted_files_and_memory_files_are_opened_where_map_files_may_be_read),
    cmocka_unit_test(the_program_of_a_process_is_opened))
