/*
 * intruder - to be preloaded: code of somebody else in the process that speaks HTTP, once that has given up its rights.
 *
 * It is there when the process asks for the name of the host, which the list of processes shows.  INTRUDER names a file
 * with numbers: a target, the reader process, a process that must not be sampled, and for the first two an address that
 * is mapped there; then the path of a file of root.  What it tries, and how that ends, it writes into the file that
 * INTRUDER_RESULTS names: a name, 1 if it came about and 0 if not, and errno.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int facts_fd = -1, results_fd = -1;

int gethostname(char *name, size_t bytes);

static int open_named(const char *variable, int flags)
{
    const char *const path = getenv(variable);
    return path ? open(path, flags | O_CLOEXEC) : -1;
}

static __attribute__((constructor)) void begin(void)
{
    facts_fd = open_named("INTRUDER", O_RDONLY);
    results_fd = open_named("INTRUDER_RESULTS", O_WRONLY | O_APPEND);
}

static void note(const char *name, int done)
{
    dprintf(results_fd, "%s %d %d\n", name, done, done ? 0 : errno);
}

static void read_memory(const char *name, int pid, unsigned long long addr)
{
    char byte;
    const struct iovec here = { &byte, 1 }, there = { (void *)(uintptr_t)addr, 1 };
    note(name, process_vm_readv(pid, &here, 1, &there, 1, 0) == 1);
}

static void open_file(const char *name, const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    note(name, fd >= 0);
    if (fd >= 0)
        close(fd);
}

static void open_of(const char *name, int pid, const char *what)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, what);
    open_file(name, path);
}

/* A number as LEB128. */
static size_t put(unsigned char *out, unsigned value)
{
    size_t count = 0;
    for (; value > 0x7f; value >>= 7)
        out[count++] = (unsigned char)(value | 0x80);
    out[count++] = (unsigned char)value;
    return count;
}

/* Asks the reader process to start a session, as sampler/link/request.h says.  Returns its code; -1: none. */
static int ask(int fd, int pid)
{
    unsigned char message[128] = { 1, 1, 1 };
    unsigned char head[8];
    const double rate = 100, none = 0;
    int ends[2];
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { .bytes = { 0 } };
    size_t at = 3;
    if (pipe(ends) != 0)
        return -1;
    at += put(message + at, (unsigned)pid);
    message[at++] = 0;
    memcpy(message + at, &rate, sizeof rate);
    at += sizeof rate;
    message[at++] = 0;
    memset(message + at, 0, 6);
    message[at + 4] = 2;
    at += 6;
    memcpy(message + at, &none, sizeof none);
    at += sizeof none;
    message[at++] = 0;
    memcpy(message + at, &none, sizeof none);
    at += sizeof none;
    struct iovec part = { message, at };
    struct msghdr header = { .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes };
    struct cmsghdr *const first = CMSG_FIRSTHDR(&header);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(first), &ends[1], sizeof(int));
    const ssize_t sent = sendmsg(fd, &header, MSG_NOSIGNAL);
    close(ends[1]);
    const ssize_t got = sent == (ssize_t)at ? read(ends[0], head, sizeof head) : -1;
    close(ends[0]);
    return got == (ssize_t)sizeof head ? head[1] : -1;
}

static int link_fd(void)
{
    for (int fd = 3; fd < 1024; fd++) {
        int type = 0, domain = 0;
        socklen_t bytes = sizeof type;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 &&
            getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 &&
            type == SOCK_SEQPACKET && domain == AF_UNIX)
            return fd;
    }
    return -1;
}

/* false: the file says nothing yet. */
static bool intrude(void)
{
    char facts[1024] = "", path[512] = "";
    int target = 0, reader = 0, forbidden = 0;
    unsigned long long target_addr = 0, reader_addr = 0;
    if (pread(facts_fd, facts, sizeof facts - 1, 0) <= 0 ||
        sscanf(facts, "%d %d %d %llx %llx %511s", &target, &reader, &forbidden, &target_addr,
               &reader_addr, path) != 6)
        return false;
    read_memory("target_memory", target, target_addr);
    read_memory("reader_memory", reader, reader_addr);
    open_of("target_mem", target, "mem");
    open_of("target_environ", target, "environ");
    open_of("reader_mem", reader, "mem");
    open_of("reader_maps", reader, "maps");
    note("target_trace", ptrace(PTRACE_SEIZE, target, NULL, NULL) == 0);
    note("reader_trace", ptrace(PTRACE_SEIZE, reader, NULL, NULL) == 0);
    note("reader_kill", kill(reader, SIGKILL) == 0);
    const long pidfd = syscall(SYS_pidfd_open, reader, 0);
    note("reader_descriptor", pidfd >= 0 && syscall(SYS_pidfd_getfd, (int)pidfd, 3, 0) >= 0);
    open_file("secret", path);
    open_file("shadow", "/etc/shadow");
    open_file("passwords", "/etc/ssh/ssh_host_rsa_key");
    note("network", socket(AF_INET, SOCK_STREAM, 0) >= 0);
    char *const words[] = { (char *)(uintptr_t) "true", NULL };
    const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(0);
    note("process", child > 0);
    note("program", execv("/bin/true", words) == 0);
    const int fd = link_fd();
    errno = 0;
    note("forbidden_session", fd < 0 || ask(fd, forbidden) == 0);
    /* That one is permitted, so the question above was a right one. */
    note("permitted_session", fd >= 0 && ask(fd, target) == 0);
    note("end", 1);
    return true;
}

int gethostname(char *name, size_t bytes)
{
    static int (*real)(char *, size_t);
    static bool is_done;
    void *const found = dlsym(RTLD_NEXT, "gethostname");
    memcpy(&real, &found, sizeof real);
    if (facts_fd >= 0 && results_fd >= 0 && !is_done &&
        prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        is_done = intrude();
    return real(name, bytes);
}
