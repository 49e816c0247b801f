/* The summary of a session, in the form that the client asks for. */
#include <string.h>

#include "sampler/base/buffer.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/report_source.h"
#include "server/api/session_request.h"
#include "server/http/accept.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/report/report.h"

/* The first one is the default. */
static const struct form {
    const char *name, *format;
} forms[] = { { "json", "summary-json" },
              { "markdown", "summary-markdown" },
              { "text", "summary" } };

enum { FORMS = sizeof forms / sizeof *forms };

static enum err_code choose_form(const struct request *request, struct query *query,
                                 struct err *err)
{
    static const char *const types[FORMS] = { "application/json", "text/markdown",
                                              "text/plain" };
    const struct form *form =
        &forms[accept_choose(request_header(request, "Accept"), types, FORMS)];
    if (query->format) {
        for (form = forms; form < forms + FORMS && strcmp(form->name, query->format) != 0;)
            form++;
        if (form == forms + FORMS)
            return err_set(err, ERR_INVALID,
                           "parameter \"format\" must be json, markdown or text");
    }
    query->format = form->format;
    return ERR_OK;
}

struct writing {
    const struct report_format *format;
    struct response *response;
};

static enum err_code write_summary(const struct report_source *source, void *context,
                                   struct err *err)
{
    const struct writing *const writing = context;
    struct buffer out = { 0 };
    enum err_code rc = report_write(writing->format, source, &out, err);
    if (!rc)
        rc = response_take_buffer(writing->response, writing->format->mime, &out, err);
    buffer_deinit(&out);
    return rc;
}

enum err_code api_get_summary(const struct handler_context *handler, struct response *response,
                              struct err *err)
{
    struct session_request asked;
    enum err_code rc =
        session_request_begin(&asked, handler,
                              QUERY_VIEW | QUERY_FILTERS | QUERY_OWN | QUERY_ANONYMIZE |
                                  QUERY_FORMAT | QUERY_LIMIT | QUERY_MEASURE,
                              err);
    if (rc)
        return rc;
    response_set_header(response, "Vary", "Accept, Accept-Encoding");
    asked.query.filters.waits = WAIT_MARKS_SHOWN;
    rc = choose_form(handler->request, &asked.query, err);
    if (!rc && !session_request_is_fresh(&asked, handler, response)) {
        struct writing writing = { report_find(asked.query.format), response };
        rc = report_source_use(&asked, NULL, write_summary, &writing, err);
    }
    session_request_end(&asked);
    return rc;
}
