#include "server/wire/retention.h"

#include "sampler/profile/profile.h"
#include "sampler/profile/views/resolution.h"
#include "server/wire/json.h"

enum { NS_DECIMALS = 9 };

static void put_uint(struct json *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_uint(json, value);
}

static void put_ns(struct json *json, const char *key, uint64_t ns)
{
    json_key(json, key);
    json_decimal(json, ns, NS_DECIMALS);
}

static void write_range(struct json *json, const struct resolution_range *range)
{
    json_object(json);
    put_ns(json, "from", range->start_ns);
    put_ns(json, "to", range->end_ns);
    json_key(json, "width");
    if (range->width_ns)
        json_decimal(json, range->width_ns, NS_DECIMALS);
    else
        json_null(json);
    put_uint(json, "windows", range->windows);
    put_uint(json, "windows_recorded", range->sealed);
    json_end(json);
}

void retention_write(struct json *json, const struct profile_snapshot *snapshot)
{
    struct resolution resolution;
    resolution_of(snapshot, &resolution);
    json_object(json);
    put_uint(json, "overflowed", snapshot->quality.overflowed);
    json_key(json, "ranges");
    json_array(json);
    for (size_t i = 0; i < resolution.count; i++)
        write_range(json, &resolution.ranges[i]);
    json_end(json);
    json_end(json);
}
