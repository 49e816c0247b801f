#include "server/report/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/utf8.h"
#include "server/command/command.h"
#include "server/command/options/options.h"
#include "server/command/options/selection.h"
#include "server/command/output/before_after.h"
#include "server/command/output/capture_input.h"
#include "server/command/output/output.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/report/anonymize.h"
#include "server/report/diff/comparison.h"
#include "server/report/diff/condition.h"
#include "server/report/formats/writers.h"
#include "server/report/names.h"
#include "server/sessions/open_capture.h"

struct compared_capture {
    struct capture_input input;
    struct anonymized anonymized; /* zeroed: as it is */
};

struct comparing {
    const struct options *options;
    struct output output;
    struct before_after around;        /* of --before; zeroed: files are compared whole */
    struct compared_capture *captures; /* as in options.files, or parts of them */
    size_t count, baseline_count;
    bool is_with_rest; /* one capture: its chosen requests are compared with the others */
    struct comparison_side baseline, now;
    struct comparison comparison;
    struct frame_filters filters; /* of all */
    struct condition conditions[SETTING_MAX_TEXTS];
    bool holds;          /* one of the conditions */
    const char *measure; /* that is compared */
};

enum { MAX_NAME = 200 };

enum form { FORM_TEXT, FORM_JSON, FORM_MARKDOWN, FORM_HTML };

/* Without an option, the extension of the file selects the form. */
static enum form form_of(const struct options *options)
{
    const char *const dot = options->output ? strrchr(options->output, '.') : NULL;
    const char *const extension = dot ? dot : "";
    if (options->diff_html)
        return FORM_HTML;
    if (options->writes_json)
        return FORM_JSON;
    if (options->diff_markdown)
        return FORM_MARKDOWN;
    if (strcmp(extension, ".html") == 0)
        return FORM_HTML;
    if (strcmp(extension, ".json") == 0)
        return FORM_JSON;
    return strcmp(extension, ".md") == 0 || options->fail_ifs.count > 0 ? FORM_MARKDOWN
                                                                        : FORM_TEXT;
}

static bool drain_output(void *to, const char *data, size_t bytes)
{
    return output_write(to, data, bytes);
}

/* The page makes its comparison itself. */
static enum err_code write_page(const struct comparing *comparing, struct buffer *out,
                                struct err *err)
{
    struct report_source source = *comparing->now.captures[0];
    if (comparing->count > 2)
        return err_set(err, ERR_INVALID, "the page compares two captures only");
    source.baseline = comparing->baseline.captures[0];
    source.settings.by_time = comparing->options->diff_by_time;
    source.settings.links = comparing->options->report.links;
    source.settings.no_source = comparing->options->report.no_source;
    return report_write_diff_flamegraph(&source, out, err);
}

static enum err_code write_form(const struct comparing *comparing, enum form form,
                                struct buffer *out, struct err *err)
{
    struct diff diff = { .comparison = &comparing->comparison,
                         .baseline = &comparing->baseline,
                         .now = &comparing->now,
                         .settings = comparing->options->report };
    diff.settings.colours = output_wants_colours(&comparing->output);
    switch (form) {
    case FORM_HTML: return write_page(comparing, out, err);
    case FORM_JSON: return diff_write_json(&diff, out, err);
    case FORM_MARKDOWN: return diff_write_markdown(&diff, out, err);
    case FORM_TEXT: break;
    }
    return diff_write_text(&diff, out, err);
}

