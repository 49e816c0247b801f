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

static bool is_same_thread(const struct busy *a, const struct busy *b)
{
    return a->process == b->process && a->tid == b->tid;
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

/* The threads of the query, busiest first; returns how many. */
static size_t find_busy(const struct profile_snapshot *snapshot, const struct states *states,
                        const struct view_query *query, struct busy *busy)
{
    size_t ids = 0, count = 0;
    for (size_t i = 0; i < states->count; i++) {
        const struct states_row *const row = &states->rows[i];
        const struct profile_thread thread = profile_thread_at(snapshot, row->thread);
        if (thread.tid != 0 && is_asked(query, row->thread, thread.process))
            busy[ids++] = (struct busy){ thread.process, thread.tid, row->thread,
                                         row->sums.samples - row->sums.parts[PART_BLOCKED] -
                                             row->sums.parts[PART_IDLE] };
    }
    qsort(busy, ids, sizeof *busy, by_place);
    for (size_t i = 0; i < ids; i++) {
        if (count > 0 && is_same_thread(&busy[count - 1], &busy[i]))
            busy[count - 1].busy += busy[i].busy;
        else
            busy[count++] = busy[i];
    }
    qsort(busy, count, sizeof *busy, by_busyness);
    return count;
}

static size_t find_ids(const struct profile_snapshot *snapshot, const struct busy *busy,
                       thread_id *ids)
{
    size_t count = 0;
    for (thread_id id = 0; id < snapshot->sizes.threads; id++) {
        const struct profile_thread thread = profile_thread_at(snapshot, id);
        if (thread.process == busy->process && thread.tid == busy->tid)
            ids[count++] = id;
    }
    return count;
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

static uint64_t node(const struct thread_run *row, const struct thread_run *before)
{
    (void)before;
    return row->node;
}

static uint64_t state(const struct thread_run *row, const struct thread_run *before)
{
    (void)before;
    return row->state;
}

static uint64_t ordered(const struct thread_run *row, const struct thread_run *before)
{
    (void)before;
    return row->is_ordered;
}

static uint64_t joined(const struct thread_run *row, const struct thread_run *before)
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

static void write_thread(struct json *json, const struct view_query *query,
                         const struct thread_runs *runs)
{
    json_object(json);
    json_member_array(json, "threads");
    for (size_t i = 0; i < query->thread_count; i++)
        json_uint(json, query->threads[i]);
    json_end(json);
    json_member_decimal(json, "from", runs->from_ns / NS_PER_US, US_DECIMALS);
    json_member_decimal(json, "to", runs->to_ns / NS_PER_US, US_DECIMALS);
    write_column(json, "gap_us", runs, gap_us);
    write_column(json, "length_us", runs, length_us);
    write_column(json, "node", runs, node);
    write_column(json, "state", runs, state);
    write_column(json, "ordered", runs, ordered);
    write_column(json, "runs", runs, joined);
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
        query.thread_count = find_ids(source->snapshot, &busy[i], ids);
        const enum err_code rc =
            thread_runs_init(&runs, source->snapshot, &query, share / ROWS_PER_SLOT, err);
        if (rc != ERR_OK)
            return rc;
        if (runs.count <= room && is_ordered(&runs)) {
            write_thread(json, &query, &runs);
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
    if (rc != ERR_OK)
        return rc;
    struct busy *const busy = malloc((states.count + 1) * sizeof *busy);
    thread_id *const ids = malloc(((size_t)snapshot->sizes.threads + 1) * sizeof *ids);
    if (busy && ids) {
        const size_t count = find_busy(snapshot, &states, source->query, busy);
        rc = write_threads(json, source, busy, count, ids, err);
    } else {
        rc = err_nomem(err);
    }
    free(ids);
    free(busy);
    states_deinit(&states);
    return rc;
}
