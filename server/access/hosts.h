/*
 * hosts - the host names under which this server answers.
 *
 * A page of another site can make its own name resolve to our address (DNS rebinding) and then
 * read our answers as its own.  The Host header still carries its name, so only names that
 * cannot be taken over that way are served: address literals, localhost, this machine's name,
 * the name given to --listen, and those of --allow-host.  The port is not compared: it differs
 * behind a forwarded port.
 *
 * Ownership: the table copies names.
 * Threads: fill first, then any thread may check.
 * Limits: HOSTS_MAX_NAMES, then ERR_LIMIT.
 */
#ifndef SERVER_ACCESS_HOSTS_H
#define SERVER_ACCESS_HOSTS_H

#include <stddef.h>

#include "sampler/base/err.h"

struct request;

enum { HOSTS_MAX_NAMES = 64, HOSTS_MAX_LENGTH = 255 };

struct hosts {
    char *names[HOSTS_MAX_NAMES];
    size_t count;
};

/* localhost and this machine's name. */
MUST_CHECK enum err_code hosts_init(struct hosts *hosts, struct err *err);
void hosts_deinit(struct hosts *hosts);
MUST_CHECK enum err_code hosts_allow(struct hosts *hosts, const char *name, struct err *err);

/* The status to refuse with: 400 missing, repeated or malformed, 421 not ours; 0: fine. */
int hosts_check(const struct hosts *hosts, const struct request *request);

#endif /* SERVER_ACCESS_HOSTS_H */
