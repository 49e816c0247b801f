#include "sampler/profile/views/gil.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/state.h"
#include "sampler/profile/views/cell_filter.h"
#include "sampler/profile/views/view.h"

static const double thousandths = 1000;

/* Samples of a thread in the current window, and in all of them. */
struct party {
    uint64_t held, waited;         /* in this window */
    uint64_t held_all, waited_all; /* waited_all: if it is a thread of the query */
    double rate;                   /* its waiting per sample in which another held the GIL */
    size_t row;
};

struct process {
    uint64_t held; /* in this window */
    double rate;   /* the sum of those of its waiting threads */
};

struct work {
    const struct cell_filter *filter;
    struct party *parties;     /* by thread */
    struct process *processes; /* by process */
    thread_id *holders;        /* in this window */
    size_t holder_count;
    double *waits_caused; /* by node */
    double *pairs;        /* rows * rows */
    double waited, unattributed;
    size_t rows;
};

static bool holds_gil(const struct cell *cell)
{
    return cell->state & STATE_HAS_GIL;
}

static struct process *process_of(const struct work *work, thread_id thread)
{
    return &work->processes[profile_thread_at(work->filter->snapshot, thread).process];
}

/* Counts who held and who waited in a window; true: a thread waited. */
static bool count_window(struct work *work, const struct window *window)
{
    bool waited = false;
    for (size_t i = 0; i < window->cell_count; i++) {
        const struct cell *const cell = &window->cells[i];
        struct party *const party = &work->parties[cell->thread];
        if (holds_gil(cell)) {
            party->held += cell->count;
            process_of(work, cell->thread)->held += cell->count;
        } else if (!holds_gil(cell) && cell->state & STATE_WAITS_GIL &&
                   cell_filter_passes(work->filter, cell)) {
            party->waited += cell->count;
            waited = true;
        }
    }
    return waited;
}

static void forget_window(struct work *work, const struct window *window)
{
    for (size_t i = 0; i < window->cell_count; i++) {
        struct party *const party = &work->parties[window->cells[i].thread];
        party->held = party->waited = 0;
        party->rate = 0;
        *process_of(work, window->cells[i].thread) = (struct process){ 0 };
    }
    work->holder_count = 0;
}

/* Calls `each` once for every thread of the window; the cells of a thread follow one another. */
static void for_threads(struct work *work, const struct window *window,
                        void (*each)(struct work *work, const struct window *window,
                                     thread_id thread))
{
    for (size_t i = 0; i < window->cell_count; i++)
        if (i == 0 || window->cells[i].thread != window->cells[i - 1].thread)
            each(work, window, window->cells[i].thread);
}

static void sum_up(struct work *work, const struct window *window, thread_id thread)
{
    struct party *const party = &work->parties[thread];
    (void)window;
    party->held_all += party->held;
    party->waited_all += party->waited;
}

static void find_rate(struct work *work, const struct window *window, thread_id thread)
{
    struct party *const party = &work->parties[thread];
    struct process *const process = process_of(work, thread);
    const uint64_t others = process->held - party->held;
    (void)window;
    work->waited += (double)party->waited;
    if (!others)
        work->unattributed += (double)party->waited;
    else
        party->rate = (double)party->waited / (double)others;
    process->rate += party->rate;
    if (party->held)
        work->holders[work->holder_count++] = thread;
}

static void share_out(struct work *work, const struct window *window, thread_id waiter)
{
    const struct party *const party = &work->parties[waiter];
    const struct process *const process = process_of(work, waiter);
    (void)window;
    for (size_t i = 0; party->rate > 0 && i < work->holder_count; i++) {
        const thread_id holder = work->holders[i];
        const struct party *const other = &work->parties[holder];
        if (holder != waiter && process_of(work, holder) == process)
            work->pairs[other->row * work->rows + party->row] +=
                party->rate * (double)other->held;
    }
}

static uint64_t weight_of(const struct party *party)
{
    return party->held_all + party->waited_all;
}

/* The least that a thread needs for its own row, so that at most GIL_MAX_THREADS have one. */
static uint64_t least_weight(const struct work *work, uint32_t threads)
{
    uint64_t most[GIL_MAX_THREADS + 1] = { 0 }; /* descending */
    for (uint32_t id = 0; id < threads; id++) {
        uint64_t at = weight_of(&work->parties[id]);
        for (size_t i = 0; i <= GIL_MAX_THREADS && at; i++)
            if (at > most[i]) {
                const uint64_t displaced = most[i];
                most[i] = at;
                at = displaced;
            }
    }
    return most[GIL_MAX_THREADS] + 1;
}

static uint64_t round_samples(double samples)
{
    return (uint64_t)(samples * thousandths + 0.5);
}

