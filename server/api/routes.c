#include "server/api/routes.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/http/response.h"
#include "server/wire/assets.h"

/* A document of HTML that is part of the program, compressed. */
static enum err_code answer_html(const struct handler_context *handler, struct asset html,
                                 struct asset csp, struct gzip_body *kept,
                                 struct response *response, struct err *err)
{
    response_set_header(response, "Content-Security-Policy", "%.*s", (int)csp.bytes, csp.data);
    return response_fix_gzip(response, handler->request, MIME_HTML, html.data, html.bytes, kept,
                             err);
}

static enum err_code get_page(const struct handler_context *handler, struct response *response,
                              struct err *err)
{
    static struct gzip_body kept = { .lock = PTHREAD_MUTEX_INITIALIZER };
    return answer_html(handler, asset_page(), asset_page_csp(), &kept, response, err);
}

static enum err_code get_manual(const struct handler_context *handler,
                                struct response *response, struct err *err)
{
    static struct gzip_body kept = { .lock = PTHREAD_MUTEX_INITIALIZER };
    return answer_html(handler, asset_manual(), asset_manual_csp(), &kept, response, err);
}

static enum err_code get_health(const struct handler_context *handler,
                                struct response *response, struct err *err)
{
    (void)handler;
    (void)err;
    response_fix_body(response, MIME_TEXT, "ok\n", 3);
    return ERR_OK;
}

static enum err_code get_openapi(const struct handler_context *handler,
                                 struct response *response, struct err *err)
{
    static struct gzip_body kept = { .lock = PTHREAD_MUTEX_INITIALIZER };
    const struct asset document = asset_openapi();
    return response_fix_gzip(response, handler->request, MIME_JSON, document.data,
                             document.bytes, &kept, err);
}

/* SCOPE_SESSION is only for routes that check the session with handler_session or handler_sees. */
static const struct route routes[] = {
    { METHOD_GET, "/", get_page, SCOPE_SESSION | ROUTE_FIXED },
    { METHOD_GET, "/manual", get_manual, SCOPE_SESSION | ROUTE_FIXED },
    { METHOD_GET, "/healthz", get_health, SCOPE_OPEN | ROUTE_FIXED },
    { METHOD_GET, "/metrics", api_get_metrics, SCOPE_VIEWER },
    { METHOD_GET, "/debug/pprof/profile", api_pull_pprof,
      SCOPE_OPERATOR | ROUTE_LONG | ROUTE_ACTS | ROUTE_START },
    { METHOD_GET, "/api/v1/processes", api_list_processes, SCOPE_VIEWER },
    { METHOD_GET, "/api/v1/activity", api_get_activity, SCOPE_VIEWER },
    { METHOD_GET, "/api/v1/processes/*/dump", api_dump_process,
      SCOPE_OPERATOR | ROUTE_LONG | ROUTE_ACTS | ROUTE_DUMP },
    { METHOD_GET, "/api/v1/sessions", api_list_sessions, SCOPE_SESSION | ROUTE_LIGHT },
    { METHOD_POST, "/api/v1/sessions", api_start_session, SCOPE_OPERATOR | ROUTE_START },
    { METHOD_GET, "/api/v1/sessions/*", api_get_session, SCOPE_SESSION | ROUTE_LIGHT },
    { METHOD_PATCH, "/api/v1/sessions/*", api_change_session, SCOPE_OPERATOR | ROUTE_CHANGE },
    { METHOD_DELETE, "/api/v1/sessions/*", api_delete_session, SCOPE_OPERATOR | ROUTE_DELETE },
    { METHOD_GET, "/api/v1/sessions/*/tree", api_get_tree, SCOPE_SESSION | ROUTE_CACHED },
    { METHOD_GET, "/api/v1/sessions/*/view", api_get_view, SCOPE_SESSION | ROUTE_CACHED },
    { METHOD_GET, "/api/v1/sessions/*/threads", api_get_threads, SCOPE_SESSION | ROUTE_CACHED },
    { METHOD_GET, "/api/v1/sessions/*/tasks", api_get_tasks, SCOPE_SESSION | ROUTE_CACHED },
    { METHOD_GET, "/api/v1/sessions/*/timeline", api_get_timeline,
      SCOPE_SESSION | ROUTE_CACHED },
    { METHOD_GET, "/api/v1/sessions/*/runs", api_get_runs, SCOPE_SESSION | ROUTE_CACHED },
    { METHOD_GET, "/api/v1/sessions/*/gil", api_get_gil, SCOPE_SESSION | ROUTE_CACHED },
    { METHOD_GET, "/api/v1/sessions/*/dump", api_dump_session,
      SCOPE_OPERATOR | ROUTE_LONG | ROUTE_ACTS | ROUTE_DUMP },
    { METHOD_GET, "/api/v1/sessions/*/memory", api_get_memory, SCOPE_SESSION | ROUTE_CACHED },
    { METHOD_GET, "/api/v1/sessions/*/locks", api_get_locks, SCOPE_SESSION | ROUTE_CACHED },
    { METHOD_GET, "/api/v1/sessions/*/own-lines", api_get_own_lines,
      SCOPE_SESSION | ROUTE_CACHED },
    { METHOD_GET, "/api/v1/sessions/*/summary", api_get_summary, SCOPE_SESSION | ROUTE_CACHED },
    { METHOD_GET, "/api/v1/sessions/*/waits", api_get_waits, SCOPE_SESSION | ROUTE_CACHED },
    { METHOD_GET, "/api/v1/sessions/*/contexts", api_get_contexts,
      SCOPE_SESSION | ROUTE_CACHED },
    { METHOD_GET, "/api/v1/sessions/*/requests", api_get_requests,
      SCOPE_SESSION | ROUTE_CACHED },
    { METHOD_GET, "/api/v1/sessions/*/heatmap", api_get_heatmap, SCOPE_SESSION | ROUTE_CACHED },
    { METHOD_POST, "/api/v1/sessions/*/matches", api_find_matches, SCOPE_SESSION },
    { METHOD_POST, "/api/v1/sessions/*/notes", api_add_note, SCOPE_OPERATOR | ROUTE_CHANGE },
    { METHOD_DELETE, "/api/v1/sessions/*/notes", api_remove_note,
      SCOPE_OPERATOR | ROUTE_CHANGE },
    { METHOD_GET, "/api/v1/sessions/*/lines", api_get_lines, SCOPE_SESSION },
    { METHOD_GET, "/api/v1/sessions/*/source", api_get_source,
      SCOPE_SESSION | ROUTE_LONG | ROUTE_ACTS },
    { METHOD_GET, "/api/v1/sessions/*/quality", api_get_quality, SCOPE_SESSION },
    { METHOD_GET, "/api/v1/sessions/*/export", api_get_export,
      SCOPE_SESSION | ROUTE_LONG | ROUTE_DOWNLOAD },
    { METHOD_GET, "/api/v1/sessions/*/report.html", api_get_report,
      SCOPE_SESSION | ROUTE_LONG | ROUTE_DOWNLOAD },
    { METHOD_GET, "/api/v1/captures", api_list_captures, SCOPE_VIEWER },
    { METHOD_POST, "/api/v1/captures", api_open_capture, SCOPE_OPERATOR | ROUTE_OPEN },
    { METHOD_PUT, "/api/v1/captures", api_put_capture,
      SCOPE_OPERATOR | ROUTE_LONG | ROUTE_LARGE | ROUTE_UPLOAD },
    { METHOD_GET, "/api/v1/captures/*", api_get_capture, SCOPE_VIEWER },
    { METHOD_PATCH, "/api/v1/captures/*", api_change_capture, SCOPE_OPERATOR | ROUTE_CHANGE },
    { METHOD_DELETE, "/api/v1/captures/*", api_delete_capture, SCOPE_OPERATOR | ROUTE_DELETE },
    { METHOD_GET, "/api/v1/captures/*/file", api_get_capture_file,
      SCOPE_VIEWER | ROUTE_DOWNLOAD },
    { METHOD_GET, "/api/v1/openapi.json", get_openapi, SCOPE_SESSION | ROUTE_FIXED },
    { METHOD_GET, "/api/v1/access", api_get_access, SCOPE_SESSION | ROUTE_FIXED },
    { METHOD_DELETE, "/api/v1/access", api_end_access, SCOPE_SESSION | ROUTE_FIXED },
    { METHOD_GET, "/api/v1/shares", api_list_shares, SCOPE_OPERATOR | ROUTE_LIGHT },
    { METHOD_POST, "/api/v1/shares", api_add_share, SCOPE_OPERATOR | ROUTE_SHARE },
    { METHOD_DELETE, "/api/v1/shares/*", api_revoke_share, SCOPE_OPERATOR | ROUTE_REVOKE },
};

