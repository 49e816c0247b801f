/*
 * intruder - to be preloaded: code of somebody else in the process that speaks HTTP, once that has given up its rights.
 *
 * It is there when the process asks for the name of the host, which the list of processes shows.  INTRUDER names a file
 * with numbers: a target, the sampling process, a process that must not be sampled, and for the first two an address that
 * is mapped there; then the path of a file of root.  Of the sampling process it asks, in requests of each kind, for more
 * than is permitted: a kind that try_kind does not know does not compile.  What it tries, and how that ends, it writes into the file that
 * INTRUDER_RESULTS names: a name, 1 if it came about and 0 if not, and errno.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

#include "sampler/base/buffer.h"
#include "sampler/link/request.h"

static int facts_fd = -1, results_fd = -1;

__attribute__((visibility("default"))) int gethostname(char *name, size_t bytes);

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

/* The outcome of a request: the code of its answer (-1: there was none), and what followed. */
struct reply {
    int code;
    size_t bytes;
    unsigned char contents[1 << 20];
};

static struct world {
    int link;
    int target, forbidden;
    uint64_t session; /* of the target, that this process has started itself */
    unsigned long long ended;
} world = { .link = -1 };

/* Exactly so many bytes, in reasonable time. */
static bool receive(int fd, void *out, size_t bytes)
{
    enum { WAIT_MS = 20000 };
    for (unsigned char *at = out; bytes > 0;) {
        struct pollfd wanted = { .fd = fd, .events = POLLIN };
        const ssize_t got = poll(&wanted, 1, WAIT_MS) == 1 ? read(fd, at, bytes) : -1;
        if (got <= 0)
            return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

/* Sends a message with a pipe for the answer, as sampler/link/request.h says.  Returns the pipe, which the caller closes. */
static int send_message(const void *message, size_t bytes)
{
    int ends[2];
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { .bytes = { 0 } };
    struct iovec part = { (void *)(uintptr_t)message, bytes };
    struct msghdr header = { .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes };
    if (pipe(ends) != 0)
        return -1;
    struct cmsghdr *const first = CMSG_FIRSTHDR(&header);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(first), &ends[1], sizeof(int));
    (void)!sendmsg(world.link, &header, MSG_NOSIGNAL);
    close(ends[1]);
    return ends[0];
}

static void take_reply(int fd, struct reply *reply)
{
    struct link_head head;
    reply->code = -1;
    reply->bytes = 0;
    if (fd < 0 || !receive(fd, &head, sizeof head) || link_head_check(&head, NULL) != ERR_OK)
        return;
    reply->bytes = head.bytes < sizeof reply->contents ? head.bytes : sizeof reply->contents;
    if (receive(fd, reply->contents, reply->bytes))
        reply->code = (int)head.code;
}

/* Bytes that are no request of today among them. */
static struct reply *ask_bytes(const void *message, size_t bytes)
{
    static struct reply reply;
    const int fd = send_message(message, bytes);
    take_reply(fd, &reply);
    if (fd >= 0)
        close(fd);
    return &reply;
}

static struct reply *ask(const struct link_request *request)
{
    struct buffer message = { 0 };
    link_request_encode(request, &message);
    struct reply *const reply = ask_bytes(message.data, message.length);
    buffer_deinit(&message);
    return reply;
}

static bool is_done(const struct link_request *request)
{
    return ask(request)->code == ERR_OK;
}

/* For what is permitted, and may have to wait for its turn on a busy machine. */
static bool is_done_in_time(const struct link_request *request)
{
    enum { TRIES = 100 };
    for (int tries = 0; tries < TRIES; tries++) {
        if (is_done(request))
            return true;
        usleep(100000);
    }
    return false;
}

static struct link_request start_of(int pid)
{
    return (struct link_request){ .kind = LINK_START,
                                  .options = { .pids = { pid },
                                               .pid_count = 1,
                                               .rate_hz = 100,
                                               .all_threads = true,
                                               .engine = SESSION_ENGINE_REMOTE } };
}

/* Returns the pipe, which must stay open for as long as the session is wanted; -1: it was refused. */
static int start_session(const struct link_request *request, uint64_t *session_out)
{
    static struct reply reply;
    struct buffer message = { 0 };
    struct link_started started;
    link_request_encode(request, &message);
    const int fd = send_message(message.data, message.length);
    buffer_deinit(&message);
    take_reply(fd, &reply);
    if (reply.code == ERR_OK && reply.bytes == sizeof started) {
        memcpy(&started, reply.contents, sizeof started);
        *session_out = started.session;
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool says(const struct reply *reply, const char *text)
{
    return reply->code == ERR_OK && memmem(reply->contents, reply->bytes, text, strlen(text));
}

static void start_others(void)
{
    struct link_request request = start_of(world.forbidden);
    note("start_forbidden", is_done(&request));
    request = start_of(world.target);
    request.options.all = true;
    request.options.pid_count = 0;
    /* All that is permitted: each is asked for. */
    note("permitted_all", is_done_in_time(&request));
    request = start_of(world.target);
    request.options.rate_hz = 1e5;
    note("start_fast", is_done(&request));
    request = start_of(world.target);
    request.options.stop = SESSION_STOP_ALWAYS;
    note("start_stopping", is_done(&request));
    request = start_of(world.target);
    request.options.max_stop_percent = 100;
    note("start_stopping_much", is_done(&request));
    request = start_of(world.target);
    for (size_t i = 0; i < SESSION_MAX_PROCESSES; i++)
        request.options.pids[request.options.pid_count++ % SESSION_MAX_PROCESSES] =
            world.target;
    request.options.pid_count = SESSION_MAX_PROCESSES;
    note("start_same_often", is_done(&request));
}

/* Sessions that have ended, of which the pipes stay open. */
static void hold_ended(void)
{
    enum { MANY = 80, TRIES = 2000 };
    struct link_request request = start_of(world.target);
    uint64_t session;
    request.options.duration_ns = 1;
    for (int tries = 0; world.ended < MANY && tries < TRIES; tries++)
        if (start_session(&request, &session) >= 0)
            world.ended++;
        else
            usleep(10000);
    note("held_ended_sessions", world.ended == MANY);
}

/* A request that names the file itself: origin, path, no build id, no requests, no entries. */
static bool reads_path(uint64_t origin, const char *path)
{
    struct buffer source = { 0 };
    buffer_u64(&source, origin);
    buffer_number(&source, strlen(path));
    buffer_append(&source, path, strlen(path));
    for (int i = 0; i < 3; i++)
        buffer_number(&source, 0);
    const struct link_request request = { .kind = LINK_READ,
                                          .session = world.session,
                                          .source = source.data,
                                          .source_bytes = source.length };
    const bool is_read = says(ask(&request), "root:");
    buffer_deinit(&source);
    return is_read;
}

/* want, and functions: server/source/relay_codec.h. */
static bool reads_functions(uint64_t session, unsigned want, unsigned first, unsigned count,
                            const char *text)
{
    struct buffer source = { 0 };
    buffer_u8(&source, want);
    buffer_number(&source, count);
    for (unsigned i = 0; i < count; i++)
        buffer_number(&source, first + i);
    const struct link_request request = { .kind = LINK_READ,
                                          .session = session,
                                          .source = source.data,
                                          .source_bytes = source.length };
    const bool is_read = says(ask(&request), text);
    buffer_deinit(&source);
    return is_read;
}

static void read_others(void)
{
    enum { OWNERS = 2, ORIGINS = 16, FUNCTIONS = 400, WANTS = 5, TRIES = 100 };
    bool has_path = false, has_shadow = false, has_own = false;
    for (uint64_t owner = 1; owner <= OWNERS; owner++)
        for (uint64_t i = 1; i <= ORIGINS; i++)
            has_path |= reads_path(owner << 48 | i, "/etc/shadow");
    note("read_path", has_path);
    for (unsigned want = 0; want < WANTS; want++)
        for (unsigned id = 0; id < FUNCTIONS; id++)
            has_shadow |= reads_functions(world.session, want, id, 1, "root:");
    note("read_function", has_shadow);
    note("read_functions", reads_functions(world.session, 2, 0, 64, "root:"));
    note("read_session", reads_functions(world.session + 1, 0, 1, 1, "def "));
    /* Those of the target itself may be read, once they have been sampled, so the questions above were right ones. */
    for (int tries = 0; tries < TRIES && !has_own; tries++) {
        for (unsigned id = 0; id < FUNCTIONS && !has_own; id++)
            has_own = reads_functions(world.session, 0, id, 1, "def ");
        usleep(100000);
    }
    note("permitted_source", has_own);
}

/* Tries what a request of each kind could be asked for beyond what is permitted. */
static void try_kind(enum link_kind kind)
{
    const struct link_request guessed = { .kind = kind,
                                          .session = world.session ^ 1,
                                          .value = 1 };
    switch (kind) {
    case LINK_START: start_others(); return;
    case LINK_STOP: note("stop_another", is_done(&guessed)); return;
    case LINK_PAUSE: note("pause_another", is_done(&guessed)); return;
    case LINK_SET_RATE:
        note("set_rate_of_another", is_done(&guessed));
        note("set_rate_fast",
             is_done(&(struct link_request){
                 .kind = LINK_SET_RATE, .session = world.session, .value = 1e5 }));
        return;
    case LINK_SET_CPU: note("set_cpu_of_another", is_done(&guessed)); return;
    case LINK_RECORD_NATIVE: note("record_native_of_another", is_done(&guessed)); return;
    case LINK_JOIN:
        note("join_forbidden",
             is_done(&(struct link_request){
                 .kind = LINK_JOIN, .session = world.session, .pid = world.forbidden }));
        return;
    case LINK_CHECK_ENGINE: {
        struct link_request request = start_of(world.target);
        request.kind = LINK_CHECK_ENGINE;
        request.options.engine = SESSION_ENGINE_KERNEL;
        request.options.rate_hz = 1e9;
        note("engine_of_any_rate", is_done(&request));
        return;
    }
    case LINK_ADMIT:
        note("admit_forbidden",
             is_done(&(struct link_request){ .kind = LINK_ADMIT, .pid = world.forbidden }));
        return;
    case LINK_FACTS:
        note("facts_of_forbidden",
             is_done(&(struct link_request){ .kind = LINK_FACTS, .pid = world.forbidden }));
        return;
    case LINK_LIST:
        note("list_arguments",
             says(ask(&(struct link_request){ .kind = LINK_LIST }), "threads.py"));
        return;
    case LINK_READ: read_others(); return;
    case LINK_USAGE: {
        /* The request is for the sampling process only: there is no room for a number of
         * another one. */
        static const struct {
            struct link_request request;
            uint64_t other;
        } message = { { .kind = LINK_USAGE }, 1 };
        note("usage_of_another", ask_bytes(&message, sizeof message)->code == ERR_OK);
        return;
    }
    case LINK_PING: note("answer_to_ping", is_done(&guessed)); return;
    case LINK_NONE:
    case LINK_KINDS: break;
    }
    note("no_kind", is_done(&(struct link_request){ .kind = kind }));
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
    world.link = link_fd();
    world.target = target;
    world.forbidden = forbidden;
    errno = 0;
    const struct link_request request = start_of(target);
    /* It is permitted, so requests are understood. */
    note("permitted_session", start_session(&request, &world.session) >= 0);
    for (unsigned kind = LINK_NONE; kind <= LINK_KINDS; kind++)
        try_kind((enum link_kind)kind);
    hold_ended();
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
