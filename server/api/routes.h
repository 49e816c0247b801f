/*
 * routes - the one table of endpoints.
 */
#ifndef SERVER_API_ROUTES_H
#define SERVER_API_ROUTES_H

#include <stddef.h>

#include "sampler/base/err.h"
#include "server/access/auth.h"
#include "server/api/route.h"

struct response;

enum { ROUTES_ALLOW_BYTES = 64, ROUTES_MAX = 64 };

/* NULL: fewer than index + 1. */
const struct route *routes_at(size_t index);
/* The word for the audit log; NULL: it is not logged. */
const char *route_audit_text(const struct route *route);

/* The route, and the segment that matched `*`.  NULL: no route has this path and method; `allow` then
 * lists the methods of the path, separated by commas, or is empty. */
const struct route *routes_find(const struct request *request, char argument[32],
                                char allow[ROUTES_ALLOW_BYTES]);

#endif /* SERVER_API_ROUTES_H */
