#include "server/report/encoding/pprof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/profile/context.h"
#include "sampler/profile/state.h"
#include "sampler/profile/wait.h"
#include "server/report/chain.h"
#include "server/report/encoding/numbered.h"
#include "server/report/encoding/protobuf.h"
#include "server/report/names.h"

/* Field numbers of perftools.profiles, profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING_TABLE = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    VALUE_TYPE = 1,
    VALUE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_STR = 2,
    LABEL_NUM = 3,
    MAPPING_ID = 1,
    MAPPING_FILENAME = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILENAMES = 8,
    MAPPING_HAS_LINE_NUMBERS = 9,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_FILENAME = 4,
    FUNCTION_START_LINE = 5,
};

struct pprof {
    const struct profile_snapshot *snapshot;
    const struct pprof_settings *settings;
    struct buffer *out;
    struct buffer part, inner, text; /* a message, one within it, a text */
    struct chain chain;
    struct numbered numbered;
    state_bits state; /* whose text has this number; 0: none yet */
    uint32_t state_text;
};

enum err_code pprof_create(const struct profile_snapshot *snapshot, struct pprof **out,
                           struct err *err)
{
    struct pprof *const pprof = calloc(1, sizeof *pprof);
    if (!pprof)
        return err_nomem(err);
    pprof->snapshot = snapshot;
    const enum err_code rc = numbered_init(&pprof->numbered, snapshot, err);
    if (!rc)
        *out = pprof;
    else
        free(pprof);
    return rc;
}

void pprof_destroy(struct pprof *pprof)
{
    if (!pprof)
        return;
    numbered_deinit(&pprof->numbered);
    chain_deinit(&pprof->chain);
    buffer_deinit(&pprof->part);
    buffer_deinit(&pprof->inner);
    buffer_deinit(&pprof->text);
    free(pprof);
}

uint64_t pprof_cpu_ns(const struct view_cell *cell, uint64_t wall_ns)
{
    return (cell->state & STATE_ON_CPU) && !(cell->state & STATE_UNKNOWN_ON_CPU) ? wall_ns : 0;
}

void pprof_shorten(struct chain *chain, size_t max_depth)
{
    if (max_depth == 0 || chain->depth <= max_depth)
        return;
    const size_t outer = max_depth / 2, inner = max_depth - outer;
    memmove(&chain->frames[inner], &chain->frames[chain->depth - outer],
            outer * sizeof *chain->frames);
    chain->depth = max_depth;
}

static void put_message(struct pprof *pprof, unsigned field)
{
    protobuf_bytes(pprof->out, field, pprof->part.data, pprof->part.length);
    buffer_clear(&pprof->part);
}

/* Puts what is in `inner` into the message being made. */
static void put_inner(struct pprof *pprof, unsigned field)
{
    protobuf_bytes(&pprof->part, field, pprof->inner.data, pprof->inner.length);
    buffer_clear(&pprof->inner);
}

static uint32_t word_number(struct pprof *pprof, const char *text)
{
    return numbered_text(&pprof->numbered, text, strlen(text));
}

static void put_value_type(struct pprof *pprof, unsigned field, const char *type,
                           const char *unit)
{
    protobuf_uint(&pprof->part, VALUE_TYPE, word_number(pprof, type));
    protobuf_uint(&pprof->part, VALUE_UNIT, word_number(pprof, unit));
    put_message(pprof, field);
}

static void put_label(struct pprof *pprof, const char *key, unsigned field, uint64_t value)
{
    protobuf_uint(&pprof->inner, LABEL_KEY, word_number(pprof, key));
    protobuf_uint(&pprof->inner, field, value);
    put_inner(pprof, SAMPLE_LABEL);
}

/* Cells come in the order of states, so the newest one is all that is kept. */
static uint32_t state_text(struct pprof *pprof, state_bits state)
{
    if (pprof->state != state) {
        buffer_clear(&pprof->text);
        names_put_state(&pprof->text, state);
        pprof->state_text =
            numbered_text(&pprof->numbered, pprof->text.data, pprof->text.length);
        pprof->state = state;
    }
    return pprof->state_text;
}

