/* Kinds of system calls and of other processes' descriptors. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/process/descriptors.h"
#include "sampler/process/system_call.h"
#include "tests/support/test.h"

static void a_waiting_thread_has_a_call(void **state)
{
    struct system_call call;
    (void)state;
    system_call_read("0 0x3 0x7ffd10 0x1000 0x0 0x0 0x0 0x7ffd00 0x7f33\n", &call);
    assert_true(call.is_known);
    assert_int_equal(call.number, 0);
    assert_int_equal(call.args[0], 3);
    assert_int_equal(call.args[1], 0x7ffd10);
    assert_int_equal(call.sp, 0x7ffd00);
    assert_int_equal(call.ip, 0x7f33);
    system_call_read("202 0xffffffffffffff9c 0x189 0x0\n", &call);
    assert_true(call.is_known);
    assert_true(call.args[0] == 0xffffffffffffff9cu);
}

static void a_thread_without_a_call_has_none(void **state)
{
    static const char *const texts[] = { "running\n", "",  "-1 0x7ffd00 0x7f33\n",
                                         "x",         "-", "99999999999999999999 0x1\n" };
    struct system_call call;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        system_call_read(texts[i], &call);
        assert_false(call.is_known);
    }
}

static void calls_have_kinds(void **state)
{
    (void)state;
    assert_int_equal(system_call_kind(SYS_read), CALL_READ);
    assert_int_equal(system_call_kind(SYS_write), CALL_WRITE);
    assert_int_equal(system_call_kind(SYS_futex), CALL_FUTEX);
    assert_int_equal(system_call_kind(SYS_ppoll), CALL_POLL);
    assert_int_equal(system_call_kind(SYS_pselect6), CALL_SELECT);
    assert_int_equal(system_call_kind(SYS_epoll_pwait), CALL_EVENTS);
    assert_int_equal(system_call_kind(SYS_clock_nanosleep), CALL_SLEEP);
    assert_int_equal(system_call_kind(SYS_wait4), CALL_CHILD);
    assert_int_equal(system_call_kind(SYS_fsync), CALL_DISK);
    assert_int_equal(system_call_kind(SYS_getpid), CALL_OTHER);
    assert_int_equal(system_call_kind(-1), CALL_OTHER);
    assert_int_equal(system_call_kind(INT32_MAX), CALL_OTHER);
}

static void links_say_what_a_descriptor_is(void **state)
{
    static const struct {
        const char *text;
        enum descriptor_kind kind;
        uint64_t inode;
    } rows[] = {
        { "socket:[123]", DESCRIPTOR_SOCKET, 123 },
        { "pipe:[9]", DESCRIPTOR_PIPE, 0 },
        { "anon_inode:[eventpoll]", DESCRIPTOR_EVENTS, 0 },
        { "anon_inode:inotify", DESCRIPTOR_EVENTS, 0 },
        { "anon_inode:[pidfd]", DESCRIPTOR_PROCESS, 0 },
        { "pidfd:[7]", DESCRIPTOR_PROCESS, 0 },
        { "/dev/pts/3", DESCRIPTOR_TERMINAL, 0 },
        { "/dev/tty", DESCRIPTOR_TERMINAL, 0 },
        { "/dev/ptmx", DESCRIPTOR_PIPE, 0 },
        { "/dev/pts/ptmx", DESCRIPTOR_PIPE, 0 },
        { "/dev/fuse", DESCRIPTOR_EVENTS, 0 },
        { "/dev/nvidia0", DESCRIPTOR_GPU, 0 },
        { "/dev/nvidia-uvm", DESCRIPTOR_GPU, 0 },
        { "/dev/kfd", DESCRIPTOR_GPU, 0 },
        { "/dev/kfd0", DESCRIPTOR_FILE, 0 },
        { "/srv/dev/nvidia0", DESCRIPTOR_FILE, 0 },
        { "/proc/kmsg", DESCRIPTOR_DEVICE, 0 },
        { "/sys/kernel/tracing/trace_pipe", DESCRIPTOR_DEVICE, 0 },
        { "/tmp/socket:[123]", DESCRIPTOR_FILE, 0 },
        { "/tmp/x (deleted)", DESCRIPTOR_FILE, 0 },
        { "", DESCRIPTOR_UNKNOWN, 0 },
        { "net:[4026531840]", DESCRIPTOR_UNKNOWN, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t inode = 77;
        assert_int_equal(descriptors_read_link(rows[i].text, &inode), rows[i].kind);
        assert_int_equal(inode, rows[i].inode);
    }
}

#define REST " 00000000:00000000 00:00000000 00000000  1000        0 "

static void lines_of_tables_name_peers(void **state)
{
    static const struct {
        const char *line, *peer;
    } rows[] = {
        { "   1: 0100007F:D431 0500000A:1538 01" REST "42 1 0 20 4 30 10 -1\n",
          "10.0.0.5:5432" },
        { "   1: 0100007F:1F40 0500000A:D431 01" REST "42 1\n", "clients of :8000" },
        { "   1: 0100007F:1F40 00000000:0000 0A" REST "42 1\n", "" },
        { "   1: 0100007F:9C40 0100007F:9C41 01" REST "42 1\n", "127.0.0.1:40001" },
        { "1000: 00000000000000000000000001000000:D431 00000000000000000000000001000000:1538 01" REST
          "42 1\n",
          "[::1]:5432" },
        { "   0: 0000000000000000FFFF00000100007F:D431 0000000000000000FFFF00000500000A:0050 01" REST
          "42 1\n",
          "10.0.0.5:80" },
    };
    char peer[DESCRIPTORS_PEER_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(descriptors_read_line(rows[i].line, 42, peer));
        assert_string_equal(peer, rows[i].peer);
        assert_false(descriptors_read_line(rows[i].line, 43, peer));
    }
    assert_false(descriptors_read_line("  sl  local_address rem_address   st\n", 42, peer));
    assert_false(descriptors_read_line("", 0, peer));
}

static void paths_of_sockets_are_made_printable(void **state)
{
    static const struct {
        const char *line, *peer;
    } rows[] = {
        { "ffff8: 00000003 00000000 00000000 0001 03 42\n", "unix" },
        { "0000000000000000: 00000003 00000000 00000000 0001 03    42 /run/pg.sock\n",
          "unix:/run/pg.sock" },
        { "0: 3 0 0 1 3 42 @abstract\n", "unix:@abstract" },
        { "0: 3 0 0 1 3 42 /a;b\x1b<c>\xff\n", "unix:/a?b??c??" },
        { "0: 3 0 0 1 3 42 /xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
          "unix:/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" },
    };
    char peer[DESCRIPTORS_PEER_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(descriptors_read_unix_line(rows[i].line, 42, peer));
        assert_string_equal(peer, rows[i].peer);
        assert_false(descriptors_read_unix_line(rows[i].line, 4, peer));
    }
    assert_false(descriptors_read_unix_line("Num       RefCount Protocol\n", 42, peer));
}

static enum descriptor_kind find(struct descriptors *descriptors, int fd, const char **peer)
{
    return descriptors_find(descriptors, getpid(), fd, clock_now_ns(), peer);
}

static void own_descriptors_are_found(void **state)
{
    struct descriptors *descriptors;
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    const int server = socket(AF_INET, SOCK_STREAM, 0), near = socket(AF_INET, SOCK_STREAM, 0);
    const int events = eventfd(0, 0);
    int ends[2];
    char wanted[32];
    const char *peer;
    (void)state;
    assert_int_equal(descriptors_create(&descriptors, NULL), ERR_OK);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(bind(server, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server, 1), 0);
    assert_int_equal(getsockname(server, (struct sockaddr *)&address, &length), 0);
    assert_int_equal(connect(near, (struct sockaddr *)&address, sizeof address), 0);
    snprintf(wanted, sizeof wanted, "127.0.0.1:%d", ntohs(address.sin_port));
    assert_int_equal(find(descriptors, near, &peer), DESCRIPTOR_SOCKET);
    assert_string_equal(peer, wanted);
    assert_int_equal(find(descriptors, near, &peer), DESCRIPTOR_SOCKET);
    assert_string_equal(peer, wanted);
    assert_int_equal(find(descriptors, ends[0], &peer), DESCRIPTOR_PIPE);
    assert_string_equal(peer, "");
    assert_int_equal(find(descriptors, events, &peer), DESCRIPTOR_EVENTS);
    assert_int_equal(find(descriptors, 9999, &peer), DESCRIPTOR_UNKNOWN);
    assert_int_equal(find(descriptors, -1, &peer), DESCRIPTOR_UNKNOWN);
    close(near);
    close(server);
    close(events);
    close(ends[0]);
    close(ends[1]);
    descriptors_destroy(descriptors);
    descriptors_destroy(NULL);
}

static void names_are_of_files_pipes_and_devices(void **state)
{
    char pipe[] = "/tmp/pyrometer-descriptors-XXXXXX";
    const struct {
        const char *path;
        enum descriptor_kind kind;
    } rows[] = {
        { pipe, DESCRIPTOR_PIPE },
        { "/dev/zero", DESCRIPTOR_DEVICE },
        { "/proc/self/exe", DESCRIPTOR_FILE },
        { "/tmp", DESCRIPTOR_FILE },
    };
    struct descriptors *descriptors;
    const char *peer;
    (void)state;
    assert_non_null(mkdtemp(pipe));
    assert_int_equal(rmdir(pipe), 0);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(descriptors_create(&descriptors, NULL), ERR_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int fd = open(rows[i].path, O_RDONLY | O_NONBLOCK), own = 100 + (int)i;
        assert_int_equal(dup2(fd, own), own);
        assert_int_equal(find(descriptors, own, &peer), rows[i].kind);
        close(own);
        close(fd);
    }
    unlink(pipe);
    descriptors_destroy(descriptors);
}

static int bound_to(const char *name, size_t length)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(length < sizeof address.sun_path);
    memcpy(address.sun_path + 1, name, length);
    const socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, bytes), 0);
    return fd;
}

/* Binds a name that holds a line of the socket. */
static int claim(int fd)
{
    char name[100];
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    const int length =
        snprintf(name, sizeof name, "x\n0: 00000002 00000000 00000000 0001 03 %lu /run/evil",
                 (unsigned long)status.st_ino);
    return bound_to(name, (size_t)length);
}

