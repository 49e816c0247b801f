/* The summary for people and for language models: text and Markdown say the same in the same lines. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/plain_text.h"
#include "sampler/base/utf8.h"
#include "sampler/profile/profile.h"
#include "server/report/formats/writers.h"
#include "server/report/header.h"
#include "server/report/report_source.h"
#include "server/report/summary.h"
#include "server/wire/quality.h"
#include "server/wire/session.h"

/* Longer names are cut at their end, longer paths at their beginning. */
enum { MAX_NAME = 100, MAX_PATH = 80, MAX_VERSION = 32, MAX_PACKAGES = 3, SHARE_BYTES = 16 };

struct writing {
    const struct summary *summary;
    struct buffer *out;
    bool is_markdown;
};

static const char ellipsis[] = "\xe2\x80\xa6";

/* Text of the target; in Markdown it is code, so nothing in it is obeyed. */
static void put_foreign(const struct writing *writing, const char *text)
{
    if (writing->is_markdown) {
        /* One line of text as code, whatever it contains: the fence is longer than each run of ` in
         * it. */
        struct buffer *const out = writing->out;
        size_t longest = 0, run = 0;
        for (const char *c = text; *c; c++) {
            run = *c == '`' ? run + 1 : 0;
            longest = run > longest ? run : longest;
        }
        const char *const space = longest > 0 || *text == ' ' ? " " : "";
        for (size_t i = 0; i <= longest; i++)
            buffer_char(out, '`');
        buffer_printf(out, "%s%s%s", space, *text ? text : "?", space);
        for (size_t i = 0; i <= longest; i++)
            buffer_char(out, '`');
    } else
        buffer_text(writing->out, text);
}

static void add_cut(struct buffer *out, struct strtab_string text, size_t most)
{
    const size_t length = utf8_cut(text.text, text.length, most);
    plain_text_put(out, text.text, length);
    if (length < text.length)
        buffer_text(out, ellipsis);
}

/* The end of a path, from a slash on. */
static void add_path(struct buffer *out, struct strtab_string path)
{
    const char *at = path.text;
    const char *const end = path.text + path.length;
    if (path.length > MAX_PATH) {
        at = memchr(end - MAX_PATH, '/', MAX_PATH);
        at = at ? at : memrchr(path.text, '/', path.length);
        at = at ? at : path.text;
        buffer_text(out, ellipsis);
    }
    add_cut(out, (struct strtab_string){ at, (uint32_t)(end - at) }, 2 * MAX_PATH);
}

static void put_name(const struct writing *writing, struct strtab_string name)
{
    struct buffer text = { 0 };
    add_cut(&text, name, MAX_NAME);
    put_foreign(writing, text.length > 0 ? buffer_string(&text) : "?");
    buffer_deinit(&text);
}

static void put_function(const struct writing *writing, const struct named_frame *frame)
{
    struct strtab_string name;
    (void)names_c_function(frame, &name);
    put_name(writing, name);
}

/* "file.py:12"; of native code without a source file its library. */
static void put_place(const struct writing *writing, const struct named_frame *frame)
{
    struct buffer text = { 0 };
    struct strtab_string name;
    if (frame->is_synthetic) {
        buffer_text(writing->out, names_c_function(frame, &name) ? "  C function" : "");
        return;
    }
    if (frame->has_source)
        add_path(&text, frame->file);
    else
        add_path(&text, names_base(frame->library));
    if (frame->has_source && frame->line > 0)
        buffer_printf(&text, ":%d", (int)frame->line);
    if (text.length > 0) {
        buffer_text(writing->out, "  ");
        put_foreign(writing, buffer_string(&text));
    }
    buffer_deinit(&text);
}

static bool is_bold(const struct writing *writing)
{
    return !writing->is_markdown && writing->summary->source->settings.colours;
}

static void begin_heading(const struct writing *writing)
{
    buffer_printf(writing->out, "\n%s%s", writing->is_markdown ? "### " : "",
                  is_bold(writing) ? "\x1b[1m" : "");
}

static void end_heading(const struct writing *writing)
{
    buffer_printf(writing->out, "%s\n", is_bold(writing) ? "\x1b[0m" : "");
}