enum { ROUTE_COUNT = sizeof routes / sizeof *routes };

_Static_assert((int)ROUTE_COUNT <= (int)ROUTES_MAX, "more routes than others count on");

const struct route *routes_at(size_t index)
{
    return index < ROUTE_COUNT ? &routes[index] : NULL;
}

const char *route_audit_text(const struct route *route)
{
    static const char *const texts[] = { NULL,
#define X(name, text) text,
                                         ROUTE_AUDITS(X)
#undef X
    };
    return texts[route->marks >> ROUTE_AUDIT_SHIFT];
}

/* A segment may not be empty: "/sessions//tree" is no session. */
static bool matches_pattern(const char *pattern, const char *path, char argument[32])
{
    argument[0] = '\0';
    while (*pattern && *pattern != '*' && *pattern == *path) {
        pattern++;
        path++;
    }
    if (*pattern != '*')
        return *pattern == *path;
    const size_t length = strcspn(path, "/");
    if (length == 0 || length >= 32 || strcmp(pattern + 1, path + length) != 0)
        return false;
    memcpy(argument, path, length);
    argument[length] = '\0';
    return true;
}

const struct route *routes_find(const struct request *request, char argument[32],
                                char allow[ROUTES_ALLOW_BYTES])
{
    const enum method method = request->method == METHOD_HEAD ? METHOD_GET : request->method;
    allow[0] = '\0';
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        if (!matches_pattern(routes[i].pattern, request->path, argument))
            continue;
        if (routes[i].method == method)
            return &routes[i];
        const size_t length = strlen(allow);
        snprintf(allow + length, ROUTES_ALLOW_BYTES - length, "%s%s", length > 0 ? ", " : "",
                 routes[i].method == METHOD_GET ? "GET, HEAD" : method_text(routes[i].method));
    }
    return NULL;
}
