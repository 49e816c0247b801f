#include "server/command/output/summary.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/states.h"
#include "server/command/process/exit.h"
#include "server/wire/quality.h"
#include "server/wire/session.h"

enum { TEXT_BYTES = 256 };

/* "failed 0.02 % (3 gone, 1 corrupt)" */
static void format_failed(const struct quality *quality, char out[TEXT_BYTES])
{
    const struct {
        const char *reason;
        uint64_t count;
    } rows[] = { { "gone", quality->failed_gone },
                 { "fault", quality->failed_fault },
                 { "not permitted", quality->failed_perm },
                 { "corrupt", quality->failed_corrupt } };
    const uint64_t failed = quality_failed(quality);
    const char *before = " (";
    size_t length = (size_t)snprintf(out, TEXT_BYTES, "failed %.2f %%",
                                     quality_percent(failed, quality->samples + failed));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].count == 0)
            continue;
        length += (size_t)snprintf(out + length, TEXT_BYTES - length, "%s%" PRIu64 " %s",
                                   before, rows[i].count, rows[i].reason);
        before = ", ";
    }
    if (failed > 0)
        snprintf(out + length, TEXT_BYTES - length, ")");
}

static void say_certainty(const struct quality *quality)
{
    char failed[TEXT_BYTES];
    format_failed(quality, failed);
    say("exact %.2f %%, repaired %.2f %%, retried %.2f %%, truncated %.2f %%, %s, "
        "missed %" PRIu64 " of %" PRIu64 " looks",
        quality_percent(quality->exact, quality->samples),
        quality_percent(quality->repaired, quality->samples),
        quality_percent(quality->retried, quality->samples),
        quality_percent(quality->truncated, quality->samples), failed, quality->missed,
        quality->ticks + quality->missed);
}

/* What the mode wants to know; STATE_FLAG_COUNT: nothing. */
static enum state_flag flag_of(enum sampler_mode mode)
{
    switch (mode) {
    case SAMPLER_MODE_WALL: break;
    case SAMPLER_MODE_CPU: return STATE_FLAG_ON_CPU;
    case SAMPLER_MODE_GIL: return STATE_FLAG_HAS_GIL;
    case SAMPLER_MODE_EXCEPTION: return STATE_FLAG_HAS_EXCEPTION;
    }
    return STATE_FLAG_COUNT;
}

static void say_mode(const struct session_info *info, const struct state_sums *sums)
{
    const struct quality *const quality = &info->snapshot->quality;
    const enum state_flag flag = flag_of(info->options->mode);
    if (flag == STATE_FLAG_COUNT)
        return;
    say("filtered %" PRIu64 " samples, %.2f %% of all seen, by --mode", quality->filtered,
        quality_percent(quality->filtered, quality->filtered + quality->samples));
    if (sums->unknown[flag] > 0)
        say("kept %" PRIu64 " samples of which %s is unknown", sums->unknown[flag],
            state_flag_text(flag));
}

static void say_processes(const struct session_info *info)
{
    struct sampler_processes processes = { 0 };
    if (info->sampler)
        sampler_processes(info->sampler, &processes);
    if (processes.joined > 1)
        say("%" PRIu64 " processes, %" PRIu64 " of them still running", processes.joined,
            processes.running);
    if (processes.over > 0)
        say("%" PRIu64
            " processes were left out for some time or for ever: no more than %d at a "
            "time are sampled",
            processes.over, SAMPLER_MAX_PROCESSES);
    if (processes.denied > 0)
        say("%" PRIu64 " %s left out: no right to read, or an unknown version%s",
            processes.denied, processes.denied == 1 ? "process was" : "processes were",
            flag_of(info->options->mode) == STATE_FLAG_COUNT
                ? ""
                : ", or one that does not tell what --mode keeps");
}

