/*
 * systemd - being started with a socket, and telling that we are ready, without its library.
 *
 * See sd_listen_fds(3) and sd_notify(3).  Both do nothing where the environment has no systemd in
 * it.  What is in the environment is taken out of it, so that no child believes it is meant.
 *
 * Threads: the main one, before others start.
 * Depends on: err.
 */
#ifndef SERVER_ACCESS_SYSTEMD_H
#define SERVER_ACCESS_SYSTEMD_H

#include <stdbool.h>

#include "sampler/base/err.h"

/* The one socket that was passed, -1: none.  ERR_INVALID: more than one. */
MUST_CHECK enum err_code systemd_take_socket(int *fd_out, struct err *err);

/* Where to send news: a zeroed one sends none.  Connected at once, as later we may not be allowed to. */
struct systemd {
    bool is_there;
    int fd;
};

void systemd_init(struct systemd *systemd);
void systemd_deinit(struct systemd *systemd);
/* "READY=1", "STOPPING=1", "STATUS=...". */
void systemd_notify(const struct systemd *systemd, const char *state);

#endif /* SERVER_ACCESS_SYSTEMD_H */
