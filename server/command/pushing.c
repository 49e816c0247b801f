#include "server/command/pushing.h"

#include "server/command/options/options.h"
#include "server/command/process/credentials.h"
#include "server/command/process/exit.h"
#include "server/push/push.h"

/* Any thread. */
static void print_message(void *context, const char *what)
{
    (void)context;
    say("%s", what);
}

enum err_code pushing_open(const struct options *options, struct push **out, struct err *err)
{
    struct push_settings settings = options->push;
    char *headers[PUSH_MAX_ENDPOINTS] = { NULL };
    enum err_code rc = ERR_OK;
    *out = NULL;
    settings.anonymizes = options->report.anonymizes;
    for (size_t i = 0; i < settings.endpoint_count && !rc; i++)
        if (settings.endpoints[i].headers_file)
            rc = credentials_read_headers(settings.endpoints[i].headers_file, &headers[i], err);
    if (!rc && settings.endpoint_count > 0)
        rc = push_open(&settings, headers, print_message, NULL, out, err);
    for (size_t i = 0; i < settings.endpoint_count; i++)
        credentials_wipe_headers(headers[i]);
    return rc;
}
