#include "server/wire/tree.h"

#include "server/api/api.h"
#include "server/api/document.h"
#include "server/api/look.h"
#include "server/sessions.h"

static enum err_code answer(const struct look *look, struct response *response, struct err *err)
{
    struct document document;
    document_begin(&document);
    tree_write(&document.json, &look->snapshot, look->session->epoch, look->query.view.since);
    return document_send(&document, response, err);
}

enum err_code api_get_tree(const struct call *call, struct response *response, struct err *err)
{
    struct look look;
    enum err_code rc = look_begin(&look, call, QUERY_SINCE, err);
    if (rc != ERR_OK)
        return rc;
    if (!look_is_fresh(&look, call, response))
        rc = answer(&look, response, err);
    look_end(&look);
    return rc;
}
