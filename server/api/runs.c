/* Runs of one thread in the order of time. */
#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/thread_runs.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/session_request.h"
#include "server/http/document.h"
#include "server/sessions/sessions.h"

enum { US_DECIMALS = 6 };

typedef uint64_t value_of(const struct thread_run *row);

static uint64_t start_us(const struct thread_run *row)
{
    return row->start_ns / NS_PER_US;
}

static uint64_t end_us(const struct thread_run *row)
{
    return row->end_ns / NS_PER_US;
}

static uint64_t run_node(const struct thread_run *row)
{
    return row->node;
}

static uint64_t run_state(const struct thread_run *row)
{
    return row->state;
}

static uint64_t run_ordered(const struct thread_run *row)
{
    return row->is_ordered;
}

static uint64_t run_count(const struct thread_run *row)
{
    return row->runs;
}

static void write_column(struct json *json, const char *name, const struct thread_runs *runs,
                         value_of *value, unsigned decimals)
{
    json_member_array(json, name);
    for (size_t i = 0; i < runs->count; i++)
        json_decimal(json, value(&runs->rows[i]), decimals);
    json_end(json);
}

static enum err_code write_runs(const struct session_request *asked, struct json *json,
                                struct err *err)
{
    const size_t slots = asked->query.slots ? asked->query.slots : THREAD_RUNS_USUAL_SLOTS;
    struct thread_runs runs;
    const enum err_code rc =
        thread_runs_init(&runs, &asked->snapshot, &asked->query.view, slots, err);
    if (rc)
        return rc;
    json_member_decimal(json, "from", runs.from_ns / NS_PER_US, US_DECIMALS);
    json_member_decimal(json, "to", runs.to_ns / NS_PER_US, US_DECIMALS);
    write_column(json, "start", &runs, start_us, US_DECIMALS);
    write_column(json, "end", &runs, end_us, US_DECIMALS);
    write_column(json, "node", &runs, run_node, 0);
    write_column(json, "state", &runs, run_state, 0);
    write_column(json, "ordered", &runs, run_ordered, 0);
    write_column(json, "runs", &runs, run_count, 0);
    thread_runs_deinit(&runs);
    return ERR_OK;
}

enum err_code api_get_runs(const struct handler_context *handler, struct response *response,
                           struct err *err)
{
    return session_request_answer(
        handler, QUERY_FROM | QUERY_TO | QUERY_THREAD | QUERY_STATE | QUERY_SLOTS, write_runs,
        response, err);
}
