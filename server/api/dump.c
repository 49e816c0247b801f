#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/permission.h"
#include "sampler/session.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/query.h"
#include "server/http/document.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/sessions/dashboard.h"
#include "server/sessions/dump_json.h"

static enum err_code read_pid(const char *text, pid_t *out, struct err *err)
{
    const size_t digits = strspn(text, "0123456789");
    const long pid = digits > 0 && digits < 10 && !text[digits] ? strtol(text, NULL, 10) : 0;
    *out = (pid_t)pid;
    return pid > 0 ? ERR_OK : err_set(err, ERR_NOT_FOUND, "no process %.32s", text);
}

enum err_code api_dump_process(const struct handler_context *handler, struct response *response,
                               struct err *err)
{
    struct dashboard *dashboard = NULL;
    struct document document;
    struct query query;
    struct dump dump;
    pid_t pid = 0;
    enum err_code rc = handler_dashboard(handler, &dashboard, err);
    if (!rc)
        rc = query_read(handler->request, QUERY_TASKS, &query, err);
    if (!rc)
        rc = read_pid(handler->argument, &pid, err);
    if (!rc)
        rc = permission_ask(pid, NULL, err);
    if (!rc)
        rc =
            dump_take(&dump, pid, query.wants_tasks ? SESSION_ASYNC_RUNNING : SESSION_ASYNC_OFF,
                      SESSION_NATIVE_LEAF, handler->request->is_ending, err);
    if (rc == ERR_NOT_PYTHON || rc == ERR_GONE) {
        response_problem(response, 404, "%s", err->message);
        return ERR_OK;
    }
    if (rc)
        return rc;
    document_begin(&document);
    dump_write_json(&document.json, &dump, query.wants_tasks);
    dump_deinit(&dump);
    response_set_header(response, "Cache-Control", "no-store");
    return document_send(&document, response, err);
}
