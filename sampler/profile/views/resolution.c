#include "sampler/profile/views/resolution.h"

#include <stdbool.h>

#include "sampler/profile/profile.h"
#include "sampler/profile/window.h"

static bool belongs_to(const struct resolution *resolution, const struct window *window)
{
    if (resolution->count == 0)
        return false;
    return resolution->count == RESOLUTION_MAX_RANGES ||
           resolution->ranges[resolution->count - 1].width_ns == window->width_ns;
}

void resolution_of(const struct profile_snapshot *snapshot, struct resolution *out)
{
    *out = (struct resolution){ 0 };
    for (size_t i = 0; i < snapshot->window_count; i++) {
        const struct window *const window = snapshot->windows[i];
        if (!belongs_to(out, window))
            out->ranges[out->count++] =
                (struct resolution_range){ .start_ns = window->start_ns,
                                           .width_ns = window->width_ns };

        struct resolution_range *const range = &out->ranges[out->count - 1];
        range->end_ns = window->end_ns;
        range->windows++;
        range->sealed += window->parts;
        if (window->width_ns > range->width_ns)
            range->width_ns = window->width_ns;
    }
}