static enum err_code take_pairs(struct gil *gil, struct work *work, struct err *err)
{
    const size_t count = gil->rows * gil->rows;
    work->pairs = calloc(count + 1, sizeof *work->pairs);
    gil->pairs = calloc(count + 1, sizeof *gil->pairs);
    if (!work->pairs || !gil->pairs)
        return err_nomem(err);

    for (size_t i = work->filter->first; i < work->filter->end; i++) {
        const struct window *const window = work->filter->snapshot->windows[i];
        if (count_window(work, window)) {
            for_threads(work, window, find_rate);
            for_threads(work, window, share_out);

            for (size_t j = 0; j < window->cell_count; j++) {
                const struct cell *const cell = &window->cells[j];
                if (holds_gil(cell))
                    work->waits_caused[cell->node] +=
                        (double)cell->count * (process_of(work, cell->thread)->rate -
                                               work->parties[cell->thread].rate);
            }
        }
        forget_window(work, window);
    }

    for (size_t i = 0; i < count; i++)
        gil->pairs[i] = round_samples(work->pairs[i]);
    gil->waited = round_samples(work->waited);
    gil->unattributed = round_samples(work->unattributed);
    return ERR_OK;
}

static enum err_code fill_gil(struct gil *gil, struct work *work, struct err *err)
{
    const struct profile_sizes *const sizes = &work->filter->snapshot->sizes;
    work->parties = calloc((size_t)sizes->threads + 1, sizeof *work->parties);
    work->processes = calloc((size_t)sizes->processes + 1, sizeof *work->processes);
    work->holders = calloc((size_t)sizes->threads + 1, sizeof *work->holders);
    work->waits_caused = calloc((size_t)sizes->nodes + 1, sizeof *work->waits_caused);
    if (!work->parties || !work->processes || !work->holders || !work->waits_caused)
        return err_nomem(err);

    for (size_t i = work->filter->first; i < work->filter->end; i++) {
        const struct window *const window = work->filter->snapshot->windows[i];
        if (count_window(work, window))
            for_threads(work, window, sum_up);
        forget_window(work, window);
    }

    const uint32_t threads = sizes->threads;
    const uint64_t least = least_weight(work, threads);
    bool rest = false;
    for (uint32_t id = 0; id < threads; id++) {
        struct party *const party = &work->parties[id];
        const bool has_row = weight_of(party) >= least && gil->thread_count < GIL_MAX_THREADS;
        rest |= weight_of(party) && !has_row;
        party->row = has_row ? gil->thread_count : GIL_MAX_THREADS;
        if (has_row)
            gil->threads[gil->thread_count++] = id;
    }
    for (uint32_t id = 0; id < threads; id++)
        if (work->parties[id].row == GIL_MAX_THREADS)
            work->parties[id].row = gil->thread_count;
    gil->rows = work->rows = gil->thread_count + rest;

    const enum err_code rc = take_pairs(gil, work, err);
    if (rc)
        return rc;
    const double *const waits_caused = work->waits_caused;
    const uint32_t nodes = sizes->nodes;
    size_t count = 0;
    for (node_id id = 0; id < nodes; id++)
        count += round_samples(waits_caused[id]) > 0;
    gil->node = malloc((count + 1) * sizeof *gil->node);
    gil->waits_caused = malloc((count + 1) * sizeof *gil->waits_caused);
    if (!gil->node || !gil->waits_caused)
        return err_nomem(err);
    for (node_id id = 0; id < nodes; id++) {
        if (!round_samples(waits_caused[id]))
            continue;
        gil->node[gil->count] = id;
        gil->waits_caused[gil->count++] = round_samples(waits_caused[id]);
    }
    return ERR_OK;
}

enum err_code gil_init(struct gil *gil, const struct profile_snapshot *snapshot,
                       const struct view_query *query, struct err *err)
{
    struct view_query whole = *query;
    struct cell_filter filter;
    struct work work = { .filter = &filter };
    struct gil made = { 0 };
    whole.since = 0;
    whole.states = (struct state_condition){ 0 };
    enum err_code rc = cell_filter_init(&filter, snapshot, &whole, err);
    if (!rc)
        rc = fill_gil(&made, &work, err);
    cell_filter_deinit(&filter);
    free(work.parties);
    free(work.processes);
    free(work.holders);
    free(work.waits_caused);
    free(work.pairs);
    if (rc)
        gil_deinit(&made);
    else
        *gil = made;
    return rc;
}

void gil_deinit(struct gil *gil)
{
    free(gil->pairs);
    free(gil->node);
    free(gil->waits_caused);
    memset(gil, 0, sizeof *gil);
}
