#include "server/command/output/run_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/utf8.h"
#include "sampler/profile/part.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/states.h"
#include "sampler/profile/views/view.h"
#include "sampler/session.h"
#include "server/command/output/written.h"
#include "server/command/process/exit.h"
#include "server/wire/quality.h"
#include "server/wire/session.h"
#include "server/wire/usage.h"

enum { TEXT_BYTES = 256 };

/* In percent.  Beyond these, shares of functions may be off; the page has the same. */
static const double MOST_TRUNCATED = 1, MOST_RETRIED = 20, MOST_FAILED = 1, MOST_MISSED = 5;
/* Fewer complete native stacks are worth a word. */
static const double MOST_COMPLETE = 90;
/* With fewer page faults a second, stops that come late make no difference of a point. */
static const double FEW_FAULTS_HZ = 2000;

/* Prints a line for each warning about targets that are not sampled, or may be wrong, and how
 * many more have the same. */
static void say_warnings(const struct session *session)
{
    struct session_target target, other;
    for (size_t w = 0; w < SESSION_WARNINGS; w++)
        for (size_t i = 0; session_target_at(session, i, &target); i++) {
            const char *const text = target.warnings[w];
            bool is_first = text != NULL;
            for (size_t k = 0; is_first && k < i && session_target_at(session, k, &other); k++)
                is_first = !other.warnings[w] || strcmp(other.warnings[w], text) != 0;
            if (!is_first)
                continue;
            size_t more = 0;
            for (size_t k = i + 1; session_target_at(session, k, &other); k++)
                more += other.warnings[w] && strcmp(other.warnings[w], text) == 0;
            if (more)
                say("process %d and %zu more: %s", (int)target.pid, more, text);
            else
                say("process %d: %s", (int)target.pid, text);
        }
}

void run_summary_say_start(struct session *session)
{
    const struct session_target *const target = session_target(session);
    const struct session_options *const options = session_options(session);
    struct session_processes processes;
    session_processes(session, &processes);
    if (processes.joined > 1)
        say("sampling %" PRIu64
            " processes, %d (Python %s) and others, at %.10g Hz, %s; Ctrl-C "
            "to quit",
            processes.joined, (int)target->pid, target->python, options->rate_hz,
            options->all_threads ? "all threads" : "main threads only");
    else
        say("sampling process %d (Python %s) at %.10g Hz, %s; Ctrl-C to quit", (int)target->pid,
            target->python, options->rate_hz,
            options->all_threads ? "all threads" : "main thread only");
    if (processes.over > 0)
        say("%" PRIu64 " more %s not sampled: the limit is %d at a time", processes.over,
            processes.over == 1 ? "process is" : "processes are", SESSION_MAX_PROCESSES);
    say_warnings(session);
}

/* Time between two lines: longer than a window of the sampling thread. */
static const uint64_t PERIOD_NS = NS_PER_S;

enum { LINE_BYTES = 1200, INTERVAL_BYTES = 80, STOPS_BYTES = 200 };

static double own_cpu_s(void)
{
    struct usage usage;
    usage_read(&usage);
    return usage.cpu_user_s + usage.cpu_sys_s;
}

void run_summary_begin(struct run_summary *summary)
{
    const uint64_t now_ns = clock_now_ns();
    *summary = (struct run_summary){ .is_terminal = isatty(STDERR_FILENO) == 1,
                                     .began_ns = now_ns,
                                     .due_ns = now_ns + PERIOD_NS,
                                     .last_ns = now_ns,
                                     .last_cpu_s = own_cpu_s() };
}

int run_summary_wait_ms(const struct run_summary *summary, uint64_t now_ns)
{
    if (now_ns >= summary->due_ns)
        return 0;
    return (int)((summary->due_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS);
}

/* A wrapped line cannot be overwritten. */
static void cut_to_terminal(char line[LINE_BYTES])
{
    struct winsize size = { 0 };
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col <= 1 ||
        size.ws_col - 1u >= strlen(line))
        return;
    line[utf8_cut(line, strlen(line), size.ws_col - 1u)] = '\0';
}

static bool is_due(struct run_summary *summary, uint64_t now_ns)
{
    if (now_ns < summary->due_ns)
        return false;
    summary->due_ns = now_ns - (now_ns - summary->due_ns) % PERIOD_NS + PERIOD_NS;
    return true;
}

