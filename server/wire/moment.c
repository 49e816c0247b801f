#include "server/wire/moment.h"

#include <time.h>

#include "sampler/base/clock.h"
#include "server/json.h"

void moment_write(struct json *json, const char *key, uint64_t wall_ns)
{
    char text[32] = "";
    const time_t seconds = (time_t)(wall_ns / NS_PER_S);
    struct tm parts;
    json_key(json, key);
    if (wall_ns == 0 || !gmtime_r(&seconds, &parts) ||
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        json_null(json);
    else
        json_text(json, text);
}
