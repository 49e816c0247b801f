#include "sampler/foreign/gather.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/plain_text.h"
#include "sampler/base/vec.h"
#include "sampler/capture/metadata.h"
#include "sampler/capture/source_texts.h"
#include "sampler/capture/writer.h"
#include "sampler/foreign/scratch.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/run.h"

/* The windows of a capture: a quarter of a second, and longer ones if there were too many. */
enum { MAX_WINDOWS = 1 << 14, MIN_WINDOW_MS = 250 };
/* Parts of samples that reach into later windows; more are counted where they begin. */
enum { PARTS_OF_A_SAMPLE = 4, MORE_PARTS = 1 << 20 };
enum { UNIT_NS = 1000, MEASURE_SHIFT = 32 };

enum err_code gather_init(struct gather *gather, size_t memory_bytes, struct err *err)
{
    *gather = (struct gather){ .table_bytes = memory_bytes / 4 * 3, .first_ns = UINT64_MAX };
    return profile_create(&gather->profile, err);
}

void gather_deinit(struct gather *gather)
{
    profile_destroy(gather->profile);
    sorter_deinit(&gather->samples);
    free(gather->thread_totals);
    *gather = (struct gather){ .profile = NULL };
}

void gather_copy(char *out, size_t room, struct gather_text text)
{
    snprintf(out, room, "%.*s", (int)(text.bytes < room ? text.bytes : room - 1), text.text);
}

void gather_keep(char out[GATHER_TEXT_BYTES], struct gather_text text)
{
    struct buffer plain = { 0 };
    plain_text_put(&plain, text.text,
                   text.bytes < GATHER_TEXT_BYTES ? text.bytes : GATHER_TEXT_BYTES);
    const char *const kept = buffer_string(&plain);
    snprintf(out, GATHER_TEXT_BYTES, "%s", kept ? kept : "");
    buffer_deinit(&plain);
}

static enum err_code check_tables(const struct gather *gather, enum err_code rc,
                                  struct err *err)
{
    if (rc == ERR_LIMIT || (!rc && gather->table_bytes &&
                            profile_table_bytes(gather->profile) > gather->table_bytes))
        return err_set(err, ERR_LIMIT,
                       "its functions and stacks need more than %zu MiB: use a larger --memory",
                       gather->table_bytes >> 20);
    return rc;
}

static enum err_code intern_text(struct gather *gather, struct gather_text text, str_id *out,
                                 struct err *err)
{
    return strtab_intern(profile_strings(gather->profile), text.bytes ? text.text : "",
                         text.bytes, out, err);
}

static int32_t line_of(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (int32_t)line : 0;
}

enum err_code gather_frame(struct gather *gather, struct gather_text name,
                           struct gather_text file, int64_t first_line, int64_t line,
                           frame_id *out, struct err *err)
{
    str_id name_id = 0, file_id = 0;
    function_id function = 0;
    enum err_code rc = intern_text(gather, name, &name_id, err);
    if (!rc)
        rc = intern_text(gather, file, &file_id, err);
    if (!rc)
        rc = profile_function(gather->profile, name_id, file_id, line_of(first_line), &function,
                              err);
    if (!rc)
        rc = profile_frame(gather->profile, function, line_of(line), out, err);
    return check_tables(gather, rc, err);
}

enum err_code gather_child(struct gather *gather, node_id parent, frame_id frame, node_id *out,
                           struct err *err)
{
    const enum err_code rc = profile_node(gather->profile, parent, frame, out, err);
    return check_tables(gather, rc, err);
}

enum err_code gather_thread(struct gather *gather, int64_t pid, struct gather_text process,
                            int64_t tid, uint64_t ident, struct gather_text name,
                            thread_id *out, struct err *err)
{
    struct profile_thread thread = { .tid = tid > 0 && tid <= INT32_MAX ? (int32_t)tid : 0,
                                     .ident = ident };
    str_id process_name = 0;
    const int32_t process_pid = pid > 0 && pid <= INT32_MAX ? (int32_t)pid : 0;
    enum err_code rc = intern_text(gather, process, &process_name, err);
    if (!rc)
        rc = intern_text(gather, name, &thread.name, err);
    if (!rc)
        rc = profile_process(gather->profile, process_pid, process_name, &thread.process, err);
    if (!rc)
        rc = profile_thread(gather->profile, &thread, out, err);
    if (!gather->pid)
        gather->pid = process_pid;
    return check_tables(gather, rc, err);
}

