#include "sampler/profile/history.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/profile/window.h"

enum { FEW_WINDOWS = 64 };

#define SECOND_NS 1000000000ull

/* Windows of this age are merged into steps of this width.  The widest come first. */
static const struct step {
    uint64_t width_ns, age_ns;
} steps[HISTORY_WIDTHS] = {
    { 86400 * SECOND_NS, 15 * 86400 * SECOND_NS }, { 3600 * SECOND_NS, 86400 * SECOND_NS },
    { 600 * SECOND_NS, 6 * 3600 * SECOND_NS },     { 60 * SECOND_NS, 3 * 3600 * SECOND_NS },
    { 10 * SECOND_NS, 3600 * SECOND_NS },          { SECOND_NS, HISTORY_SEALED_NS },
};

void history_init(struct history *history)
{
    *history = (struct history){ .ages = HISTORY_FULL_AGES };
}

void history_deinit(struct history *history)
{
    for (size_t i = 0; i < history->count; i++)
        window_unref(history->windows[i]);
    free(history->windows);
    history_init(history);
}

enum err_code history_append(struct history *history, struct window *window, struct err *err)
{
    if (!VEC_RESERVE(history->windows, history->room, history->count + 1))
        return err_nomem(err);
    history->windows[history->count++] = window;
    history->bytes += window_bytes(window);
    history->run_bytes += window_run_bytes(window);
    return ERR_OK;
}

/* Index of the first window that starts at or after start_ns. */
static size_t first_from(const struct history *history, uint64_t start_ns)
{
    size_t at;
    LOWER_BOUND(at, history->count, history->windows[at]->start_ns < start_ns);
    return at;
}

/* The number of windows from `first` on that start before end_ns and fit into one. */
static size_t run_length(const struct history *history, size_t first, uint64_t end_ns)
{
    uint64_t samples = 0;
    size_t cells = 0, count = 0;
    for (size_t i = first; i < history->count; i++, count++) {
        const struct window *const window = history->windows[i];
        samples += window->samples;
        cells += window->cell_count + window->spot_count;
        if (window->start_ns >= end_ns || samples > UINT32_MAX || cells > HISTORY_MAX_CELLS)
            break;
    }
    return count;
}

static bool find_in_steps(struct history *history, size_t width, uint64_t now_ns,
                          struct history_run *run)
{
    const uint64_t width_ns = steps[width].width_ns;

    /* Windows that start before the result are old enough. */
    const uint64_t age_ns = steps[width].age_ns;
    const unsigned ages = history->ages;
    const uint64_t limit_age_ns = age_ns / HISTORY_FULL_AGES * ages;
    const uint64_t wait_ns =
        limit_age_ns > HISTORY_RECENT_NS ? limit_age_ns : HISTORY_RECENT_NS;
    const uint64_t limit_ns = now_ns > wait_ns ? now_ns - wait_ns : 0;

    for (size_t i = first_from(history, history->done_ns[width]); i < history->count;) {
        const uint64_t start_ns = history->windows[i]->start_ns;
        const uint64_t end_ns = start_ns - start_ns % width_ns + width_ns;
        history->done_ns[width] = end_ns - width_ns;
        if (end_ns > limit_ns)
            break; /* later ones are younger */
        const size_t count = run_length(history, i, end_ns);
        if (count >= 2) {
            *run = (struct history_run){ i, count, width_ns };
            return true;
        }
        i += count ? count : 1;
    }
    return false;
}

bool history_find_run(struct history *history, uint64_t now_ns, struct history_run *run)
{
    for (size_t width = 0; width < HISTORY_WIDTHS; width++)
        if (find_in_steps(history, width, now_ns, run))
            return true;
    if (history->ages != 0)
        return false;

    /* The last resort: everything that is not recent. */
    const uint64_t limit_ns = now_ns > HISTORY_RECENT_NS ? now_ns - HISTORY_RECENT_NS : 0;
    for (size_t i = 0; i < history->count;) {
        const size_t count = run_length(history, i, limit_ns);
        if (count >= FEW_WINDOWS) {
            const uint64_t end_ns = history->windows[i + count - 1]->end_ns;
            *run = (struct history_run){ i, count, end_ns - history->windows[i]->start_ns };
            return true;
        }
        i += count ? count : 1;
    }
    return false;
}

void history_halve_ages(struct history *history)
{
    history->ages /= 2;
    memset(history->done_ns, 0, sizeof history->done_ns);
}

bool history_find_runs(struct history *history, size_t *at)
{
    for (*at = first_from(history, history->runs_from_ns); *at < history->count; ++*at) {
        history->runs_from_ns = history->windows[*at]->start_ns;
        if (history->windows[*at]->runs)
            return true;
    }
    return false;
}

void history_replace(struct history *history, const struct history_run *run,
                     struct window *merged, struct window **old)
{
    struct window **const at = history->windows + run->first;
    memcpy(old, at, run->count * sizeof(struct window *));
    for (size_t i = 0; i < run->count; i++) {
        history->bytes -= window_bytes(old[i]);
        history->run_bytes -= window_run_bytes(old[i]);
    }
    *at = merged;
    history->bytes += window_bytes(merged);
    history->run_bytes += window_run_bytes(merged);
    if (merged->runs && merged->start_ns < history->runs_from_ns)
        history->runs_from_ns = merged->start_ns;
    memmove(at + 1, at + run->count,
            (history->count - run->first - run->count) * sizeof(struct window *));
    history->count -= run->count - 1;
}
