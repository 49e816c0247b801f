#include "server/command/output/progress.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "server/command/process/exit.h"
#include "server/command/process/signals.h"

void progress_begin(struct progress *progress, const char *doing, const char *what)
{
    const char *const slash = strrchr(what, '/');
    *progress = (struct progress){ .doing = doing,
                                   .what = slash ? slash + 1 : what,
                                   .next_ns = clock_now_ns() + PROGRESS_MS * NS_PER_MS };
}

void progress_show(struct progress *progress, uint64_t done, uint64_t bytes)
{
    const uint64_t now_ns = clock_now_ns();
    if (now_ns < progress->next_ns || !isatty(STDERR_FILENO))
        return;
    progress->next_ns = now_ns + PROGRESS_MS * NS_PER_MS;
    progress->is_shown = true;
    if (bytes)
        say_for_now("%s %.60s: %d %%", progress->doing, progress->what,
                    (int)((double)done / (double)bytes * 100));
    else
        say_for_now("%s %.60s: %" PRIu64 " MiB", progress->doing, progress->what, done >> 20);
}

void progress_end(struct progress *progress)
{
    if (progress->is_shown)
        say_for_now("%s", "");
    progress->is_shown = false;
}

bool progress_watch(void *progress, uint64_t done, uint64_t bytes)
{
    progress_show(progress, done, bytes);
    return !signals_are_pending();
}
