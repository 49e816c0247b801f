#include "server/command/output/capture_input.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/enum_text.h"
#include "sampler/capture/reader.h"
#include "sampler/profile/context.h"
#include "sampler/profile/views/frame_filters.h"
#include "server/command/options/options.h"
#include "server/command/options/selection.h"
#include "server/command/output/progress.h"
#include "server/command/process/exit.h"
#include "server/sessions/open_capture.h"
#include "server/sessions/sessions.h"

static enum err_code load_capture(const char *path, const struct reader_part *part,
                                  bool hides_arguments, struct open_capture **out,
                                  struct err *err)
{
    struct progress progress;
    struct reader_part watched = *part;
    progress_begin(&progress, "reading", path);
    watched.watch = progress_watch;
    watched.context = &progress;
    const enum err_code rc = open_capture_open(path, -1, &watched, hides_arguments, out, err);
    progress_end(&progress);
    return rc;
}

static void put_filters(const struct frame_filters *filters, struct buffer *out)
{
    for (size_t i = 0; i < filters->count; i++)
        buffer_printf(out, "%s%s %.200s", i ? ", " : "",
                      frame_filter_name(filters->items[i].kind), filters->items[i].pattern);
}

enum err_code capture_input_show(struct sessions *sessions, const struct options *options,
                                 const char *path, struct session_entry **out, struct err *err)
{
    /* Requests have their durations from the whole capture, whatever is selected of it. */
    const bool is_whole = request_choice_is_set(&options->view.requests);
    const struct reader_part part = { .memory_bytes = options->sampling.memory_bytes,
                                      .from_ns = is_whole ? 0 : options->view.query.from_ns,
                                      .to_ns = is_whole ? 0 : options->view.query.to_ns };
    const bool hides_arguments = options->sampling.hides_arguments;
    struct open_capture *opened = NULL;
    enum err_code rc = load_capture(path, &part, hides_arguments, &opened, err);
    if (rc)
        return rc;

    /* Prints which part of the capture is missing. */
    if (*opened->ignored)
        say("%.200s: %s", opened->path, opened->ignored);
    if (opened->is_cut)
        say("%.200s: %s", opened->path, opened->status.reason);
    if (opened->lost > 0)
        say("%.200s: %llu samples could not be written when it was recorded", opened->path,
            (unsigned long long)opened->lost);

    /* The filters of the options and those of the capture apply. */
    const bool may_clear = (options->command->bit & COMMAND_REPLAY) != 0;
    struct frame_filters recorded = { 0 }, given = options->view.filters;
    struct buffer text = { 0 };
    rc = selection_filters(options, &opened->filters, &opened->filters, err);
    if (!rc) {
        for (size_t i = given.count; i < opened->filters.count; i++)
            recorded.items[recorded.count++] = opened->filters.items[i];
        if (given.count > 0) {
            put_filters(&given, &text);
            say("filters: %s", buffer_string(&text));
        }
        buffer_clear(&text);
        if (recorded.count > 0) {
            put_filters(&recorded, &text);
            say("%.200s was recorded with these filters, which apply%s: %s", opened->path,
                may_clear ? " (an empty option, such as --hide '', leaves them out)" : "",
                buffer_string(&text));
        }
        buffer_deinit(&text);
    }

    if (!rc)
        rc = sessions_add_loaded(sessions, opened, out, err);
    if (rc)
        open_capture_destroy(opened);
    return rc;
}

enum err_code capture_input_open(struct capture_input *capture, const char *path,
                                 size_t memory_bytes, bool hides_arguments, struct err *err)
{
    memset(capture, 0, sizeof *capture);
    const struct reader_part everything = { .memory_bytes = memory_bytes };
    enum err_code rc = load_capture(path, &everything, hides_arguments, &capture->opened, err);
    if (!rc)
        rc = profile_snapshot(open_capture_profile(capture->opened), &capture->snapshot, err);
    if (rc) {
        capture_input_close(capture);
        return rc;
    }
    if (capture->opened->is_cut)
        say("%s: %s", path, capture->opened->status.reason);
    if (*capture->opened->ignored)
        say("%s: %s", path, capture->opened->ignored);

    const struct open_capture *const opened = capture->opened;
    capture->info = (struct session_info){
        .id = "1",
        .epoch = "capture",
        .status = opened->status,
        .target = &opened->target,
        .targets = &opened->targets,
        .options = &opened->options,
        .filters = &opened->filters,
        .host = opened->host,
        .foreign = opened->foreign,
        .snapshot = &capture->snapshot,
    };
    capture->source = (struct report_source){ .snapshot = &capture->snapshot,
                                              .query = &capture->everything,
                                              .header = &capture->header,
                                              .session = &capture->info,
                                              .files = &opened->files };

    rc = report_header_init(&capture->header, &capture->source, err);
    if (rc)
        capture_input_close(capture);
    return rc;
}

