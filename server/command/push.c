#include "server/push/push.h"

#include <inttypes.h>

#include "sampler/profile/profile.h"
#include "server/command/command.h"
#include "server/command/options/options.h"
#include "server/command/output/capture_input.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/command/pushing.h"
#include "server/sessions/sessions.h"
#include "server/wire/session.h"

int command_push(const struct options *options)
{
    struct sessions *sessions = NULL;
    struct session_entry *entry = NULL;
    struct push *push = NULL;
    struct err err = { 0 };
    enum err_code rc = pushing_open(options, &push, &err);
    if (!rc)
        rc = privilege_drop(options, &err);
    if (!rc)
        rc = sessions_create(&sessions, &err);
    if (!rc)
        rc = capture_input_show(sessions, options, options->files[0], &entry, &err);
    if (!rc) {
        struct profile_snapshot snapshot;
        struct session_info info;
        uint64_t samples = 0;
        rc = profile_snapshot(session_entry_profile(entry), &snapshot, &err);
        if (!rc) {
            session_entry_describe(entry, &snapshot, &info);
            rc = push_whole(push, &info, &samples, &err);
            if (!rc && samples == 0)
                rc = err_set(&err, ERR_NOT_FOUND, "the capture has no samples");
            if (!rc)
                say("pushed %" PRIu64 " samples", samples);
            profile_snapshot_release(&snapshot);
        }
    }
    push_close(push);
    sessions_destroy(sessions);
    return exit_with(rc, &err);
}