/* Why the thread waits, where the stack says so. */
static void put_wait(struct pprof *pprof, const struct view_cell *cell)
{
    const frame_id frame = profile_node_at(pprof->snapshot, cell->node).frame;
    struct wait_text wait;
    if (!wait_of_function(pprof->snapshot, profile_frame_at(pprof->snapshot, frame).function,
                          &wait))
        return;
    put_label(pprof, "wait", LABEL_STR, word_number(pprof, wait_cause_title(wait.cause)));
    if (wait.detail_length > 0)
        put_label(pprof, "peer", LABEL_STR,
                  numbered_text(&pprof->numbered, wait.detail, wait.detail_length));
}

static void put_text_label(struct pprof *pprof, const char *key, const char *text,
                           size_t length)
{
    put_label(pprof, key, LABEL_STR, numbered_text(&pprof->numbered, text, length));
}

static void put_context(struct pprof *pprof, const struct view_cell *cell)
{
    const function_id function = context_function_of_node(pprof->snapshot, cell->node);
    struct context_text context;
    struct context_span span;
    char variable[CONTEXT_MAX_VARIABLE];
    if (!function || !context_of_function(pprof->snapshot, function, &context) ||
        context.mark != CONTEXT_MARK_VALUE)
        return;
    if (context_read_span(&context, &span)) {
        put_text_label(pprof, "trace_id", span.trace_id, CONTEXT_TRACE_DIGITS);
        put_text_label(pprof, "span_id", span.span_id, CONTEXT_SPAN_DIGITS);
        return;
    }
    if (pprof->settings->labels & PPROF_SPANS)
        return;
    snprintf(variable, sizeof variable, "%.*s", (int)context.variable_length, context.variable);
    put_text_label(pprof, variable, context.value, context.value_length);
}

/* A sample of one measure is 0 of all others.  beside: which of the others it is of; beside_count: it is none. */
static void put_values(struct pprof *pprof, const struct view_cell *cell, size_t beside)
{
    const struct pprof_settings *const settings = pprof->settings;
    const bool is_main = beside == settings->beside_count;
    const uint64_t value = cell->ns > 0 ? cell->ns : cell->count * settings->period_ns;
    const uint64_t main_value = is_main ? value : 0;
    if (settings->values == PPROF_ALL)
        protobuf_varint(&pprof->inner, is_main ? cell->count : 0);
    if (settings->values != PPROF_CPU)
        protobuf_varint(&pprof->inner, main_value);
    if (settings->values == PPROF_ALL || settings->values == PPROF_CPU)
        protobuf_varint(&pprof->inner, pprof_cpu_ns(cell, main_value));
    for (size_t i = 0; i < settings->beside_count; i++)
        protobuf_varint(&pprof->inner, i == beside ? value : 0);
    put_inner(pprof, SAMPLE_VALUE);
}