enum err_code capture_input_lacks_measure(const char *what,
                                          const struct profile_snapshot *snapshot,
                                          const char *measure, struct err *err)
{
    if (enum_find(measure_texts, measure) >= 0)
        return err_set(err, ERR_NOT_FOUND, "%.200s has no %s: record with --event %s", what,
                       measure, measure);
    struct buffer names = { 0 };
    profile_put_measures(snapshot, snapshot->measures, &names);
    err_set(err, ERR_NOT_FOUND, "%.200s has no '%.48s': it counts %s", what, measure,
            buffer_string(&names));
    buffer_deinit(&names);
    return ERR_NOT_FOUND;
}

enum err_code capture_input_count(struct capture_input *capture, const char *name,
                                  struct err *err)
{
    struct profile *const profile = capture->snapshot.profile;
    const enum measure measure =
        profile_find_measure(&capture->snapshot, session_info_measures(&capture->info), name);
    if (measure == MEASURE_COUNT)
        return capture_input_lacks_measure(capture->opened->path, &capture->snapshot, name,
                                           err);
    if (capture->snapshot.measure == measure)
        return ERR_OK;
    profile_snapshot_release(&capture->snapshot);
    const enum err_code rc =
        profile_snapshot_measured(profile, measure, &capture->snapshot, err);
    report_header_deinit(&capture->header);
    return rc ? rc : report_header_init(&capture->header, &capture->source, err);
}

void capture_input_say_requests(const struct selection *selection, bool is_rest)
{
    const struct request_set *const set = selection->query.requests;
    if (!set)
        return;
    say("%s%zu of %zu%s requests, %llu of their %llu samples", is_rest ? "the rest: " : "",
        set->kept, set->requests, set->are_guessed ? " guessed" : "",
        (unsigned long long)set->kept_samples, (unsigned long long)set->samples);
    if (set->other_samples)
        say("%llu samples are of requests beyond the first %d values, which are only counted",
            (unsigned long long)set->other_samples, CONTEXT_VALUES_MAX);
}

enum err_code capture_input_select(struct capture_input *capture, const struct options *options,
                                   bool wants_rest, struct err *err)
{
    const enum err_code rc =
        selection_init(&capture->selected, options, wants_rest, &capture->snapshot, err);
    if (rc)
        return rc;
    capture_input_say_requests(&capture->selected, wants_rest);
    capture->source.query = &capture->selected.query;
    report_header_deinit(&capture->header);
    return report_header_init(&capture->header, &capture->source, err);
}

enum err_code capture_input_narrow(struct capture_input *capture, uint64_t from_ns,
                                   uint64_t to_ns, const pid_t *pids, size_t count,
                                   struct err *err)
{
    const size_t rows = capture->snapshot.sizes.processes;
    struct selection *const selected = &capture->selected;
    selected->query.from_ns = from_ns;
    selected->query.to_ns = to_ns;
    free(selected->processes);
    selected->processes = pids ? malloc((rows + 1) * sizeof *selected->processes) : NULL;
    selected->query.processes = selected->processes;
    selected->query.process_count = 0;
    if (pids && !selected->processes)
        return err_nomem(err);
    for (process_id row = 0; pids && row < rows; row++) {
        const pid_t pid = profile_process_at(&capture->snapshot, row).pid;
        size_t i = 0;
        while (i < count && pids[i] != pid)
            i++;
        if (i < count)
            selected->processes[selected->query.process_count++] = row;
    }
    report_header_deinit(&capture->header);
    return report_header_init(&capture->header, &capture->source, err);
}

enum err_code capture_input_reshape(struct capture_input *capture,
                                    const struct frame_filters *filters, struct err *err)
{
    if (!reshape_is_needed(&capture->snapshot, filters))
        return ERR_OK;
    const enum err_code rc =
        reshaped_init(&capture->reshaped, &capture->snapshot, capture->source.query, filters,
                      RESHAPED_WINDOWS, err);
    if (rc)
        return rc;
    capture->info.snapshot = &capture->reshaped.snapshot;
    capture->selection = (struct report_selection){ .snapshot = &capture->snapshot,
                                                    .query = capture->source.query,
                                                    .filters = filters };
    capture->source.query = &capture->everything;
    capture->source.snapshot = &capture->reshaped.snapshot;
    capture->source.selection = &capture->selection;
    report_header_deinit(&capture->header);
    return report_header_init(&capture->header, &capture->source, err);
}

void capture_input_close(struct capture_input *capture)
{
    report_header_deinit(&capture->header);
    reshaped_deinit(&capture->reshaped);
    selection_deinit(&capture->selected);
    if (capture->snapshot.profile)
        profile_snapshot_release(&capture->snapshot);
    open_capture_destroy(capture->opened);
    memset(capture, 0, sizeof *capture);
}