static void put_heading(const struct writing *writing, const char *text)
{
    begin_heading(writing);
    buffer_text(writing->out, text);
    end_heading(writing);
}

static void put_share(const struct writing *writing, uint64_t part, uint64_t whole)
{
    const double share = quality_percent(part, whole);
    buffer_printf(writing->out, writing->is_markdown ? "%.1f %%" : "%6.1f %%", share);
}

static void put_rows(const struct writing *writing, const struct summary_rows *rows,
                     uint64_t whole, bool has_totals)
{
    for (size_t i = 0; i < rows->count; i++) {
        struct summary_row row = rows->rows[i];
        row.total = has_totals ? row.total : 0;

        buffer_text(writing->out, writing->is_markdown ? "- " : "");
        put_share(writing, row.self, whole);
        if (row.total > 0) {
            buffer_text(writing->out, writing->is_markdown ? " (" : "");
            put_share(writing, row.total, whole);
            buffer_text(writing->out, writing->is_markdown ? ")" : "");
        }
        buffer_text(writing->out, "  ");
        put_function(writing, &row.frame);
        put_place(writing, &row.frame);
        buffer_char(writing->out, '\n');
    }
}

static void put_observed(const struct writing *writing)
{
    const struct summary *const summary = writing->summary;
    const struct report_source *const source = summary->source;
    const struct session_info *const session = source->session;
    struct buffer process = { 0 }, selection = { 0 };
    report_header_put_process(source->header, source->session->target, &process);
    const char *const text = buffer_string(&process);
    buffer_printf(writing->out, "Observed: %s", text ? text : "");
    if (session->target->python && *session->target->python) {
        buffer_text(writing->out, ", Python ");
        plain_text_put(writing->out, session->target->python,
                       strnlen(session->target->python, MAX_VERSION));
    }
    if (source->header->has_time)
        buffer_printf(writing->out, "; %.2f s",
                      (double)report_header_duration_ns(source->header) / (double)NS_PER_S);
    buffer_printf(writing->out, "%s%zu thread%s, %" PRIu64 " samples",
                  source->header->has_time ? ", " : "; ", summary->thread_count,
                  summary->thread_count == 1 ? "" : "s", summary->samples);
    if (!source->header->is_of_time) {
        const struct measure_facts *const facts = source->header->measure;
        const bool is_count = strcmp(facts->unit, "count") == 0;
        buffer_printf(writing->out, " of %s: %" PRIu64 "%s%s", facts->title, source->header->ns,
                      is_count ? "" : " ", is_count ? "" : facts->unit);
    }
    if (source->snapshot->quality.ticks > 0)
        buffer_printf(writing->out, "; %.1f Hz of %.10g Hz requested",
                      session_info_achieved_hz(source->snapshot),
                      session_info_requested_hz(session));

    /* The engine that sampled, and why it is not the kernel's; nothing before it is chosen. */
    const enum session_engine engine = session->options->engine;
    if (engine != SESSION_ENGINE_AUTO)
        buffer_printf(writing->out, ", %s engine", session_engine_texts[engine]);
    if (*session->status.engine_reason) {
        struct buffer reason = { 0 };
        plain_text_put(&reason, session->status.engine_reason,
                       strlen(session->status.engine_reason));
        buffer_text(writing->out, " (");
        put_foreign(writing, buffer_string(&reason) ? buffer_string(&reason) : "");
        buffer_char(writing->out, ')');
        buffer_deinit(&reason);
    }

    buffer_text(writing->out, ".\n");
    if (!source->header->is_whole) {
        report_header_put_text(source->header, &selection);
        const char *const words = buffer_string(&selection);
        buffer_text(writing->out, writing->is_markdown ? "\nSelected: " : "Selected: ");
        put_foreign(writing, words ? words : "");
        buffer_text(writing->out, "\n");
    }
    buffer_deinit(&selection);
    buffer_deinit(&process);
}

