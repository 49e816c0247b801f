/*
 * auth - who is asking and what they may do: the token, the cookies it is exchanged for, and scopes.
 *
 * Opening /?token=... answers 303 to the same URL without the token and sets an HttpOnly cookie with an
 * independent secret (logins.h), so the token stays out of the address bar, the history and referrers.
 * Programs send "Authorization: Bearer TOKEN".  A browser that we start gets a
 * code that works once instead of the token: everyone on the machine can read its command line.
 *
 * The token of a share (shares.h) works in the same two ways.  Its user may only read, everything or
 * one session.
 * Their cookie has another name, so that an operator who opens a shared link stays one.
 *
 * Ownership: plain data in the caller's storage; logins, shares and base path are borrowed.
 * Threads: any, once initialised.
 */
#ifndef SERVER_ACCESS_AUTH_H
#define SERVER_ACCESS_AUTH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "server/access/digest.h"
#include "server/access/shares.h"

struct logins;
struct request;
struct response;

enum { AUTH_SECRET_LENGTH = DIGEST_SECRET_LENGTH, AUTH_MIN_TOKEN = 16, AUTH_MAX_TOKEN = 128 };

/* Rights of a caller, and those that a route requires. Each scope includes those before it.
 * SCOPE_SESSION: read the one session that was shared. */
enum scope { SCOPE_OPEN, SCOPE_SESSION, SCOPE_VIEWER, SCOPE_OPERATOR };

/* Who is asking. */
struct identity {
    enum scope scope;
    uint32_t share; /* the id of the share that was used; 0: none */
    uint32_t login; /* the number of the operator's login; 0: the token, or none is needed */
    uint64_t expires_at_ns; /* since 1970, of the share; 0: never */
    struct share_scope shared;
};

struct auth {
    bool required;
    char token[AUTH_MAX_TOKEN + 1];
    char once[AUTH_SECRET_LENGTH + 1];
    atomic_bool once_used;
    char cookie_name[32];  /* carries the port: cookies do not know ports */
    struct logins *logins; /* NULL: the token gives no cookie */
    struct shares *shares; /* NULL: none */
    const char *base_path; /* the cookie's path, without the last '/' */
    bool is_tls;           /* cookies are for TLS only */
};

/* token NULL: a random one.  required false: everybody is an operator.  No logins, no shares, no
 * base path and no TLS until they are set. */
MUST_CHECK enum err_code auth_init(struct auth *auth, bool required, const char *token,
                                   unsigned port, struct err *err);

/* 16 to 128 characters that need no escaping in a URL. */
bool auth_token_is_sound(const char *token);

void auth_identify(const struct auth *auth, const struct request *request,
                   struct identity *out);
/* Identifies the client as auth_identify does, also by a token in the URL of the request. */
void auth_recognize(const struct auth *auth, const struct request *request,
                    struct identity *out);
/* "operator", "viewer", "open". */
const char *auth_scope_text(enum scope scope);

/* Answers a request that has a token in its URL.  false: it has none, or the token is wrong and there
 * is no valid cookie either. */
bool auth_login(struct auth *auth, const struct request *request, struct response *response);

/* Replaces the cookie of the browser if it is due (logins.h). */
void auth_renew(const struct auth *auth, const struct request *request,
                struct response *response);
/* Ends the login, and deletes the cookies of the browser. */
void auth_logout(const struct auth *auth, const struct request *request,
                 struct response *response);

/* 401, or 403 if the caller is known but not permitted: a page for browsers, a problem for the API. */
void auth_refuse(const struct identity *who, const struct request *request,
                 struct response *response);

/* Checks what a page of another site cannot send: a request that changes something needs X-Pyrometer,
 * a JSON body and, if it has an Origin, ours.  Returns the status to refuse it with; 0: fine. */
int auth_check_change(const struct request *request, const char **fault_out);

/* Checks a GET that does more than read: no other page may have it sent with the cookie or the
 * password that a browser adds. */
int auth_check_act(const struct request *request, const char **fault_out);

/* Takes equally long for equal and for different texts of that length. */
bool auth_secret_equals(const char *secret, const char *given);

#endif /* SERVER_ACCESS_AUTH_H */
