#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/base/channel.h"
#include "server/files/file_request.h"
#include "server/files/file_server.h"
#include "server/files/files.h"
#include "server/files/folders.h"
#include "tests/support/test.h"

enum { NAMED, STORE, SOMEBODY = 45454 };

static char *folder;
static char named[128], store[128];
static int socket_fd = -1;
static pid_t server;

static void serve(int socket)
{
    struct pollfd wanted = { .fd = socket, .events = POLLIN };
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (poll(&wanted, 1, -1) > 0 && file_server_answer(socket))
        continue;
    _exit(0);
}

static int begin(void **state)
{
    int ends[2];
    (void)state;
    folder = temp_dir();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    chmod(folder, 0711);
    snprintf(named, sizeof named, "%s/named", folder);
    snprintf(store, sizeof store, "%s/store", folder);
    if (mkdir(named, 0700) != 0 || mkdir(store, 0700) != 0)
        return -1;
    if (geteuid() == 0 && chown(store, SOMEBODY, SOMEBODY) != 0)
        return -1;
    folders_add_file(named, "report.json");
    folders_add(store, FOLDER_STORE);
    folders_add_file(store, "*");
    server = fork();
    if (server == 0) {
        close(ends[0]);
        serve(ends[1]);
    }
    close(ends[1]);
    socket_fd = ends[0];
    files_use(socket_fd);
    return 0;
}

static int end(void **state)
{
    (void)state;
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    temp_dir_remove(folder);
    return 0;
}

static struct files_folder in(const char *path)
{
    char inside[256];
    const char *name;
    snprintf(inside, sizeof inside, "%s/name", path);
    return files_of(inside, &name);
}

static void put(const struct files_folder *where, const char *name, const char *text)
{
    const int fd = files_open(where, name, FILES_CREATE);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

struct seen {
    size_t count;
    char last[NAME_MAX + 1];
    struct files_status status;
};

static bool see(void *context, const char *name, const struct files_status *status)
{
    struct seen *const seen = context;
    seen->count++;
    snprintf(seen->last, sizeof seen->last, "%s", name);
    seen->status = *status;
    return true;
}

/* Uses a folder; the file process and this one must do the same. */
static void use(const struct files_folder *where)
{
    struct seen seen = { 0 };
    struct files_status status;
    char text[8] = "", name[] = "a.XXXXXX";
    put(where, "a", "one");
    assert_int_equal(files_open(where, "a", FILES_CREATE), -1);
    assert_int_equal(errno, EEXIST);
    int fd = files_open(where, "a", FILES_READ);
    assert_int_equal(read(fd, text, sizeof text), 3);
    close(fd);
    fd = files_open(where, "a", FILES_REPLACE);
    assert_int_equal(write(fd, "xy", 2), 2);
    close(fd);
    fd = files_create(where, name);
    assert_true(fd >= 0);
    assert_null(strstr(name, "XXXXXX"));
    close(fd);
    assert_int_equal(files_rename(where, name, "b"), 0);
    fd = files_open(where, NULL, FILES_UNNAMED);
    assert_true(fd >= 0);
    assert_int_equal(files_link(where, fd, "b"), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(files_link(where, fd, "c"), 0);
    close(fd);
    assert_int_equal(files_status(where, "a", &status), 0);
    assert_int_equal(status.bytes, 2);
    assert_int_equal(status.mode, S_IFREG | 0600);
    assert_int_equal(files_list(where, see, &seen), 0);
    assert_int_equal(seen.count, 3);
    assert_int_equal(files_remove(where, "a"), 0);
    assert_int_equal(files_remove(where, "b"), 0);
    assert_int_equal(files_remove(where, "a"), -1);
    assert_int_equal(errno, ENOENT);
    seen.count = 0;
    assert_int_equal(files_list(where, see, &seen), 0);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.last, "c");
    assert_int_equal(seen.status.bytes, 0);
    assert_int_equal(files_remove(where, "c"), 0);
}

static void files_are_the_same_through_the_file_process(void **state)
{
    const struct files_folder served = in(store);
    (void)state;
    assert_int_equal(served.number, STORE);
    use(&served);
    const int fd = open(store, O_PATH | O_DIRECTORY);
    use(&(struct files_folder){ fd, -1 });
    assert_int_equal(files_in(fd).number, STORE);
    close(fd);
}

static void a_long_list_is_whole(void **state)
{
    enum { FILES = 3000 };
    const struct files_folder served = in(store);
    struct seen seen = { 0 };
    char name[256];
    (void)state;
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "%0*u", (int)(i % 200) + 5, i);
        put(&served, name, "");
    }
    assert_int_equal(files_list(&served, see, &seen), 0);
    assert_int_equal(seen.count, FILES);
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "%0*u", (int)(i % 200) + 5, i);
        assert_int_equal(files_remove(&served, name), 0);
    }
}

static void files_belong_to_the_owner_of_the_folder(void **state)
{
    const struct files_folder served = in(store);
    struct stat status;
    (void)state;
    if (geteuid() != 0)
        skip();
    const int fd = files_open(&served, "mine", FILES_CREATE);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_uid, SOMEBODY);
    assert_int_equal(status.st_gid, SOMEBODY);
    close(fd);
    assert_int_equal(files_remove(&served, "mine"), 0);
}

