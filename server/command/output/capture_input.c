#include "server/command/output/capture_input.h"

#include <string.h>

#include "sampler/capture/reader.h"
#include "server/command/output/progress.h"
#include "server/command/process/exit.h"
#include "server/sessions/open_capture.h"

static void describe(struct capture_input *capture)
{
    const struct open_capture *const opened = capture->opened;
    capture->info = (struct session_info){
        .id = "1",
        .epoch = "capture",
        .status = opened->status,
        .target = &opened->target,
        .targets = &opened->targets,
        .options = &opened->options,
        .host = opened->host,
        .snapshot = &capture->snapshot,
    };
    capture->source = (struct report_source){ .snapshot = &capture->snapshot,
                                              .query = &capture->everything,
                                              .header = &capture->header,
                                              .session = &capture->info };
}

enum err_code capture_input_load(const char *path, const struct reader_part *part,
                                 bool hides_arguments, struct open_capture **out,
                                 struct err *err)
{
    struct progress progress;
    struct reader_part watched = *part;
    progress_begin(&progress, "reading", path);
    watched.watch = progress_watch;
    watched.context = &progress;
    const enum err_code rc = open_capture_open(path, &watched, hides_arguments, out, err);
    progress_end(&progress);
    return rc;
}

enum err_code capture_input_open(struct capture_input *capture, const char *path,
                                 size_t memory_bytes, bool hides_arguments, struct err *err)
{
    memset(capture, 0, sizeof *capture);
    const struct reader_part everything = { .memory_bytes = memory_bytes };
    enum err_code rc =
        capture_input_load(path, &everything, hides_arguments, &capture->opened, err);
    if (rc == ERR_OK)
        rc = profile_snapshot(open_capture_profile(capture->opened), &capture->snapshot, err);
    if (rc != ERR_OK) {
        capture_input_close(capture);
        return rc;
    }
    if (capture->opened->is_cut)
        say("%s: %s", path, capture->opened->status.reason);
    describe(capture);
    rc = report_header_init(&capture->header, &capture->source, err);
    if (rc != ERR_OK)
        capture_input_close(capture);
    return rc;
}

enum err_code capture_input_reshape(struct capture_input *capture, const struct rules *rules,
                                    struct err *err)
{
    if (!rules_are_any(rules))
        return ERR_OK;
    const enum err_code rc = reshaped_init(&capture->reshaped, &capture->snapshot,
                                           &capture->everything, rules, RESHAPED_WINDOWS, err);
    if (rc != ERR_OK)
        return rc;
    capture->info.snapshot = &capture->reshaped.snapshot;
    capture->selection = (struct report_selection){ .snapshot = &capture->snapshot,
                                                    .query = &capture->everything,
                                                    .rules = rules };
    capture->source.snapshot = &capture->reshaped.snapshot;
    capture->source.selection = &capture->selection;
    report_header_deinit(&capture->header);
    return report_header_init(&capture->header, &capture->source, err);
}

void capture_input_close(struct capture_input *capture)
{
    report_header_deinit(&capture->header);
    reshaped_deinit(&capture->reshaped);
    if (capture->snapshot.profile)
        profile_snapshot_release(&capture->snapshot);
    open_capture_destroy(capture->opened);
    memset(capture, 0, sizeof *capture);
}
