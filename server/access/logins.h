/*
 * logins - the operators' browsers: a cookie each, which expires and changes.
 *
 * A login ends LOGINS_IDLE_S after its last request, and LOGINS_LIFE_S after it began.  A cookie that
 * is older than LOGINS_CHANGE_S is replaced; the old one stays valid until the new one has been used
 * for LOGINS_OVERLAP_S, so that pending requests and a lost answer log nobody out.
 * Only the SHA-256 of cookies is kept, compared in constant time.
 *
 * Ownership: logins_create makes, logins_destroy frees (NULL is fine).
 * Threads: any.
 * Limits: LOGINS_MAX at a time; a new one replaces the least recently used one.
 * Units: nanoseconds of a clock that only goes forward.
 */
#ifndef SERVER_ACCESS_LOGINS_H
#define SERVER_ACCESS_LOGINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "server/access/digest.h"

enum {
    LOGINS_MAX = 256,
    LOGINS_IDLE_S = 12 * 3600,
    LOGINS_LIFE_S = 7 * 86400,
    LOGINS_CHANGE_S = LOGINS_IDLE_S / 2,
    LOGINS_OVERLAP_S = 60,
};

struct logins;

MUST_CHECK enum err_code logins_create(struct logins **out, struct err *err);
void logins_destroy(struct logins *logins);

MUST_CHECK enum err_code logins_add(struct logins *logins, uint64_t now_ns,
                                    char cookie_out[DIGEST_SECRET_LENGTH + 1], struct err *err);
/* The number of the login, whose cookie may change, from 1 on; 0: the cookie is not valid.  This counts as
 * a use of it. */
uint32_t logins_find(struct logins *logins, const char *cookie, size_t length, uint64_t now_ns);
/* True: cookie_out replaces this cookie. */
bool logins_change(struct logins *logins, const char *cookie, size_t length, uint64_t now_ns,
                   char cookie_out[DIGEST_SECRET_LENGTH + 1]);
/* Ends the login of that cookie.  Ignores an unknown cookie. */
void logins_end(struct logins *logins, const char *cookie, size_t length, uint64_t now_ns);

#endif /* SERVER_ACCESS_LOGINS_H */
