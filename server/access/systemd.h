/*
 * systemd - takes the socket that systemd passes, and notifies systemd, without its library.
 *
 * See sd_listen_fds(3), sd_notify(3) and sd_watchdog_enabled(3).  Without their environment variables both
 * do nothing.  The variables are removed, so that no child takes them for its own.
 *
 * Threads: the main one, before others start.
 */
#ifndef SERVER_ACCESS_SYSTEMD_H
#define SERVER_ACCESS_SYSTEMD_H

#include <stdbool.h>

#include "sampler/base/err.h"

/* The socket that was passed; -1: none.  ERR_INVALID: more than one. */
MUST_CHECK enum err_code systemd_take_socket(int *fd_out, struct err *err);

/* The socket for notifications; a zeroed struct sends none.  systemd_init connects it, because later we
 * may lack the permission. */
struct systemd {
    bool is_there;
    int fd;
    int watchdog_ms; /* how often "WATCHDOG=1" should be sent; 0: never */
};

void systemd_init(struct systemd *systemd);
void systemd_deinit(struct systemd *systemd);
/* "READY=1", "STOPPING=1", "WATCHDOG=1". */
void systemd_notify(const struct systemd *systemd, const char *state);

#endif /* SERVER_ACCESS_SYSTEMD_H */
