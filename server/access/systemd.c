#include "server/access/systemd.h"

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sampler/base/scoped.h"

enum { FIRST_FD = 3 };

enum err_code systemd_take_socket(int *fd_out, struct err *err)
{
    const char *const pid = getenv("LISTEN_PID"), *const count = getenv("LISTEN_FDS");
    const bool is_ours = pid && count && strtol(pid, NULL, 10) == (long)getpid();
    const long fds = is_ours ? strtol(count, NULL, 10) : 0;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    *fd_out = -1;
    if (fds > 1)
        return err_set(err, ERR_INVALID, "systemd passes %ld sockets: only one is supported",
                       fds);
    if (fds == 1) {
        fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC);
        fcntl(FIRST_FD, F_SETFL, fcntl(FIRST_FD, F_GETFL) | O_NONBLOCK);
        *fd_out = FIRST_FD;
    }
    return ERR_OK;
}

/* The length of the address; 0: it is none. */
static socklen_t address_of(const char *path, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (!path || (*path != '/' && *path != '@') || strlen(path) >= sizeof out->sun_path)
        return 0;
    memcpy(out->sun_path, path, strlen(path));
    if (*path == '@') /* a name without a file begins with a zero */
        out->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
}

void systemd_init(struct systemd *systemd)
{
    struct sockaddr_un to;

    /* Twice as often as systemd expects it; 0: it does not. */
    const char *const pid = getenv("WATCHDOG_PID"), *const us = getenv("WATCHDOG_USEC");
    const bool is_ours = !pid || strtol(pid, NULL, 10) == (long)getpid();
    const long ms = us && is_ours ? strtol(us, NULL, 10) / 1000 / 2 : 0;
    unsetenv("WATCHDOG_PID");
    unsetenv("WATCHDOG_USEC");
    const int watchdog_ms = ms > 0 && ms < INT_MAX ? (int)ms : 0;

    const socklen_t length = address_of(getenv("NOTIFY_SOCKET"), &to);
    *systemd = (struct systemd){ .is_there = false };
    unsetenv("NOTIFY_SOCKET");
    SCOPED_FD int fd = length ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, length) != 0)
        return;
    *systemd = (struct systemd){ true, scoped_take_fd(&fd), watchdog_ms };
}

void systemd_deinit(struct systemd *systemd)
{
    if (systemd->is_there)
        close(systemd->fd);
    systemd->is_there = false;
}

void systemd_notify(const struct systemd *systemd, const char *state)
{
    if (systemd->is_there)
        (void)!send(systemd->fd, state, strlen(state), MSG_NOSIGNAL);
}