void run_summary_say_progress(struct run_summary *summary, const struct session_info *info,
                              uint64_t now_ns)
{
    const struct quality *const quality = &info->snapshot->quality;
    const uint64_t seconds = (now_ns - summary->began_ns) / NS_PER_S;
    const uint64_t failed = quality_failed(quality);
    char line[LINE_BYTES], wanted[TEXT_BYTES] = "";
    if (!is_due(summary, now_ns))
        return;
    if (info->options->duration_ns)
        snprintf(wanted, sizeof wanted, " of %.10g",
                 (double)info->options->duration_ns / (double)NS_PER_S);
    snprintf(line, sizeof line,
             "recording: %" PRIu64 "%s s, %" PRIu64 " samples, %.0f Hz, exact %.1f %%, failed "
             "%.1f %%; Ctrl-C ends it",
             seconds, wanted, quality->samples, session_info_achieved_hz(info->snapshot),
             quality_percent(quality->exact, quality->samples),
             quality_percent(failed, quality->samples + failed));
    cut_to_terminal(line);
    say_for_now("%s", line);
    summary->is_open = summary->is_progress = true;
}

static double faults_hz(const struct session_info *info)
{
    const double seconds = (double)info->snapshot->end_ns / (double)NS_PER_S;
    return seconds > 0 ? (double)info->snapshot->quality.page_faults / seconds : 0;
}

/* "97.00 % of the samples read while stopped, 0.90 % of the time"; "": no thread was stopped. */
static void format_stops(const struct session_info *info, char out[STOPS_BYTES])
{
    const struct quality *const quality = &info->snapshot->quality;
    *out = '\0';
    if (!quality->stopped_ns)
        return;
    const int length = snprintf(
        out, STOPS_BYTES, "%.2f %% of the samples read while stopped, %.2f %% of the time",
        quality_percent(quality->stopped, quality->samples),
        quality_percent(quality->stopped_ns, info->snapshot->end_ns));
    if (faults_hz(info) >= FEW_FAULTS_HZ)
        snprintf(out + length, STOPS_BYTES - (size_t)length,
                 "; %.0f page faults a second, which stopped samples show too often",
                 faults_hz(info));
}

void run_summary_say_line(struct run_summary *summary, const struct session_info *info,
                          uint64_t now_ns)
{
    char line[LINE_BYTES];
    if (!is_due(summary, now_ns))
        return;

    /* Rate and CPU are those since the last line, the shares those of the whole session. */
    const double cpu_s = own_cpu_s();
    const struct quality *const quality = &info->snapshot->quality;
    const double seconds = (double)(now_ns - summary->last_ns) / (double)NS_PER_S;
    const double hz =
        seconds > 0 ? (double)(quality->ticks - summary->last_ticks) / seconds : 0;
    const double cpu = seconds > 0 ? 100 * (cpu_s - summary->last_cpu_s) / seconds : 0;
    const uint64_t failed = quality_failed(quality);
    char intervals[INTERVAL_BYTES], stops[STOPS_BYTES];

    /* ", every 0.98 ms (0.02 to 3.10)": mean, least and greatest time between two ticks. */
    const double ms = (double)NS_PER_MS;
    intervals[0] = '\0';
    if (quality->interval_count > 0)
        snprintf(intervals, INTERVAL_BYTES, ", every %.2f ms (%.2f to %.2f)",
                 (double)quality->interval_sum_ns / (double)quality->interval_count / ms,
                 (double)quality->interval_least_ns / ms,
                 (double)quality->interval_most_ns / ms);

    format_stops(info, stops);
    if (summary->most_hz <= 0 || hz < summary->least_hz)
        summary->least_hz = hz;
    if (hz > summary->most_hz)
        summary->most_hz = hz;
    snprintf(line, LINE_BYTES,
             "%.0f of %.10g Hz (mean %.0f, %.0f to %.0f)%s, %" PRIu64
             " samples, exact %.2f %%, failed %.2f %%, missed %" PRIu64 ", own CPU %.1f %%%s%s",
             hz, info->options->rate_hz, session_info_achieved_hz(info->snapshot),
             summary->least_hz, summary->most_hz, intervals, quality->samples,
             quality_percent(quality->exact, quality->samples),
             quality_percent(failed, quality->samples + failed), quality->missed_ticks, cpu,
             *stops ? ", " : "", stops);
    summary->last_ns = now_ns;
    summary->last_ticks = quality->ticks;
    summary->last_cpu_s = cpu_s;

    if (summary->is_terminal)
        cut_to_terminal(line);
    fprintf(stderr, summary->is_terminal ? "\r%s\x1b[K" : "%s\n", line);
    fflush(stderr);
    summary->is_open = summary->is_terminal;
}

