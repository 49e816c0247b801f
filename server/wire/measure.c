#include "server/wire/measure.h"

#include "sampler/profile/profile_rows.h"
#include "server/wire/json.h"

void measure_write(struct json *json, enum measure measure, uint64_t value)
{
    const struct measure_facts *const facts = measure_facts_of(measure);
    json_object(json);
    json_member_text(json, "name", facts->name);
    json_member_text(json, "title", facts->title);
    json_member_text(json, "unit", measure == MEASURE_TIME ? "seconds" : facts->unit);
    if (measure == MEASURE_TIME)
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
            measure_write(json, i, snapshot->sums[i]);
    json_end(json);
}
