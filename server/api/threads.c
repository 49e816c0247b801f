#include "sampler/profile/views/states.h"
#include "server/api/api.h"
#include "server/api/session_request.h"
#include "server/http/document.h"
#include "server/sessions/sessions.h"
#include "server/wire/states.h"

static void write_threads(struct json *json, const char *epoch, uint32_t since,
                          const struct states *states)
{
    json_object(json);
    json_member_text(json, "epoch", epoch);
    json_member_uint(json, "generation", states->generation);
    json_member_uint(json, "since", since);
    json_key(json, "all");
    states_write_sums(json, &states->all);
    json_key(json, "threads");
    states_write_threads(json, states);
    json_end(json);
}

static enum err_code answer(const struct session_request *asked, struct response *response,
                            struct err *err)
{
    struct document document;
    struct states states;
    const enum err_code rc = states_init(&states, &asked->snapshot, &asked->query.view, err);
    if (rc != ERR_OK)
        return rc;
    document_begin(&document);
    write_threads(&document.json, asked->epoch, asked->query.view.since, &states);
    states_deinit(&states);
    return document_send(&document, response, err);
}

enum err_code api_get_threads(const struct handler_context *handler, struct response *response,
                              struct err *err)
{
    struct session_request asked;
    enum err_code rc = session_request_begin(
        &asked, handler, QUERY_SINCE | QUERY_FROM | QUERY_TO | QUERY_STATE | QUERY_PROCESS,
        err);
    if (rc != ERR_OK)
        return rc;
    asked.query.view.since = profile_snapshot_since(&asked.snapshot, asked.query.view.since);
    if (!session_request_is_fresh(&asked, handler, response))
        rc = answer(&asked, response, err);
    session_request_end(&asked);
    return rc;
}
