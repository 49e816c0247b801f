#include "server/wire/measure.h"

#include "sampler/profile/profile.h"
#include "server/wire/json.h"

void measure_write(struct json *json, const struct measure_facts *facts, uint64_t value)
{
    const bool is_time = facts == measure_facts_of(MEASURE_TIME);
    json_object(json);
    json_member_text(json, "name", facts->name);
    json_member_text(json, "title", facts->title);
    json_member_text(json, "unit", is_time ? "seconds" : facts->unit);
    if (is_time)
        json_member_ns(json, "value", value);
    else
        json_member_uint(json, "value", value);
    json_end(json);
}

void measures_write(struct json *json, measure_set measures,
                    const struct profile_snapshot *snapshot)
{
    json_array(json);
    for (enum measure i = MEASURE_TIME; i < MEASURE_COUNT; i++)
        if (measure_set_has(measures, i))
            measure_write(json, profile_measure(snapshot, i), snapshot->sums[i]);
    json_end(json);
}
