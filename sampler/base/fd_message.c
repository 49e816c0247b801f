#include "sampler/base/fd_message.h"

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(FD_MESSAGE_MAX * sizeof(int))];
};

ssize_t fd_message_send(int socket, const void *data, size_t bytes, const int *fds,
                        size_t count)
{
    union control control = { .bytes = { 0 } };
    struct iovec part = { .iov_base = (void *)(uintptr_t)data, .iov_len = bytes };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    if (count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof *fds);
        struct cmsghdr *const head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(count * sizeof *fds);
        memcpy(CMSG_DATA(head), fds, count * sizeof *fds);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t fd_message_receive(int socket, void *out, size_t bytes, int *fds, size_t most,
                           size_t *count_out)
{
    union control control;
    struct iovec part = { .iov_base = out, .iov_len = bytes };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes };
    const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    *count_out = 0;
    if (got < 0)
        return got;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); at; at = CMSG_NXTHDR(&message, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
            continue;
        const size_t sent = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < sent; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(at) + i * sizeof fd, sizeof fd);
            if (*count_out < most)
                fds[(*count_out)++] = fd;
            else
                close(fd);
        }
    }
    return got;
}
