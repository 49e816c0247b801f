#include "sampler/profile/views/thread_waits.h"

#include <stdio.h>
#include <stdlib.h>

#include "sampler/profile/state.h"
#include "sampler/profile/views/view.h"

struct entry {
    thread_id thread;
    enum wait_cause cause;
    function_id mark;
    uint64_t samples;
};

static int by_mark(const struct entry *a, const struct entry *b)
{
    if (a->cause != b->cause)
        return a->cause < b->cause ? -1 : 1;
    return (a->mark > b->mark) - (a->mark < b->mark);
}

static int by_thread(const void *left, const void *right)
{
    const struct entry *const a = left, *const b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return by_mark(a, b);
}

static int by_mark_alone(const void *left, const void *right)
{
    return by_mark(left, right);
}

/* The cause with most samples.  The entries are in the order of causes, then marks. */
static struct thread_wait main_wait(const struct entry *entries, size_t count)
{
    struct thread_wait found = { .thread = entries[0].thread };
    for (size_t i = 0, end = 0; i < count; i = end) {
        uint64_t of_cause = 0, of_mark = 0, most = 0;
        function_id mark = 0;
        for (end = i; end < count && entries[end].cause == entries[i].cause; end++) {
            const bool is_new = end == i || entries[end].mark != entries[end - 1].mark;
            of_mark = (is_new ? 0 : of_mark) + entries[end].samples;
            of_cause += entries[end].samples;
            if (of_mark > most) {
                most = of_mark;
                mark = entries[end].mark;
            }
        }
        found.waiting += of_cause;
        if (of_cause <= found.samples)
            continue;
        found.samples = of_cause;
        found.cause = entries[i].cause;
        found.mark = mark;
    }
    return found;
}

enum err_code thread_waits_init(struct thread_waits *waits,
                                const struct profile_snapshot *snapshot,
                                const struct view_query *query, struct err *err)
{
    struct view_cells cells = { 0 };
    *waits = (struct thread_waits){ 0 };
    enum err_code rc = view_cells_init(&cells, snapshot, query, err);
    if (rc)
        return rc;
    struct entry *const entries = calloc(cells.count + 1, sizeof *entries);
    waits->rows = calloc(cells.count + 1, sizeof *waits->rows);
    if (!entries || !waits->rows)
        rc = err_nomem(err);
    else {
        size_t count = 0;
        for (size_t i = 0; i < cells.count; i++) {
            const struct view_cell *const cell = &cells.cells[i];
            const frame_id frame = profile_node_at(snapshot, cell->node).frame;
            const function_id function = profile_frame_at(snapshot, frame).function;
            enum part part;
            if (!profile_part_at(snapshot, cell->thread, cell->state, cell->node, &part) ||
                part == PART_RUNNING)
                continue;
            entries[count++] =
                (struct entry){ cell->thread, wait_cause_of(snapshot, cell->node, part),
                                profile_cause_at(snapshot, cell->node) ? function : 0,
                                cell->count };
        }

        qsort(entries, count, sizeof *entries, by_thread);
        for (size_t i = 0, end = 0; i < count; i = end) {
            for (end = i; end < count && entries[end].thread == entries[i].thread;)
                end++;
            waits->rows[waits->count++] = main_wait(&entries[i], end - i);
        }
        qsort(entries, count, sizeof *entries, by_mark_alone);
        if (count > 0)
            waits->all = main_wait(entries, count);
    }
    free(entries);
    view_cells_deinit(&cells);
    if (rc)
        thread_waits_deinit(waits);
    return rc;
}

void thread_waits_deinit(struct thread_waits *waits)
{
    free(waits->rows);
    *waits = (struct thread_waits){ 0 };
}

void thread_wait_text(const struct profile_snapshot *snapshot, const struct thread_wait *wait,
                      char *out, size_t size)
{
    struct wait_text text = { .detail = "", .detail_length = 0 };
    if (wait->mark)
        (void)wait_of_function(snapshot, wait->mark, &text);
    snprintf(out, size, "%s%s%.*s", wait_cause_title(wait->cause),
             text.detail_length ? " " : "", (int)text.detail_length, text.detail);
}