void run_summary_end_line(struct run_summary *summary)
{
    if (summary->is_open && summary->is_progress)
        say_for_now("%s", "");
    else if (summary->is_open)
        fputc('\n', stderr);
    summary->is_open = false;
}

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

/* The state that --mode requires; STATE_FLAG_COUNT: none. */
static enum state_flag flag_of(enum session_mode mode)
{
    switch (mode) {
    case SESSION_MODE_WALL: break;
    case SESSION_MODE_CPU: return STATE_FLAG_ON_CPU;
    case SESSION_MODE_GIL: return STATE_FLAG_HAS_GIL;
    case SESSION_MODE_EXCEPTION: return STATE_FLAG_HAS_EXCEPTION;
    }
    return STATE_FLAG_COUNT;
}

/* How many of the targets ended for this reason; *is_first_out: none of them before number `index`. */
static size_t count_ends(const struct session *session, const char *reason, size_t index,
                         bool *is_first_out)
{
    struct session_target target;
    size_t count = 0;
    *is_first_out = true;
    for (size_t i = 0; session_target_at(session, i, &target); i++) {
        if (!target.reason || strcmp(target.reason, reason) != 0)
            continue;
        *is_first_out &= i >= index;
        count++;
    }
    return count;
}

static void say_processes(const struct session_info *info)
{
    struct session_processes processes;
    session_processes(info->session, &processes);
    if (processes.joined > 1) {
        /* Which of several targets are no longer sampled though they have not exited, and why: a
         * line for each reason. */
        const struct session *const session = info->session;
        struct session_target target;
        bool is_first;
        for (size_t i = 0; session_target_at(session, i, &target); i++) {
            const bool is_named = target.reason && strcmp(target.reason, SESSION_EXITED) != 0;
            const size_t count =
                is_named ? count_ends(session, target.reason, i, &is_first) : 0;
            if (count == 1)
                say("process %d ended after %.2f s: %s", (int)target.pid,
                    (double)target.to_ns / (double)NS_PER_S, target.reason);
            else if (count && is_first)
                say("%zu processes ended: %s", count, target.reason);
        }
    }
    if (processes.over > 0)
        say("%" PRIu64 " %s left out, perhaps only for a time: the limit is %d at a time",
            processes.over, processes.over == 1 ? "process was" : "processes were",
            SESSION_MAX_PROCESSES);
    if (processes.short_of_files > 0)
        say("%" PRIu64 " %s left out, Python or not: too many files are open, raise the limit "
            "(ulimit -n)",
            processes.short_of_files,
            processes.short_of_files == 1 ? "process was" : "processes were");
    if (processes.denied > 0)
        say("%" PRIu64 " %s left out: not permitted, or an unsupported version%s",
            processes.denied, processes.denied == 1 ? "process was" : "processes were",
            flag_of(info->options->mode) == STATE_FLAG_COUNT
                ? ""
                : ", or a version without the state that --mode requires");
}

/* Why samples have no native frames at all. */
static void say_native_none(const struct quality *quality)
{
    const uint64_t none = quality->native_none;
    /* A capture of an older version does not say it. */
    if (!none || !(quality->native_none_unstopped + quality->native_none_waiting +
                   quality->native_none_truncated + quality->native_none_copy))
        return;
    say("of those without a native stack, %.2f %% are of threads not stopped to be read%s, "
        "%.2f %% of threads that waited elsewhere, %.2f %% of truncated stacks, %.2f %% of "
        "stacks that could not be copied",
        quality_percent(quality->native_none_unstopped, none),
        quality->native_none_unstopped ? " (raise --max-stop, or use --stop always)" : "",
        quality_percent(quality->native_none_waiting, none),
        quality_percent(quality->native_none_truncated, none),
        quality_percent(quality->native_none_copy, none));
}

