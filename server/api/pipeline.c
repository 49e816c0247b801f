#include "server/api/pipeline.h"

#include <stddef.h>
#include <string.h>

#include "server/access/logins.h"
#include "server/access/shares.h"
#include "server/api/handler_context.h"
#include "server/api/routes.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/report/source_links.h"
#include "server/sessions/capture_store.h"
#include "server/sessions/dashboard.h"
#include "server/sessions/sessions.h"

_Static_assert((int)TRAFFIC_ROUTES == (int)ROUTES_MAX + 1, "each route has its counters");

enum err_code pipeline_init(struct pipeline *pipeline, const struct pipeline_options *options,
                            struct err *err)
{
    static const struct source_links no_links;
    memset(pipeline, 0, sizeof *pipeline);
    response_cache_init(&pipeline->cache);
    headlines_init(&pipeline->headlines);
    pipeline->audit.fd = -1;
    pipeline->links = options->links ? options->links : &no_links;
    pipeline->sessions = options->sessions;
    pipeline->base_path = options->base_path ? options->base_path : "";
    pipeline->dashboard = options->dashboard;
    enum err_code rc =
        auth_init(&pipeline->auth, options->needs_token, options->token, options->port, err);
    if (!rc)
        rc = hosts_init(&pipeline->hosts, err);
    if (!rc)
        rc = logins_create(&pipeline->logins, err);
    if (!rc)
        rc = shares_create(options->shares_file, &pipeline->shares, err);
    if (!rc)
        rc = audit_open(options->audit_file, options->audit_say, &pipeline->audit, err);
    pipeline->auth.logins = pipeline->logins;
    pipeline->auth.shares = pipeline->shares;
    pipeline->auth.base_path = pipeline->base_path;
    pipeline->auth.is_tls = options->is_tls;
    if (rc)
        pipeline_deinit(pipeline);
    return rc;
}

void pipeline_deinit(struct pipeline *pipeline)
{
    response_cache_deinit(&pipeline->cache);
    headlines_deinit(&pipeline->headlines);
    hosts_deinit(&pipeline->hosts);
    logins_destroy(pipeline->logins);
    shares_destroy(pipeline->shares);
    pipeline->logins = NULL;
    pipeline->shares = NULL;
    audit_close(&pipeline->audit);
}

/* The rest of what request.c, http.c and upload.c refuse. */
static const char *refusal_text(int status)
{
    switch (status) {
    case 400: return "the address or a header of the request is malformed";
    case 413: return "the body of the request is too large";
    case 414: return "the address of the request is too long";
    case 429:
        return "too many of your requests are waiting: send fewer at once, and retry later";
    case 431: return "the request has too many headers";
    default: return "the request cannot be processed now: try again";
    }
}

static bool is_refused(struct pipeline *pipeline, const struct request *request,
                       struct response *response)
{
    const int host = hosts_check(&pipeline->hosts, request);
    if (host == 421)
        response_problem(
            response, 421,
            "the name in Host is not permitted: start pyrometer with --allow-host NAME");
    else if (host != 0)
        response_problem(response, host, "the Host header is missing, repeated or malformed");
    else if (request->refusal == 507)
        response_problem(response, 507,
                         "the disk of the captures is full: free some space and upload again");
    else if (request->refusal != 0)
        response_problem(response, request->refusal, "%s", refusal_text(request->refusal));
    if (response->status == 429 || response->status == 503)
        response_set_header(response, "Retry-After", "2");
    return host != 0 || request->refusal != 0;
}

/* The page's addresses are relative: without the '/' at the end they would miss the base path. */
static bool is_redirected(const struct pipeline *pipeline, struct request *request,
                          struct response *response)
{
    const size_t length = strlen(pipeline->base_path);
    if (length == 0 || strncmp(request->path, pipeline->base_path, length) != 0)
        return false;
    if (request->path[length] == '/') {
        request->path += length;
        return false;
    }
    if (request->path[length] != '\0' || !request_is_safe(request))
        return false;
    if (request_query(request, "token")) { /* the login redirects by itself */
        request->path = "/";
        return false;
    }
    response->status = 308;
    response_set_header(response, "Location", "%s/", pipeline->base_path);
    return true;
}

/* NULL: none. */
static const struct route *find_route(const struct pipeline *pipeline, struct request *request)
{
    const size_t length = strlen(pipeline->base_path);
    const char *const path = request->path;
    char argument[32], allow[ROUTES_ALLOW_BYTES];
    if (request->refusal != 0)
        return NULL;
    if (strncmp(path, pipeline->base_path, length) == 0 && path[length] == '/')
        request->path += length;
    const struct route *const route = routes_find(request, argument, allow);
    request->path = path;
    return route;
}

void pipeline_identify(void *context, const struct request *request, struct client *out)
{
    const struct pipeline *const pipeline = context;
    struct identity who;
    auth_recognize(&pipeline->auth, request, &who);
    out->standing = who.scope == SCOPE_OPERATOR ? CLIENT_OPERATOR
                    : who.scope == SCOPE_OPEN   ? CLIENT_STRANGER
                                                : CLIENT_VIEWER;
    out->id = who.share ? who.share : who.login;
}

