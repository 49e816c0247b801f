#include "sampler/capture/merge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/scoped.h"
#include "sampler/capture/metadata.h"
#include "sampler/capture/reader.h"
#include "sampler/capture/recorded_filters.h"
#include "sampler/capture/source_texts.h"
#include "sampler/profile/memory_log.h"
#include "sampler/profile/packages.h"
#include "sampler/profile/profile.h"

/* A capture to be merged, and the ids of its rows in the result. */
struct input {
    struct reader *reader;
    struct profile_snapshot snapshot;
    uint64_t offset_ns; /* of the start of its range in the merged session */
    uint32_t *strings, *libraries, *functions, *frames, *nodes, *threads, *processes, *spots;
    struct capture_window window; /* the next */
    bool has_window;
    struct merge_range range;
    struct quality quality; /* of the range, as far as blocks are counted */
    struct counted_block {
        struct quality before, after; /* of the whole capture */
        uint32_t windows, wanted;
    } block;
};

struct merge {
    struct input *inputs;
    size_t count;
    bool omits_source;
    struct profile *profile;
    struct profile_snapshot snapshot;
    struct writer writer;
    uint64_t now_ns[MEASURE_COUNT]; /* the end of the last window of each measure */
    bool drops_filters;
    size_t source_texts;
};

static const struct capture_metadata *facts_of(const struct input *input)
{
    return reader_metadata(input->reader);
}

static uint32_t *make_ids(uint32_t rows)
{
    return calloc((size_t)rows + 1, sizeof(uint32_t));
}

static enum err_code map_places(struct profile *profile, struct input *input, struct err *err)
{
    const struct profile_sizes *const sizes = &input->snapshot.sizes;
    enum err_code rc = ERR_OK;
    for (library_id id = 0; id < sizes->libraries && !rc; id++) {
        struct profile_library row = profile_library_at(&input->snapshot, id);
        row.path = input->strings[row.path];
        row.build_id = input->strings[row.build_id];
        rc = profile_library(profile, &row, &input->libraries[id], err);
    }
    for (function_id id = 0; id < sizes->functions && !rc; id++) {
        struct profile_function row = profile_function_at(&input->snapshot, id);
        row.name = input->strings[row.name];
        row.file = input->strings[row.file];
        row.library = input->libraries[row.library];
        rc = profile_function_row(profile, &row, &input->functions[id], err);
    }

    for (frame_id id = 0; id < sizes->frames && !rc; id++) {
        const struct profile_frame row = profile_frame_at(&input->snapshot, id);
        rc = profile_frame(profile, input->functions[row.function], row.line,
                           &input->frames[id], err);
    }
    /* The root stays the root. */
    for (node_id id = 1; id < sizes->nodes && !rc; id++) {
        const struct profile_node row = profile_node_at(&input->snapshot, id);
        rc = profile_node(profile, input->nodes[row.parent], input->frames[row.frame],
                          &input->nodes[id], err);
    }
    for (spot_id id = 0; id < sizes->spots && !rc; id++) {
        struct profile_spot row = profile_spot_at(&input->snapshot, id);
        row.function = input->functions[row.function];
        row.opcode = input->strings[row.opcode];
        row.base = input->strings[row.base];
        if (row.caller)
            row.caller = input->spots[row.caller - 1] + 1;
        rc = profile_spot(profile, &row, &input->spots[id], err);
    }
    return rc;
}

/* Keeps processes of several hosts apart. */
static enum err_code name_process(struct profile *profile, const struct input *input,
                                  const char *home, str_id name, str_id *out, struct err *err)
{
    char text[512];
    const char *const host = facts_of(input)->host;
    *out = input->strings[name];
    if (!*host || strcmp(host, home) == 0)
        return ERR_OK;
    snprintf(text, sizeof text, "%.240s@%.240s", profile_string(&input->snapshot, name).text,
             host);
    return strtab_intern(profile_strings(profile), text, strlen(text), out, err);
}

static bool is_wanted(const struct input *input)
{
    const uint64_t start_ns = input->window.start_ns;
    return start_ns >= input->range.from_ns &&
           (input->range.to_ns == 0 || start_ns < input->range.to_ns);
}