/* Nothing if the user did not ask for native stacks, or most are complete. */
static void say_native(const struct session_info *info)
{
    const struct quality *const quality = &info->snapshot->quality;
    const uint64_t samples = quality->samples;
    if (info->options->native != SESSION_NATIVE_FULL ||
        quality_percent(quality->native_complete, samples) >= MOST_COMPLETE || !samples)
        return;
    say("native stacks: complete %.2f %%, with gaps %.2f %%, mismatched %.2f %%, none %.2f %%",
        quality_percent(quality->native_complete, samples),
        quality_percent(quality->native_gaps, samples),
        quality_percent(quality->native_mismatched, samples),
        quality_percent(quality->native_none, samples));

    /* Why frames are missing, and how many stacks are complete of those whose code has unwinding
     * tables. */
    const uint64_t gaps = quality->native_gaps;
    const uint64_t described = quality->native_complete + gaps - quality->native_gaps_no_table +
                               quality->native_mismatched;
    if (gaps) {
        say("of the gaps, %.2f %% are of code without unwinding tables, %.2f %% of stacks not copied "
            "whole, %.2f %% of unknown registers, %.2f %% of switches of greenlets, %.2f %% of other "
            "causes",
            quality_percent(quality->native_gaps_no_table, gaps),
            quality_percent(quality->native_gaps_copy, gaps),
            quality_percent(quality->native_gaps_register, gaps),
            quality_percent(quality->native_gaps_switch, gaps),
            quality_percent(quality->native_gaps_other, gaps));
        if (quality->native_gaps_no_table && described)
            say("of the native stacks of code with unwinding tables, %.2f %% are complete",
                quality_percent(quality->native_complete, described));
    }

    say_native_none(quality);
    if (quality->native_entries)
        say("of the calls of Python by C code, %.2f %% stand at their place among native frames",
            quality_percent(quality->native_placed, quality->native_entries));
    if (quality->native_none == samples)
        say("native stacks need the kernel engine (CAP_BPF and CAP_PERFMON) or the right to stop "
            "threads (ptrace, not --stop never)");
}

/* Shares of functions may be off. */
static bool is_uncertain(const struct session_info *info)
{
    const struct quality *const quality = &info->snapshot->quality;
    const uint64_t failed = quality_failed(quality), missed = quality->missed_ticks;
    return quality_percent(quality->truncated, quality->samples) > MOST_TRUNCATED ||
           quality_percent(quality->retried, quality->samples) > MOST_RETRIED ||
           quality_percent(failed, quality->samples + failed) > MOST_FAILED ||
           quality_percent(missed, quality->ticks + missed) > MOST_MISSED;
}

void run_summary_say_quality(const struct session_info *info)
{
    const bool is_off = is_uncertain(info);
    const bool are_late =
        info->snapshot->quality.stopped_ns && faults_hz(info) >= FEW_FAULTS_HZ;
    if (is_off) {
        const struct quality *const quality = &info->snapshot->quality;
        char failed[TEXT_BYTES];
        format_failed(quality, failed);
        say("exact %.2f %%, retried %.2f %%, truncated %.2f %%, %s, "
            "missed %" PRIu64 " of %" PRIu64 " ticks",
            quality_percent(quality->exact, quality->samples),
            quality_percent(quality->retried, quality->samples),
            quality_percent(quality->truncated, quality->samples), failed,
            quality->missed_ticks, quality->ticks + quality->missed_ticks);
    }
    if (are_late) {
        char stops[STOPS_BYTES];
        format_stops(info, stops);
        say("%s", stops);
    }
    if ((is_off || are_late) && *info->status.engine_reason)
        say("stacks read from outside: %s", info->status.engine_reason);
    if (*info->status.kernel_reason)
        say("no kernel frames: %s", info->status.kernel_reason);
}

static void say_problems(const struct session_info *info, const struct states *states)
{
    run_summary_say_quality(info);
    say_native(info);

    const struct quality *const quality = &info->snapshot->quality;
    if (quality->tasks_unread > 0)
        say("there are too many asyncio tasks: of those found, the frames of %.2f %% were not read, "
            "and tasks that were read stand for them",
            quality_percent(quality->tasks_unread, quality->tasks));
    if (quality->tasks_cut > 0)
        say("%" PRIu64
            " readings of asyncio tasks reached a limit, and lack tasks, frames or awaiters",
            quality->tasks_cut);
    if (quality->awaiters_cut > 0)
        say("%" PRIu64
            " chains of awaiting tasks were too long, and lack their outermost tasks",
            quality->awaiters_cut);

    const enum state_flag flag = flag_of(info->options->mode);
    if (flag != STATE_FLAG_COUNT && states->all.unknown[flag] > 0)
        say("%" PRIu64 " %s although %s state %s is unknown", states->all.unknown[flag],
            states->all.unknown[flag] == 1 ? "sample is included" : "samples are included",
            states->all.unknown[flag] == 1 ? "its" : "their", state_flag_text(flag));

    say_processes(info);
    say_warnings(info->session);

    if (quality->stops_refused > 0)
        say("the kernel refused to stop threads %" PRIu64
            " times (is the target being traced?): %s",
            quality->stops_refused,
            info->options->stop == SESSION_STOP_ALWAYS ? "samples of threads that ran failed"
                                                       : "shares of short calls are too low");
    if (quality->unmatched > 0)
        say("%.2f %% of the samples are of threads whose thread of the operating system is "
            "unknown, as after a fork that Python does not know of: whether they ran is unknown",
            quality_percent(quality->unmatched, quality->samples));
    if (info->status.rate_hz > 0 && info->status.rate_hz < info->options->rate_hz)
        say("--max-cpu %.10g allowed %.1f Hz at the end", info->options->max_cpu_percent,
            info->status.rate_hz);
}

