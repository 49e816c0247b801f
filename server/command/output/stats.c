#include "server/command/output/stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "server/wire/quality.h"
#include "server/wire/session.h"
#include "server/wire/usage.h"

/* The sampling thread publishes four times a second; before that there is nothing to say. */
static const uint64_t PERIOD_NS = NS_PER_S;

enum { INTERVAL_BYTES = 80 };

static double own_cpu_s(void)
{
    struct usage usage;
    usage_read(&usage);
    return usage.cpu_user_s + usage.cpu_sys_s;
}

void stats_init(struct stats *stats)
{
    const uint64_t now_ns = clock_now_ns();
    *stats = (struct stats){ .is_terminal = isatty(STDERR_FILENO) == 1,
                             .due_ns = now_ns + PERIOD_NS,
                             .said_ns = now_ns,
                             .said_cpu_s = own_cpu_s() };
}

int stats_wait_ms(const struct stats *stats, uint64_t now_ns)
{
    if (now_ns >= stats->due_ns)
        return 0;
    return (int)((stats->due_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS);
}

/* ", every 0.98 ms (0.02 to 3.10)": from look to look. */
static void format_intervals(const struct quality *quality, char out[INTERVAL_BYTES])
{
    const double ms = (double)NS_PER_MS;
    out[0] = '\0';
    if (quality->interval_count > 0)
        snprintf(out, INTERVAL_BYTES, ", every %.2f ms (%.2f to %.2f)",
                 (double)quality->interval_sum_ns / (double)quality->interval_count / ms,
                 (double)quality->interval_least_ns / ms,
                 (double)quality->interval_most_ns / ms);
}

void stats_format(struct stats *stats, const struct session_info *info, double cpu_s,
                  uint64_t now_ns, char out[STATS_LINE_BYTES])
{
    const struct quality *const quality = &info->snapshot->quality;
    const double seconds = (double)(now_ns - stats->said_ns) / (double)NS_PER_S;
    const double hz = seconds > 0 ? (double)(quality->ticks - stats->said_ticks) / seconds : 0;
    const double cpu = seconds > 0 ? 100 * (cpu_s - stats->said_cpu_s) / seconds : 0;
    const uint64_t failed = quality_failed(quality);
    char intervals[INTERVAL_BYTES];
    format_intervals(quality, intervals);
    if (stats->most_hz <= 0 || hz < stats->least_hz)
        stats->least_hz = hz;
    if (hz > stats->most_hz)
        stats->most_hz = hz;
    snprintf(out, STATS_LINE_BYTES,
             "%.0f of %.10g Hz (mean %.0f, %.0f to %.0f)%s, %" PRIu64
             " samples, exact %.2f %%, repaired %.2f %%, failed %.2f %%, missed %" PRIu64
             ", own CPU %.1f %%",
             hz, info->options->rate_hz, session_rate_hz(info->snapshot), stats->least_hz,
             stats->most_hz, intervals, quality->samples,
             quality_percent(quality->exact, quality->samples),
             quality_percent(quality->repaired, quality->samples),
             quality_percent(failed, quality->samples + failed), quality->missed, cpu);
    stats->said_ns = now_ns;
    stats->said_ticks = quality->ticks;
    stats->said_cpu_s = cpu_s;
}

/* A line that is wrapped could not be written over. */
static void cut_to_terminal(char line[STATS_LINE_BYTES])
{
    struct winsize size = { 0 };
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 &&
        size.ws_col - 1u < strlen(line))
        line[size.ws_col - 1] = '\0';
}

void stats_say(struct stats *stats, const struct session_info *info, uint64_t now_ns)
{
    char line[STATS_LINE_BYTES];
    if (now_ns < stats->due_ns)
        return;
    stats->due_ns = now_ns - (now_ns - stats->due_ns) % PERIOD_NS + PERIOD_NS;
    stats_format(stats, info, own_cpu_s(), now_ns, line);
    if (stats->is_terminal)
        cut_to_terminal(line);
    fprintf(stderr, stats->is_terminal ? "\r%s\x1b[K" : "%s\n", line);
    fflush(stderr);
    stats->is_open = stats->is_terminal;
}

void stats_end(struct stats *stats)
{
    if (stats->is_open)
        fputc('\n', stderr);
    stats->is_open = false;
}