static uint64_t section_of(const struct counted_block *block, uint64_t before, uint64_t after)
{
    const double part = block->windows ? (double)block->wanted / block->windows : 0;
    return after > before ? (uint64_t)llround((double)(after - before) * part) : 0;
}

static void count_block(struct input *input)
{
    const struct counted_block *const block = &input->block;
#define X(name, text) \
    input->quality.name += section_of(block, block->before.name, block->after.name);
    QUALITY_COUNTERS(X)
#undef X
    input->block = (struct counted_block){ .before = block->after, .after = block->after };
}

static enum err_code next_window(struct input *input, struct err *err)
{
    enum err_code rc = ERR_OK;
    do {
        rc = reader_next_window(input->reader, &input->window, err);
        if (!rc) {
            /* Counters are known at the end of a block of windows. */
            if (input->window.quality.ticks != input->block.after.ticks)
                count_block(input);
            input->block.after = input->window.quality;
            input->block.windows++;
            input->block.wanted += is_wanted(input);
        }
    } while (!rc && !is_wanted(input));
    input->has_window = !rc;
    if (!input->has_window)
        count_block(input);
    return rc == ERR_NOT_FOUND ? ERR_OK : rc;
}

static enum err_code open_input(struct merge *merge, struct input *input, size_t memory_bytes,
                                struct err *err)
{
    const char *const home = facts_of(&merge->inputs[0])->host;
    enum err_code rc = reader_load(input->reader, memory_bytes, err);
    if (!rc)
        rc = profile_snapshot(reader_profile(input->reader), &input->snapshot, err);
    if (!rc) {
        const struct profile_sizes *const sizes = &input->snapshot.sizes;
        input->strings = make_ids(sizes->strings);
        input->libraries = make_ids(sizes->libraries);
        input->functions = make_ids(sizes->functions);
        input->frames = make_ids(sizes->frames);
        input->nodes = make_ids(sizes->nodes);
        input->threads = make_ids(sizes->threads);
        input->processes = make_ids(sizes->processes);
        input->spots = make_ids(sizes->spots);
        rc = input->strings && input->libraries && input->functions && input->frames &&
                     input->nodes && input->threads && input->processes && input->spots
                 ? ERR_OK
                 : err_nomem(err);
    }
    if (!rc) {
        struct profile *const profile = merge->profile;
        for (str_id id = 0; id < input->snapshot.sizes.strings && !rc; id++) {
            const struct strtab_string string = profile_string(&input->snapshot, id);
            rc = strtab_intern(profile_strings(profile), string.text, string.length,
                               &input->strings[id], err);
        }
    }
    if (!rc)
        rc = map_places(merge->profile, input, err);
    if (!rc) {
        const struct profile_sizes *const sizes = &input->snapshot.sizes;
        for (process_id id = 0; id < sizes->processes && !rc; id++) {
            const struct profile_process row = profile_process_at(&input->snapshot, id);
            str_id name;
            rc = name_process(merge->profile, input, home, row.name, &name, err);
            if (!rc)
                rc = profile_process(merge->profile, row.pid, name, &input->processes[id], err);
        }
        for (thread_id id = 0; id < sizes->threads && !rc; id++) {
            struct profile_thread row = profile_thread_at(&input->snapshot, id);
            row.process = input->processes[row.process];
            row.name = input->strings[row.name];
            rc = profile_thread(merge->profile, &row, &input->threads[id], err);
        }
    }

    /* The first capture that names the package of a file is right; those that find no room are left out. */
    const struct packages *const packages = profile_packages(reader_profile(input->reader));
    for (uint32_t i = 0; i < packages_count(packages); i++)
        (void)!packages_add(profile_packages(merge->profile), packages->rows[i].path,
                            packages->rows[i].package, NULL);

    reader_rewind(input->reader);
    return rc ? rc : next_window(input, err);
}

/* Since 1970. */
static uint64_t start_of(const struct input *input)
{
    return facts_of(input)->started_at_ns + input->range.from_ns;
}

