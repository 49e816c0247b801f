#include "server/report/kept_runs.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/states.h"
#include "sampler/profile/views/thread_runs.h"
#include "sampler/profile/views/view.h"
#include "server/report/report_source.h"
#include "server/wire/json.h"

enum { US_DECIMALS = 6, ROWS_PER_SLOT = 2 };

/* One thread of a process, with all ids that it had. */
struct busy {
    process_id process;
    int64_t tid;
    thread_id id;
    uint64_t busy;
};

static int by_place(const void *left, const void *right)
{
    const struct busy *const a = left, *const b = right;
    if (a->process != b->process)
        return (a->process > b->process) - (a->process < b->process);
    if (a->tid != b->tid)
        return (a->tid > b->tid) - (a->tid < b->tid);
    return (a->id > b->id) - (a->id < b->id);
}

static int by_busyness(const void *left, const void *right)
{
    const struct busy *const a = left, *const b = right;
    return a->busy != b->busy ? (a->busy < b->busy) - (a->busy > b->busy)
                              : by_place(left, right);
}

static bool is_asked(const struct view_query *query, thread_id id, process_id process)
{
    bool has_thread = !query->threads, has_process = !query->processes;
    for (size_t i = 0; i < query->thread_count && !has_thread; i++)
        has_thread = query->threads[i] == id;
    for (size_t i = 0; i < query->process_count && !has_process; i++)
        has_process = query->processes[i] == process;
    return has_thread && has_process;
}

typedef uint64_t value_of(const struct thread_run *row, const struct thread_run *before);

/* Times are in whole microseconds, so that the differences add up. */
static uint64_t gap_us(const struct thread_run *row, const struct thread_run *before)
{
    return row->start_ns / NS_PER_US - (before ? before->end_ns / NS_PER_US : 0);
}

static uint64_t length_us(const struct thread_run *row, const struct thread_run *before)
{
    (void)before;
    return row->end_ns / NS_PER_US - row->start_ns / NS_PER_US;
}

static uint64_t run_node(const struct thread_run *row, const struct thread_run *before)
{
    (void)before;
    return row->node;
}

static uint64_t run_state(const struct thread_run *row, const struct thread_run *before)
{
    (void)before;
    return row->state;
}

static uint64_t run_ordered(const struct thread_run *row, const struct thread_run *before)
{
    (void)before;
    return row->is_ordered;
}

static uint64_t run_count(const struct thread_run *row, const struct thread_run *before)
{
    (void)before;
    return row->runs;
}

static void write_column(struct json *json, const char *name, const struct thread_runs *runs,
                         value_of *value)
{
    json_member_array(json, name);
    for (size_t i = 0; i < runs->count; i++)
        json_uint(json, value(&runs->rows[i], i > 0 ? &runs->rows[i - 1] : NULL));
    json_end(json);
}

static bool is_ordered(const struct thread_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        if (runs->rows[i].is_ordered)
            return true;
    return false;
}

static enum err_code write_threads(struct json *json, const struct report_source *source,
                                   const struct busy *busy, size_t count, thread_id *ids,
                                   struct err *err)
{
    const size_t threads = count < KEPT_RUNS_MAX_THREADS ? count : KEPT_RUNS_MAX_THREADS;
    struct view_query query = *source->query;
    size_t room = KEPT_RUNS_MAX_ROWS; /* half of it for the busiest thread, and so on */
    json_member_array(json, "runs");
    for (size_t i = 0; i < threads; i++) {
        const size_t share = i + 1 < threads ? room / 2 : room;
        struct thread_runs runs;
        query.threads = ids;

        query.thread_count = 0;
        for (thread_id id = 0; id < source->snapshot->sizes.threads; id++) {
            const struct profile_thread thread = profile_thread_at(source->snapshot, id);
            if (thread.process == busy[i].process && thread.tid == busy[i].tid)
                ids[query.thread_count++] = id;
        }

        const enum err_code rc =
            thread_runs_init(&runs, source->snapshot, &query, share / ROWS_PER_SLOT, err);
        if (rc)
            return rc;
        if (runs.count <= room && is_ordered(&runs)) {
            json_object(json);
            json_member_array(json, "threads");
            for (size_t at = 0; at < query.thread_count; at++)
                json_uint(json, query.threads[at]);
            json_end(json);
            json_member_decimal(json, "from", runs.from_ns / NS_PER_US, US_DECIMALS);
            json_member_decimal(json, "to", runs.to_ns / NS_PER_US, US_DECIMALS);
            write_column(json, "gap_us", &runs, gap_us);
            write_column(json, "length_us", &runs, length_us);
            write_column(json, "node", &runs, run_node);
            write_column(json, "state", &runs, run_state);
            write_column(json, "ordered", &runs, run_ordered);
            write_column(json, "runs", &runs, run_count);
            json_end(json);

            room -= runs.count;
        }
        thread_runs_deinit(&runs);
    }
    json_end(json);
    return ERR_OK;
}

enum err_code kept_runs_write(struct json *json, const struct report_source *source,
                              struct err *err)
{
    const struct profile_snapshot *const snapshot = source->snapshot;
    struct states states;
    enum err_code rc = states_init(&states, snapshot, source->query, err);
    if (rc)
        return rc;
    struct busy *const busy = malloc((states.count + 1) * sizeof *busy);
    thread_id *const ids = malloc(((size_t)snapshot->sizes.threads + 1) * sizeof *ids);
    if (busy && ids) {
        /* The threads of the query, busiest first. */
        size_t rows = 0, count = 0;
        for (size_t i = 0; i < states.count; i++) {
            const struct states_row *const row = &states.rows[i];
            const struct profile_thread thread = profile_thread_at(snapshot, row->thread);
            if (thread.tid != 0 && is_asked(source->query, row->thread, thread.process))
                busy[rows++] =
                    (struct busy){ thread.process, thread.tid, row->thread,
                                   row->sums.samples - row->sums.parts[PART_BLOCKED] -
                                       row->sums.parts[PART_IDLE] };
        }
        qsort(busy, rows, sizeof *busy, by_place);
        for (size_t i = 0; i < rows; i++) {
            if (count > 0 && busy[count - 1].process == busy[i].process &&
                busy[count - 1].tid == busy[i].tid)
                busy[count - 1].busy += busy[i].busy;
            else
                busy[count++] = busy[i];
        }
        qsort(busy, count, sizeof *busy, by_busyness);

        rc = write_threads(json, source, busy, count, ids, err);
    } else {
        rc = err_nomem(err);
    }
    free(ids);
    free(busy);
    states_deinit(&states);
    return rc;
}
