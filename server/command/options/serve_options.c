#include "server/command/options/serve_options.h"

#include <stdlib.h>
#include <string.h>

#include "server/command/options/options.h"
#include "server/command/options/units.h"
#include "server/sessions/sessions.h"

enum err_code serve_set_max_rate(struct options *options, const char *value, struct err *err)
{
    if (units_rate(value, &options->serve.max_rate_hz))
        return ERR_OK;
    return err_set(err, ERR_INVALID, "bad sampling rate '%.64s': use 1 to 1mhz, as in 10khz",
                   value);
}

enum err_code serve_set_max_sessions(struct options *options, const char *value,
                                     struct err *err)
{
    const size_t digits = strspn(value, "0123456789");
    const unsigned long count =
        digits > 0 && digits < 6 && !value[digits] ? strtoul(value, NULL, 10) : 0;
    if (count == 0 || count > SESSIONS_MAX / 2)
        return err_set(err, ERR_INVALID, "bad number of sessions '%.64s': use 1 to %d", value,
                       SESSIONS_MAX / 2);
    options->serve.max_sessions = count;
    return ERR_OK;
}

enum err_code serve_set_data(struct options *options, const char *value, struct err *err)
{
    options->serve.data = value;
    return *value ? ERR_OK : err_set(err, ERR_INVALID, "--data needs the name of a folder");
}

enum err_code serve_set_no_data(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->serve.keeps_nothing = true;
    return ERR_OK;
}

enum err_code serve_set_keep_days(struct options *options, const char *value, struct err *err)
{
    const uint64_t day_ns = 24 * 3600 * 1000000000ull;
    const size_t digits = strspn(value, "0123456789");
    if (digits == 0 || digits > 5 || value[digits])
        return err_set(err, ERR_INVALID,
                       "bad number of days '%.64s': use 1 to 99999, or 0 to keep all", value);
    options->serve.keep_ns = strtoull(value, NULL, 10) * day_ns;
    options->serve.has_keep_days = true;
    return ERR_OK;
}

static enum err_code read_size(const char *value, uint64_t *out, struct err *err)
{
    size_t bytes = 0;
    if (!units_size(value, &bytes))
        return err_set(err, ERR_INVALID, "bad size '%.64s': use 1mib to 1024g, as in 64m or 1g",
                       value);
    *out = bytes;
    return ERR_OK;
}

enum err_code serve_set_keep_bytes(struct options *options, const char *value, struct err *err)
{
    options->serve.has_keep_bytes = true;
    return read_size(value, &options->serve.keep_bytes, err);
}

enum err_code serve_set_max_upload(struct options *options, const char *value, struct err *err)
{
    return read_size(value, &options->serve.max_upload, err);
}

/* "--continuous", "--continuous=50". */
enum err_code serve_set_continuous(struct options *options, const char *value, struct err *err)
{
    options->serve.is_continuous = true;
    if (!value || units_rate(value, &options->serve.continuous_hz))
        return ERR_OK;
    return err_set(err, ERR_INVALID, "bad sampling rate '%.64s': use 1 to 1mhz, as in 19",
                   value);
}

enum err_code serve_set_turn(struct options *options, const char *value, struct err *err)
{
    if (units_duration(value, &options->serve.turn_ns))
        return ERR_OK;
    return err_set(err, ERR_INVALID, "bad duration '%.64s': use 10, 30m or 1h", value);
}
