#include "server/wire/reshaped.h"

#include <string.h>

#include "sampler/profile/window.h"

enum err_code reshaped_init(struct reshaped *reshaped, const struct profile_snapshot *from,
                            const struct view_query *query, const struct frame_filters *filters,
                            enum reshaped_time time, struct err *err)
{
    const struct reshape_settings settings = { .filters = filters };
    memset(reshaped, 0, sizeof *reshaped);
    enum err_code rc = profile_create(&reshaped->profile, err);
    if (!rc && time == RESHAPED_SUM) {
        /* All of it as one window: half the time, a third of the memory. */
        if (from->window_count)
            profile_set_period(reshaped->profile,
                               from->windows[from->window_count - 1]->period_ns);
        *profile_quality(reshaped->profile) = from->quality;
        rc = reshape_measures(reshaped->profile, from, query, &settings, err);
        if (!rc)
            rc = reshape_add(reshaped->profile, from, query, &settings, &reshaped->counts, err);
        if (!rc)
            rc = profile_seal(reshaped->profile, from->end_ns, err);
    } else if (!rc)
        rc = reshape_windows(reshaped->profile, from, query, &settings, &reshaped->counts, err);
    if (!rc) {
        profile_extend(reshaped->profile, from->end_ns);
        rc = profile_snapshot(reshaped->profile, &reshaped->snapshot, err);
    }
    profile_snapshot_count_as(&reshaped->snapshot, from);
    if (rc)
        reshaped_deinit(reshaped);
    return rc;
}

void reshaped_deinit(struct reshaped *reshaped)
{
    profile_snapshot_release(&reshaped->snapshot);
    profile_destroy(reshaped->profile);
    memset(reshaped, 0, sizeof *reshaped);
}
