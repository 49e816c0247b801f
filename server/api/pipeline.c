#include "server/api/pipeline.h"

#include <stddef.h>
#include <string.h>

#include "server/access/admission.h"
#include "server/access/logins.h"
#include "server/access/shares.h"
#include "server/api/handler_context.h"
#include "server/api/routes.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/sessions/capture_store.h"
#include "server/sessions/dashboard.h"
#include "server/sessions/sessions.h"

_Static_assert((int)TRAFFIC_ROUTES == (int)ROUTES_MAX + 1, "each route has its counters");

enum err_code site_init(struct site *site, const struct site_options *options, struct err *err)
{
    static const struct admission all;
    memset(site, 0, sizeof *site);
    answers_init(&site->answers);
    site->audit.fd = -1;
    site->admission = options->admission ? options->admission : &all;
    site->sessions = options->sessions;
    site->base_path = options->base_path ? options->base_path : "";
    site->dashboard = options->dashboard;
    enum err_code rc =
        auth_init(&site->auth, options->needs_token, options->token, options->port, err);
    if (rc == ERR_OK)
        rc = hosts_init(&site->hosts, err);
    if (rc == ERR_OK)
        rc = page_init(&site->page, err);
    if (rc == ERR_OK)
        rc = logins_create(&site->logins, err);
    if (rc == ERR_OK)
        rc = shares_create(options->shares_file, &site->shares, err);
    if (rc == ERR_OK)
        rc = audit_open(options->audit_file, &site->audit, err);
    site->auth.logins = site->logins;
    site->auth.shares = site->shares;
    site->auth.base_path = site->base_path;
    site->auth.is_tls = options->is_tls;
    if (rc != ERR_OK)
        site_deinit(site);
    return rc;
}

void site_deinit(struct site *site)
{
    page_deinit(&site->page);
    answers_deinit(&site->answers);
    hosts_deinit(&site->hosts);
    logins_destroy(site->logins);
    shares_destroy(site->shares);
    site->logins = NULL;
    site->shares = NULL;
    audit_close(&site->audit);
}

static bool is_refused(struct site *site, const struct request *request,
                       struct response *response)
{
    const int host = hosts_check(&site->hosts, request);
    if (host == 421)
        response_problem(response, 421,
                         "this server does not answer to the name in Host; start pyrometer "
                         "with --allow-host NAME if it should");
    else if (host != 0)
        response_problem(response, host, "the Host header is missing, repeated or malformed");
    else if (request->refusal == 507)
        response_problem(response, 507,
                         "the disk of the captures is full: make room there and send it again");
    else if (request->refusal != 0)
        response_problem(response, request->refusal, "the request was refused: %s",
                         status_text(request->refusal));
    return host != 0 || request->refusal != 0;
}

static void run(const struct route *route, const struct call *call, struct response *response)
{
    struct err err = { 0 };
    if (route->handler(call, response, &err) != ERR_OK)
        response_error(response, &err);
}

static void refuse_route(const struct request *request, struct response *response,
                         const char *allow)
{
    if (!*allow) {
        response_problem(response, 404, "nothing is at %s", request->path);
        return;
    }
    response_problem(response, 405, "%s allows %s", request->path, allow);
    response_set_header(response, "Allow", "%s", allow);
}

/* The page's addresses are relative: without the '/' at the end they would miss the base path. */
static bool is_redirected(const struct site *site, struct request *request,
                          struct response *response)
{
    const size_t length = strlen(site->base_path);
    if (length == 0 || strncmp(request->path, site->base_path, length) != 0)
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
    response_set_header(response, "Location", "%s/", site->base_path);
    return true;
}

/* NULL: none. */
static const struct route *find_route(const struct site *site, struct request *request)
{
    const size_t length = strlen(site->base_path);
    const char *const path = request->path;
    char argument[32], allow[ROUTES_ALLOW_BYTES];
    if (request->refusal != 0)
        return NULL;
    if (strncmp(path, site->base_path, length) == 0 && path[length] == '/')
        request->path += length;
    const struct route *const route = routes_find(request, argument, allow);
    request->path = path;
    return route;
}