static enum err_code put_sample(struct pprof *pprof, const struct view_cell *cell,
                                size_t beside, struct err *err)
{
    const struct pprof_settings *const settings = pprof->settings;
    const enum err_code rc = chain_up(&pprof->chain, pprof->snapshot, cell->node, err);
    if (rc)
        return rc;
    if (settings->labels & (PPROF_CONTEXT | PPROF_SPANS))
        chain_drop_context(&pprof->chain, pprof->snapshot);
    pprof_shorten(&pprof->chain, settings->max_depth);
    for (size_t i = 0; i < pprof->chain.depth; i++)
        protobuf_varint(&pprof->inner,
                        numbered_frame(&pprof->numbered, pprof->chain.frames[i]));
    put_inner(pprof, SAMPLE_LOCATION);
    put_values(pprof, cell, beside);

    /* Parts are of time alone. */
    const unsigned labels = beside < settings->beside_count
                                ? settings->labels & ~(unsigned)PPROF_PART
                                : settings->labels;
    const struct profile_thread thread = profile_thread_at(pprof->snapshot, cell->thread);
    const struct profile_process process = profile_process_at(pprof->snapshot, thread.process);
    enum part part;
    if ((labels & PPROF_THREAD) && thread.name != 0)
        put_label(pprof, "thread", LABEL_STR, numbered_string(&pprof->numbered, thread.name));
    if (labels & PPROF_THREAD)
        put_label(pprof, "thread_id", LABEL_NUM, (uint64_t)(int64_t)thread.tid);
    if ((labels & PPROF_PROCESS) && process.name != 0)
        put_label(pprof, "process", LABEL_STR, numbered_string(&pprof->numbered, process.name));
    if (labels & PPROF_PROCESS)
        put_label(pprof, "process_id", LABEL_NUM, (uint64_t)(int64_t)process.pid);
    if ((labels & PPROF_STATE) && cell->state != 0)
        put_label(pprof, "state", LABEL_STR, state_text(pprof, cell->state));
    if ((labels & PPROF_PART) &&
        profile_part_at(pprof->snapshot, cell->thread, cell->state, cell->node, &part))
        put_label(pprof, "part", LABEL_STR, word_number(pprof, part_text(part)));
    if (labels & PPROF_WAIT)
        put_wait(pprof, cell);
    if (labels & (PPROF_CONTEXT | PPROF_SPANS))
        put_context(pprof, cell);

    put_message(pprof, PROFILE_SAMPLE);
    return buffer_check(pprof->out, err);
}

static bool is_too_large(const struct pprof *pprof)
{
    const size_t most = pprof->settings->max_bytes;
    return most > 0 && pprof->out->length + pprof->numbered.bytes > most;
}

/* A line below 1 is unknown, which pprof says with 0. */
static uint64_t line_of(int32_t line)
{
    return line > 0 ? (uint64_t)line : 0;
}

/* Without a system name pprof takes names as they are: else it would strip <module> as it does C++
 * templates. */
static void put_tables(struct pprof *pprof)
{
    struct numbered *const numbered = &pprof->numbered;

    const struct numbering *const libraries = &pprof->numbered.libraries;
    for (uint32_t id = 1; id <= libraries->count; id++) {
        const library_id row = libraries->rows[id];
        struct profile_library library = { .flags = 0 };
        if (row > 0)
            library = profile_library_at(pprof->snapshot, row);
        protobuf_uint(&pprof->part, MAPPING_ID, id);
        protobuf_uint(&pprof->part, MAPPING_FILENAME,
                      row > 0 ? numbered_string(&pprof->numbered, library.path)
                              : word_number(pprof, pprof->settings->executable));
        protobuf_uint(&pprof->part, MAPPING_BUILD_ID,
                      numbered_string(&pprof->numbered, library.build_id));
        protobuf_uint(&pprof->part, MAPPING_HAS_FUNCTIONS, 1);
        protobuf_uint(&pprof->part, MAPPING_HAS_FILENAMES, row == 0);
        protobuf_uint(&pprof->part, MAPPING_HAS_LINE_NUMBERS, row == 0);
        put_message(pprof, PROFILE_MAPPING);
    }

    for (uint32_t id = 1; id <= numbered->frames.count; id++) {
        const struct profile_frame frame =
            profile_frame_at(pprof->snapshot, numbered->frames.rows[id]);
        const struct profile_function function =
            profile_function_at(pprof->snapshot, frame.function);
        protobuf_uint(&pprof->part, LOCATION_ID, id);
        protobuf_uint(&pprof->part, LOCATION_MAPPING,
                      numbered_library(numbered, function.library));
        protobuf_uint(&pprof->inner, LINE_FUNCTION,
                      numbered_function(numbered, frame.function));
        protobuf_uint(&pprof->inner, LINE_LINE, line_of(frame.line));
        put_inner(pprof, LOCATION_LINE);
        put_message(pprof, PROFILE_LOCATION);
    }
    for (uint32_t id = 1; id <= numbered->functions.count; id++) {
        const struct profile_function function =
            profile_function_at(pprof->snapshot, numbered->functions.rows[id]);
        protobuf_uint(&pprof->part, FUNCTION_ID, id);
        protobuf_uint(&pprof->part, FUNCTION_NAME, numbered_string(numbered, function.name));
        protobuf_uint(&pprof->part, FUNCTION_FILENAME,
                      numbered_string(numbered, function.file));
        protobuf_uint(&pprof->part, FUNCTION_START_LINE, line_of(function.first_line));
        put_message(pprof, PROFILE_FUNCTION);
    }
    protobuf_bytes(pprof->out, PROFILE_STRING_TABLE, "", 0);
    for (uint32_t id = 1; id <= numbered->strings.count; id++) {
        const struct strtab_string string = numbered_string_at(numbered, id);
        protobuf_bytes(pprof->out, PROFILE_STRING_TABLE, string.text, string.length);
    }
}

