#include "server/command/options/units.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sampler/sampler.h"

struct unit {
    const char *name;
    double factor;
};

/* Each ends at the unit without a name. */
static const struct unit rates[] = { { "", 1 },      { "hz", 1 },  { "k", 1e3 }, { "khz", 1e3 },
                                     { "mhz", 1e6 }, { "m", 1e6 }, { NULL, 0 } };
static const struct unit durations[] = { { "", 1e9 },   { "ms", 1e6 },   { "s", 1e9 },
                                         { "m", 60e9 }, { "h", 3600e9 }, { NULL, 0 } };

static const struct unit percents[] = { { "", 1 }, { "%", 1 }, { NULL, 0 } };

static const struct unit sizes[] = {
    { "", 1 },         { "b", 1 },       { "k", 0x1p10 },   { "kb", 0x1p10 },
    { "kib", 0x1p10 }, { "m", 0x1p20 },  { "mb", 0x1p20 },  { "mib", 0x1p20 },
    { "g", 0x1p30 },   { "gb", 0x1p30 }, { "gib", 0x1p30 }, { NULL, 0 },
};

/* Longer than anyone lets a profiler run, and far from the end of 64 bits. */
static const double max_duration_ns = 100.0 * 365 * 24 * 3600e9;

/* A plain decimal and one of the units.  strtod alone would take "inf", "nan" and "0x1p3". */
static bool read_with_unit(const char *text, const struct unit *units, double *out)
{
    const size_t length = strspn(text, "0123456789.");
    char *end = NULL;
    if (length == 0 || length > 32)
        return false;
    char number[33];
    memcpy(number, text, length);
    number[length] = '\0';
    const double value = strtod(number, &end);
    if (end == number || *end != '\0')
        return false;
    while (units->name && strcasecmp(units->name, text + length) != 0)
        units++;
    *out = value * units->factor;
    return units->name != NULL;
}

bool units_rate(const char *text, double *hz_out)
{
    double hz = 0;
    if (!read_with_unit(text, rates, &hz) || hz < SAMPLER_MIN_RATE_HZ ||
        hz > SAMPLER_MAX_RATE_HZ)
        return false;
    *hz_out = hz;
    return true;
}

bool units_duration(const char *text, uint64_t *ns_out)
{
    double ns = 0;
    if (!read_with_unit(text, durations, &ns) || ns < 1 || ns > max_duration_ns)
        return false;
    *ns_out = (uint64_t)ns;
    return true;
}

bool units_percent(const char *text, double *percent_out)
{
    double percent = 0;
    if (!read_with_unit(text, percents, &percent) || percent <= 0 || percent > 100)
        return false;
    *percent_out = percent;
    return true;
}

bool units_size(const char *text, size_t *bytes_out)
{
    double bytes = 0;
    if (!read_with_unit(text, sizes, &bytes) || bytes < 0x1p20 || bytes > 0x1p40)
        return false;
    *bytes_out = (size_t)bytes;
    return true;
}