/* The middle key of a record: samples of an instant go by measure, then by state. */
static uint64_t key_of(enum measure measure, state_bits state)
{
    return (uint64_t)measure << MEASURE_SHIFT | state;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static enum err_code add_value(struct gather *gather, enum measure measure, uint64_t value,
                               struct err *err)
{
    if (value > WINDOWS_MAX_NS - gather->totals[measure])
        return err_set(err, ERR_LIMIT, "its values or its times are too large");
    gather->totals[measure] += value;
    gather->divisors[measure] = common_divisor(value, gather->divisors[measure]);
    return ERR_OK;
}

enum err_code gather_sample(struct gather *gather, thread_id thread, state_bits state,
                            node_id node, uint64_t value, uint64_t at_ns, struct err *err)
{
    const size_t before = gather->thread_room;
    if (value == 0)
        return ERR_OK;
    if (at_ns > WINDOWS_MAX_NS / 2)
        return err_set(err, ERR_LIMIT, "its values or its times are too large");
    const enum err_code rc = add_value(gather, MEASURE_TIME, value, err);
    if (rc)
        return rc;
    if (!VEC_RESERVE(gather->thread_totals, gather->thread_room, (size_t)thread + 1))
        return err_nomem(err);
    memset(gather->thread_totals + before, 0,
           (gather->thread_room - before) * sizeof *gather->thread_totals);
    gather->thread_totals[thread] += value;
    if (gather->thread_totals[thread] > gather->most)
        gather->most = gather->thread_totals[thread];
    if (at_ns < gather->first_ns)
        gather->first_ns = at_ns;
    if (at_ns > gather->last_ns)
        gather->last_ns = at_ns;
    /* Samples of one instant and one thread stay in their order. */
    const struct sorter_record record = { .keys = { at_ns, key_of(MEASURE_TIME, state),
                                                    gather->samples.added },
                                          .value = value,
                                          .thread = thread,
                                          .node = node };
    return sorter_add(&gather->samples, &record, err);
}

enum err_code gather_measure(struct gather *gather, struct gather_text type,
                             struct gather_text unit, enum measure *out, struct err *err)
{
    char type_text[MEASURE_NAME_BYTES], unit_text[MEASURE_NAME_BYTES];
    gather_copy(type_text, sizeof type_text, type);
    gather_copy(unit_text, sizeof unit_text, unit);
    return profile_foreign_measure(gather->profile, type_text, unit_text, out, err);
}

enum err_code gather_measured(struct gather *gather, enum measure measure, thread_id thread,
                              node_id node, uint64_t value, struct err *err)
{
    if (value == 0)
        return ERR_OK;
    const enum err_code rc = add_value(gather, measure, value, err);
    const struct sorter_record record = { .keys = { 0, key_of(measure, STATE_ALL_UNKNOWN),
                                                    gather->samples.added },
                                          .value = value,
                                          .thread = thread,
                                          .node = node };
    gather->first_ns = 0;
    return rc ? rc : sorter_add(&gather->samples, &record, err);
}

/* Samples on their way into windows. */
struct spread {
    struct gather *gather;
    struct writer writer;
    struct profile_snapshot snapshot;
    struct quality quality;
    uint64_t period_ns, step_ns; /* of a sample of the capture; the time from one to the next */
    uint64_t from_ns, to_ns;     /* the open window */
    uint64_t in_window[MEASURE_COUNT]; /* samples */
    uint64_t parts_left;
    struct reaching {
        thread_id thread;
        node_id node;
        state_bits state;
        enum measure measure;
        uint64_t count, at_ns;
    } * reaching; /* samples that go on behind the open window */
    size_t reaching_count, reaching_room;
};

static enum err_code take_bytes(void *to, const void *data, size_t bytes, struct err *err)
{
    return scratch_write(to, data, bytes, err);
}

static enum err_code seal_measure(struct spread *spread, enum measure measure, struct err *err)
{
    spread->in_window[measure] = 0;
    return measure == MEASURE_TIME
               ? writer_seal(&spread->writer, spread->to_ns, spread->period_ns, err)
               : writer_seal_measured(&spread->writer, measure, spread->to_ns,
                                      spread->gather->divisors[measure], err);
}

/* The window of time is the last one. */
static enum err_code seal_window(struct spread *spread, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (enum measure i = MEASURE_COUNT; i-- > MEASURE_TIME && !rc;)
        rc = seal_measure(spread, i, err);
    return rc;
}

/* A window, and a run, have at most UINT32_MAX samples; a window that is full is followed by one of the same end. */
static enum err_code put_run(struct spread *spread, const struct reaching *from, uint64_t count,
                             struct err *err)
{
    struct run run = { .thread = from->thread,
                       .node = from->node,
                       .state = from->state,
                       .measure = (uint8_t)from->measure,
                       .spot = PROFILE_NO_SPOT,
                       .first_ns = from->at_ns,
                       .step_ns = from->measure == MEASURE_TIME ? spread->step_ns : 0 };
    enum err_code rc = ERR_OK;
    while (count > 0 && !rc) {
        const uint64_t room = UINT32_MAX - spread->in_window[from->measure];
        run.count = (uint32_t)(count < room ? count : room);
        rc = writer_run(&spread->writer, &run, err);
        spread->in_window[from->measure] += run.count;
        run.first_ns += run.count * run.step_ns;
        count -= run.count;
        if (!rc && spread->in_window[from->measure] == UINT32_MAX)
            rc = seal_measure(spread, from->measure, err);
        if (!rc && writer_is_due(&spread->writer))
            rc = writer_flush(&spread->writer, &spread->snapshot, &spread->quality, 0, err);
    }
    return rc;
}

/* Puts what begins in the open window, and keeps the rest. */
static enum err_code put_part(struct spread *spread, struct reaching part, struct err *err)
{
    uint64_t here = part.count;
    if (spread->step_ns > 0 && part.measure == MEASURE_TIME && part.at_ns < spread->to_ns) {
        const uint64_t fit = (spread->to_ns - part.at_ns - 1) / spread->step_ns + 1;
        here = fit < here ? fit : here;
    }
    if (here < part.count && spread->parts_left == 0)
        here = part.count;
    enum err_code rc = put_run(spread, &part, here, err);
    part.at_ns += here * spread->step_ns;
    part.count -= here;
    if (rc || part.count == 0)
        return rc;
    spread->parts_left--;
    if (!VEC_RESERVE(spread->reaching, spread->reaching_room, spread->reaching_count + 1))
        return err_nomem(err);
    spread->reaching[spread->reaching_count++] = part;
    return ERR_OK;
}

static enum err_code put_window(struct spread *spread, struct sorter_record *next,
                                bool *has_next, struct err *err)
{
    struct gather *const gather = spread->gather;
    const size_t reaching = spread->reaching_count;
    enum err_code rc = ERR_OK;
    spread->reaching_count = 0;
    /* A sample that is put back takes the room of one that was read. */
    for (size_t i = 0; i < reaching && !rc; i++)
        rc = put_part(spread, spread->reaching[i], err);
    while (!rc && *has_next && next->keys[0] - gather->first_ns < spread->to_ns) {
        const enum measure measure = (enum measure)(next->keys[1] >> MEASURE_SHIFT);
        const uint64_t period =
            measure == MEASURE_TIME ? spread->period_ns : gather->divisors[measure];
        const struct reaching part = { .thread = next->thread,
                                       .node = next->node,
                                       .state = (state_bits)next->keys[1],
                                       .measure = measure,
                                       .count = period ? next->value / period : next->value,
                                       .at_ns = next->keys[0] - gather->first_ns };
        rc = put_part(spread, part, err);
        if (!rc) {
            rc = sorter_next(&gather->samples, next, err);
            *has_next = !rc;
            rc = rc == ERR_NOT_FOUND ? ERR_OK : rc;
        }
    }
    return rc ? rc : seal_window(spread, err);
}

static enum err_code put_windows(struct spread *spread, uint64_t end_ns, struct err *err)
{
    struct gather *const gather = spread->gather;
    const uint64_t least_ns = MIN_WINDOW_MS * NS_PER_MS;
    const uint64_t part_ns = end_ns / MAX_WINDOWS + 1;
    const uint64_t width_ns = !gather->has_instants ? end_ns
                              : part_ns > least_ns  ? part_ns
                                                    : least_ns;
    struct sorter_record next;
    enum err_code rc = sorter_next(&gather->samples, &next, err);
    bool has_next = !rc;
    while (!rc && (has_next || spread->reaching_count > 0)) {
        uint64_t from_ns = spread->to_ns;
        if (spread->reaching_count == 0)
            from_ns = (next.keys[0] - gather->first_ns) / width_ns * width_ns;
        /* A gap without samples. */
        if (from_ns > spread->to_ns)
            rc = writer_seal(&spread->writer, from_ns, spread->period_ns, err);
        spread->from_ns = from_ns;
        spread->to_ns = from_ns + width_ns < end_ns ? from_ns + width_ns : end_ns;
        if (!rc)
            rc = put_window(spread, &next, &has_next, err);
    }
    return rc;
}

static void describe_file(const struct gather *gather, char *out, size_t room)
{
    snprintf(out, room, "a profile of %s%s%s%s%s%s%s%s",
             *gather->tool ? gather->tool : "another tool", " (", gather->format, ")",
             *gather->counts ? " that counts " : "", gather->counts,
             *gather->lacks ? ", without " : "", gather->lacks);
}

enum err_code gather_write(struct gather *gather, struct scratch *out, struct err *err)
{
    if (gather->samples.added == 0)
        return err_set(err, ERR_CORRUPT, "it has no samples");
    struct spread spread = { .gather = gather,
                             .period_ns = gather->is_time ? gather->divisors[MEASURE_TIME] : 0,
                             .quality = { .samples = gather->sample_count } };
    spread.step_ns = gather->has_instants ? spread.period_ns : 0;
    spread.parts_left = gather->samples.added * PARTS_OF_A_SAMPLE + MORE_PARTS;
    /* Without instants the samples are of no order, and last as long as the time of one thread. */
    const uint64_t span_ns = gather->last_ns - gather->first_ns;
    const uint64_t length_ns = gather->has_instants ? span_ns + spread.period_ns
                               : gather->is_time    ? gather->most
                                                    : 1;
    const char *const words[] = { *gather->command ? gather->command : gather->format, NULL };
    char foreign[GATHER_FOREIGN_BYTES];
    describe_file(gather, foreign, sizeof foreign);
    const uint64_t interval_ns = gather->interval_ns ? gather->interval_ns : 0;
    const struct capture_metadata start = {
        .pid = (uint64_t)gather->pid,
        .validated = 1,
        .started_at_ns = gather->started_at_ns,
        .rate_uhz = interval_ns ? NS_PER_S * 1000000 / interval_ns : 0,
        .all_threads = 1,
        .unit_ns = UNIT_NS,
        .executable = "",
        .python = gather->python,
        .host = "",
        .user = "",
        .mode = "",
        .async = "",
        .engine = "",
        .engine_reason = "",
        .kernel_reason = "",
        .stop = "",
        .pyrometer = "",
        .foreign = foreign,
        .argv = { 1, (const char **)(uintptr_t)words },
    };
    enum err_code rc = profile_seal(gather->profile, 0, err);
    if (!rc)
        rc = profile_snapshot(gather->profile, &spread.snapshot, err);
    if (!rc)
        rc = writer_init(&spread.writer, &start, take_bytes, out, err);
    if (!rc)
        rc = put_windows(&spread, length_ns, err);
    if (!rc)
        rc = writer_flush(&spread.writer, &spread.snapshot, &spread.quality, 0, err);
    const struct capture_metadata end = {
        .elapsed_ns = length_ns,
        .ended_at_ns = gather->started_at_ns ? gather->started_at_ns + length_ns : 0,
        .reason = foreign,
        .source_text = "",
    };
    if (!rc)
        rc = writer_finish(&spread.writer, &end, err);
    writer_deinit(&spread.writer);
    profile_snapshot_release(&spread.snapshot);
    free(spread.reaching);
    return rc;
}
