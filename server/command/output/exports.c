#include "server/command/output/exports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/view.h"
#include "sampler/session.h"
#include "server/command/output/progress.h"
#include "server/command/output/split.h"
#include "server/command/output/written.h"
#include "server/command/process/exit.h"
#include "server/report/report.h"
#include "server/wire/reshaped.h"
#include "server/wire/session.h"

/* Formats with the same stacks. */
enum group { PLAIN, LABELLED, SUMMARIES, PAGES, GROUPS };

static enum group group_of(const struct report_format *format)
{
    return report_is_page(format)           ? PAGES
           : report_names_waits(format)     ? SUMMARIES
           : report_labels_contexts(format) ? LABELLED
                                            : PLAIN;
}

static enum err_code open_one(struct export *item, const struct options *options,
                              const struct options_format *wanted,
                              const struct session_info *info, struct err *err)
{
    const struct report_source source = { .session = info };
    const char *const folder =
        options->output && output_is_folder(options->output) ? options->output : NULL;
    const bool named = wanted->output || options->output || options->splits;
    char name[REPORT_NAME_BYTES], path[PATH_MAX];
    /* Some formats have a form for the screen, which is used unless the user names a file. */
    const struct report_format *const format = wanted->format;
    item->format = format->on_screen && !named ? report_find(format->on_screen) : format;
    if (wanted->output)
        return output_init(&item->output, wanted->output, err);
    if (options->output && !folder)
        return output_init(&item->output, options->output, err);
    if (wanted->format->on_screen && !named)
        return output_init(&item->output, "-", err);
    report_file_name(&source, item->format, name);
    if (!folder)
        return output_init(&item->output, name, err);
    const char *const slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
    const int length = snprintf(path, sizeof path, "%s%s%s", folder, slash, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return err_sys(err, ENAMETOOLONG, "cannot write '%.256s'", folder);
    return output_init(&item->output, path, err);
}

static bool is_taken(const struct exports *exports, const struct output *output)
{
    for (size_t i = 0; i < exports->count; i++)
        if (output_place_is_same(&exports->items[i].output.place, &output->place))
            return true;
    return false;
}

/* The files of the processes have longer names, which must not be refused once all has been recorded. */
static enum err_code check_parts(const struct export *item, struct err *err)
{
    enum { MOST_PID = 1 << 22 };
    char path[PATH_MAX];
    struct output_place place;
    if (!item->output.temporary[0])
        return err_set(err, ERR_INVALID,
                       "--split needs a file name: cannot insert a PID into '%.200s'",
                       item->output.place.path[0] ? item->output.place.path : "-");
    enum err_code rc =
        split_name(item->output.place.path, item->format->extension, MOST_PID, path, err);
    if (!rc)
        rc = output_place_find(&place, path, err);
    if (!rc)
        output_place_close(&place);
    return rc;
}

enum err_code exports_open(struct exports *exports, const struct options *options,
                           const struct frame_filters *filters, const struct session_info *info,
                           struct err *err)
{
    memset(exports, 0, sizeof *exports);
    exports->filters = exports->label_filters = exports->summary_filters = *filters;
    exports->label_filters.shows_contexts = true;
    exports->summary_filters.waits = WAIT_MARKS_SHOWN;
    exports->page_filters = exports->summary_filters;
    exports->page_filters.shows_contexts = true;
    if (filters->native == NATIVE_FRAMES_DEFAULT)
        exports->page_filters.native = NATIVE_FRAMES_EVERYTHING;
    if (options->baseline) {
        enum err_code rc = capture_input_open(&exports->baseline, options->baseline,
                                              options->sampling.memory_bytes,
                                              options->sampling.hides_arguments, err);
        if (!rc)
            rc = capture_input_reshape(&exports->baseline, &exports->page_filters, err);
        if (rc)
            return rc;
    }
    exports->splits = options->splits;
    output_make_folder(options->output);
    for (size_t i = 0; i < options->format_count; i++) {
        struct export *const item = &exports->items[i];
        enum err_code rc = open_one(item, options, &options->formats[i], info, err);
        if (rc)
            return rc;
        item->parts = options->chooses_parts ? options->view.query.states.parts
                                             : report_usual_parts(item->format);
        const bool clashes = is_taken(exports, &item->output);
        exports->count++;
        if (options->splits)
            rc = check_parts(item, err);
        if (rc)
            return rc;
        if (clashes)
            return err_set(
                err, ERR_INVALID,
                "two formats have the same file: name a folder with -o FOLDER/, or a "
                "file for each format, as in --%s=FILE",
                options->formats[i].format->name);
    }
    return ERR_OK;
}

enum err_code exports_check(const struct exports *exports, const struct output_place *other,
                            struct err *err)
{
    for (size_t i = 0; i < exports->count; i++) {
        const struct output *const output = &exports->items[i].output;
        const enum err_code rc =
            exports->splits ? ERR_OK : output_check_places(&output->place, other, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

enum err_code exports_take_measure(struct exports *exports, const struct options *options,
                                   const struct profile_snapshot *session, struct err *err)
{
    const char *const name = options->measure;
    exports->has_one_measure = name != NULL;
    const enum measure measure = name ? profile_find_measure(session, session->measures, name)
                                      : measure_set_main(session->measures);
    if (measure == MEASURE_TIME || (name && strcmp(name, measure_texts[MEASURE_TIME]) == 0))
        return ERR_OK;
    if (measure == MEASURE_COUNT)
        return capture_input_lacks_measure("it", session, name, err);
    return profile_snapshot_measured(session->profile, measure, &exports->measured, err);
}

void exports_close(struct exports *exports)
{
    profile_snapshot_release(&exports->measured);
    for (size_t i = 0; i < exports->count; i++)
        output_deinit(&exports->items[i].output);
    exports->count = 0;
    capture_input_close(&exports->baseline);
}

struct writing {
    struct output *output;
    struct progress progress;
};

static bool drain_export(void *to, const char *data, size_t bytes)
{
    struct writing *const writing = to;
    progress_show(&writing->progress, writing->output->written, 0);
    return output_write(writing->output, data, bytes);
}

static enum err_code write_one(const struct exports *exports, struct export *item,
                               const struct report_source *source, struct err *err)
{
    struct report_source used = *source, baseline = exports->baseline.source;
    struct view_query baseline_query;
    struct buffer file;
    struct writing writing = { .output = &item->output };
    progress_begin(&writing.progress, "writing", item->format->name);
    buffer_init_draining(&file, drain_export, &writing);
    if (exports->baseline.opened) {
        baseline_query = *baseline.query;
        baseline_query.states.parts = item->parts;
        baseline.query = &baseline_query;
        baseline.header = NULL;
        used.baseline = &baseline;
    }
    used.settings.colours = output_wants_colours(&item->output);
    enum err_code rc = report_write(item->format, &used, &file, err);
    buffer_flush(&file);
    buffer_deinit(&file);
    progress_end(&writing.progress);
    /* If the disk is full, output_finish has the better message. */
    if (!rc || item->output.sys != 0)
        rc = output_finish(&item->output, NULL, 0, err);
    if (!rc && item->output.place.path[0])
        written_add(exports->written, item->output.place.path, "");
    return rc;
}

/* Writes the report of one process. */
static enum err_code write_part(const struct exports *exports, const struct export *item,
                                const struct report_source *source, const struct split *split,
                                const struct split_part *part, struct err *err)
{
    struct view_query query = *source->query;
    struct report_source part_source = *source;
    struct export single = { .format = item->format, .parts = item->parts };
    char path[PATH_MAX];
    enum err_code rc =
        split_name(item->output.place.path, item->format->extension, part->pid, path, err);
    if (!rc)
        rc = output_init(&single.output, path, err);
    if (rc)
        return rc;
    query.processes = split->processes + part->first;
    query.process_count = part->count;
    part_source.query = &query;
    part_source.header = NULL;
    rc = write_one(exports, &single, &part_source, err);
    output_deinit(&single.output);
    return rc;
}

/* Are both made of the same samples and stacks? */
static bool is_like(const struct export *item, const struct export *other)
{
    return group_of(item->format) == group_of(other->format) && item->parts == other->parts &&
           item->format->takes_measures == other->format->takes_measures &&
           item->format->has_every_measure == other->format->has_every_measure;
}

static enum err_code write_parts(const struct exports *exports,
                                 const struct report_source *source, const struct export *like,
                                 struct err *err)
{
    struct split split;
    enum err_code first = split_init(&split, source->snapshot, source->query, err);
    if (first)
        return first;
    for (size_t i = 0; i < exports->count; i++)
        for (size_t j = 0; j < split.count && is_like(&exports->items[i], like); j++) {
            const enum err_code rc = write_part(exports, &exports->items[i], source, &split,
                                                &split.parts[j], first ? NULL : err);
            if (!first)
                first = rc;
        }
    split_deinit(&split);
    return first;
}

/* Writes the reports that are like this one. */
static enum err_code write_some(struct exports *exports, const struct report_source *source,
                                const struct export *like, struct err *err)
{
    if (exports->splits)
        return write_parts(exports, source, like, err);
    enum err_code first = ERR_OK;
    for (size_t i = 0; i < exports->count; i++) {
        if (!is_like(&exports->items[i], like))
            continue;
        const enum err_code rc =
            write_one(exports, &exports->items[i], source, first ? NULL : err);
        if (!first)
            first = rc;
    }
    return first;
}

/* Writes the reports that have the stacks and the parts of time of this one. */
static enum err_code write_like(struct exports *exports, const struct report_source *source,
                                const struct export *item, struct err *err)
{
    const struct frame_filters *const filters_of[GROUPS] = {
        [PLAIN] = &exports->filters,
        [LABELLED] = &exports->label_filters,
        [SUMMARIES] = &exports->summary_filters,
        [PAGES] = &exports->page_filters,
    };
    const enum group group = group_of(item->format);
    struct report_source selected = *source;
    struct view_query query = *source->query;
    query.states.parts = item->parts;
    selected.query = &query;
    selected.header = NULL;
    /* Without samples of time, a format of time shows those of the measure. */
    if (exports->measured.profile &&
        (item->format->takes_measures ||
         !measure_set_has(source->snapshot->measures, MEASURE_TIME)))
        selected.snapshot = &exports->measured;
    struct profile_snapshot every = *selected.snapshot;
    if (item->format->has_every_measure && !exports->has_one_measure) {
        every.beside = every.measures & ~MEASURE_SET(every.measure);
        selected.snapshot = &every;
    }
    if (!reshape_is_needed(source->snapshot, filters_of[group]))
        return write_some(exports, &selected, item, err);
    const struct frame_filters *const filters = filters_of[group];
    const struct report_selection selection = { .snapshot = selected.snapshot,
                                                .query = selected.query,
                                                .filters = filters };
    const struct view_query everything = { 0 };
    struct session_info info = *selected.session;
    struct report_source filtered = selected;
    struct reshaped reshaped;
    enum err_code rc = reshaped_init(&reshaped, selected.snapshot, selected.query, filters,
                                     RESHAPED_WINDOWS, err);
    if (rc)
        return rc;
    const struct reshape_counts counts = reshaped.counts;
    if (counts.filtered)
        say("the filters leave out %" PRIu64 " of %" PRIu64 " samples", counts.filtered,
            counts.filtered + counts.samples);
    info.snapshot = filtered.snapshot = &reshaped.snapshot;
    filtered.query = &everything;
    filtered.session = &info;
    filtered.selection = &selection;
    filtered.header = NULL;
    rc = write_some(exports, &filtered, item, err);
    reshaped_deinit(&reshaped);
    return rc;
}

enum err_code exports_write(struct exports *exports, const struct report_source *source,
                            struct written *written, struct err *err)
{
    enum err_code first = ERR_OK;
    exports->written = written;
    for (size_t i = 0; i < exports->count; i++) {
        const struct export *const item = &exports->items[i];
        size_t alike = 0;
        while (!is_like(&exports->items[alike], item))
            alike++;
        const enum err_code rc =
            alike < i ? ERR_OK : write_like(exports, source, item, first ? NULL : err);
        if (!first)
            first = rc;
    }
    return first;
}
