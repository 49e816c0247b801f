/*
 * route - a row of the table of routes.
 */
#ifndef SERVER_API_ROUTE_H
#define SERVER_API_ROUTE_H

#include "sampler/base/err.h"
#include "server/http/request.h"

struct handler_context;
struct response;

struct route {
    enum method method;  /* GET serves HEAD too */
    const char *pattern; /* `*` stands for one segment */
    enum err_code (*handler)(const struct handler_context *handler, struct response *response,
                             struct err *err);
    unsigned marks; /* the scope that the caller needs, and enum route_mark */
};

enum { ROUTE_SCOPE = 3 };

/* Actions of the audit log, and their words. */
#define ROUTE_AUDITS(X)     \
    X(START, "start")       \
    X(CHANGE, "change")     \
    X(DELETE, "delete")     \
    X(DUMP, "dump")         \
    X(DOWNLOAD, "download") \
    X(UPLOAD, "upload")     \
    X(OPEN, "open")         \
    X(SHARE, "share")       \
    X(REVOKE, "revoke")

enum route_audit {
    ROUTE_AUDIT_NONE,
#define X(name, text) ROUTE_AUDIT_##name,
    ROUTE_AUDITS(X)
#undef X
};

enum route_mark {
    /* A request waits for its turn (fair_queue.h), but for: */
    ROUTE_FIXED = 1 << 2, /* costs the same whatever is asked and shown: answered at once */
    ROUTE_LIGHT = 1 << 3, /* costs little, so that operators are answered at once */
    ROUTE_CACHED =
        1 << 4,           /* calls handler_is_fresh: an answer that is there is given at once */
    ROUTE_LONG = 1 << 5,  /* may take seconds */
    ROUTE_LARGE = 1 << 6, /* its body goes to a file (http.h, admit) */
    ROUTE_ACTS = 1 << 7,  /* a GET that does more than read: not from pages of other sites */
    ROUTE_AUDIT_SHIFT = 8,
#define X(name, text) ROUTE_##name = ROUTE_AUDIT_##name << ROUTE_AUDIT_SHIFT,
    ROUTE_AUDITS(X)
#undef X
};

#endif /* SERVER_API_ROUTE_H */