/* "cells of the notebook", "black, blib2to3" */
static void put_own_code(const struct writing *writing, const struct own_code_level *own)
{
    static const char *const titles[] = {
        [OWN_CODE_FILES] = "your code",        [OWN_CODE_CELLS] = "cells of the notebook",
        [OWN_CODE_DYNAMIC] = "dynamic code",   [OWN_CODE_PROGRAM] = "",
        [OWN_CODE_PACKAGES] = "the packages ", [OWN_CODE_LIBRARY] = "Python's library",
    };
    buffer_text(writing->out, titles[own->kind]);
    for (size_t i = 0; i < own->package_count && i < MAX_PACKAGES; i++) {
        buffer_text(writing->out, i > 0 ? ", " : "");
        put_name(writing, (struct strtab_string){ own->packages[i].name,
                                                  (uint32_t)own->packages[i].length });
    }
    if (own->package_count > MAX_PACKAGES)
        buffer_printf(writing->out, " and %zu more", own->package_count - MAX_PACKAGES);
}

static void put_hot(const struct writing *writing)
{
    const struct summary *const summary = writing->summary;
    begin_heading(writing);
    if (summary->lines.own_code.kind == OWN_CODE_FILES) {
        buffer_text(writing->out, "Your hottest lines");
    } else {
        buffer_text(writing->out, "Hottest lines of ");
        put_own_code(writing, &summary->lines.own_code);
    }
    buffer_text(writing->out, ", with all they call (% of ");
    report_header_put_whole(summary->source->header, "the time not idle", writing->out);
    buffer_char(writing->out, ')');
    end_heading(writing);
    put_rows(writing, &summary->lines, summary->busy, false);
    if (summary->hot == 0)
        buffer_text(writing->out, "None: no thread ran.\n");
    else if (summary->lines.count == 0)
        buffer_text(writing->out, "None: none of it runs.\n");
    if (summary->functions.count == 0)
        return;
    begin_heading(writing);
    buffer_printf(writing->out, "Hottest functions: self, %s with all they call (%% of ",
                  writing->is_markdown ? "in brackets" : "then");
    report_header_put_whole(summary->source->header, "the time not idle", writing->out);
    buffer_char(writing->out, ')');
    end_heading(writing);
    put_rows(writing, &summary->functions, summary->busy, true);
}

static void put_waiting(const struct writing *writing)
{
    const struct summary *const summary = writing->summary;
    const size_t limit = summary->source->settings.limit;
    const size_t most = limit ? limit : SUMMARY_WAITS;
    size_t written = 0;
    if (summary->waiting == 0)
        return;
    put_heading(writing, "Where it waits, by cause (% of the time not idle)");
    for (size_t i = 0; i < summary->cause_count && written < most; i++)
        if (!wait_cause_is_idle(summary->causes[i].cause)) {
            const struct summary_cause *const cause = &summary->causes[i];
            /* "network read 10.0.0.5:5432", "network read, 30.1 % 10.0.0.5:5432". */
            buffer_text(writing->out, writing->is_markdown ? "- " : "");
            put_share(writing, cause->samples, summary->busy);
            buffer_printf(writing->out, "  %s", wait_cause_title(cause->cause));
            for (size_t at = 0; at < cause->peer_count && at < SUMMARY_PEERS; at++) {
                const struct summary_peer *const peer = &cause->peers[at];
                if (peer->samples < cause->samples)
                    buffer_printf(writing->out, ", %.1f %%",
                                  quality_percent(peer->samples, summary->busy));
                buffer_char(writing->out, ' ');
                put_name(writing, peer->name);
            }
            if (cause->peer_count > SUMMARY_PEERS)
                buffer_printf(writing->out, " and %zu more", cause->peer_count - SUMMARY_PEERS);
            buffer_char(writing->out, '\n');

            written++;
        }
    begin_heading(writing);
    buffer_text(writing->out, "Where it waits, by ");
    if (summary->wait_lines.count == 0) {
        buffer_text(writing->out, "function");
    } else if (summary->wait_lines.own_code.kind == OWN_CODE_FILES) {
        buffer_text(writing->out, "your line");
    } else {
        buffer_text(writing->out, "line of ");
        put_own_code(writing, &summary->wait_lines.own_code);
    }
    buffer_text(writing->out, " (% of the time not idle)");
    end_heading(writing);
    put_rows(writing,
             summary->wait_lines.count ? &summary->wait_lines : &summary->wait_functions,
             summary->busy, false);
}