enum err_code pprof_write(struct pprof *pprof, const struct pprof_settings *settings,
                          const struct view_cell *cells, size_t count, struct buffer *out,
                          size_t *used_out, struct err *err)
{
    pprof->settings = settings;
    pprof->out = out;
    pprof->state = 0;
    numbered_clear(&pprof->numbered);

    const struct measure_facts *const facts = profile_measure(
        pprof->snapshot, settings->values == PPROF_MEASURED ? settings->measure : MEASURE_TIME);
    const bool is_cpu = settings->values == PPROF_CPU;
    if (settings->values == PPROF_ALL)
        put_value_type(pprof, PROFILE_SAMPLE_TYPE, "samples", "count");
    if (settings->values != PPROF_CPU)
        put_value_type(pprof, PROFILE_SAMPLE_TYPE, facts->pprof_type, facts->pprof_unit);
    if (settings->values == PPROF_ALL || is_cpu)
        put_value_type(pprof, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
    for (size_t i = 0; i < settings->beside_count; i++) {
        const struct measure_facts *const other =
            profile_measure(pprof->snapshot, settings->beside[i].measure);
        put_value_type(pprof, PROFILE_SAMPLE_TYPE, other->pprof_type, other->pprof_unit);
    }
    put_value_type(pprof, PROFILE_PERIOD_TYPE, is_cpu ? "cpu" : facts->pprof_type,
                   facts->pprof_unit);
    protobuf_uint(pprof->out, PROFILE_PERIOD, settings->period_ns);
    for (size_t i = 0; i < 2; i++)
        if (settings->comments[i])
            protobuf_uint(pprof->out, PROFILE_COMMENT,
                          word_number(pprof, settings->comments[i]));
    if (settings->values == PPROF_ALL || settings->beside_count > 0)
        protobuf_uint(pprof->out, PROFILE_DEFAULT_SAMPLE_TYPE,
                      word_number(pprof, facts->pprof_type));
    (void)numbered_library(&pprof->numbered, 0);

    (void)word_number(pprof, settings->executable);

    const size_t most = pprof->settings->max_samples;
    enum err_code rc = ERR_OK;
    size_t i = 0;
    for (; i < count && !rc && (most == 0 || i < most); i++) {
        const struct numbered_mark before = numbered_mark(&pprof->numbered);
        const size_t length = pprof->out->length;
        rc = put_sample(pprof, &cells[i], settings->beside_count, err);
        if (i > 0 && is_too_large(pprof)) {
            numbered_return(&pprof->numbered, &before);
            pprof->out->length = length;
            break;
        }
    }
    *used_out = i;

    for (size_t beside = 0; beside < settings->beside_count; beside++)
        for (size_t j = 0; j < settings->beside[beside].count && !rc; j++)
            rc = put_sample(pprof, &settings->beside[beside].cells[j], beside, err);
    if (rc)
        return rc;
    protobuf_uint(out, PROFILE_TIME_NANOS, settings->began_at_ns);
    protobuf_uint(out, PROFILE_DURATION_NANOS,
                  *used_out < count ? settings->part_ns : settings->duration_ns);
    put_tables(pprof);
    if (buffer_check(&pprof->part, err) || buffer_check(&pprof->inner, err) ||
        buffer_check(&pprof->text, err))
        return ERR_NOMEM;
    return buffer_check(out, err);
}
