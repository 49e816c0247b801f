/*
 * site - from a request to its answer, in one order for all of them:
 *
 *     Host -> refusals -> login -> scope -> route -> change marks -> handler -> validator,
 *     compression, security headers
 *
 * It knows no sockets; http.c calls it from several threads, tests call it directly.
 *
 * Ownership: the site owns its parts, and borrows the sessions.
 * Threads: any, once initialised.
 * Depends on: auth, hosts, page, routes, request, response.
 */
#ifndef SERVER_SITE_H
#define SERVER_SITE_H

#include "server/auth.h"
#include "server/hosts.h"
#include "server/page.h"

struct request;
struct response;
struct sessions;

struct site {
    struct auth auth;
    struct hosts hosts;
    struct page page;
    struct sessions *sessions;
};

struct site_options {
    struct sessions *sessions;
    unsigned port;
    bool needs_token;
    const char *token; /* NULL: a random one */
};

MUST_CHECK enum err_code site_init(struct site *site, const struct site_options *options,
                                   struct err *err);
void site_deinit(struct site *site);

/* Fills an initialised response.  `site` is a struct site; the type is http.h's. */
void site_answer(void *site, const struct request *request, struct response *response);

#endif /* SERVER_SITE_H */
