#include "server/report/diff/diff.h"

#include <string.h>

#include "sampler/base/buffer.h"
#include "server/command/options/commands.h"
#include "server/command/options/options.h"
#include "server/command/options/selection.h"
#include "server/command/output/capture_input.h"
#include "server/command/output/output.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/report/anonymize.h"
#include "server/report/diff/comparison.h"
#include "server/sessions/open_capture.h"

struct comparing {
    const struct options *options;
    struct output output;
    struct capture_input baseline, now;
    struct anonymized baseline_anonymized, now_anonymized; /* zeroed: as they are */
    const struct report_source *sources[2];                /* before, and now */
    struct comparison comparison;
    struct frame_filters filters; /* of both */
};

enum form { FORM_TEXT, FORM_JSON, FORM_HTML };

/* Without an option, the extension of the file selects the form. */
static enum form form_of(const struct options *options)
{
    const char *const dot = options->output ? strrchr(options->output, '.') : NULL;
    if (options->diff_html || (!options->diff_json && dot && strcmp(dot, ".html") == 0))
        return FORM_HTML;
    return options->diff_json || (dot && strcmp(dot, ".json") == 0) ? FORM_JSON : FORM_TEXT;
}

static bool drain(void *to, const char *data, size_t bytes)
{
    return output_write(to, data, bytes);
}

/* The page makes its comparison itself. */
static enum err_code write_page(const struct comparing *comparing, struct buffer *out,
                                struct err *err)
{
    struct report_source source = *comparing->sources[1];
    source.baseline = comparing->sources[0];
    source.settings.by_time = comparing->options->diff_by_time;
    return report_write_diff_flamegraph(&source, out, err);
}

static enum err_code write_text(struct comparing *comparing, bool as_json, struct buffer *out,
                                struct err *err)
{
    struct diff diff = { .comparison = &comparing->comparison,
                         .baseline = comparing->sources[0],
                         .now = comparing->sources[1],
                         .settings = comparing->options->report };
    diff.settings.colours = output_wants_colours(&comparing->output);
    const enum err_code rc = comparison_init(
        &comparing->comparison, diff.baseline, diff.now,
        comparing->options->diff_by_time ? COMPARISON_BY_TIME : COMPARISON_BY_SAMPLES, err);
    if (rc != ERR_OK)
        return rc;
    return as_json ? diff_write_json(&diff, out, err) : diff_write_text(&diff, out, err);
}

static enum err_code write_diff(struct comparing *comparing, struct err *err)
{
    const enum form form = form_of(comparing->options);
    struct buffer out;
    buffer_init_draining(&out, drain, &comparing->output);
    enum err_code rc = form == FORM_HTML ? write_page(comparing, &out, err)
                                         : write_text(comparing, form == FORM_JSON, &out, err);
    buffer_flush(&out);
    buffer_deinit(&out);
    if (rc == ERR_OK || comparing->output.sys != 0)
        rc = output_finish(&comparing->output, NULL, 0, err);
    return rc;
}

static enum err_code anonymize(struct anonymized *anonymized,
                               const struct report_source **source, struct err *err)
{
    const enum err_code rc = anonymized_init(anonymized, *source, err);
    *source = &anonymized->source;
    return rc;
}

/* What is filtered differently cannot be compared. */
static enum err_code choose_filters(struct comparing *comparing, struct err *err)
{
    struct frame_filters now;
    enum err_code rc = selection_filters(
        comparing->options, &comparing->baseline.opened->filters, &comparing->filters, err);
    if (rc == ERR_OK)
        rc = selection_filters(comparing->options, &comparing->now.opened->filters, &now, err);
    if (rc != ERR_OK || frame_filters_agree(&comparing->filters, &now))
        return rc;
    say("the captures were recorded with different filters, which do not apply");
    comparing->filters = comparing->options->view.filters;
    return ERR_OK;
}

static enum err_code compare(struct comparing *comparing, struct err *err)
{
    const struct options *const options = comparing->options;
    const size_t memory_bytes = options->sampling.memory_bytes;
    const bool hides = options->sampling.hides_arguments;
    enum err_code rc =
        output_init(&comparing->output, options->output ? options->output : "-", err);
    if (rc == ERR_OK)
        rc = privilege_drop(options, err);
    if (rc == ERR_OK)
        rc = capture_input_open(&comparing->baseline, options->files[0], memory_bytes, hides,
                                err);
    if (rc == ERR_OK)
        rc = capture_input_open(&comparing->now, options->files[1], memory_bytes, hides, err);
    if (rc == ERR_OK)
        rc = choose_filters(comparing, err);
    if (comparing->filters.native == NATIVE_FRAMES_DEFAULT && form_of(options) == FORM_HTML)
        comparing->filters.native =
            NATIVE_FRAMES_EVERYTHING; /* whoever opens the page chooses */
    if (rc == ERR_OK)
        rc = capture_input_reshape(&comparing->baseline, &comparing->filters, err);
    if (rc == ERR_OK)
        rc = capture_input_reshape(&comparing->now, &comparing->filters, err);
    comparing->sources[0] = &comparing->baseline.source;
    comparing->sources[1] = &comparing->now.source;
    if (rc == ERR_OK && options->report.anonymizes)
        rc = anonymize(&comparing->baseline_anonymized, &comparing->sources[0], err);
    if (rc == ERR_OK && options->report.anonymizes)
        rc = anonymize(&comparing->now_anonymized, &comparing->sources[1], err);
    return rc == ERR_OK ? write_diff(comparing, err) : rc;
}

int command_diff(const struct options *options)
{
    struct comparing comparing = { .options = options, .output.fd = -1 };
    struct err err = { 0 };
    const enum err_code rc = compare(&comparing, &err);
    comparison_deinit(&comparing.comparison);
    anonymized_deinit(&comparing.now_anonymized);
    anonymized_deinit(&comparing.baseline_anonymized);
    capture_input_close(&comparing.now);
    capture_input_close(&comparing.baseline);
    output_deinit(&comparing.output);
    return exit_with(rc, &err);
}