static void a_folder_of_named_files_has_no_others(void **state)
{
    const struct files_folder served = in(named);
    struct files_status status;
    struct seen seen = { 0 };
    char beside[] = ".report.json.XXXXXX", other[] = ".profile.XXXXXX";
    (void)state;
    assert_int_equal(served.number, NAMED);
    int fd = files_create(&served, beside);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(files_rename(&served, beside, ".profile"), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(files_rename(&served, beside, "report.json"), 0);
    assert_int_equal(files_create(&served, other), -1);
    assert_int_equal(files_remove(&served, ".profile"), -1);
    assert_int_equal(files_status(&served, ".profile", &status), -1);
    assert_int_equal(files_open(&served, "report.json", FILES_READ), -1);
    assert_int_equal(files_open(&served, "report.json", FILES_REPLACE), -1);
    assert_int_equal(files_open(&served, NULL, FILES_UNNAMED), -1);
    assert_int_equal(files_list(&served, see, &seen), -1);
    assert_int_equal(files_remove(&served, "report.json"), 0);
}

static void a_folder_has_many_paths_but_none_by_a_link_of_another_user(void **state)
{
    const size_t count = folders_count();
    char link[256];
    (void)state;
    if (geteuid() != 0)
        skip();
    snprintf(link, sizeof link, "%s/to-store", folder);
    assert_int_equal(symlink("store", link), 0);
    assert_int_equal(lchown(link, SOMEBODY, SOMEBODY), 0);
    folders_add(link, FOLDER_STORE);
    assert_int_equal(folders_find(link, strlen(link)), -1);
    assert_int_equal(lchown(link, 0, 0), 0);
    folders_add(link, FOLDER_STORE);
    assert_int_equal(folders_find(link, strlen(link)), STORE);
    assert_int_equal(folders_count(), count);
}

/* A pattern does not fit a hidden file. */
static void a_store_keeps_hidden_files_to_itself(void **state)
{
    const struct files_folder served = in(store);
    char path[256];
    (void)state;
    snprintf(path, sizeof path, "%s/.hidden", store);
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0666);
    assert_true(fd >= 0);
    close(fd);
    for (enum files_use use = FILES_READ; use < FILES_UNNAMED; use++)
        assert_int_equal(files_open(&served, ".hidden", use), -1);
    assert_int_equal(files_remove(&served, ".hidden"), -1);
    put(&served, "seen", "");
    assert_int_equal(files_rename(&served, "seen", ".hidden"), -1);
    assert_int_equal(files_remove(&served, "seen"), 0);
    assert_int_equal(unlink(path), 0);
}

static void nothing_leads_out_of_a_folder(void **state)
{
    static const char *const names[] = {
        "", ".", "..", "../secret", "/etc/passwd", "a/", "./a", "../named/report.json"
    };
    const struct files_folder served = in(store);
    struct files_status status;
    char path[256];
    (void)state;
    snprintf(path, sizeof path, "%s/secret", folder);
    const int secret = open(path, O_RDWR | O_CREAT | O_EXCL, 0644);
    assert_true(secret >= 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (enum files_use use = FILES_READ; use < FILES_UNNAMED; use++)
            assert_int_equal(files_open(&served, names[i], use), -1);
        assert_int_equal(files_remove(&served, names[i]), -1);
        assert_int_equal(files_rename(&served, "a", names[i]), -1);
        assert_int_equal(files_link(&served, secret, names[i]), -1);
        assert_int_equal(files_status(&served, names[i], &status), -1);
    }
    /* A file that has a name is not given another one; nor is a link followed, or a pipe opened. */
    assert_int_equal(files_link(&served, secret, "a"), -1);
    close(secret);
    snprintf(path, sizeof path, "%s/link", store);
    assert_int_equal(symlink("../secret", path), 0);
    snprintf(path, sizeof path, "%s/pipe", store);
    assert_int_equal(mkfifo(path, 0666), 0);
    for (enum files_use use = FILES_READ; use < FILES_UNNAMED; use++) {
        assert_int_equal(files_open(&served, "link", use), -1);
        assert_int_equal(files_open(&served, "pipe", use), -1);
    }
    assert_int_equal(files_remove(&served, "link"), 0);
    assert_int_equal(files_remove(&served, "pipe"), 0);
}

static void send_noise(const void *data, size_t bytes, const int *fds, size_t count)
{
    assert_true(channel_send(socket_fd, data, bytes, fds, count, FILES_WAIT_MS));
}

static void invalid_requests_end_nothing(void **state)
{
    const struct files_folder served = in(store);
    struct file_request request;
    int ends[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    const int fds[4] = { ends[1], ends[1], ends[1], ends[1] };
    for (unsigned i = 0; i < 2000; i++) {
        for (size_t k = 0; k < sizeof request; k++)
            ((unsigned char *)&request)[k] = (unsigned char)(rand() >> 3);
        request.kind = (uint32_t)rand() % (FILE_KINDS + 1);
        request.folder = (uint32_t)rand() % 4;
        request.use = (uint32_t)rand() % 6;
        send_noise(&request, i % 3 ? sizeof request : 1 + (size_t)rand() % sizeof request, fds,
                   (size_t)rand() % 5);
    }
    close(ends[0]);
    close(ends[1]);
    /* By chance some were valid. */
    const int fd = files_open(&served, NULL, FILES_UNNAMED);
    assert_true(fd >= 0);
    close(fd);
}

TEST_GROUP_WITHIN(begin, end, cmocka_unit_test(files_are_the_same_through_the_file_process),
                  cmocka_unit_test(a_long_list_is_whole),
                  cmocka_unit_test(files_belong_to_the_owner_of_the_folder),
                  cmocka_unit_test(a_folder_of_named_files_has_no_others),
                  cmocka_unit_test(a_folder_has_many_paths_but_none_by_a_link_of_another_user),
                  cmocka_unit_test(a_store_keeps_hidden_files_to_itself),
                  cmocka_unit_test(nothing_leads_out_of_a_folder),
                  cmocka_unit_test(invalid_requests_end_nothing))
