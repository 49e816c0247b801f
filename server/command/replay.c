#include "sampler/profile/profile.h"
#include "sampler/profile/views/states.h"
#include "server/command/command.h"
#include "server/command/options/options.h"
#include "server/command/options/selection.h"
#include "server/command/output/capture_input.h"
#include "server/command/output/exports.h"
#include "server/command/output/output.h"
#include "server/command/output/quality_file.h"
#include "server/command/output/run_summary.h"
#include "server/command/output/written.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/report/header.h"
#include "server/report/report.h"
#include "server/sessions/sessions.h"
#include "server/wire/session.h"

struct replay {
    const struct options *options;
    struct sessions *sessions;
    struct exports exports;
    struct output quality; /* the file of --quality */
};

static enum err_code write_query(struct replay *replay, struct session_entry *entry,
                                 const struct profile_snapshot *snapshot,
                                 const struct view_query *query, struct err *err)
{
    struct written written = { 0 };
    struct session_info info;
    struct report_header header;
    session_entry_describe(entry, snapshot, &info);
    struct report_source source = { .snapshot = snapshot,
                                    .query = query,
                                    .session = &info,
                                    .settings = replay->options->report,
                                    .files = session_entry_files(entry) };
    enum err_code rc = report_header_init(&header, &source, err);
    if (rc)
        return rc;
    source.header = &header;
    info.target = &header.target;
    rc = exports_open(&replay->exports, replay->options, info.filters, &info, err);
    if (!rc && replay->options->quality_file)
        rc = exports_check(&replay->exports, &replay->quality.place, err);
    if (!rc)
        rc = exports_take_measure(&replay->exports, replay->options, snapshot, err);
    if (!rc)
        rc = exports_write(&replay->exports, &source, &written, err);
    written_say(&written);
    report_header_deinit(&header);
    return rc;
}

/* Writes the quality of the whole recording, whatever is selected of it. */
static enum err_code write_quality(struct replay *replay, struct session_entry *entry,
                                   const struct profile_snapshot *snapshot, struct err *err)
{
    const struct view_query everything = { 0 };
    struct session_info info;
    struct states states;
    session_entry_describe(entry, snapshot, &info);
    if (info.foreign)
        say("%.200s is %s", replay->options->files[0], info.foreign);
    else
        run_summary_say_quality(&info);
    if (!replay->options->quality_file)
        return ERR_OK;
    enum err_code rc = states_init(&states, snapshot, &everything, err);
    if (rc)
        return rc;
    rc = quality_file_write(&replay->quality, &info, &states.all, NULL, NULL, err);
    states_deinit(&states);
    return rc;
}

static enum err_code write_formats(struct replay *replay, struct err *err)
{
    struct session_entry *entry = NULL;
    struct profile_snapshot snapshot;
    enum err_code rc = ERR_OK;
    if (replay->options->quality_file)
        rc = output_init(&replay->quality, replay->options->quality_file, err);
    if (!rc)
        rc = sessions_create(&replay->sessions, err);
    if (!rc)
        rc = capture_input_show(replay->sessions, replay->options, replay->options->files[0],
                                &entry, err);
    if (!rc)
        rc = profile_snapshot(session_entry_profile(entry), &snapshot, err);
    if (rc)
        return rc;

    struct selection selection;
    rc = selection_init(&selection, replay->options, false, &snapshot, err);
    capture_input_say_requests(&selection, false);
    if (!rc)
        rc = write_query(replay, entry, &snapshot, &selection.query, err);
    selection_deinit(&selection);

    if (!rc)
        rc = write_quality(replay, entry, &snapshot, err);
    profile_snapshot_release(&snapshot);
    return rc;
}

int command_replay(const struct options *options)
{
    struct replay replay = { .options = options, .quality = { .fd = -1 } };
    struct err err = { 0 };
    if (options->opens_browser)
        return command_serve(options);
    enum err_code rc = privilege_drop(options, &err);
    if (!rc)
        rc = write_formats(&replay, &err);
    exports_close(&replay.exports);
    output_deinit(&replay.quality);
    sessions_destroy(replay.sessions);
    return exit_with(rc, &err);
}
