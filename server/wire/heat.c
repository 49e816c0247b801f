#include "server/wire/heat.h"

#include <stdbool.h>

#include "sampler/profile/series.h"
#include "server/wire/json.h"

static bool is_news(const struct series_second *second, uint32_t since)
{
    return second && second->generation > since;
}

void heat_write_seconds(struct json *json, const struct series *series, uint64_t first,
                        uint64_t end, uint32_t since)
{
    json_member_uint(json, "bins", SERIES_BINS_PER_SECOND);
    json_member_array(json, "second");
    for (uint64_t s = first; s < end; s++)
        if (is_news(series_second_at(series, s), since))
            json_uint(json, s);
    json_end(json);
    for (enum part part = 0; part < PART_COUNT; part++) {
        json_member_array(json, part_text(part));
        for (uint64_t s = first; s < end; s++) {
            const struct series_second *const second = series_second_at(series, s);
            for (size_t bin = 0; is_news(second, since) && bin < SERIES_BINS_PER_SECOND; bin++)
                json_uint(json, second->bins[bin].parts[part]);
        }
        json_end(json);
    }
}
