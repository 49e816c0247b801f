#include "sampler/profile/views/states.h"
#include "server/api/api.h"
#include "server/api/session_request.h"
#include "server/http/document.h"
#include "server/sessions/sessions.h"
#include "server/wire/states.h"

static enum err_code write_threads(const struct session_request *asked, struct json *json,
                                   struct err *err)
{
    struct states states;
    const enum err_code rc = states_init(&states, &asked->snapshot, &asked->query.view, err);
    if (rc)
        return rc;
    json_member_uint(json, "since", asked->query.view.since);
    json_key(json, "all");
    states_write_sums(json, &states.all);
    json_key(json, "threads");
    states_write_threads(json, &states);
    states_deinit(&states);
    return ERR_OK;
}

enum err_code api_get_threads(const struct handler_context *handler, struct response *response,
                              struct err *err)
{
    struct session_request asked;
    const enum err_code rc = session_request_begin(
        &asked, handler, QUERY_SINCE | QUERY_FROM | QUERY_TO | QUERY_STATE | QUERY_PROCESS,
        err);
    if (rc)
        return rc;
    asked.query.view.since = profile_snapshot_since(&asked.snapshot, asked.query.view.since);
    return session_request_finish(&asked, handler, write_threads, response, err);
}
