#include "server/wire/retention.h"

#include "sampler/profile/profile.h"
#include "sampler/profile/views/resolution.h"
#include "server/wire/json.h"

void retention_write(struct json *json, const struct profile_snapshot *snapshot)
{
    struct resolution resolution;
    resolution_of(snapshot, &resolution);
    json_object(json);
    json_member_uint(json, "overflowed", snapshot->quality.overflowed);
    json_member_array(json, "ranges");
    for (size_t i = 0; i < resolution.count; i++) {
        const struct resolution_range *const range = &resolution.ranges[i];
        json_object(json);
        json_member_ns(json, "from", range->start_ns);
        json_member_ns(json, "to", range->end_ns);
        if (json_member_if(json, "width", range->width_ns))
            json_decimal(json, range->width_ns, NS_DECIMALS);
        json_member_uint(json, "windows", range->windows);
        json_member_uint(json, "windows_recorded", range->sealed);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}
