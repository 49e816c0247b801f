#include "server/systemd.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/scoped.h"

enum { FIRST_FD = 3 };

static void prepare(int fd)
{
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

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
        return err_set(err, ERR_INVALID, "systemd passes %ld sockets: one is served", fds);
    if (fds == 1) {
        prepare(FIRST_FD);
        *fd_out = FIRST_FD;
    }
    return ERR_OK;
}

void systemd_init(struct systemd *systemd)
{
    const char *const path = getenv("NOTIFY_SOCKET");
    memset(systemd, 0, sizeof *systemd);
    if (path && (*path == '/' || *path == '@') && strlen(path) < sizeof systemd->to.sun_path) {
        systemd->to.sun_family = AF_UNIX;
        memcpy(systemd->to.sun_path, path, strlen(path));
        systemd->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
        if (*path == '@') /* a name without a file begins with a zero */
            systemd->to.sun_path[0] = '\0';
    }
    unsetenv("NOTIFY_SOCKET");
}

void systemd_notify(const struct systemd *systemd, const char *state)
{
    if (systemd->length == 0)
        return;
    SCOPED_FD int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL,
                      (const struct sockaddr *)&systemd->to, systemd->length);
}
