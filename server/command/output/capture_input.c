#include "server/command/output/capture_input.h"

#include <string.h>

#include "sampler/capture/reader.h"
#include "server/command/output/progress.h"
#include "server/command/process/exit.h"
#include "server/sessions/open_capture.h"

static void describe(struct captured *captured)
{
    const struct loaded *const loaded = captured->loaded;
    captured->facts = (struct session_facts){
        .id = "1",
        .epoch = "capture",
        .status = loaded->status,
        .target = &loaded->target,
        .told = &loaded->told,
        .options = &loaded->options,
        .host = loaded->host,
        .snapshot = &captured->snapshot,
    };
    captured->source = (struct report_source){ .snapshot = &captured->snapshot,
                                               .query = &captured->everything,
                                               .header = &captured->header,
                                               .session = &captured->facts };
}

enum err_code captured_load(const char *path, const struct reader_part *part,
                            bool hides_arguments, struct loaded **out, struct err *err)
{
    struct progress progress;
    struct reader_part watched = *part;
    progress_begin(&progress, "reading", path);
    watched.watch = progress_watch;
    watched.context = &progress;
    const enum err_code rc = loaded_open(path, &watched, hides_arguments, out, err);
    progress_end(&progress);
    return rc;
}

enum err_code captured_open(struct captured *captured, const char *path, size_t memory_bytes,
                            bool hides_arguments, struct err *err)
{
    memset(captured, 0, sizeof *captured);
    const struct reader_part everything = { .memory_bytes = memory_bytes };
    enum err_code rc =
        captured_load(path, &everything, hides_arguments, &captured->loaded, err);
    if (rc == ERR_OK)
        rc = profile_snapshot(loaded_profile(captured->loaded), &captured->snapshot, err);
    if (rc != ERR_OK) {
        captured_close(captured);
        return rc;
    }
    if (captured->loaded->is_cut)
        say("%s: %s", path, captured->loaded->status.reason);
    describe(captured);
    rc = report_header_init(&captured->header, &captured->source, err);
    if (rc != ERR_OK)
        captured_close(captured);
    return rc;
}

enum err_code captured_reshape(struct captured *captured, const struct rules *rules,
                               struct err *err)
{
    if (!rules_are_any(rules))
        return ERR_OK;
    const enum err_code rc = reshaped_init(&captured->reshaped, &captured->snapshot,
                                           &captured->everything, rules, RESHAPED_WINDOWS, err);
    if (rc != ERR_OK)
        return rc;
    captured->facts.snapshot = &captured->reshaped.snapshot;
    captured->selection = (struct report_selection){ .snapshot = &captured->snapshot,
                                                     .query = &captured->everything,
                                                     .rules = rules };
    captured->source.snapshot = &captured->reshaped.snapshot;
    captured->source.selection = &captured->selection;
    report_header_deinit(&captured->header);
    return report_header_init(&captured->header, &captured->source, err);
}

void captured_close(struct captured *captured)
{
    report_header_deinit(&captured->header);
    reshaped_deinit(&captured->reshaped);
    if (captured->snapshot.profile)
        profile_snapshot_release(&captured->snapshot);
    loaded_destroy(captured->loaded);
    memset(captured, 0, sizeof *captured);
}
