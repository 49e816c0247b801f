/* Contexts: what threads work for. */
#include "sampler/profile/profile.h"
#include "sampler/profile/views/context_shares.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/session_request.h"
#include "server/http/document.h"
#include "server/sessions/sessions.h"

enum { USUAL_VALUES = 100 };

static void put_uint(struct json *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_uint(json, value);
}

static void write_share(struct json *json, const struct context_share *share)
{
    json_object(json);
    json_key(json, "variable");
    json_string(json, share->text.variable, share->text.variable_length);
    json_key(json, "kind");
    json_text(json, context_mark_text(share->text.mark));
    json_key(json, "value");
    if (share->text.mark == CONTEXT_MARK_VALUE)
        json_string(json, share->text.value, share->text.value_length);
    else
        json_null(json);
    put_uint(json, "samples", share->samples);
    put_uint(json, "running", share->running);
    json_end(json);
}

static void write_shares(struct json *json, const struct session_request *asked,
                         const struct context_shares *shares)
{
    const size_t most = asked->query.limit ? asked->query.limit : USUAL_VALUES;
    json_object(json);
    json_key(json, "epoch");
    json_text(json, asked->epoch);
    put_uint(json, "generation", asked->snapshot.generation);
    put_uint(json, "samples", shares->samples);
    for (enum context_mark mark = CONTEXT_MARK_UNKNOWN; mark < CONTEXT_MARK_VALUE; mark++)
        put_uint(json, context_mark_text(mark), shares->by_mark[mark]);
    put_uint(json, "rows", shares->count);
    json_key(json, "contexts");
    json_array(json);
    for (size_t i = 0; i < shares->count && i < most; i++)
        write_share(json, &shares->items[i]);
    json_end(json);
    json_end(json);
}

static enum err_code answer(const struct session_request *asked, struct response *response,
                            struct err *err)
{
    struct document document;
    struct context_shares shares;
    const enum err_code rc =
        context_shares_init(&shares, &asked->snapshot, &asked->query.view, err);
    if (rc != ERR_OK)
        return rc;
    document_begin(&document);
    write_shares(&document.json, asked, &shares);
    context_shares_deinit(&shares);
    return document_send(&document, response, err);
}

enum err_code api_get_contexts(const struct handler_context *handler, struct response *response,
                               struct err *err)
{
    return session_request_answer(handler, QUERY_VIEW | QUERY_LIMIT, answer, response, err);
}
