#include "sampler/profile/views/gil.h"

#include "sampler/profile/profile.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/session_request.h"
#include "server/http/document.h"
#include "server/sessions/sessions.h"

enum { SAMPLE_DECIMALS = 3 };

static void put_samples(struct json *json, const char *key, uint64_t thousandths)
{
    json_member_decimal(json, key, thousandths, SAMPLE_DECIMALS);
}

static void write_threads(struct json *json, const struct gil *gil)
{
    json_member_array(json, "threads");
    for (size_t i = 0; i < gil->thread_count; i++)
        json_uint(json, gil->threads[i]);
    json_end(json);
}

/* A row a holder, in it a number a waiter. */
static void write_pairs(struct json *json, const struct gil *gil)
{
    json_member_array(json, "pairs");
    for (size_t holder = 0; holder < gil->rows; holder++) {
        json_array(json);
        for (size_t waiter = 0; waiter < gil->rows; waiter++)
            json_decimal(json, gil->pairs[holder * gil->rows + waiter], SAMPLE_DECIMALS);
        json_end(json);
    }
    json_end(json);
}

static void write_nodes(struct json *json, const struct gil *gil)
{
    json_member_array(json, "node");
    for (size_t i = 0; i < gil->count; i++)
        json_uint(json, gil->node[i]);
    json_end(json);
    json_member_array(json, "waits_caused");
    for (size_t i = 0; i < gil->count; i++)
        json_decimal(json, gil->waits_caused[i], SAMPLE_DECIMALS);
    json_end(json);
}

static void write_gil(struct json *json, const struct session_request *asked,
                      const struct gil *gil)
{
    json_object(json);
    json_member_text(json, "epoch", asked->epoch);
    json_member_uint(json, "generation", asked->snapshot.generation);
    put_samples(json, "waited", gil->waited);
    put_samples(json, "unattributed", gil->unattributed);
    write_threads(json, gil);
    write_pairs(json, gil);
    write_nodes(json, gil);
    json_end(json);
}

static enum err_code answer(const struct session_request *asked, struct response *response,
                            struct err *err)
{
    struct document document;
    struct gil gil;
    const enum err_code rc = gil_init(&gil, &asked->snapshot, &asked->query.view, err);
    if (rc != ERR_OK)
        return rc;
    document_begin(&document);
    write_gil(&document.json, asked, &gil);
    gil_deinit(&gil);
    return document_send(&document, response, err);
}

enum err_code api_get_gil(const struct handler_context *handler, struct response *response,
                          struct err *err)
{
    return session_request_answer(handler, QUERY_FROM | QUERY_TO | QUERY_THREAD | QUERY_PROCESS,
                                  answer, response, err);
}
