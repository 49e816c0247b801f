#include "server/command/process/starting.h"

#include "sampler/base/clock.h"
#include "sampler/sampler.h"
#include "server/command/process/exit.h"
#include "server/command/process/signals.h"
#include "server/sessions/leave.h"
#include "server/sessions/startup.h"

/* What was cancelled is over in no time, unless it hangs. */
enum { CANCEL_MS = 400 };

/* Until it is done, or for a moment after the user wants to stop. */
static void wait_for(struct startup *startup, struct signals *signals)
{
    uint64_t end_ns = UINT64_MAX;
    for (;;) {
        const uint64_t now_ns = clock_now_ns();
        const bool is_stopped = end_ns != UINT64_MAX;
        if (now_ns >= end_ns)
            return;
        const int left_ms = is_stopped ? (int)((end_ns - now_ns) / NS_PER_MS) + 1 : -1;
        const enum signals_event event = signals_wait(signals, startup_fd(startup), left_ms);
        if (event == SIGNALS_READABLE)
            return;
        if (event == SIGNALS_STOP && !is_stopped) {
            startup_cancel(startup);
            end_ns = now_ns + CANCEL_MS * NS_PER_MS;
        }
    }
}

enum err_code starting_sampler(const struct sampler_options *options, struct signals *signals,
                               struct sampler **out, struct err *err)
{
    struct startup *startup = NULL;
    struct sampler *sampler = NULL;
    enum err_code rc = startup_begin(options, &startup, err);
    if (rc != ERR_OK)
        return rc;
    wait_for(startup, signals);
    rc = startup_end(startup, &sampler, err);
    if (rc == ERR_OK && signals->stopped_by) {
        leave_within(LEAVE_MS, EXIT_FAILED);
        sampler_destroy(sampler);
        return err_set(err, ERR_SYS, "stopped before the first sample");
    }
    if (rc == ERR_OK)
        *out = sampler;
    return rc;
}
