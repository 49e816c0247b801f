#include "server/report/report.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/enum_text.h"
#include "server/report/anonymize.h"
#include "server/report/formats/writers.h"
#include "server/report/header.h"
#include "server/report/located.h"
#include "server/wire/session.h"

#define MIME_TEXT "text/plain; charset=utf-8"
#define MIME_HTML "text/html; charset=utf-8"
#define MIME_JSON "application/json"

static const struct report_format formats[] = {
    { "collapsed", MIME_TEXT, "folded", "folded stacks, one per line, for other tools",
      report_write_collapsed, NULL, false, false, false, true, false },
    { "flamegraph", MIME_HTML, "html", "one HTML file: the page with the profile in it",
      report_write_html, NULL, false, true, false, true, false },
    { "heatmap", MIME_HTML, "heatmap.html", "one HTML file: the page, opened at Source",
      report_write_heatmap, NULL, false, true, false, false, false },
    { "svg", "image/svg+xml", "svg", "one picture: a flame graph that opens anywhere",
      report_write_svg, NULL, false, false, false, false, false },
    { "pstats", "application/octet-stream", "pstats",
      "for Python's pstats; a table if no file is named", report_write_pstats, "pstats-text",
      false, false, true, false, false },
    { "pstats-text", MIME_TEXT, "txt", "table of the functions with the most samples",
      report_write_pstats_text, NULL, false, false, true, false, false },
    { "summary", MIME_TEXT, "summary.txt", "the answer in at most 40 lines",
      report_write_summary, "summary", false, true, false, true, false },
    { "summary-markdown", "text/markdown; charset=utf-8", "md", "the same as Markdown",
      report_write_summary_markdown, "summary-markdown", false, true, false, true, false },
    { "summary-json", MIME_JSON, "summary.json", "the same as JSON", report_write_summary_json,
      "summary-json", false, true, false, true, false },
    { "jsonl", "application/x-ndjson", "jsonl", "tables and sums, one JSON document per line",
      report_write_jsonl, NULL, false, true, true, false, false },
    { "gecko", MIME_JSON, "gecko.json", "for the Firefox Profiler, with state markers",
      report_write_gecko, NULL, false, true, true, false, false },
    { "chrome-trace", MIME_JSON, "trace.json", "for Perfetto and chrome://tracing",
      report_write_chrome_trace, NULL, false, false, true, false, false },
    { "speedscope", MIME_JSON, "speedscope.json", "for speedscope.app", report_write_speedscope,
      NULL, false, false, true, true, false },
    { "pprof", "application/gzip", "pb.gz", "for go tool pprof, Pyroscope, Parca",
      report_write_pprof, NULL, false, false, true, true, true },
    { "diff-flamegraph", MIME_HTML, "diff.html", "the page, opened at the comparison with FILE",
      report_write_diff_flamegraph, NULL, true, true, false, false, false },
    { "diff-markdown", "text/markdown; charset=utf-8", "diff.md",
      "table of significant changes from FILE", report_write_diff_markdown, NULL, true, false,
      false, false, false },
};

const char *const report_sort_texts[] = { REPORT_SORTS(ENUM_TEXT) NULL };

const struct report_format *report_at(size_t index)
{
    return index < sizeof formats / sizeof *formats ? &formats[index] : NULL;
}

part_set report_usual_parts(const struct report_format *format)
{
    return format->keeps_idle ? 0 : format->needs_baseline ? PART_SET_COMPARED : PART_SET_USUAL;
}

bool report_is_page(const struct report_format *format)
{
    return format->write == report_write_html || format->write == report_write_heatmap ||
           format->write == report_write_diff_flamegraph;
}

bool report_names_waits(const struct report_format *format)
{
    return format->write == report_write_summary ||
           format->write == report_write_summary_markdown ||
           format->write == report_write_summary_json || format->write == report_write_svg;
}

bool report_labels_contexts(const struct report_format *format)
{
    return format->write == report_write_pprof;
}

