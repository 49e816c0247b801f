#include "server/wire/tree.h"

#include "server/api/api.h"
#include "server/api/document.h"
#include "server/api/session_request.h"
#include "server/sessions/sessions.h"

static enum err_code answer(const struct look *look, struct response *response, struct err *err)
{
    struct document document;
    document_begin(&document);
    tree_write(&document.json, &look->snapshot, look->session->epoch, look->query.view.since);
    return document_send(&document, response, err);
}

enum err_code api_get_tree(const struct call *call, struct response *response, struct err *err)
{
    return look_answer(call, QUERY_SINCE, answer, response, err);
}
