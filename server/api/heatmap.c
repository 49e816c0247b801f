#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/series.h"
#include "sampler/profile/views/view_query.h"
#include "sampler/profile/views/view_series.h"
#include "sampler/session.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/session_request.h"
#include "server/http/document.h"
#include "server/sessions/sessions.h"
#include "server/wire/heat.h"

/* Columns of an answer, and how many there are if the client does not say from when. */
enum { MAX_SECONDS = VIEW_SERIES_MAX_SECONDS, USUAL_SECONDS = 300 };

/* Whole seconds, from first to before end. */
struct range {
    uint64_t first, end;
};

static enum err_code write_heatmap(const struct session_request *asked, struct json *json,
                                   struct err *err)
{
    const uint32_t since = asked->query.view.since;

    const struct view_query *const query = &asked->query.view;
    const uint64_t last_ns = asked->snapshot.end_ns;
    const uint64_t to_ns = query->to_ns && query->to_ns < last_ns ? query->to_ns : last_ns;
    struct range range = { query->from_ns / NS_PER_S, (to_ns + NS_PER_S - 1) / NS_PER_S };
    const uint64_t most = query->from_ns ? MAX_SECONDS : USUAL_SECONDS;
    if (range.end > range.first + most)
        range.first = range.end - most;
    if (range.first > range.end)
        range.first = range.end;

    struct series series;
    const enum err_code rc =
        view_query_leaves_out_spots(query)
            ? view_series_init(&series, &asked->snapshot, query, range.first, range.end, err)
            : profile_copy_series(session_entry_profile(asked->entry), range.first, range.end,
                                  &series, err);
    if (rc)
        return rc;
    json_member_uint(json, "since", since);
    json_member_uint(json, "from", range.first);
    json_member_uint(json, "to", range.end);
    json_member_uint(json, "fine_from", series.fine_from);
    heat_write_seconds(json, &series, range.first, range.end, since);

    /* The steps that hold seconds of the range from before the fine part. */
    const uint64_t fine = series.fine_from;
    const uint64_t end = range.end < fine ? range.end : fine;
    struct range steps = { range.first / series.step_seconds,
                           (end + series.step_seconds - 1) / series.step_seconds };
    if (steps.end > series.step_count)
        steps.end = series.step_count;
    if (end <= range.first || steps.first > steps.end)
        steps.first = steps.end;

    json_member_object(json, "steps");
    json_member_uint(json, "width", series.step_seconds);
    json_member_uint(json, "first", steps.first);
    for (enum part part = 0; part < PART_COUNT; part++) {
        json_member_array(json, part_text(part));
        for (uint64_t i = steps.first; i < steps.end; i++)
            json_uint(json, series.steps[i].parts[part]);
        json_end(json);
    }
    json_end(json);

    json_member_uint(json, "lost", series.lost);
    series_deinit(&series);
    return ERR_OK;
}

enum err_code api_get_heatmap(const struct handler_context *handler, struct response *response,
                              struct err *err)
{
    return session_request_answer(handler, QUERY_SINCE | QUERY_FROM | QUERY_TO | QUERY_STATE,
                                  write_heatmap, response, err);
}
