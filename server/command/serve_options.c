#include <stdlib.h>
#include <string.h>

#include "server/command/options.h"
#include "server/command/serve.h"
#include "server/command/units.h"
#include "server/sessions.h"

enum err_code serve_set_hide_args(struct options *options, const char *value, struct err *err)
{
    (void)value;
    (void)err;
    options->serve.hides_arguments = true;
    return ERR_OK;
}

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