/* Whoever asks for the first time may always read the tables. */
static void expect_peer(int fd, const char *wanted)
{
    struct descriptors *descriptors;
    const char *peer;
    assert_int_equal(descriptors_create(&descriptors, NULL), ERR_OK);
    assert_int_equal(find(descriptors, fd, &peer), DESCRIPTOR_SOCKET);
    assert_string_equal(peer, wanted);
    descriptors_destroy(descriptors);
}

static void a_name_with_the_line_of_another_socket_is_no_peer(void **state)
{
    int ends[2];
    char name[32], wanted[64];
    (void)state;
    const int length = snprintf(name, sizeof name, "pyrometer-test-%d", getpid());
    snprintf(wanted, sizeof wanted, "unix:@%s", name);
    const int named = bound_to(name, (size_t)length), tcp = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    expect_peer(named, wanted);
    const int claims[] = { claim(ends[0]), claim(tcp), claim(named) };
    expect_peer(ends[0], "unix");
    expect_peer(tcp, "");
    expect_peer(named, "unix");
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)
        close(claims[i]);
    close(named);
    close(tcp);
    close(ends[0]);
    close(ends[1]);
}

static void an_old_answer_is_not_used(void **state)
{
    struct descriptors *descriptors;
    int ends[2];
    const char *peer;
    (void)state;
    assert_int_equal(descriptors_create(&descriptors, NULL), ERR_OK);
    assert_int_equal(pipe(ends), 0);
    const uint64_t now_ns = clock_now_ns();
    assert_int_equal(descriptors_find(descriptors, getpid(), ends[0], now_ns, &peer),
                     DESCRIPTOR_PIPE);
    const int file = eventfd(0, 0);
    assert_int_equal(dup2(file, ends[0]), ends[0]);
    assert_int_equal(descriptors_find(descriptors, getpid(), ends[0], now_ns + 1, &peer),
                     DESCRIPTOR_PIPE);
    assert_int_equal(descriptors_find(descriptors, getpid(), ends[0],
                                      now_ns + DESCRIPTORS_FRESH_NS + 1, &peer),
                     DESCRIPTOR_EVENTS);
    close(file);
    close(ends[0]);
    close(ends[1]);
    descriptors_destroy(descriptors);
}

TEST_GROUP(cmocka_unit_test(a_waiting_thread_has_a_call),
           cmocka_unit_test(a_thread_without_a_call_has_none),
           cmocka_unit_test(calls_have_kinds), cmocka_unit_test(links_say_what_a_descriptor_is),
           cmocka_unit_test(lines_of_tables_name_peers),
           cmocka_unit_test(paths_of_sockets_are_made_printable),
           cmocka_unit_test(own_descriptors_are_found),
           cmocka_unit_test(names_are_of_files_pipes_and_devices),
           cmocka_unit_test(a_name_with_the_line_of_another_socket_is_no_peer),
           cmocka_unit_test(an_old_answer_is_not_used))
