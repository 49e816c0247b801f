#include "sampler/capture/load.h"

#include "sampler/profile/memory_log.h"
#include "sampler/profile/profile.h"

static enum err_code load_run(struct profile *profile, const struct run *run, struct err *err)
{
    if (run->measure != MEASURE_TIME)
        return profile_add_measured(profile, run->measure, run->thread, run->state, run->node,
                                    run->count, err);
    enum err_code rc =
        profile_add(profile, run->thread, run->state, run->node, run->count, err);
    if (!rc && run->spot != PROFILE_NO_SPOT)
        rc = profile_add_spot(profile, run->spot_node, run->spot, run->count, err);
    if (!rc)
        profile_order(profile, run);
    /* The writer sees all rows. */
    const struct profile_snapshot rows = { .profile = profile };
    enum part part;
    if (!rc && profile_part_at(&rows, run->thread, run->state, run->node, &part))
        profile_tick(profile, run->first_ns, run->first_ns + run->step_ns * (run->count - 1),
                     part, run->count);
    return rc;
}

enum err_code load_memory(struct profile *profile, const struct memory_log *log,
                          uint64_t from_ns, uint64_t to_ns, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < log->step_count && !rc; i++) {
        const struct memory_step *const step = &log->steps[i];
        if (step->start_ns >= from_ns && (!to_ns || step->start_ns < to_ns))
            rc = profile_add_memory(profile, step, memory_log_uses(log, step), err);
    }
    return rc;
}

static enum err_code seal_at(struct profile *profile, const struct capture_window *window,
                             uint64_t now_ns, struct err *err)
{
    return window->measure == MEASURE_TIME
               ? profile_seal(profile, now_ns, err)
               : profile_seal_measured(profile, window->measure, now_ns, window->period_ns,
                                       err);
}

enum err_code load_window(struct profile *profile, const struct capture_window *window,
                          uint64_t last_ns[MEASURE_COUNT], struct err *err)
{
    enum err_code rc = ERR_OK;
    /* No window covers a time without samples. */
    if (window->start_ns > last_ns[window->measure])
        rc = seal_at(profile, window, window->start_ns, err);
    last_ns[window->measure] = window->start_ns;
    for (size_t i = 0; i < window->run_count && !rc; i++)
        rc = load_run(profile, &window->runs[i], err);
    if (rc || window->is_open)
        return rc;
    *profile_quality(profile) = window->quality;
    if (window->measure == MEASURE_TIME)
        profile_set_period(profile, window->period_ns);
    last_ns[window->measure] = window->end_ns;
    return seal_at(profile, window, window->end_ns, err);
}