/* The measure that was named, that of a condition, time, or the first one of captures without time. */
static enum err_code choose_measure(struct comparing *comparing, struct err *err)
{
    const struct options *const options = comparing->options;
    comparing->measure = options->measure;
    for (size_t i = 0; i < options->fail_ifs.count; i++) {
        const struct condition *const condition = &comparing->conditions[i];
        if (condition->measure == MEASURE_TIME)
            continue;
        const char *const name = measure_texts[condition->measure];
        if (comparing->measure && strcmp(comparing->measure, name) != 0)
            return err_set(err, ERR_INVALID, "--fail-if '%.64s' needs --measure %s",
                           condition->text, name);
        comparing->measure = name;
    }
    for (size_t i = 0; i < comparing->count && !comparing->measure; i++)
        if (measure_set_has(session_info_measures(&comparing->captures[i].input.info),
                            MEASURE_TIME))
            comparing->measure = measure_texts[MEASURE_TIME];
    if (!comparing->measure) {
        const struct capture_input *const first = &comparing->captures[0].input;
        comparing->measure =
            profile_measure(&first->snapshot,
                            measure_set_main(session_info_measures(&first->info)))
                ->name;
    }
    if (options->diff_by_time && strcmp(comparing->measure, measure_texts[MEASURE_TIME]) != 0)
        return err_set(err, ERR_INVALID, "--by-time compares time: leave it out with %s",
                       comparing->measure);
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < comparing->count && !rc; i++)
        rc = capture_input_count(&comparing->captures[i].input, comparing->measure, err);
    return rc;
}

/* Captures with different filters cannot be compared. */
static enum err_code choose_filters(struct comparing *comparing, struct err *err)
{
    for (size_t i = 0; i < comparing->count; i++) {
        struct frame_filters filters;
        const enum err_code rc = selection_filters(
            comparing->options, &comparing->captures[i].input.opened->filters, &filters, err);
        if (rc)
            return rc;
        if (i == 0)
            comparing->filters = filters;
        if (frame_filters_agree(&comparing->filters, &filters))
            continue;
        say("the captures were recorded with different filters, which do not apply");
        comparing->filters = comparing->options->view.filters;
        return ERR_OK;
    }
    return ERR_OK;
}

static const char *path_of(const struct comparing *comparing, size_t i)
{
    return comparing->options->diff_before ? comparing->around.parts[i].path
           : comparing->is_with_rest       ? comparing->options->files[0]
                                           : comparing->options->files[i];
}

static enum err_code open_captures(struct comparing *comparing, struct err *err)
{
    const struct options *const options = comparing->options;

    if (options->diff_before) {
        const enum err_code rc = before_after_find(options, &comparing->around, err);
        if (rc)
            return rc;
    }
    comparing->is_with_rest = !options->diff_before && options->file_count == 1;
    comparing->count = options->diff_before      ? comparing->around.count
                       : comparing->is_with_rest ? 2
                                                 : options->file_count;
    comparing->baseline_count = options->diff_before      ? comparing->around.baseline_count
                                : comparing->is_with_rest ? 1
                                                          : options->baseline_count;
    comparing->captures = calloc(comparing->count, sizeof *comparing->captures);
    enum err_code rc = comparing->captures ? ERR_OK : err_nomem(err);

    for (size_t i = 0; i < comparing->count && !rc; i++)
        rc = capture_input_open(&comparing->captures[i].input, path_of(comparing, i),
                                options->sampling.memory_bytes,
                                options->sampling.hides_arguments, err);
    if (!rc)
        rc = choose_measure(comparing, err);
    return rc ? rc : choose_filters(comparing, err);
}

/* Its part, its filters, its names, and its side. */
static enum err_code shape_capture(struct comparing *comparing, size_t i, struct err *err)
{
    const struct options *const options = comparing->options;
    struct compared_capture *const capture = &comparing->captures[i];
    const struct report_source *source = &capture->input.source;
    enum err_code rc =
        capture_input_select(&capture->input, options, comparing->is_with_rest && i == 0, err);
    if (!rc && options->diff_before) {
        const struct before_after_part *const part = &comparing->around.parts[i];
        rc = capture_input_narrow(&capture->input, part->from_ns, part->to_ns,
                                  options->diff_service ? part->pids : NULL, part->pid_count,
                                  err);
    }
    if (!rc)
        rc = capture_input_reshape(&capture->input, &comparing->filters, err);
    if (!rc && options->report.anonymizes) {
        rc = anonymized_init(&capture->anonymized, source, err);
        source = &capture->anonymized.source;
    }
    struct comparison_side *const side =
        i < comparing->baseline_count ? &comparing->baseline : &comparing->now;
    side->captures[side->count++] = source;
    return rc;
}

