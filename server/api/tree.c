#include "server/wire/tree.h"

#include "server/api/api.h"
#include "server/api/document.h"
#include "server/api/session_request.h"
#include "server/sessions/sessions.h"

static enum err_code answer(const struct session_request *asked, struct response *response,
                            struct err *err)
{
    struct document document;
    document_begin(&document);
    tree_write(&document.json, &asked->snapshot, asked->session->epoch,
               asked->query.view.since);
    return document_send(&document, response, err);
}

enum err_code api_get_tree(const struct handler_context *handler, struct response *response,
                           struct err *err)
{
    return session_request_answer(handler, QUERY_SINCE, answer, response, err);
}