static void say_what_was_special(const struct session_info *info)
{
    const struct quality *const quality = &info->snapshot->quality;
    const double stopped_s = (double)quality->stopped_ns / (double)NS_PER_S;
    if (quality->stopped_ns > 0)
        say("the program was stopped for %.3f s, %.2f %% of the time", stopped_s,
            quality_percent(quality->stopped_ns, info->snapshot->end_ns));
    if (info->status.rate_hz > 0 && info->status.rate_hz < info->options->rate_hz)
        say("the CPU budget of %.10g %% allowed %.1f Hz at the end",
            info->options->max_cpu_percent, info->status.rate_hz);
}

/* "43.20 %", or "43.20 % (and 2.00 % unknown)". */
static void format_share(const struct state_sums *sums, enum state_flag flag,
                         char out[TEXT_BYTES])
{
    const double yes = quality_percent(sums->yes[flag], sums->samples);
    const double unknown = quality_percent(sums->unknown[flag], sums->samples);
    if (sums->unknown[flag] > 0)
        snprintf(out, TEXT_BYTES, "%.2f %% (and %.2f %% unknown)", yes, unknown);
    else
        snprintf(out, TEXT_BYTES, "%.2f %%", yes);
}

/* The names of interpreters that are free-threaded end so. */
static bool is_without_gil(const struct session_info *info, const struct state_sums *sums)
{
    const char *const python = info->target ? info->target->python : NULL;
    const size_t length = python ? strlen(python) : 0;
    return length && python[length - 1] == 't' && sums->yes[STATE_FLAG_HAS_GIL] == 0;
}

static void say_states(const struct session_info *info, const struct state_sums *sums)
{
    char held[TEXT_BYTES], wanted[TEXT_BYTES], collecting[TEXT_BYTES], handling[TEXT_BYTES];
    if (sums->samples == 0)
        return;
    const uint64_t *const unknown = sums->unknown;
    const uint64_t untold = unknown[STATE_FLAG_HAS_GIL] > unknown[STATE_FLAG_WAITS_GIL]
                                ? unknown[STATE_FLAG_HAS_GIL]
                                : unknown[STATE_FLAG_WAITS_GIL];
    const uint64_t targets =
        sums->yes[STATE_FLAG_HAS_GIL] + sums->yes[STATE_FLAG_WAITS_GIL] + untold;
    const uint64_t released = targets < sums->samples ? sums->samples - targets : 0;
    format_share(sums, STATE_FLAG_HAS_GIL, held);
    format_share(sums, STATE_FLAG_WAITS_GIL, wanted);
    format_share(sums, STATE_FLAG_IN_GC, collecting);
    format_share(sums, STATE_FLAG_HAS_EXCEPTION, handling);
    if (is_without_gil(info, sums)) {
        say("of the samples: GIL n/a (free-threaded); collecting garbage %s; handling an exception "
            "%s",
            collecting, handling);
        return;
    }
    say("of the samples: GIL held %s, wanted %s, released %.2f %%; collecting garbage %s; "
        "handling an exception %s",
        held, wanted, quality_percent(released, sums->samples), collecting, handling);
}

static void say_tasks(const struct session_info *info, const struct states *states)
{
    if (states->tasks > 0)
        say("%" PRIu64 " samples, %.2f %% of all, are of waiting tasks, which are no threads",
            states->tasks, quality_percent(states->tasks, info->snapshot->quality.samples));
}

void summary_say(const struct session_info *info, const struct states *states)
{
    const struct quality *const quality = &info->snapshot->quality;
    const double seconds = (double)info->snapshot->end_ns / (double)NS_PER_S;
    say("captured %" PRIu64 " samples in %.2f s, %.1f of %.10g Hz", quality->samples, seconds,
        session_rate_hz(info->snapshot), info->options->rate_hz);
    if (quality->ticks > 0)
        say_certainty(quality);
    say_states(info, &states->all);
    say_tasks(info, states);
    say_mode(info, &states->all);
    say_processes(info);
    say_what_was_special(info);
}