static void put_tasks(const struct writing *writing)
{
    const struct summary *const summary = writing->summary;
    if (summary->task_lines.count == 0)
        return;
    put_heading(writing, "Where tasks wait (% of waiting tasks)");
    put_rows(writing, &summary->task_lines, summary->tasks, false);
}

static void put_item(const struct writing *writing, const char *format, ...) PRINTF_LIKE(2, 3);

static void put_item(const struct writing *writing, const char *format, ...)
{
    char text[SUMMARY_QUALITY_BYTES + 32];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    buffer_printf(writing->out, "%s%s", writing->is_markdown ? "- " : "", text);
}

static void put_gil(const struct writing *writing)
{
    const struct summary *const summary = writing->summary;
    const struct state_sums *const sums = &summary->states;
    const double held = quality_percent(sums->yes[STATE_FLAG_HAS_GIL], sums->samples);
    const uint64_t waited = sums->yes[STATE_FLAG_WAITS_GIL];
    const bool is_least = sums->unknown[STATE_FLAG_WAITS_GIL] > 0;
    switch (summary->gil) {
    case SUMMARY_GIL_NONE:
        put_item(writing, "GIL: none, this Python is free-threaded.\n");
        return;
    case SUMMARY_GIL_UNKNOWN:
        put_item(writing,
                 "GIL: held in %.1f %% of the time not idle; waits for it are unknown.\n",
                 held);
        return;
    case SUMMARY_GIL_KNOWN: break;
    }
    put_item(writing, "GIL: held in %.1f %% of the time not idle; needed in %s%.1f %%.", held,
             is_least ? "at least " : "", quality_percent(waited, sums->samples));

    if (summary->holder_share > 0) {
        buffer_text(writing->out, " ");
        if (summary->holder.length > 0)
            put_name(writing, summary->holder);
        else
            buffer_printf(writing->out, "Thread %d", (int)summary->holder_tid);
        buffer_printf(writing->out, " held it in %.0f %% of that time.",
                      100 * summary->holder_share);
    }

    buffer_char(writing->out, '\n');
}

static void put_native(const struct writing *writing)
{
    const struct summary *const summary = writing->summary;
    if (summary->c_function.self) {
        put_item(writing, "Native code: %.1f %% of running time ends in ",
                 quality_percent(summary->c_function.self, summary->hot));
        put_function(writing, &summary->c_function.frame);
        buffer_text(writing->out, "; --native=full records where.\n");
    }
    if (summary->library_count == 0)
        return;
    put_item(writing, "Native code: %.1f %% of running:",
             quality_percent(summary->native, summary->hot));
    for (size_t i = 0; i < summary->library_count; i++) {
        buffer_text(writing->out, i > 0 ? ", " : " ");
        put_name(writing, names_base(summary->libraries[i].path));
        buffer_printf(writing->out, " %.1f %%",
                      quality_percent(summary->libraries[i].samples, summary->hot));
    }
    buffer_text(writing->out, ".\n");
}

/* A share as the page rounds it, which never says none or all of what is neither. */
static const char *share_text(uint64_t part, uint64_t whole, char out[SHARE_BYTES])
{
    const double percent = quality_percent(part, whole);
    const bool is_whole = part == 0 || part >= whole;
    if (!is_whole && (percent < 0.01 || percent > 99.99))
        snprintf(out, SHARE_BYTES, "%s %%", percent < 1 ? "< 0.01" : "> 99.99");
    else
        snprintf(out, SHARE_BYTES, "%.*f %%",
                 is_whole                            ? 0
                 : percent > 99.9 || percent < 0.095 ? 2
                                                     : 1,
                 percent);
    return out;
}

void summary_quality_text(const struct session_info *info, char out[SUMMARY_QUALITY_BYTES])
{
    const struct quality *const quality = &info->snapshot->quality;
    if (info->foreign) {
        snprintf(out, SUMMARY_QUALITY_BYTES, "unknown, as this is %s", info->foreign);
        return;
    }
    const uint64_t failed = quality_failed(quality);
    char exact[SHARE_BYTES], truncated[SHARE_BYTES], lost[SHARE_BYTES], missed[SHARE_BYTES];
    snprintf(out, SUMMARY_QUALITY_BYTES,
             "%s of the samples exact, %s truncated, %s failed, %s of the ticks missed",
             share_text(quality->exact, quality->samples, exact),
             share_text(quality->truncated, quality->samples, truncated),
             share_text(failed, quality->samples + failed, lost),
             share_text(quality->missed_ticks, quality->ticks + quality->missed_ticks, missed));
}