const struct report_format *report_find(const char *name)
{
    const struct report_format *format = NULL;
    for (size_t i = 0; (format = report_at(i)); i++)
        if (strcmp(format->name, name) == 0)
            return format;
    return NULL;
}

/* A source with its header, and the process that it is of as its session's. */
struct headed {
    struct report_source source;
    struct session_info session;
    struct report_header header; /* zeroed: it had one */
};

static enum err_code headed_init(struct headed *headed, const struct report_source *from,
                                 struct err *err)
{
    *headed = (struct headed){ .source = *from, .session = *from->session };
    if (!from->header) {
        const enum err_code rc = report_header_init(&headed->header, from, err);
        if (rc)
            return rc;
        headed->source.header = &headed->header;
    }
    headed->session.target = &headed->source.header->target;
    headed->source.session = &headed->session;
    return ERR_OK;
}

static enum err_code write_anonymized(const struct report_format *format,
                                      const struct report_source *source, struct buffer *out,
                                      struct err *err)
{
    struct anonymized anonymized, baseline = { 0 };
    enum err_code rc = anonymized_init(&anonymized, source, err);
    if (!rc && source->baseline) {
        rc = anonymized_init(&baseline, source->baseline, err);
        anonymized.source.baseline = &baseline.source;
    }
    if (!rc)
        rc = format->write(&anonymized.source, out, err);
    anonymized_deinit(&baseline);
    anonymized_deinit(&anonymized);
    return rc;
}

static enum err_code write_located(const struct report_format *format,
                                   const struct report_source *source, struct buffer *out,
                                   struct err *err)
{
    struct located located;
    enum err_code rc = located_init(&located, source, err);
    if (!rc)
        rc = format->write(&located.source, out, err);
    located_deinit(&located);
    return rc;
}

enum err_code report_write(const struct report_format *format,
                           const struct report_source *source, struct buffer *out,
                           struct err *err)
{
    struct headed now = { 0 }, baseline = { 0 };
    enum err_code rc = headed_init(&now, source, err);
    if (!rc && source->baseline) {
        rc = headed_init(&baseline, source->baseline, err);
        now.source.baseline = &baseline.source;
    }
    if (!rc)
        rc = source->settings.anonymizes ? write_anonymized(format, &now.source, out, err)
             : format->has_places        ? write_located(format, &now.source, out, err)
                                         : format->write(&now.source, out, err);
    /* Text ends with its last line: on a screen the prompt follows, and files are joined. */
    if (!rc && strcmp(format->mime, MIME_JSON) == 0) {
        buffer_char(out, '\n');
        rc = buffer_check(out, err);
    }
    report_header_deinit(&baseline.header);
    report_header_deinit(&now.header);
    return rc;
}

static bool has_extension(const char *name, const char *extension)
{
    const size_t n = strlen(name), m = strlen(extension);
    return n > m && name[n - m - 1] == '.' && strcmp(name + n - m, extension) == 0;
}

/* The longest ending counts: x.heatmap.html is no flame graph. */
const struct report_format *report_of_file(const char *name)
{
    const struct report_format *best = NULL, *format = NULL;
    for (size_t i = 0; (format = report_at(i)); i++)
        if (has_extension(name, format->extension) &&
            (!best || strlen(format->extension) > strlen(best->extension)))
            best = format;
    return best;
}

void report_file_name(const struct report_source *source, const struct report_format *format,
                      char out[REPORT_NAME_BYTES])
{
    const time_t start = (time_t)(source->session->status.started_at_ns / NS_PER_S);
    char when[32] = "", who[16] = "";
    struct tm parts;
    if (gmtime_r(&start, &parts))
        strftime(when, sizeof when, "-%Y%m%d-%H%M%SZ", &parts);
    const struct session_target *const target =
        source->header ? &source->header->target : source->session->target;
    /* A program that has not been started yet has no number. */
    if (target->pid)
        snprintf(who, sizeof who, "-%d", (int)target->pid);
    snprintf(out, REPORT_NAME_BYTES, "pyrometer%s%s.%s", who, when, format->extension);
}
