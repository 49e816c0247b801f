#define _GNU_SOURCE
#include "sampler/process/descriptors.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/hash.h"

enum {
    ENTRIES = 1 << 10,
    LINE_BYTES = 512,
    INFO_LINES = 16,
    TABLES_PART = 50,
    FIRST_EPHEMERAL_PORT = 32768
};

/* A socket without a peer may get one. */
static const uint64_t AGAIN_NS = NS_PER_S;
/* Reading tables may take this CPU time at once, and a part of the time since then. */
static const uint64_t TABLES_NS = 30 * NS_PER_MS;

struct descriptors {
    struct known_descriptor {
        int pid, fd;
        uint64_t read_ns; /* 0: never */
        enum descriptor_kind kind;
        uint64_t inode;
    } items[ENTRIES];
    struct known_socket {
        uint64_t inode;
        uint64_t read_ns; /* 0: never */
        char peer[DESCRIPTORS_PEER_BYTES];
    } sockets[ENTRIES];
    uint64_t begun_ns, spent_ns; /* reading tables; spent: CPU time */
};

enum err_code descriptors_create(struct descriptors **out, struct err *err)
{
    *out = calloc(1, sizeof **out);
    return *out ? ERR_OK : err_nomem(err);
}

void descriptors_destroy(struct descriptors *descriptors)
{
    free(descriptors);
}

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

enum descriptor_kind descriptors_read_link(const char *text, uint64_t *inode_out)
{
    *inode_out = 0;
    if (begins_with(text, "socket:[")) {
        *inode_out = strtoull(text + strlen("socket:["), NULL, 10);
        return DESCRIPTOR_SOCKET;
    }
    if (begins_with(text, "pipe:["))
        return DESCRIPTOR_PIPE;
    if (begins_with(text, "anon_inode:"))
        return strcmp(text, "anon_inode:[pidfd]") == 0 ? DESCRIPTOR_PROCESS : DESCRIPTOR_EVENTS;
    if (begins_with(text, "pidfd:["))
        return DESCRIPTOR_PROCESS;
    /* The other end of a terminal: what a child writes. */
    if (strcmp(text, "/dev/ptmx") == 0 || strcmp(text, "/dev/pts/ptmx") == 0)
        return DESCRIPTOR_PIPE;
    if (begins_with(text, "/dev/pts/") || begins_with(text, "/dev/tty") ||
        strcmp(text, "/dev/console") == 0)
        return DESCRIPTOR_TERMINAL;
    /* Requests of those who use the file system that the program serves. */
    if (strcmp(text, "/dev/fuse") == 0)
        return DESCRIPTOR_EVENTS;
    if (begins_with(text, "/dev/nvidia") || strcmp(text, "/dev/kfd") == 0)
        return DESCRIPTOR_GPU;
    if (begins_with(text, "/proc/") || begins_with(text, "/sys/"))
        return DESCRIPTOR_DEVICE;
    return *text == '/' ? DESCRIPTOR_FILE : DESCRIPTOR_UNKNOWN;
}

/* "0100007F": the kernel writes words of the address as numbers of this machine. */
static bool read_address(const char *hex, size_t length, char out[INET6_ADDRSTRLEN])
{
    static const unsigned char v4_in_v6[12] = { [10] = 0xff, [11] = 0xff };
    uint32_t words[4];
    unsigned char bytes[sizeof words];
    char word[9] = "";
    if (length != 8 && length != 32)
        return false;
    for (size_t i = 0; i < length / 8; i++) {
        memcpy(word, hex + 8 * i, 8);
        words[i] = (uint32_t)strtoul(word, NULL, 16);
    }
    memcpy(bytes, words, sizeof bytes);
    if (length == 8)
        return inet_ntop(AF_INET, bytes, out, INET6_ADDRSTRLEN) != NULL;
    if (memcmp(bytes, v4_in_v6, sizeof v4_in_v6) == 0)
        return inet_ntop(AF_INET, bytes + sizeof v4_in_v6, out, INET6_ADDRSTRLEN) != NULL;
    return inet_ntop(AF_INET6, bytes, out, INET6_ADDRSTRLEN) != NULL;
}

bool descriptors_read_line(const char *line, uint64_t inode, char out[DESCRIPTORS_PEER_BYTES])
{
    char remote[33] = "", address[INET6_ADDRSTRLEN];
    unsigned own_port, port;
    uint64_t found;
    if (sscanf(
            line,
            " %*d: %*32[0-9A-Fa-f]:%x %32[0-9A-Fa-f]:%x %*x %*x:%*x %*x:%*x %*x %*u %*u %" SCNu64,
            &own_port, remote, &port, &found) != 4 ||
        found != inode)
        return false;
    out[0] = '\0';
    if (port == 0 || !read_address(remote, strlen(remote), address))
        return true;
    if (port >= FIRST_EPHEMERAL_PORT && own_port < FIRST_EPHEMERAL_PORT)
        snprintf(out, DESCRIPTORS_PEER_BYTES, "clients of :%u", own_port & 0xffff);
    else
        snprintf(out, DESCRIPTORS_PEER_BYTES, strchr(address, ':') ? "[%s]:%u" : "%s:%u",
                 address, port & 0xffff);
    return true;
}

