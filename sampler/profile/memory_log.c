#include "sampler/profile/memory_log.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"

/* Steps of the newest quarter stay as they are. */
enum { OLD_PARTS = 3, PARTS = 4 };
/* Steps that a merged log is made in. */
enum { MAX_SLOTS = 1 << 16 };
#define LEAST_WIDTH_NS 250000000ull

void memory_log_deinit(struct memory_log *log)
{
    free(log->steps);
    free(log->uses);
    *log = (struct memory_log){ .step_count = 0 };
}

void memory_log_clear(struct memory_log *log)
{
    log->step_count = log->use_count = 0;
}

static int by_process(const void *left, const void *right)
{
    const struct memory_use *const a = left, *const b = right;
    return (a->process > b->process) - (a->process < b->process);
}

static int by_peak(const void *left, const void *right)
{
    const struct memory_use *const a = left, *const b = right;
    return (a->peak_bytes < b->peak_bytes) - (a->peak_bytes > b->peak_bytes);
}

static uint32_t add_faults(uint32_t a, uint32_t b)
{
    return b < UINT32_MAX - a ? a + b : UINT32_MAX;
}

/* Adds what another process uses at the same time. */
static void add_use(struct memory_use *sum, const struct memory_use *use)
{
    sum->rss_bytes += use->rss_bytes;
    sum->swap_bytes += use->swap_bytes;
    sum->peak_bytes += use->peak_bytes;
    sum->minor_faults = add_faults(sum->minor_faults, use->minor_faults);
    sum->major_faults = add_faults(sum->major_faults, use->major_faults);
}

/* Sorts rows, makes those of one process one, and keeps MEMORY_STEP_MAX_USES.  Returns how many are left. */
static uint32_t tidy_uses(struct memory_use *uses, uint32_t count)
{
    if (count > MEMORY_STEP_MAX_USES) {
        qsort(uses, count, sizeof *uses, by_peak);
        struct memory_use *const others = &uses[MEMORY_STEP_MAX_USES - 1];
        for (uint32_t i = MEMORY_STEP_MAX_USES; i < count; i++)
            add_use(others, &uses[i]);
        others->process = MEMORY_OTHERS;
        others->group = 0;
        others->limit_bytes = 0;
        count = MEMORY_STEP_MAX_USES;
    }
    if (count)
        qsort(uses, count, sizeof *uses, by_process);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (kept && uses[kept - 1].process == uses[i].process)
            add_use(&uses[kept - 1], &uses[i]);
        else
            uses[kept++] = uses[i];
    return kept;
}

/* Writes the rows of two steps, one after the other, as those of one.  Returns their number, at most that of both.  out: may not overlap them. */
static uint32_t join_uses(const struct memory_use *a, uint32_t a_count,
                          const struct memory_use *b, uint32_t b_count, struct memory_use *out)
{
    uint32_t i = 0, k = 0, count = 0;
    while (i < a_count || k < b_count) {
        const bool has_a = i < a_count && (k == b_count || a[i].process <= b[k].process);
        const bool has_b = k < b_count && (i == a_count || b[k].process <= a[i].process);
        struct memory_use use = has_b ? b[k] : a[i];
        if (has_a && has_b) {
            use.peak_bytes =
                a[i].peak_bytes > use.peak_bytes ? a[i].peak_bytes : use.peak_bytes;
            use.minor_faults = add_faults(use.minor_faults, a[i].minor_faults);
            use.major_faults = add_faults(use.major_faults, a[i].major_faults);
        } else if (has_a) {
            use.rss_bytes = use.swap_bytes = 0;
        }
        out[count++] = use;
        i += has_a;
        k += has_b;
    }
    return tidy_uses(out, count);
}

/* Joins each two neighbours of the older steps.  false: there are too few of them, or no memory. */
static bool coarsen(struct memory_log *log)
{
    const size_t old = log->step_count / PARTS * OLD_PARTS / 2 * 2;
    struct memory_use *const joined = malloc(2 * MEMORY_STEP_MAX_USES * sizeof *joined);
    size_t uses = 0, steps = 0;
    if (old < 2 || !joined) {
        free(joined);
        return false;
    }
    for (size_t i = 0; i < old; i += 2) {
        const struct memory_step a = log->steps[i], b = log->steps[i + 1];
        const uint32_t count =
            join_uses(log->uses + a.first, a.count, log->uses + b.first, b.count, joined);
        memcpy(log->uses + uses, joined, count * sizeof *joined);
        log->steps[steps++] = (struct memory_step){
            .start_ns = a.start_ns,
            .end_ns = b.end_ns,
            .peak_bytes = a.peak_bytes > b.peak_bytes ? a.peak_bytes : b.peak_bytes,
            .first = uses,
            .count = count,
        };
        uses += count;
    }
    for (size_t i = old; i < log->step_count; i++) {
        struct memory_step step = log->steps[i];
        memmove(log->uses + uses, log->uses + step.first, step.count * sizeof *log->uses);
        step.first = uses;
        uses += step.count;
        log->steps[steps++] = step;
    }
    log->use_count = uses;
    log->step_count = steps;
    free(joined);
    return true;
}

