#include "server/wire/quality.h"

#include <stddef.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/states.h"
#include "server/wire/json.h"
#include "server/wire/retention.h"
#include "server/wire/session.h"
#include "server/wire/usage.h"

/* Besides the counters of the profile; in the order in which they are written. */
#define MEASURES(X)                                                                 \
    X(requested_hz, "requested ticks per second")                                   \
    X(current_hz,                                                                   \
      "current ticks per second, lower than requested if --max-cpu allows no more") \
    X(achieved_hz, "achieved ticks per second over the whole session")              \
    X(duration_s, "seconds from the start to the last samples")                     \
    X(stopped_s, "seconds for which the target was stopped")                        \
    X(taken_s,                                                                      \
      "seconds that the kernel engine took of the targets, with its interrupts; 0: unknown")

#define COSTS(X)                                                                       \
    X(cpu_user_s, "CPU seconds of this program, its server included, in its own code") \
    X(cpu_sys_s, "CPU seconds of this program in the kernel")                          \
    X(rss_bytes, "resident memory of this program, in bytes")                          \
    X(rss_peak_bytes, "peak resident memory of this program, in bytes")

/* null where no two ticks have been counted. */
#define INTERVALS(X)                                             \
    X(interval_min_s, "shortest time between ticks, in seconds") \
    X(interval_mean_s, "mean time between ticks, in seconds")    \
    X(interval_max_s, "longest time between ticks, in seconds")

struct intervals {
#define X(name, meaning) double name;
    INTERVALS(X)
#undef X
};

static struct intervals intervals_of(const struct quality *quality)
{
    const double count = (double)quality->interval_count, s = (double)NS_PER_S;
    if (quality->interval_count == 0)
        return (struct intervals){ -1, -1, -1 };
    return (struct intervals){ .interval_min_s = (double)quality->interval_least_ns / s,
                               .interval_mean_s = (double)quality->interval_sum_ns / count / s,
                               .interval_max_s = (double)quality->interval_most_ns / s };
}

struct measures {
#define X(name, meaning) double name;
    MEASURES(X)
#undef X
};

static struct measures measure_session(const struct session_info *info)
{
    return (struct measures){
        .requested_hz = session_info_requested_hz(info),
        .current_hz = info->status.rate_hz,
        .achieved_hz = session_info_achieved_hz(info->snapshot),
        .duration_s = (double)info->snapshot->end_ns / (double)NS_PER_S,
        .stopped_s = (double)info->snapshot->quality.stopped_ns / (double)NS_PER_S,
        .taken_s = (double)info->snapshot->quality.taken_ns / (double)NS_PER_S,
    };
}

static const char failed_prefix[] = "failed_";
enum { FAILED_PREFIX = sizeof failed_prefix - 1 };

static bool is_failure(const char *name)
{
    return strncmp(name, failed_prefix, FAILED_PREFIX) == 0;
}

struct counter {
    const char *name, *meaning;
    uint64_t value;
};

enum {
#define X(name, meaning) COUNTER_##name,
    QUALITY_COUNTERS(X)
#undef X
        COUNTER_COUNT
};

/* Nanoseconds are written as seconds, among the measures. */
static bool is_written(const struct counter *counter)
{
    return strcmp(counter->name, "stopped_ns") != 0 && strcmp(counter->name, "taken_ns") != 0;
}

static void write_counters(struct json *json, const struct counter *counters)
{
    for (size_t i = 0; i < COUNTER_COUNT; i++)
        if (!is_failure(counters[i].name) && is_written(&counters[i]))
            json_member_uint(json, counters[i].name, counters[i].value);
    json_member_object(json, "failed");
    for (size_t i = 0; i < COUNTER_COUNT; i++)
        if (is_failure(counters[i].name))
            json_member_uint(json, counters[i].name + FAILED_PREFIX, counters[i].value);
    json_end(json);
}

/* Keys of objects become a prefix here: one object, one name each. */
static void write_meanings(struct json *json, const struct counter *counters, bool with_costs,
                           bool with_capture)
{
    json_member_object(json, "descriptions");
    for (size_t i = 0; i < COUNTER_COUNT; i++)
        if (is_written(&counters[i]))
            json_member_text(json, counters[i].name, counters[i].meaning);
#define X(name, meaning) json_member_text(json, #name, meaning);
    MEASURES(X)
    INTERVALS(X)
    if (with_costs) {
        COSTS(X)
    }
#undef X
    if (with_costs) {
        json_member_text(json, "profile_bytes", "memory of this profile, in bytes");
        json_member_text(json, "profile_limit_bytes",
                         "limit of that memory, in bytes (--memory); 0: none");
    }
    if (with_capture) {
        json_member_text(json, "capture_samples", "samples in the capture");
        json_member_text(json, "capture_lost",
                         "samples lost because the capture could not be written");
        json_member_text(json, "capture_bytes", "size of the capture, in bytes");
    }
    json_end(json);
}

/* Negative: not known. */
static void put_known(struct json *json, const char *key, double value)
{
    if (json_member_if(json, key, value >= 0))
        json_number(json, value);
}

static void write_shares(struct json *json, const struct state_sums *sums)
{
    json_member_object(json, "states");
    for (unsigned i = 0; i < STATE_FLAG_COUNT; i++) {
        json_member_object(json, state_flag_text((enum state_flag)i));
        json_member_uint(json, "yes", sums->yes[i]);
        json_member_uint(json, "unknown", sums->unknown[i]);
        put_known(json, "at_least", state_sums_at_least(sums, (enum state_flag)i));
        put_known(json, "at_most", state_sums_at_most(sums, (enum state_flag)i));
        json_end(json);
    }
    json_end(json);
}

void quality_write(struct json *json, const struct session_info *info,
                   const struct state_sums *sums, const struct usage *usage,
                   const struct quality_capture *capture)
{
    const struct quality *const quality = &info->snapshot->quality;
    const struct counter counters[COUNTER_COUNT] = {
#define X(name, meaning) { #name, meaning, quality->name },
        QUALITY_COUNTERS(X)
#undef X
    };
    const struct measures measures = measure_session(info);
    json_object(json);
    session_info_write_engine(json, info);
    write_counters(json, counters);
#define X(name, meaning) json_member_number(json, #name, measures.name);
    MEASURES(X)
#undef X
    const struct intervals intervals = intervals_of(quality);
#define X(name, meaning) put_known(json, #name, intervals.name);
    INTERVALS(X)
#undef X
#define X(name, meaning) json_member_number(json, #name, (double)usage->name);
    if (usage) {
        COSTS(X)
        json_member_uint(json, "profile_bytes", info->snapshot->bytes);
        json_member_uint(json, "profile_limit_bytes", info->snapshot->memory_bytes);
    }
#undef X
    write_shares(json, sums);
    json_key(json, "retention");
    retention_write(json, info->snapshot);
    if (capture) {
        json_member_object(json, "capture");
        json_member_uint(json, "samples", capture->samples);
        json_member_uint(json, "lost", capture->lost);
        json_member_uint(json, "bytes", capture->bytes);
        json_end(json);
    }
    write_meanings(json, counters, usage != NULL, capture != NULL);
    json_end(json);
}
