#include "server/wire/bias.h"

#include <stdio.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/utf8.h"
#include "sampler/profile/profile.h"
#include "server/wire/json.h"
#include "server/wire/session_info.h"

static const double MILLION = 1e6, POINTS = 1e4;
/* With fewer page faults a second, stops that come late make no difference of a point. */
static const double FEW_FAULTS_HZ = 2000;
/* The page has the same limits: in points, and in percent of the readings. */
static const double HIGH_BIAS = 3, HIGH_UNCERTAIN = 10;

enum kind {
    UNMEASURED,
    MEASURED,
    NONE, /* nothing moved while it was read */
};

/* Readings of moving threads cannot make more of a difference than they are. */
static bool is_bounded(const struct session_info *info)
{
    const struct quality *const quality = &info->snapshot->quality;
    return info->options->stop == SESSION_STOP_AUTO && quality->stopped > 99 * quality->moving;
}

static enum kind kind_of(const struct session_info *info)
{
    const struct quality *const quality = &info->snapshot->quality;
    if (!quality->samples)
        return UNMEASURED;
    if (info->options->engine == SESSION_ENGINE_KERNEL ||
        info->options->stop == SESSION_STOP_ALWAYS)
        return NONE;
    if (info->options->stop == SESSION_STOP_AUTO && !quality->moving)
        return NONE;
    return quality->bias_error_ppm || is_bounded(info) ? MEASURED : UNMEASURED;
}

/* In millionths. */
static double error_of(const struct quality *quality)
{
    return quality->bias_error_ppm
               ? (double)quality->bias_error_ppm
               : quality_percent(quality->moving, quality->moving + quality->stopped) * POINTS;
}

/* The name of a function that differs from the control; false: there are no more. */
static bool biased_at(const struct session_info *info, size_t i, struct strtab_string *name_out)
{
    const struct profile_snapshot *const snapshot = info->snapshot;
    const struct quality_biased *const biased = &snapshot->quality.biased[i];
    if (i >= QUALITY_BIASED || !biased->ppm || biased->function >= snapshot->sizes.functions)
        return false;
    *name_out = profile_string(snapshot, profile_function_at(snapshot, biased->function).name);
    return true;
}

static void put_share(struct json *json, const char *key, double ppm)
{
    json_member_number(json, key, ppm / MILLION);
}

void bias_write(struct json *json, const struct session_info *info)
{
    const struct quality *const quality = &info->snapshot->quality;
    const enum kind kind = kind_of(info);
    if (kind == UNMEASURED) {
        json_null(json);
        return;
    }
    const bool is_measured = kind == MEASURED;
    json_object(json);
    put_share(json, "share", is_measured ? (double)quality->bias_ppm : 0);
    put_share(json, "error", is_measured ? error_of(quality) : 0);
    json_key(json, "functions");
    if (is_measured) {
        struct strtab_string name;
        json_array(json);
        for (size_t i = 0; biased_at(info, i, &name); i++) {
            json_object(json);
            json_member_string(json, "name", name);
            put_share(json, "share", info->snapshot->quality.biased[i].ppm);
            json_end(json);
        }
        json_end(json);
    } else {
        json_array(json);
        json_end(json);
    }
    json_end(json);
}

static double faults_hz(const struct session_info *info)
{
    const double seconds = (double)info->snapshot->end_ns / (double)NS_PER_S;
    return seconds > 0 ? (double)info->snapshot->quality.page_faults / seconds : 0;
}

bool bias_is_doubtful(const struct session_info *info)
{
    const struct quality *const quality = &info->snapshot->quality;
    if (quality->stopped_ns && faults_hz(info) >= FEW_FAULTS_HZ)
        return true;
    switch (kind_of(info)) {
    case MEASURED: return ((double)quality->bias_ppm - error_of(quality)) / POINTS > HIGH_BIAS;
    case UNMEASURED:
        return quality_percent(quality->samples - quality->exact, quality->samples) >
               HIGH_UNCERTAIN;
    case NONE: break;
    }
    return false;
}

void bias_format(const struct session_info *info, char out[BIAS_TEXT_BYTES])
{
    const struct quality *const quality = &info->snapshot->quality;
    switch (kind_of(info)) {
    case MEASURED:
        snprintf(out, BIAS_TEXT_BYTES, "bias %.1f ± %.1f points",
                 (double)quality->bias_ppm / POINTS, error_of(quality) / POINTS);
        break;
    case UNMEASURED:
        snprintf(out, BIAS_TEXT_BYTES, "bias unmeasured, %.2f %% of the readings uncertain",
                 quality_percent(quality->samples - quality->exact, quality->samples));
        break;
    case NONE: snprintf(out, BIAS_TEXT_BYTES, "no thread moved while it was read"); break;
    }
}

void bias_format_functions(const struct session_info *info, char out[BIAS_TEXT_BYTES])
{
    enum { MAX_NAME = 100 };
    struct strtab_string name;
    size_t length = 0;
    *out = '\0';
    if (kind_of(info) != MEASURED)
        return;
    for (size_t i = 0; biased_at(info, i, &name); i++)
        length +=
            (size_t)snprintf(out + length, BIAS_TEXT_BYTES - length, "%s%.*s %+.1f",
                             i ? ", " : "", (int)utf8_cut(name.text, name.length, MAX_NAME),
                             name.text, (double)info->snapshot->quality.biased[i].ppm / POINTS);
    if (length)
        snprintf(out + length, BIAS_TEXT_BYTES - length, " points");
}

void bias_format_stops(const struct session_info *info, char out[BIAS_TEXT_BYTES])
{
    const struct quality *const quality = &info->snapshot->quality;
    *out = '\0';
    if (!quality->stopped_ns)
        return;
    const int length = snprintf(
        out, BIAS_TEXT_BYTES, "%.2f %% of the samples read while stopped, %.2f %% of the time",
        quality_percent(quality->stopped, quality->samples),
        quality_percent(quality->stopped_ns, info->snapshot->end_ns));
    if (faults_hz(info) >= FEW_FAULTS_HZ)
        snprintf(out + length, BIAS_TEXT_BYTES - (size_t)length,
                 "; %.0f page faults a second, which stopped samples show too often",
                 faults_hz(info));
}
