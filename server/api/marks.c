/* Waits, contexts and requests: what threads wait for, what they work for, and how long that takes. */
#include "sampler/profile/profile.h"
#include "sampler/profile/views/mark_shares.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/session_request.h"
#include "server/wire/json.h"
#include "server/wire/requests.h"

enum { USUAL_ITEMS = 100 };

static void write_cause(struct json *json, enum wait_cause cause)
{
    json_member_text(json, "cause", wait_cause_text(cause));
    json_member_text(json, "title", wait_cause_title(cause));
    json_member_bool(json, "idle", wait_cause_is_idle(cause));
}

static enum err_code write_waits(const struct session_request *asked, struct json *json,
                                 struct err *err)
{
    const size_t most = asked->query.limit ? asked->query.limit : USUAL_ITEMS;
    struct mark_shares shares;
    const enum err_code rc =
        mark_shares_init(&shares, MARK_WAITS, &asked->snapshot, &asked->query.view, err);
    if (rc)
        return rc;
    json_member_uint(json, "samples", shares.samples);
    json_member_uint(json, "waiting", shares.waiting);
    json_member_uint(json, "idle", shares.idle);
    json_member_array(json, "causes");
    for (enum wait_cause cause = WAIT_UNKNOWN; cause < WAIT_CAUSE_COUNT; cause++) {
        if (shares.by_cause[cause] == 0)
            continue;
        json_object(json);
        write_cause(json, cause);
        json_member_uint(json, "samples", shares.by_cause[cause]);
        json_end(json);
    }
    json_end(json);
    json_member_array(json, "peers");
    for (size_t i = 0, written = 0; i < shares.count && written < most; i++) {
        const struct wait_text *const wait = &shares.items[i].wait;
        if (wait->detail_length == 0)
            continue;
        json_object(json);
        write_cause(json, wait->cause);
        json_key(json, "peer");
        json_string(json, wait->detail, wait->detail_length);
        json_member_uint(json, "samples", shares.items[i].samples);
        json_end(json);
        written++;
    }
    json_end(json);
    mark_shares_deinit(&shares);
    return ERR_OK;
}

enum err_code api_get_waits(const struct handler_context *handler, struct response *response,
                            struct err *err)
{
    return session_request_answer(handler, QUERY_VIEW | QUERY_LIMIT, write_waits, response,
                                  err);
}

static enum err_code write_contexts(const struct session_request *asked, struct json *json,
                                    struct err *err)
{
    const size_t most = asked->query.limit ? asked->query.limit : USUAL_ITEMS;
    struct mark_shares shares;
    const enum err_code rc =
        mark_shares_init(&shares, MARK_CONTEXTS, &asked->snapshot, &asked->query.view, err);
    if (rc)
        return rc;
    json_member_uint(json, "samples", shares.samples);
    for (enum context_mark mark = CONTEXT_MARK_UNKNOWN; mark < CONTEXT_MARK_VALUE; mark++)
        json_member_uint(json, context_mark_text(mark), shares.by_mark[mark]);
    json_member_uint(json, "rows", shares.count);
    json_member_array(json, "contexts");
    for (size_t i = 0; i < shares.count && i < most; i++) {
        const struct mark_share *const share = &shares.items[i];
        const struct context_text *const text = &share->context;
        json_object(json);
        json_key(json, "variable");
        json_string(json, text->variable, text->variable_length);
        json_member_text(json, "kind", context_mark_text(text->mark));
        if (json_member_if(json, "value", text->mark == CONTEXT_MARK_VALUE))
            json_string(json, text->value, text->value_length);
        json_member_uint(json, "samples", share->samples);
        json_member_uint(json, "running", share->running);
        json_end(json);
    }
    json_end(json);
    mark_shares_deinit(&shares);
    return ERR_OK;
}

enum err_code api_get_contexts(const struct handler_context *handler, struct response *response,
                               struct err *err)
{
    return session_request_answer(handler, QUERY_VIEW | QUERY_LIMIT, write_contexts, response,
                                  err);
}

static enum err_code write_requests(const struct session_request *asked, struct json *json,
                                    struct err *err)
{
    return requests_write(json, &asked->snapshot, &asked->query.view,
                          asked->query.limit ? asked->query.limit : REQUESTS_USUAL_ROWS,
                          asked->query.function, err);
}

enum err_code api_get_requests(const struct handler_context *handler, struct response *response,
                               struct err *err)
{
    return session_request_answer(
        handler, QUERY_FROM | QUERY_TO | QUERY_STATE | QUERY_LIMIT | QUERY_FUNCTION,
        write_requests, response, err);
}
