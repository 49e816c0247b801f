#include "server/wire/rfc3339.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "sampler/base/clock.h"
#include "server/wire/json.h"

static void write_time(struct json *json, const char *key, uint64_t wall_ns, bool has_ms)
{
    char text[32] = "", all[48];
    const time_t seconds = (time_t)(wall_ns / NS_PER_S);
    const unsigned ms = (unsigned)(wall_ns % NS_PER_S / NS_PER_MS);
    struct tm parts;
    const bool is_known = wall_ns && gmtime_r(&seconds, &parts) &&
                          strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts) > 0;
    snprintf(all, sizeof all, has_ms ? "%s.%03uZ" : "%sZ", text, ms);
    json_member_text(json, key, is_known ? all : NULL);
}

void rfc3339_write(struct json *json, const char *key, uint64_t wall_ns)
{
    write_time(json, key, wall_ns, false);
}

void rfc3339_write_ms(struct json *json, const char *key, uint64_t wall_ns)
{
    write_time(json, key, wall_ns, true);
}