/* An instant of a capture in the merged session.  The first window may have runs from before the range. */
static uint64_t move_time(const struct input *input, uint64_t at_ns)
{
    const uint64_t from_ns = input->range.from_ns;
    return at_ns > from_ns ? at_ns - from_ns + input->offset_ns : input->offset_ns;
}

static enum err_code begin_merge(struct merge *merge, writer_take take, void *to,
                                 struct err *err)
{
    struct capture_metadata metadata = *facts_of(&merge->inputs[0]);
    struct recorded_filters_room room;

    uint64_t start_ns = UINT64_MAX;
    for (size_t i = 0; i < merge->count; i++)
        if (start_of(&merge->inputs[i]) < start_ns)
            start_ns = start_of(&merge->inputs[i]);
    metadata.started_at_ns = start_ns;

    metadata.merged = merge->count;
    metadata.ended_at_ns = metadata.elapsed_ns = metadata.has_failed = metadata.lost = 0;
    metadata.reason = metadata.source_text = "";
    metadata.targets = metadata.processes = metadata.services = (struct capture_texts){ 0 };
    metadata.package_paths = metadata.package_names = (struct capture_texts){ 0 };
    for (size_t i = 0; i < merge->count; i++) {
        struct input *const input = &merge->inputs[i];
        input->offset_ns = start_of(input) - metadata.started_at_ns;
        if (input->offset_ns > WINDOWS_MAX_NS / 2)
            return err_set(err, ERR_INVALID, "the captures are too far apart in time");
        if (strcmp(facts_of(input)->foreign, metadata.foreign) != 0)
            metadata.foreign = "";
        metadata.hides_arguments &= facts_of(input)->hides_arguments;
        if (facts_of(input)->unit_ns < metadata.unit_ns)
            metadata.unit_ns = facts_of(input)->unit_ns;
    }

    /* Filters that not all have would hide what some were recorded to show. */
    char ignored[RECORDED_FILTERS_TEXT_BYTES];
    struct frame_filters first, other;
    recorded_filters_take(&metadata, &first, ignored);
    for (size_t i = 1; i < merge->count; i++) {
        recorded_filters_take(facts_of(&merge->inputs[i]), &other, ignored);
        merge->drops_filters |= !frame_filters_agree(&first, &other);
    }
    if (merge->drops_filters)
        first.count = 0;
    recorded_filters_put(&first, &room, &metadata);
    return writer_init(&merge->writer, &metadata, take, to, err);
}

/* NULL: no window is left. */
static struct input *find_earliest(const struct merge *merge)
{
    struct input *best = NULL;
    uint64_t best_ns = 0;
    for (size_t i = 0; i < merge->count; i++) {
        struct input *const input = &merge->inputs[i];
        const uint64_t end_ns = move_time(input, input->window.end_ns);
        if (input->has_window && (!best || end_ns < best_ns)) {
            best = input;
            best_ns = end_ns;
        }
    }
    return best;
}

static enum err_code flush_output(struct merge *merge, struct err *err)
{
    struct quality sum = { 0 };
    uint64_t lost = 0;
    for (size_t i = 0; i < merge->count; i++) {
        const struct quality *const quality = &merge->inputs[i].quality;
#define X(name, text) sum.name += quality->name;
        QUALITY_COUNTERS(X)
#undef X
        lost += facts_of(&merge->inputs[i])->lost;
    }
    return writer_flush(&merge->writer, &merge->snapshot, &sum, lost, err);
}

/* The state is that of the first capture without texts, if none has any. */
static enum err_code write_source(struct merge *merge, const char **state_out, struct err *err)
{
    SCOPED_FREE const struct source_texts **lists = calloc(merge->count, sizeof *lists);
    struct buffer texts = { 0 };
    *state_out =
        merge->omits_source ? SOURCE_TEXT_OFF : reader_source_text(merge->inputs[0].reader);
    if (!lists)
        return err_nomem(err);
    if (merge->omits_source)
        return ERR_OK;
    for (size_t i = 0; i < merge->count; i++) {
        lists[i] = reader_source(merge->inputs[i].reader);
        if (strcmp(reader_source_text(merge->inputs[i].reader), SOURCE_TEXT_KEPT) == 0)
            *state_out = SOURCE_TEXT_KEPT;
    }
    enum err_code rc =
        source_texts_merge(lists, merge->count, &texts, &merge->source_texts, err);
    if (!rc && texts.length)
        rc = writer_source(&merge->writer, &texts, err);
    buffer_deinit(&texts);
    return rc;
}

