/*
 * shares - read-only links to everything that this server shows, or to one session.  They work until
 * they expire or are revoked.
 *
 * A share has a token of 256 random bits, shown once, when it is made.  Only its SHA-256 is kept,
 * and that of the cookie which the token is exchanged for; both are compared in constant time.
 * With a file, shares of everything outlive the program.  Each change replaces the whole file, which
 * only its owner can read.  Shares of one session end with the program, because no later session has
 * the same id and epoch.
 *
 * Ownership: shares_create makes, shares_destroy frees (NULL is fine).
 * Threads: any.
 * Limits: SHARES_MAX at a time (those that have expired do not count), then ERR_LIMIT.
 * Units: nanoseconds since 1970.
 */
#ifndef SERVER_ACCESS_SHARES_H
#define SERVER_ACCESS_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "server/access/digest.h"

enum { SHARES_MAX = 256, SHARES_MAX_NAME = 80 };

struct shares;

/* The shared part. */
struct share_scope {
    char session[12]; /* the id of the one session; "": everything */
    char epoch[17];   /* of that session */
};

struct share {
    uint32_t id; /* from 1 on, never used again */
    char name[SHARES_MAX_NAME + 1];
    uint64_t created_at_ns;
    uint64_t expires_at_ns;   /* 0: never */
    uint64_t last_used_at_ns; /* 0: not since the program started */
    struct share_scope shared;
};

/* file NULL: no file.  ERR_CORRUPT: the file exists and is not a file of shares. */
MUST_CHECK enum err_code shares_create(const char *file, struct shares **out, struct err *err);
void shares_destroy(struct shares *shares);

/* shared NULL: everything. */
MUST_CHECK enum err_code shares_add(struct shares *shares, const char *name,
                                    uint64_t expires_at_ns, const struct share_scope *shared,
                                    struct share *out, char token_out[DIGEST_SECRET_LENGTH + 1],
                                    struct err *err);
/* ERR_NOT_FOUND: no such share. */
MUST_CHECK enum err_code shares_revoke(struct shares *shares, uint32_t id, struct err *err);
/* Copies up to `room` shares that have not expired, oldest first.  Returns how many there are. */
size_t shares_list(struct shares *shares, struct share *out, size_t room);

/* Finds the share of a token or cookie; false: there is none, or it has expired or was revoked. */
bool shares_find_token(struct shares *shares, const char *token, size_t length,
                       struct share *out);
bool shares_find_cookie(struct shares *shares, const char *cookie, size_t length,
                        struct share *out);

/* The cookie that goes with a token. */
MUST_CHECK enum err_code shares_cookie(const char *token, char out[DIGEST_SECRET_LENGTH + 1],
                                       struct err *err);

#endif /* SERVER_ACCESS_SHARES_H */