static bool may(const struct site *site, const struct route *route,
                const struct request *request)
{
    struct identity who;
    auth_identify(&site->auth, request, &who);
    return who.scope >= (enum scope)(route->marks & ROUTE_SCOPE);
}

/* Who is refused takes no thread from those who are not. */
bool site_is_slow(void *context, struct request *request)
{
    const struct site *const site = context;
    const struct route *const route = find_route(site, request);
    return route && (route->marks & ROUTE_SLOW) != 0 && may(site, route, request);
}

bool site_knows(void *context, const struct request *request)
{
    const struct site *const site = context;
    return auth_knows(&site->auth, request);
}

/* It passes what site_answer asks of it, before anything of the body is taken. */
int site_admit(void *context, struct request *request, size_t *most_out)
{
    struct site *const site = context;
    struct captures *const captures = site->dashboard ? site->dashboard->captures : NULL;
    const struct route *const route = find_route(site, request);
    const char *fault = NULL;
    struct err err = { 0 };
    int fd = -1;
    if (!captures || !route || !(route->marks & ROUTE_LARGE) ||
        hosts_check(&site->hosts, request) != 0 || auth_check_change(request, &fault) != 0)
        return -1;
    if (!may(site, route, request))
        return -1;
    if (captures_spool(captures, &fd, &err) != ERR_OK) {
        request->refusal = response_is_full(err.sys) ? 507 : 0;
        return -1;
    }
    *most_out = captures_settings(captures)->max_upload;
    return fd;
}

static void answer(struct site *site, const struct route *route, struct call *call,
                   const char *allow, struct response *response)
{
    const enum scope needed = route ? (enum scope)(route->marks & ROUTE_SCOPE) : SCOPE_SESSION;
    const char *fault = NULL;
    const int refusal =
        request_is_safe(call->request) ? 0 : auth_check_change(call->request, &fault);
    if (call->who->scope < needed)
        auth_refuse(call->who, call->request, response);
    else if (!route)
        refuse_route(call->request, response, allow);
    else if (refusal != 0)
        response_problem(response, refusal, "%s", fault);
    else
        run(route, call, response);
    /* Who is nobody could fill the log. */
    if (route && route_audit_text(route) && call->who->scope != SCOPE_OPEN)
        audit_write(&site->audit, route_audit_text(route), call->who, call->request,
                    response->status);
}

/* The place of the route in the table; TRAFFIC_ROUTES - 1: none. */
static size_t dispatch(struct site *site, const struct request *request,
                       struct response *response)
{
    struct identity who;
    struct session *held = NULL;
    struct call call = { .request = request,
                         .sessions = site->sessions,
                         .page = &site->page,
                         .auth = &site->auth,
                         .who = &who,
                         .admission = site->admission,
                         .traffic = &site->traffic,
                         .dashboard = site->dashboard,
                         .answers = &site->answers,
                         .held = &held };
    char allow[ROUTES_ALLOW_BYTES];
    const struct route *const route = routes_find(request, call.argument, allow);
    auth_identify(&site->auth, request, &who);
    answer(site, route, &call, allow, response);
    session_release(held);
    return route ? (size_t)(route - routes_at(0)) : TRAFFIC_ROUTES - 1;
}

static void add_security_headers(struct response *response)
{
    if (!response_header(response, "Content-Security-Policy"))
        response_set_header(response, "Content-Security-Policy",
                            "default-src 'none'; frame-ancestors 'none'");
    response_set_header(response, "Referrer-Policy", "no-referrer");
    response_set_header(response, "X-Content-Type-Options", "nosniff");
    response_set_header(response, "Cross-Origin-Resource-Policy", "same-origin");
}

void site_answer(void *context, struct request *request, struct response *response)
{
    struct site *const site = context;
    size_t route = TRAFFIC_ROUTES - 1;
    if (!is_refused(site, request, response) && !is_redirected(site, request, response) &&
        !auth_login(&site->auth, request, response))
        route = dispatch(site, request, response);
    response_finish(response, request);
    if (response->is_shared)
        answers_keep(&site->answers, request, response);
    auth_renew(&site->auth, request, response);
    add_security_headers(response);
    traffic_count(&site->traffic, route, response->status);
}