/* " and 62.4 MiB of memory growth", of each measure that has samples; the first one has no "and" if `is_first`.  Numbers have no
 * unit, " and 62 alloc_objects"; other units than bytes have their name. */
static void put_measured(const struct session_info *info, bool is_first, struct buffer *line)
{
    const struct view_query everything = { 0 };
    for (enum measure i = MEASURE_TIME + 1; i < MEASURE_COUNT; i++) {
        struct profile_snapshot snapshot;
        struct view view;
        if (!(info->snapshot->measures & MEASURE_SET(i)) ||
            profile_snapshot_measured(info->snapshot->profile, i, &snapshot, NULL))
            continue;
        if (!view_init(&view, &snapshot, &everything, NULL)) {
            const struct measure_facts *const facts = profile_measure(&snapshot, i);
            buffer_text(line, is_first ? " " : " and ");
            if (strcmp(facts->unit, "bytes") == 0)
                buffer_printf(line, "%.1f MiB of %s", (double)view.total_ns / (1 << 20),
                              facts->title);
            else if (strcmp(facts->unit, "count") == 0)
                buffer_printf(line, "%" PRIu64 " %s", view.total_ns, facts->title);
            else
                buffer_printf(line, "%" PRIu64 " %s of %s", view.total_ns, facts->unit,
                              facts->title);
            view_deinit(&view);
            is_first = false;
        }
        profile_snapshot_release(&snapshot);
    }
}

void run_summary_say_end(const struct session_info *info, const struct states *states,
                         const struct written *written)
{
    const struct quality *const quality = &info->snapshot->quality;
    struct buffer line = { 0 };
    say_problems(info, states);

    /* "captured 9981 samples of 3 threads in 10.00 s" */
    size_t threads = 0;
    for (size_t i = 0; i < states->count; i++)
        threads += !profile_is_waiting_tasks(info->snapshot, states->rows[i].thread);
    struct session_processes processes;
    session_processes(info->session, &processes);
    const bool has_time = quality->samples || !info->snapshot->measures;
    buffer_text(&line, "captured");
    if (has_time)
        buffer_printf(&line, " %" PRIu64 " sample%s", quality->samples,
                      quality->samples == 1 ? "" : "s");
    if (states->tasks)
        buffer_printf(&line, ", %" PRIu64 " of waiting tasks,", states->tasks);
    if (threads)
        buffer_printf(&line, " of %zu thread%s", threads, threads == 1 ? "" : "s");
    put_measured(info, !has_time, &line);
    if (processes.joined > 1)
        buffer_printf(&line, " in %" PRIu64 " processes", processes.joined);
    buffer_printf(&line, " in %.2f s", (double)info->snapshot->end_ns / (double)NS_PER_S);
    if (info->status.state == SESSION_ENDED &&
        strcmp(info->status.reason, SESSION_STOPPED) != 0)
        buffer_printf(&line, " (%s)", info->status.reason);
    if (quality->filtered)
        buffer_printf(&line, ", without %" PRIu64 " that --mode leaves out", quality->filtered);

    if (quality->samples)
        buffer_printf(&line, ", %.1f %% exact",
                      quality_percent(quality->exact, quality->samples));

    /* ": 41.0 % running, 35.2 % needs the GIL, 23.8 % idle" */
    const char *before = ": ";
    for (enum part part = 0; part < PART_COUNT; part++) {
        if (!states->all.parts[part])
            continue;
        buffer_printf(&line, "%s%.1f %% %s", before,
                      quality_percent(states->all.parts[part], states->all.samples),
                      part_title(part));
        before = ", ";
    }

    if (written->count)
        buffer_text(&line, "; ");
    written_put(written, &line);
    say("%s", buffer_string(&line) ? buffer_string(&line) : "");
    buffer_deinit(&line);
}