/* The memory of the processes of all captures. */
static enum err_code write_memory(struct merge *merge, struct err *err)
{
    struct memory_log *const logs = calloc(merge->count, sizeof *logs);
    struct memory_log merged = { .step_count = 0 };
    enum err_code rc = logs ? ERR_OK : err_nomem(err);
    for (size_t i = 0; i < merge->count && !rc; i++) {
        const struct input *const input = &merge->inputs[i];
        rc = profile_copy_memory(reader_profile(input->reader), input->range.from_ns,
                                 input->range.to_ns, &logs[i], err);
        for (size_t k = 0; !rc && k < logs[i].step_count; k++) {
            logs[i].steps[k].start_ns = move_time(input, logs[i].steps[k].start_ns);
            logs[i].steps[k].end_ns = move_time(input, logs[i].steps[k].end_ns);
        }
        for (size_t k = 0; !rc && k < logs[i].use_count; k++)
            if (logs[i].uses[k].process != MEMORY_OTHERS)
                logs[i].uses[k].process = input->processes[logs[i].uses[k].process];
    }
    if (!rc)
        rc = memory_log_merge(logs, merge->count, &merged, err);
    for (size_t i = 0; i < merged.step_count && !rc; i++)
        rc = writer_memory(&merge->writer, &merged.steps[i],
                           memory_log_uses(&merged, &merged.steps[i]), err);
    for (size_t i = 0; logs && i < merge->count; i++)
        memory_log_deinit(&logs[i]);
    free(logs);
    memory_log_deinit(&merged);
    return rc;
}

static uint64_t last_end(const struct merge *merge)
{
    uint64_t end_ns = 0;
    for (size_t i = 0; i < MEASURE_COUNT; i++)
        end_ns = merge->now_ns[i] > end_ns ? merge->now_ns[i] : end_ns;
    return end_ns;
}

static enum err_code end_merge(struct merge *merge, struct err *err)
{
    char reason[64];
    const char *paths[PACKAGES_MAX], *names[PACKAGES_MAX];
    const uint32_t packages = packages_list(profile_packages(merge->profile), paths, names);
    struct capture_metadata metadata = { .elapsed_ns = last_end(merge),
                                         .reason = reason,
                                         .package_paths = { packages, paths },
                                         .package_names = { packages, names } };
    snprintf(reason, sizeof reason, "merged from %zu captures", merge->count);
    for (size_t i = 0; i < merge->count; i++) {
        const struct capture_metadata *const input = facts_of(&merge->inputs[i]);
        const uint64_t to_ns = merge->inputs[i].range.to_ns;
        const bool is_cut = to_ns > 0 && to_ns < input->elapsed_ns;
        const uint64_t elapsed_ns = move_time(&merge->inputs[i], input->elapsed_ns);
        const uint64_t ended_at_ns = is_cut ? input->started_at_ns + to_ns : input->ended_at_ns;
        metadata.lost += input->lost;
        if (input->elapsed_ns && !is_cut && elapsed_ns > metadata.elapsed_ns)
            metadata.elapsed_ns = elapsed_ns;
        if (ended_at_ns > metadata.ended_at_ns)
            metadata.ended_at_ns = ended_at_ns;
    }
    enum err_code rc = write_memory(merge, err);
    if (!rc)
        rc = flush_output(merge, err);
    if (!rc)
        rc = write_source(merge, &metadata.source_text, err);
    return rc ? rc : writer_finish(&merge->writer, &metadata, err);
}

/* The measure of the result that the window of an input is of. */
static enum err_code map_measure(struct merge *merge, const struct input *input,
                                 enum measure *out, struct err *err)
{
    const struct profile_snapshot rows = { .profile = reader_profile(input->reader) };
    *out = input->window.measure;
    if (*out < MEASURE_KNOWN)
        return ERR_OK;
    const struct measure_facts *const facts = profile_measure(&rows, *out);
    return profile_foreign_measure(merge->profile, facts->pprof_type, facts->pprof_unit, out,
                                   err);
}