enum err_code memory_log_add(struct memory_log *log, const struct memory_step *step,
                             const struct memory_use *uses, struct err *err)
{
    const struct memory_step *const last =
        log->step_count ? &log->steps[log->step_count - 1] : NULL;
    if (!step->count || step->end_ns <= step->start_ns ||
        (last && step->start_ns < last->end_ns))
        return ERR_OK;
    while (log->use_count + step->count > MEMORY_LOG_MAX_USES && coarsen(log)) {
    }
    if (step->count > MEMORY_LOG_MAX_USES - log->use_count)
        return err_set(err, ERR_LIMIT, "too many processes for a log of memory");
    if (!VEC_RESERVE(log->steps, log->step_room, log->step_count + 1) ||
        !VEC_RESERVE(log->uses, log->use_room, log->use_count + step->count))
        return err_nomem(err);
    memcpy(log->uses + log->use_count, uses, step->count * sizeof *uses);
    struct memory_step *const added = &log->steps[log->step_count++];
    *added = *step;
    added->first = log->use_count;
    added->count = tidy_uses(log->uses + log->use_count, step->count);
    log->use_count += added->count;
    return ERR_OK;
}

enum err_code memory_log_copy(const struct memory_log *log, uint64_t from_ns, uint64_t to_ns,
                              struct memory_log *out, struct err *err)
{
    size_t first, end = log->step_count;
    *out = (struct memory_log){ .step_count = 0 };
    LOWER_BOUND(first, log->step_count, log->steps[first].start_ns < from_ns);
    if (to_ns)
        LOWER_BOUND(end, log->step_count, log->steps[end].start_ns < to_ns);
    if (first >= end)
        return ERR_OK;
    const size_t first_use = log->steps[first].first;
    const size_t use_count = log->steps[end - 1].first + log->steps[end - 1].count - first_use;
    if (!VEC_RESERVE(out->steps, out->step_room, end - first) ||
        !VEC_RESERVE(out->uses, out->use_room, use_count)) {
        memory_log_deinit(out);
        return err_nomem(err);
    }
    for (size_t i = first; i < end; i++) {
        out->steps[out->step_count] = log->steps[i];
        out->steps[out->step_count++].first -= first_use;
    }
    memcpy(out->uses, log->uses + first_use, use_count * sizeof *out->uses);
    out->use_count = use_count;
    return ERR_OK;
}

/* Joins the steps of a log that end in a slot of time, or takes the one that covers it.  Returns the number of rows. */
static uint32_t take_slot(const struct memory_log *log, size_t *next, uint64_t end_ns,
                          struct memory_use *room, struct memory_use *out, uint64_t *peak_bytes)
{
    uint32_t count = 0;
    *peak_bytes = 0;
    for (; *next < log->step_count && log->steps[*next].end_ns <= end_ns; ++*next) {
        const struct memory_step *const step = &log->steps[*next];
        memcpy(room, out, count * sizeof *out);
        count = join_uses(room, count, memory_log_uses(log, step), step->count, out);
        *peak_bytes = step->peak_bytes > *peak_bytes ? step->peak_bytes : *peak_bytes;
    }
    if (count || *next == log->step_count || log->steps[*next].start_ns >= end_ns)
        return count;
    const struct memory_step *const around = &log->steps[*next];
    memcpy(out, memory_log_uses(log, around), around->count * sizeof *out);
    for (uint32_t i = 0; i < around->count; i++)
        out[i].minor_faults = out[i].major_faults = 0;
    *peak_bytes = around->peak_bytes;
    return around->count;
}

enum err_code memory_log_merge(const struct memory_log *logs, size_t count,
                               struct memory_log *out, struct err *err)
{
    uint64_t from_ns = UINT64_MAX, to_ns = 0, width_ns = LEAST_WIDTH_NS;
    *out = (struct memory_log){ .step_count = 0 };
    for (size_t i = 0; i < count; i++) {
        const struct memory_log *const log = &logs[i];
        if (log->step_count && log->steps[0].start_ns < from_ns)
            from_ns = log->steps[0].start_ns;
        if (log->step_count && log->steps[log->step_count - 1].end_ns > to_ns)
            to_ns = log->steps[log->step_count - 1].end_ns;
    }
    if (from_ns >= to_ns)
        return ERR_OK;
    while ((to_ns - from_ns) / width_ns >= MAX_SLOTS)
        width_ns *= 2;
    /* A log may join up to twice the rows of a step before they are tidied. */
    const size_t rows = (count + 3) * MEMORY_STEP_MAX_USES;
    struct memory_use *const uses = malloc(rows * sizeof *uses);
    struct memory_use *const room = malloc(MEMORY_STEP_MAX_USES * sizeof *room);
    size_t *const next = calloc(count, sizeof *next);
    enum err_code rc = uses && room && next ? ERR_OK : err_nomem(err);
    for (uint64_t at_ns = from_ns; at_ns < to_ns && !rc; at_ns += width_ns) {
        struct memory_step step = { .start_ns = at_ns, .end_ns = at_ns + width_ns };
        for (size_t i = 0; i < count; i++) {
            uint64_t peak_bytes;
            step.count += take_slot(&logs[i], &next[i], step.end_ns, room, uses + step.count,
                                    &peak_bytes);
            step.peak_bytes += peak_bytes;
        }
        rc = memory_log_add(out, &step, uses, err);
    }
    free(uses);
    free(room);
    free(next);
    if (rc)
        memory_log_deinit(out);
    return rc;
}
