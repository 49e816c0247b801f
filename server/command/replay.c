#include "sampler/profile/profile.h"
#include "server/command/commands.h"
#include "server/command/exit.h"
#include "server/command/exports.h"
#include "server/command/live.h"
#include "server/command/options.h"
#include "server/command/selection.h"
#include "server/command/signals.h"
#include "server/loaded.h"
#include "server/report/report.h"
#include "server/sessions.h"
#include "server/source.h"
#include "server/wire/session.h"

struct replay {
    const struct options *options;
    struct sessions *sessions;
    struct exports exports;
};

/* What a capture says of how much of it there is belongs to its user. */
static void say_state(const struct session *session)
{
    const struct loaded *const loaded = session->loaded;
    if (loaded->is_cut)
        say("%.200s: %s", loaded->path, loaded->status.reason);
    if (loaded->lost > 0)
        say("%.200s: %llu samples could not be written when it was recorded", loaded->path,
            (unsigned long long)loaded->lost);
}

static enum err_code load(struct sessions *sessions, const struct options *options,
                          const char *path, struct session **out, struct err *err)
{
    struct loaded *loaded = NULL;
    enum err_code rc = loaded_open(path, options->sampling.memory_bytes, &loaded, err);
    if (rc != ERR_OK)
        return rc;
    rc = sessions_add_loaded(sessions, loaded, out, err);
    if (rc == ERR_OK)
        say_state(*out);
    else
        loaded_destroy(loaded);
    return rc;
}

static enum err_code write_selected(struct replay *replay, struct session *session,
                                    const struct profile_snapshot *snapshot, struct err *err)
{
    struct selection selection;
    struct session_facts facts;
    enum err_code rc = selection_init(&selection, replay->options, snapshot, err);
    session_describe(session, snapshot, &facts);
    const struct report_source source = { .snapshot = snapshot,
                                          .query = &selection.query,
                                          .session = &facts,
                                          .settings = replay->options->report,
                                          .files = &session->files };
    if (rc == ERR_OK)
        rc = exports_open(&replay->exports, replay->options, &facts, err);
    if (rc == ERR_OK)
        rc = exports_write(&replay->exports, &source, err);
    selection_deinit(&selection);
    return rc;
}

static enum err_code write_formats(struct replay *replay, struct err *err)
{
    struct session *session = NULL;
    struct profile_snapshot snapshot;
    enum err_code rc = sessions_create(&replay->sessions, err);
    if (rc == ERR_OK)
        rc = load(replay->sessions, replay->options, replay->options->files[0], &session, err);
    if (rc == ERR_OK)
        rc = profile_snapshot(session_profile(session), &snapshot, err);
    if (rc != ERR_OK)
        return rc;
    rc = write_selected(replay, session, &snapshot, err);
    profile_snapshot_release(&snapshot);
    return rc;
}

static enum err_code load_all(const struct live *live, const struct options *options,
                              struct err *err)
{
    struct session *session = NULL;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < options->file_count && rc == ERR_OK; i++)
        rc = load(live->sessions, options, options->files[i], &session, err);
    return rc;
}

int command_serve(const struct options *options)
{
    struct live live = { .listener.fd = -1 };
    struct signals signals;
    struct err err = { 0 };
    enum err_code rc = signals_init(&signals, &err);
    if (rc == ERR_OK)
        rc = live_open(&live, options, &err);
    if (rc == ERR_OK)
        rc = load_all(&live, options, &err);
    if (rc == ERR_OK)
        rc = live_show(&live, options, &signals, &err);
    while (rc == ERR_OK && signals_wait(&signals, -1, -1) != SIGNALS_STOP) {
    }
    signals_deinit(&signals);
    live_close(&live);
    return exit_with(rc, &err);
}

int command_replay(const struct options *options)
{
    struct replay replay = { .options = options };
    struct err err = { 0 };
    if (options->opens_browser)
        return command_serve(options);
    const enum err_code rc = write_formats(&replay, &err);
    exports_close(&replay.exports);
    sessions_destroy(replay.sessions);
    return exit_with(rc, &err);
}
