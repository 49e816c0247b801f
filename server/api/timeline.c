#include "sampler/profile/views/timeline.h"

#include "sampler/profile/profile.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/session_request.h"
#include "server/http/document.h"
#include "server/sessions/sessions.h"

/* The value of a row in a column; `part` is for those that have a column for each. */
typedef uint64_t value_of(const struct timeline_slot *row, size_t part);

static uint64_t slot_number(const struct timeline_slot *row, size_t part)
{
    (void)part;
    return row->slot;
}

static uint64_t start_ns(const struct timeline_slot *row, size_t part)
{
    (void)part;
    return row->start_ns;
}

static uint64_t end_ns(const struct timeline_slot *row, size_t part)
{
    (void)part;
    return row->end_ns;
}

static uint64_t slot_samples(const struct timeline_slot *row, size_t part)
{
    (void)part;
    return row->samples;
}

static uint64_t samples_of_part(const struct timeline_slot *row, size_t part)
{
    return row->parts[part];
}

static uint64_t samples_in_gc(const struct timeline_slot *row, size_t part)
{
    (void)part;
    return row->in_gc;
}

static uint64_t slot_time(const struct timeline_slot *row, size_t part)
{
    (void)part;
    return row->ns;
}

static uint64_t time_of_part(const struct timeline_slot *row, size_t part)
{
    return row->parts_ns[part];
}

static uint64_t time_in_gc(const struct timeline_slot *row, size_t part)
{
    (void)part;
    return row->in_gc_ns;
}

static void write_column(struct json *json, const char *name,
                         const struct timeline_slots *timeline, value_of *value, size_t part,
                         unsigned decimals)
{
    json_member_array(json, name);
    for (size_t i = 0; i < timeline->count; i++)
        json_decimal(json, value(&timeline->rows[i], part), decimals);
    json_end(json);
}

/* Writes these columns for samples or for the time they stand for. */
static void write_columns(struct json *json, const char *name, const char *all,
                          const struct timeline_slots *timeline, value_of *const values[3],
                          unsigned decimals)
{
    json_member_object(json, name);
    write_column(json, all, timeline, values[0], 0, decimals);
    for (size_t part = 0; part < PART_COUNT; part++)
        write_column(json, part_text((enum part)part), timeline, values[1], part, decimals);
    write_column(json, state_flag_text(STATE_FLAG_IN_GC), timeline, values[2], 0, decimals);
    json_end(json);
}

static enum err_code write_timeline(const struct session_request *asked, struct json *json,
                                    struct err *err)
{
    static value_of *const counts[] = { slot_samples, samples_of_part, samples_in_gc };
    static value_of *const times[] = { slot_time, time_of_part, time_in_gc };
    const size_t buckets = asked->query.slots ? asked->query.slots : TIMELINE_USUAL_SLOTS;
    struct timeline_slots timeline;
    const enum err_code rc =
        timeline_slots_init(&timeline, &asked->snapshot, &asked->query.view, buckets, err);
    if (rc)
        return rc;
    json_member_uint(json, "since", asked->query.view.since);
    json_member_ns(json, "from", timeline.from_ns);
    json_member_ns(json, "to", timeline.to_ns);
    json_member_ns(json, "width", timeline.width_ns);
    write_column(json, "slot", &timeline, slot_number, 0, 0);
    write_column(json, "start", &timeline, start_ns, 0, NS_DECIMALS);
    write_column(json, "end", &timeline, end_ns, 0, NS_DECIMALS);
    write_columns(json, "samples", "all", &timeline, counts, 0);
    write_columns(json, "seconds", "all", &timeline, times, NS_DECIMALS);
    timeline_slots_deinit(&timeline);
    return ERR_OK;
}

enum err_code api_get_timeline(const struct handler_context *handler, struct response *response,
                               struct err *err)
{
    struct session_request asked;
    const enum err_code rc =
        session_request_begin(&asked, handler, QUERY_SINCE | QUERY_VIEW | QUERY_SLOTS, err);
    if (rc)
        return rc;
    asked.query.view.since = profile_snapshot_since(&asked.snapshot, asked.query.view.since);
    return session_request_finish(&asked, handler, write_timeline, response, err);
}
