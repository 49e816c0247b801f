#include "sampler/profile/view.h"

#include "server/api/api.h"
#include "server/api/document.h"
#include "server/api/look.h"
#include "server/sessions.h"

enum { NS_DECIMALS = 9 };

/* What samples stand for: all the same, or each row something else. */
static void write_times(struct json *json, const struct view *view)
{
    json_key(json, "seconds");
    json_decimal(json, view->total_ns, NS_DECIMALS);
    json_key(json, "period");
    if (view->period_ns)
        json_decimal(json, view->period_ns, NS_DECIMALS);
    else
        json_null(json);
    if (!view->self_ns)
        return;
    json_key(json, "self_seconds");
    json_array(json);
    for (size_t i = 0; i < view->count; i++)
        json_decimal(json, view->self_ns[i], NS_DECIMALS);
    json_end(json);
}

static void write_view(struct json *json, const char *epoch, uint32_t generation,
                       uint32_t since, const struct view *view)
{
    json_object(json);
    json_key(json, "epoch");
    json_text(json, epoch);
    json_key(json, "generation");
    json_uint(json, generation);
    json_key(json, "since");
    json_uint(json, since);
    json_key(json, "total");
    json_uint(json, view->total);
    json_key(json, "node");
    json_array(json);
    for (size_t i = 0; i < view->count; i++)
        json_uint(json, view->node[i]);
    json_end(json);
    json_key(json, "self");
    json_array(json);
    for (size_t i = 0; i < view->count; i++)
        json_uint(json, view->self[i]);
    json_end(json);
    write_times(json, view);
    json_end(json);
}

static enum err_code answer(const struct look *look, struct response *response, struct err *err)
{
    struct document document;
    struct view view;
    const enum err_code rc = view_init(&view, &look->snapshot, &look->query.view, err);
    if (rc != ERR_OK)
        return rc;
    document_begin(&document);
    write_view(&document.json, look->session->epoch, look->snapshot.generation,
               look->query.view.since, &view);
    view_deinit(&view);
    return document_send(&document, response, err);
}

enum err_code api_get_view(const struct call *call, struct response *response, struct err *err)
{
    struct look look;
    enum err_code rc = look_begin(&look, call, QUERY_SINCE | QUERY_VIEW, err);
    if (rc != ERR_OK)
        return rc;
    look.query.view.since = profile_snapshot_since(&look.snapshot, look.query.view.since);
    if (!look_is_fresh(&look, call, response))
        rc = answer(&look, response, err);
    look_end(&look);
    return rc;
}
