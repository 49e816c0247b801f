#include "sampler/base/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sampler/base/clock.h"

/* How long it waits at a time for room: a socket may seem to have some. */
enum { POLL_MS = 50 };

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(CHANNEL_MAX_FDS * sizeof(int))];
};

bool channel_write(int fd, const void *data, size_t bytes)
{
    for (const char *at = data; bytes > 0;) {
        const ssize_t done = write(fd, at, bytes);
        if (done < 0 && errno != EINTR)
            return false;
        at += done > 0 ? done : 0;
        bytes -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

bool channel_take(int fd, char **at, size_t *bytes)
{
    const ssize_t got = read(fd, *at, *bytes);
    if (got < 0)
        return errno == EINTR || errno == EAGAIN;
    errno = 0;
    *at += got;
    *bytes -= (size_t)got;
    return got > 0;
}

ssize_t channel_read(int fd, void *out, size_t bytes)
{
    char *at = out;
    while (bytes > 0) {
        const ssize_t got = read(fd, at, bytes);
        if (got < 0 && errno != EINTR)
            return -1;
        if (got == 0)
            break;
        at += got > 0 ? got : 0;
        bytes -= got > 0 ? (size_t)got : 0;
    }
    return at - (char *)out;
}

bool channel_send(int socket, const void *data, size_t bytes, const int *fds, size_t count,
                  unsigned wait_ms)
{
    const uint64_t end_ns = clock_now_ns() + wait_ms * NS_PER_MS;
    union control control = { .bytes = { 0 } };
    struct iovec part = { .iov_base = (void *)(uintptr_t)data, .iov_len = bytes };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    struct pollfd room = { .fd = socket, .events = POLLOUT };
    if (count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof *fds);
        struct cmsghdr *const head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(count * sizeof *fds);
        memcpy(CMSG_DATA(head), fds, count * sizeof *fds);
    }
    for (;;) {
        const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0)
            return sent == (ssize_t)bytes;
        if ((errno != EAGAIN && errno != EINTR) || clock_now_ns() >= end_ns)
            return false;
        (void)poll(&room, 1, POLL_MS);
    }
}

/* Writes the first `most` descriptors of a message and closes the others. */
static size_t take_descriptors(struct msghdr *message, int *fds, size_t most)
{
    size_t count = 0;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at; at = CMSG_NXTHDR(message, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
            continue;
        const size_t sent = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < sent; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(at) + i * sizeof fd, sizeof fd);
            if (count < most)
                fds[count++] = fd;
            else
                close(fd);
        }
    }
    return count;
}

bool channel_receive(int socket, void *out, size_t bytes, size_t *got_out, int *fds,
                     size_t most, size_t *count_out)
{
    union control control;
    struct iovec part = { .iov_base = out, .iov_len = bytes };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes };
    const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    *got_out = got > 0 ? (size_t)got : 0;
    *count_out = got < 0 ? 0 : take_descriptors(&message, fds, most);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}
