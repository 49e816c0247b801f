#include "server/wire/quality.h"

#include "sampler/profile/views/states.h"
#include "sampler/profile/views/view.h"
#include "server/api/api.h"
#include "server/api/document.h"
#include "server/api/session_request.h"
#include "server/sessions/sessions.h"
#include "server/wire/session.h"
#include "server/wire/usage.h"

static enum err_code answer(const struct look *look, struct response *response, struct err *err)
{
    const struct view_query everything = { 0 };
    struct document document;
    struct session_facts facts;
    struct states states;
    struct usage usage;
    const enum err_code rc = states_init(&states, &look->snapshot, &everything, err);
    if (rc != ERR_OK)
        return rc;
    session_describe(look->session, &look->snapshot, &facts);
    document_begin(&document);
    usage_read(&usage);
    quality_write(&document.json, &facts, &states.all, &usage, NULL);
    states_deinit(&states);
    return document_send(&document, response, err);
}

enum err_code api_get_quality(const struct call *call, struct response *response,
                              struct err *err)
{
    struct look look;
    enum err_code rc = look_begin(&look, call, 0, err);
    if (rc != ERR_OK)
        return rc;
    rc = answer(&look, response, err);
    look_end(&look);
    return rc;
}