bool descriptors_read_unix_line(const char *line, uint64_t inode,
                                char out[DESCRIPTORS_PEER_BYTES])
{
    uint64_t found;
    int at = 0;
    if (sscanf(line, "%*[0-9A-Fa-f]: %*x %*x %*x %*x %*x %" SCNu64 "%n", &found, &at) != 1 ||
        found != inode)
        return false;
    const char *path = line + at;
    path += *path == ' ';
    snprintf(out, DESCRIPTORS_PEER_BYTES, "unix%s%.50s", *path && *path != '\n' ? ":" : "",
             path);
    for (char *end = out; *end; end++) {
        if (*end == '\n')
            *end = '\0';
        if (!*end)
            break;
        if (*end < ' ' || *end > '~' || *end == '<' || *end == '>' || *end == ';')
            *end = '?';
    }
    return true;
}

static bool find_in_table(int pid, const char *table, struct known_socket *out)
{
    char path[64], line[LINE_BYTES];
    snprintf(path, sizeof path, "/proc/%d/net/%s", pid, table);
    FILE *const file = fopen(path, "re");
    bool is_found = false;
    if (!file)
        return false;
    for (int i = 0; i < DESCRIPTORS_MAX_LINES && !is_found; i++) {
        if (!fgets(line, sizeof line, file))
            break;
        is_found = descriptors_read_line(line, out->inode, out->peer);
    }
    fclose(file);
    return is_found;
}

/* Is a socket a UNIX socket?  Only those have a line of this name (from Linux 5.6 on). */
static bool is_unix(int pid, int fd)
{
    char path[64], line[LINE_BYTES];
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", pid, fd);
    FILE *const file = fopen(path, "re");
    bool is_found = false;
    if (!file)
        return false;
    for (int i = 0; i < INFO_LINES && !is_found && fgets(line, sizeof line, file); i++)
        is_found = begins_with(line, "scm_fds:");
    fclose(file);
    return is_found;
}

static const char *peer_of(struct descriptors *descriptors, int pid, int fd, uint64_t inode,
                           uint64_t now_ns)
{
    struct known_socket *const entry =
        &descriptors->sockets[hash_mix(inode, 0) & (ENTRIES - 1)];
    const bool is_same = entry->read_ns && entry->inode == inode;
    if ((is_same && (*entry->peer || now_ns - entry->read_ns < AGAIN_NS)))
        return entry->peer;
    const uint64_t asked_ns = clock_now_ns();
    if (!descriptors->begun_ns)
        descriptors->begun_ns = asked_ns;
    if (descriptors->spent_ns > TABLES_NS + (asked_ns - descriptors->begun_ns) / TABLES_PART)
        return "";
    const uint64_t cpu_ns = clock_thread_ns();
    *entry = (struct known_socket){ .inode = inode, .read_ns = now_ns };
    if (is_unix(pid, fd)) {
        /* A name with a newline in it makes a line of its own, so somebody else may claim any socket.  The socket's own line is
         * there as well: a name counts only if all lines of the socket agree. */
        char path[64], line[LINE_BYTES], peer[DESCRIPTORS_PEER_BYTES];
        bool is_found = false, is_certain = true, is_whole = false;
        snprintf(path, sizeof path, "/proc/%d/net/unix", pid);
        FILE *const file = fopen(path, "re");
        if (file) {
            for (int i = 0; i < DESCRIPTORS_MAX_LINES && !is_whole; i++) {
                is_whole = !fgets(line, sizeof line, file);
                if (is_whole || !descriptors_read_unix_line(line, entry->inode, peer))
                    continue;
                is_certain = is_certain && (!is_found || strcmp(peer, entry->peer) == 0);
                snprintf(entry->peer, sizeof entry->peer, "%s", peer);
                is_found = true;
            }
            fclose(file);
            if (is_found && !(is_certain && is_whole))
                snprintf(entry->peer, sizeof entry->peer, "unix");
        }
    } else if (!find_in_table(pid, "tcp", entry) && !find_in_table(pid, "tcp6", entry))
        (void)find_in_table(pid, "udp", entry);
    descriptors->spent_ns += clock_thread_ns() - cpu_ns;
    return entry->peer;
}

enum descriptor_kind descriptors_find(struct descriptors *descriptors, int pid, int fd,
                                      uint64_t now_ns, const char **peer_out)
{
    struct known_descriptor *const entry =
        &descriptors->items[hash_mix((uint64_t)pid << 32 | (uint32_t)fd, 0) & (ENTRIES - 1)];
    const bool is_same = entry->read_ns && entry->pid == pid && entry->fd == fd;
    *peer_out = "";
    if (!is_same || now_ns - entry->read_ns > DESCRIPTORS_FRESH_NS) {
        char path[64], text[64];
        snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
        const ssize_t length = readlink(path, text, sizeof text - 1);
        text[length > 0 ? length : 0] = '\0';
        *entry = (struct known_descriptor){ .pid = pid, .fd = fd, .read_ns = now_ns };
        entry->kind = descriptors_read_link(text, &entry->inode);
        struct statx is;
        const bool is_gpu = entry->kind == DESCRIPTOR_GPU;
        if ((is_gpu || entry->kind == DESCRIPTOR_FILE) &&
            !statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &is))
            entry->kind = S_ISFIFO(is.stx_mode)   ? DESCRIPTOR_PIPE
                          : !S_ISCHR(is.stx_mode) ? DESCRIPTOR_FILE
                          : is_gpu                ? DESCRIPTOR_GPU
                                                  : DESCRIPTOR_DEVICE;
    }
    if (entry->kind == DESCRIPTOR_SOCKET)
        *peer_out = peer_of(descriptors, pid, fd, entry->inode, now_ns);
    return entry->kind;
}
