/* Waits: what threads wait for. */
#include "sampler/profile/profile.h"
#include "sampler/profile/views/wait_shares.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/session_request.h"
#include "server/http/document.h"
#include "server/sessions/sessions.h"

enum { USUAL_PEERS = 100 };

static void put_uint(struct json *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_uint(json, value);
}

static void write_cause(struct json *json, enum wait_cause cause)
{
    json_key(json, "cause");
    json_text(json, wait_cause_text(cause));
    json_key(json, "title");
    json_text(json, wait_cause_title(cause));
    json_key(json, "idle");
    json_bool(json, wait_cause_is_idle(cause));
}

static void write_peer(struct json *json, const struct wait_share *share)
{
    json_object(json);
    write_cause(json, share->wait.cause);
    json_key(json, "peer");
    json_string(json, share->wait.detail, share->wait.detail_length);
    put_uint(json, "samples", share->samples);
    json_end(json);
}

static void write_shares(struct json *json, const struct session_request *asked,
                         const struct wait_shares *shares)
{
    const size_t most = asked->query.limit ? asked->query.limit : USUAL_PEERS;
    json_object(json);
    json_key(json, "epoch");
    json_text(json, asked->epoch);
    put_uint(json, "generation", asked->snapshot.generation);
    put_uint(json, "samples", shares->samples);
    put_uint(json, "waiting", shares->waiting);
    put_uint(json, "idle", shares->idle);
    json_key(json, "causes");
    json_array(json);
    for (enum wait_cause cause = WAIT_UNKNOWN; cause < WAIT_CAUSE_COUNT; cause++) {
        if (shares->by_cause[cause] == 0)
            continue;
        json_object(json);
        write_cause(json, cause);
        put_uint(json, "samples", shares->by_cause[cause]);
        json_end(json);
    }
    json_end(json);
    json_key(json, "peers");
    json_array(json);
    for (size_t i = 0, written = 0; i < shares->count && written < most; i++) {
        if (shares->items[i].wait.detail_length == 0)
            continue;
        write_peer(json, &shares->items[i]);
        written++;
    }
    json_end(json);
    json_end(json);
}

static enum err_code answer(const struct session_request *asked, struct response *response,
                            struct err *err)
{
    struct document document;
    struct wait_shares shares;
    const enum err_code rc =
        wait_shares_init(&shares, &asked->snapshot, &asked->query.view, err);
    if (rc != ERR_OK)
        return rc;
    document_begin(&document);
    write_shares(&document.json, asked, &shares);
    wait_shares_deinit(&shares);
    return document_send(&document, response, err);
}

enum err_code api_get_waits(const struct handler_context *handler, struct response *response,
                            struct err *err)
{
    return session_request_answer(handler, QUERY_VIEW | QUERY_LIMIT, answer, response, err);
}