/* Closes the window of the measure. */
static enum err_code seal_output(struct merge *merge, enum measure measure, uint64_t end_ns,
                                 uint64_t period, struct err *err)
{
    return measure == MEASURE_TIME
               ? writer_seal(&merge->writer, end_ns, period, err)
               : writer_seal_measured(&merge->writer, measure, end_ns, period, err);
}

static enum err_code run_merge(struct merge *merge, size_t memory_bytes, writer_take take,
                               void *to, struct err *err)
{
    struct input *input;
    enum err_code rc = profile_create(&merge->profile, err);
    for (size_t i = 0; i < merge->count && !rc; i++) {
        rc = open_input(merge, &merge->inputs[i], memory_bytes, err);
        if (!rc && merge->inputs[i].range.from_ns && !merge->inputs[i].has_window)
            rc = err_set(err, ERR_INVALID, "capture %zu has nothing in that part of its time",
                         i + 1);
    }
    if (!rc)
        rc = profile_seal(merge->profile, 0, err);
    if (!rc)
        rc = profile_snapshot(merge->profile, &merge->snapshot, err);
    if (!rc)
        rc = begin_merge(merge, take, to, err);
    while (!rc && (input = find_earliest(merge))) {
        const struct capture_window *const window = &input->window;
        const uint64_t start_ns = move_time(input, window->start_ns);
        const uint64_t end_ns = move_time(input, window->end_ns);
        enum measure measure;
        rc = map_measure(merge, input, &measure, err);
        /* A gap without samples. */
        if (!rc && start_ns > merge->now_ns[measure])
            rc = seal_output(merge, measure, start_ns, window->period_ns, err);
        for (size_t i = 0; i < window->run_count && !rc; i++) {
            struct run run_merge = window->runs[i];
            run_merge.measure = (uint8_t)measure;
            run_merge.thread = input->threads[run_merge.thread];
            run_merge.node = input->nodes[run_merge.node];
            run_merge.first_ns = move_time(input, run_merge.first_ns);
            if (run_merge.spot != PROFILE_NO_SPOT) {
                run_merge.spot = input->spots[run_merge.spot];
                run_merge.spot_node = input->nodes[run_merge.spot_node];
            }
            rc = writer_run(&merge->writer, &run_merge, err);
        }
        if (!rc && !window->is_open) {
            rc = seal_output(merge, measure, end_ns, window->period_ns, err);
            merge->now_ns[measure] = end_ns;
        }
        /* The last flush has the counters of all blocks. */
        if (!rc)
            rc = next_window(input, err);
        if (!rc && writer_is_due(&merge->writer))
            rc = flush_output(merge, err);
    }
    return rc ? rc : end_merge(merge, err);
}

enum err_code merge_captures(struct reader *const *readers, size_t count,
                             const struct merge_options *options, writer_take take, void *to,
                             struct merge_result *out, struct err *err)
{
    const struct merge_range *const ranges = options->ranges;
    struct merge merge = { .count = count, .omits_source = options->omits_source };
    merge.inputs = calloc(count, sizeof *merge.inputs);
    if (!merge.inputs)
        return err_nomem(err);
    for (size_t i = 0; i < count; i++)
        merge.inputs[i] =
            (struct input){ .reader = readers[i],
                            .range = ranges ? ranges[i] : (struct merge_range){ 0 } };
    const enum err_code rc = run_merge(&merge, options->memory_bytes, take, to, err);
    *out =
        (struct merge_result){ merge.writer.samples, merge.source_texts, merge.drops_filters };
    writer_deinit(&merge.writer);
    profile_snapshot_release(&merge.snapshot);
    profile_destroy(merge.profile);
    for (size_t i = 0; i < count; i++) {
        struct input *const input = &merge.inputs[i];
        profile_snapshot_release(&input->snapshot);
        free(input->strings);
        free(input->libraries);
        free(input->functions);
        free(input->frames);
        free(input->nodes);
        free(input->threads);
        free(input->processes);
        free(input->spots);
    }
    free(merge.inputs);
    return rc;
}
