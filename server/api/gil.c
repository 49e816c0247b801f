#include "sampler/profile/views/gil.h"

#include "sampler/profile/profile.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/session_request.h"
#include "server/http/document.h"
#include "server/sessions/sessions.h"

enum { SAMPLE_DECIMALS = 3 };

static enum err_code write_gil(const struct session_request *asked, struct json *json,
                               struct err *err)
{
    struct gil gil;
    const enum err_code rc = gil_init(&gil, &asked->snapshot, &asked->query.view, err);
    if (rc)
        return rc;
    json_member_decimal(json, "waited", gil.waited, SAMPLE_DECIMALS);
    json_member_decimal(json, "unattributed", gil.unattributed, SAMPLE_DECIMALS);
    json_member_array(json, "threads");
    for (size_t i = 0; i < gil.thread_count; i++)
        json_uint(json, gil.threads[i]);
    json_end(json);
    /* A row a holder, in it a number a waiter. */
    json_member_array(json, "pairs");
    for (size_t holder = 0; holder < gil.rows; holder++) {
        json_array(json);
        for (size_t waiter = 0; waiter < gil.rows; waiter++)
            json_decimal(json, gil.pairs[holder * gil.rows + waiter], SAMPLE_DECIMALS);
        json_end(json);
    }
    json_end(json);
    json_member_array(json, "node");
    for (size_t i = 0; i < gil.count; i++)
        json_uint(json, gil.node[i]);
    json_end(json);
    json_member_array(json, "waits_caused");
    for (size_t i = 0; i < gil.count; i++)
        json_decimal(json, gil.waits_caused[i], SAMPLE_DECIMALS);
    json_end(json);
    gil_deinit(&gil);
    return ERR_OK;
}

enum err_code api_get_gil(const struct handler_context *handler, struct response *response,
                          struct err *err)
{
    return session_request_answer(handler, QUERY_VIEW, write_gil, response, err);
}