/* It passes what pipeline_answer asks of it, before anything of the body is taken. */
int pipeline_admit(void *context, struct request *request, size_t *most_out)
{
    struct pipeline *const pipeline = context;
    struct captures *const captures =
        pipeline->dashboard ? pipeline->dashboard->captures : NULL;
    const struct route *const route = find_route(pipeline, request);
    const char *fault = NULL;
    struct err err = { 0 };
    int fd = -1;
    if (!captures || !route || !(route->marks & ROUTE_LARGE) ||
        hosts_check(&pipeline->hosts, request) != 0 || auth_check_change(request, &fault) != 0)
        return -1;

    struct identity who;
    auth_identify(&pipeline->auth, request, &who);
    if (who.scope < (enum scope)(route->marks & ROUTE_SCOPE))
        return -1;
    if (captures_spool(captures, &fd, &err)) {
        request->refusal = response_is_full(err.sys) ? 507 : 0;
        return -1;
    }
    *most_out = captures_settings(captures)->max_upload;
    return fd;
}

/* The place of the route in the table; TRAFFIC_ROUTES - 1: none.  is_put_off: see handler_context.h. */
static size_t dispatch_request(struct pipeline *pipeline, const struct request *request,
                               struct response *response, bool *is_put_off)
{
    struct identity who;
    struct session_entry *held = NULL;
    struct handler_context handler = { .request = request,
                                       .route_at = routes_at,
                                       .sessions = pipeline->sessions,
                                       .auth = &pipeline->auth,
                                       .who = &who,
                                       .traffic = &pipeline->traffic,
                                       .audit = &pipeline->audit,
                                       .push_counters = pipeline->push_counters,
                                       .links = pipeline->links,
                                       .dashboard = pipeline->dashboard,
                                       .cache = &pipeline->cache,
                                       .headlines = &pipeline->headlines,
                                       .held = &held,
                                       .is_put_off = is_put_off };
    char allow[ROUTES_ALLOW_BYTES];
    const struct route *const route = routes_find(request, handler.argument, allow);
    auth_identify(&pipeline->auth, request, &who);

    const enum scope needed = route ? (enum scope)(route->marks & ROUTE_SCOPE) : SCOPE_SESSION;
    const char *fault = NULL;
    int refusal = 0;
    if (!request_is_safe(handler.request))
        refusal = auth_check_change(handler.request, &fault);
    else if (route && (route->marks & ROUTE_ACTS))
        refusal = auth_check_act(handler.request, &fault);
    if (handler.who->scope < needed)
        auth_refuse(handler.who, handler.request, response);
    else if (!route && !*allow)
        response_problem(response, 404, "no such address: %s", request->path);
    else if (!route) {
        response_problem(response, 405, "method not allowed: %s allows %s", request->path,
                         allow);
        response_set_header(response, "Allow", "%s", allow);
    } else if (refusal != 0)
        response_problem(response, refusal, "%s", fault);
    else {
        struct err err = { 0 };
        if (route->handler(&handler, response, &err))
            response_error(response, &err);
    }
    /* Who is nobody could fill the log. */
    if (route && route_audit_text(route) && handler.who->scope != SCOPE_OPEN)
        audit_write(&pipeline->audit, route_audit_text(route), handler.who, handler.request,
                    response->status);

    session_release(held);
    return route ? (size_t)(route - routes_at(0)) : TRAFFIC_ROUTES - 1;
}

static void answer_all(struct pipeline *pipeline, struct request *request,
                       struct response *response, bool *is_put_off)
{
    size_t route = TRAFFIC_ROUTES - 1;
    if (!is_refused(pipeline, request, response) &&
        !is_redirected(pipeline, request, response) &&
        !auth_login(&pipeline->auth, request, response))
        route = dispatch_request(pipeline, request, response, is_put_off);
    if (is_put_off && *is_put_off)
        return;
    response_finish(response, request);
    if (response->is_shared)
        response_cache_keep(&pipeline->cache, request, response);
    auth_renew(&pipeline->auth, request, response);

    if (!response_header(response, "Content-Security-Policy"))
        response_set_header(response, "Content-Security-Policy",
                            "default-src 'none'; frame-ancestors 'none'");
    response_set_header(response, "Referrer-Policy", "no-referrer");
    response_set_header(response, "X-Content-Type-Options", "nosniff");
    response_set_header(response, "Cross-Origin-Resource-Policy", "same-origin");

    traffic_count(&pipeline->traffic, route, response->status);
}

void pipeline_answer(void *context, struct request *request, struct response *response)
{
    answer_all(context, request, response, NULL);
}

enum http_turn pipeline_answer_at_once(void *context, struct request *request,
                                       struct response *response)
{
    struct pipeline *const pipeline = context;
    const char *const path = request->path;
    const struct route *const route = find_route(pipeline, request);
    /* A client that is refused gets its answer at once. */
    bool may_wait = route && !(route->marks & ROUTE_FIXED);
    if (may_wait) {
        struct identity who;
        auth_identify(&pipeline->auth, request, &who);
        may_wait = who.scope >= (enum scope)(route->marks & ROUTE_SCOPE) &&
                   !(who.scope == SCOPE_OPERATOR && (route->marks & ROUTE_LIGHT));
    }
    bool is_put_off = may_wait && !(route->marks & ROUTE_CACHED);
    if (!is_put_off)
        answer_all(pipeline, request, response, may_wait ? &is_put_off : NULL);
    if (!is_put_off)
        return HTTP_NO_TURN;
    request->path = path;
    response_deinit(response);
    response_init(response);
    return route->marks & ROUTE_LONG ? HTTP_LONG_TURN : HTTP_SHORT_TURN;
}