static enum err_code write_summary(const struct report_source *source, bool is_markdown,
                                   struct buffer *out, struct err *err)
{
    char quality[SUMMARY_QUALITY_BYTES];
    struct summary summary;
    const struct writing writing = { &summary, out, is_markdown };
    const enum err_code rc = summary_init(&summary, source, err);
    if (rc)
        return rc;
    summary_quality_text(source->session, quality);

    /* In Markdown, a text of the target outside of ` is escaped. */
    bool is_code = false;
    for (const char *c = writing.summary->headline; *c; c++) {
        is_code ^= *c == '`';
        if (writing.is_markdown && !is_code && strchr("\\[]<>*_!", *c))
            buffer_char(writing.out, '\\');
        buffer_char(writing.out, *c);
    }
    buffer_text(writing.out, writing.is_markdown ? "\n\n" : "\n");

    const struct session_target *const target = writing.summary->source->session->target;
    struct buffer text = { 0 };
    buffer_text(writing.out, writing.is_markdown ? "## " : "");
    report_header_put_command(target, &text);
    if (text.length > 0)
        put_foreign(&writing, buffer_string(&text));
    else
        buffer_printf(writing.out, "Process %d", (int)target->pid);
    buffer_text(writing.out, "\n");
    buffer_deinit(&text);

    put_observed(&writing);
    if (summary.samples > 0) {
        /* "Time: 41.0 % running, 35.0 % needs the GIL, ..." */
        uint64_t ns = 0;
        for (enum part part = 0; part < PART_COUNT; part++)
            ns += summary.parts_ns[part];
        const bool is_of_time = source->header->is_of_time;
        if (is_of_time)
            buffer_text(writing.out, writing.is_markdown ? "\nTime:" : "Time:");
        for (enum part part = 0; part < PART_COUNT && !summary.lacks_states && is_of_time;
             part++)
            buffer_printf(writing.out, "%s %.1f %% %s", part > 0 ? "," : "",
                          quality_percent(summary.parts_ns[part], ns), part_title(part));
        if (summary.lacks_states && is_of_time)
            buffer_text(writing.out, " what threads did is unknown");
        if (source->header->has_time)
            buffer_printf(writing.out, ", of %.2f s of threads.\n",
                          (double)ns / (double)NS_PER_S);
        else if (is_of_time)
            buffer_text(writing.out, ", and what a sample stands for.\n");

        put_hot(&writing);
        put_waiting(&writing);
        put_tasks(&writing);
        if (summary.lacks_states) {
            put_heading(&writing, "Quality");
            put_item(&writing, "Quality: %s.\n", quality);
            return buffer_check(out, err);
        }
        put_heading(&writing, "GIL, garbage collection, quality");

        /* Only a share that says something about the machine. */
        const struct state_sums *const sums = &summary.states;
        const double share = quality_percent(sums->yes[STATE_FLAG_RUNNABLE], sums->samples);
        if (share >= SUMMARY_RUNNABLE_PERCENT)
            put_item(&writing, "Processors: needed in %s%.1f %% of the time not idle.\n",
                     sums->unknown[STATE_FLAG_RUNNABLE] > 0 ? "at least " : "", share);

        put_gil(&writing);
        put_item(&writing, "Garbage collection: %.1f %% of the time not idle.\n",
                 quality_percent(summary.states.yes[STATE_FLAG_IN_GC], summary.states.samples));
        put_native(&writing);
        put_item(&writing, "Quality: %s.\n", quality);
    } else {
        put_tasks(&writing);
    }
    return buffer_check(out, err);
}

enum err_code report_write_summary(const struct report_source *source, struct buffer *out,
                                   struct err *err)
{
    return write_summary(source, false, out, err);
}

enum err_code report_write_summary_markdown(const struct report_source *source,
                                            struct buffer *out, struct err *err)
{
    return write_summary(source, true, out, err);
}