static enum err_code compare_captures(struct comparing *comparing, struct err *err)
{
    const struct options *const options = comparing->options;
    const bool is_page = form_of(options) == FORM_HTML;

    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < comparing->options->fail_ifs.count && !rc; i++)
        rc = condition_init(&comparing->conditions[i], comparing->options->fail_ifs.items[i],
                            err);

    if (!rc)
        rc = output_init(&comparing->output, options->output ? options->output : "-", err);
    if (!rc)
        rc = privilege_drop(options, err);
    if (!rc)
        rc = open_captures(comparing, err);
    if (is_page)
        comparing->filters.waits = WAIT_MARKS_SHOWN;
    comparing->filters.shows_contexts |= is_page;
    if (comparing->filters.native == NATIVE_FRAMES_DEFAULT && is_page)
        comparing->filters.native =
            NATIVE_FRAMES_EVERYTHING; /* whoever opens the page chooses */
    for (size_t i = 0; i < comparing->count && !rc; i++)
        rc = shape_capture(comparing, i, err);
    if (!rc && (!is_page || options->fail_ifs.count > 0))
        rc = comparison_init(&comparing->comparison, &comparing->baseline, &comparing->now,
                             options->diff_by_time ? COMPARISON_BY_TIME : COMPARISON_BY_SAMPLES,
                             err);
    if (!rc) {
        struct buffer out;
        buffer_init_draining(&out, drain_output, &comparing->output);
        rc = write_form(comparing, form_of(comparing->options), &out, err);
        buffer_flush(&out);
        buffer_deinit(&out);
        if (!rc || comparing->output.sys != 0)
            rc = output_finish(&comparing->output, NULL, 0, err);
    }

    if (rc)
        return rc;

    for (size_t i = 0; i < comparing->options->fail_ifs.count && !rc; i++) {
        if (condition_holds(&comparing->conditions[i], &comparing->baseline, &comparing->now)) {
            comparing->holds = true;
            say("%.64s", comparing->conditions[i].text);
        }
        function_id id = 0;
        rc = condition_check(&comparing->conditions[i], &comparing->comparison, &id, err);
        if (rc || id == 0)
            continue;
        comparing->holds = true;
        const struct strtab_string name =
            names_function(comparing->comparison.snapshot, id).name;
        say("%.64s: %.*s", comparing->conditions[i].text,
            (int)utf8_cut(name.text, name.length, MAX_NAME), name.text);
    }
    return rc;
}

int command_diff(const struct options *given)
{
    struct options chosen = *given;
    const struct options *const options = &chosen;
    struct comparing comparing = { .options = options, .output.fd = -1 };
    struct err err = { 0 };
    /* The page asks for parts itself. */
    if (!chosen.chooses_parts && form_of(&chosen) != FORM_HTML)
        chosen.view.query.states.parts = PART_SET_COMPARED;
    const enum err_code rc = compare_captures(&comparing, &err);
    comparison_deinit(&comparing.comparison);

    for (size_t i = 0; comparing.captures && i < comparing.count; i++) {
        anonymized_deinit(&comparing.captures[i].anonymized);
        capture_input_close(&comparing.captures[i].input);
    }
    free(comparing.captures);
    before_after_deinit(&comparing.around);

    for (size_t i = 0; i < options->fail_ifs.count; i++)
        condition_deinit(&comparing.conditions[i]);
    output_deinit(&comparing.output);
    const int status = exit_with(rc, &err);
    return status == EXIT_DONE && comparing.holds ? EXIT_CONDITION : status;
}
