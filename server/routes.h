/*
 * routes - the one table of endpoints.
 *
 * Depends on: call, auth (scopes), request.
 */
#ifndef SERVER_ROUTES_H
#define SERVER_ROUTES_H

#include <stddef.h>

#include "sampler/base/err.h"
#include "server/auth.h"
#include "server/call.h"
#include "server/request.h"

struct response;

struct route {
    enum method method;  /* GET serves HEAD too */
    const char *pattern; /* `*` stands for one segment */
    enum err_code (*handler)(const struct call *call, struct response *response,
                             struct err *err);
    enum scope scope; /* what the caller needs */
};

enum { ROUTES_ALLOW_BYTES = 64 };

/* The route, and what stood for `*`.  NULL: none of this method; then `allow` lists the methods
 * this path has, separated by commas, or is empty. */
const struct route *routes_find(const struct request *request, char argument[32],
                                char allow[ROUTES_ALLOW_BYTES]);

#endif /* SERVER_ROUTES_H */
