#include "sampler/sampler.h"
#include "server/command/commands.h"
#include "server/command/exit.h"
#include "server/command/live.h"
#include "server/command/options.h"
#include "server/command/signals.h"

/* Until the user has seen enough; the end of sampling is only news. */
static void serve(struct live *live, struct sampler *sampler, struct signals *signals)
{
    int end_fd = sampler_end_fd(sampler);
    enum signals_event event = SIGNALS_TIMEOUT;
    while ((event = signals_wait(signals, end_fd, -1)) != SIGNALS_STOP)
        if (event == SIGNALS_READABLE) {
            live_say_ended(live, sampler);
            end_fd = -1;
        }
}

static enum err_code start(struct live *live, const struct options *options,
                           struct signals *signals, struct sampler **out, struct err *err)
{
    enum err_code rc = live_open(live, options, err);
    if (rc == ERR_OK)
        rc = sampler_start(&options->sampling, out, err);
    if (rc != ERR_OK)
        return rc;
    rc = live_start(live, options, *out, signals, err);
    if (rc != ERR_OK)
        sampler_destroy(*out);
    return rc;
}

int command_attach(const struct options *options)
{
    struct live live = { .listener.fd = -1 };
    struct signals signals;
    struct sampler *sampler = NULL;
    struct err err = { 0 };
    enum err_code rc = signals_init(&signals, &err);
    if (rc == ERR_OK)
        rc = start(&live, options, &signals, &sampler, &err);
    if (rc == ERR_OK)
        serve(&live, sampler, &signals);
    signals_deinit(&signals);
    live_close(&live);
    return exit_with(rc, &err);
}
