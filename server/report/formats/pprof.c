#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/vec.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/state.h"
#include "sampler/profile/views/view.h"
#include "sampler/profile/wait.h"
#include "server/report/chain.h"
#include "server/report/encoding/embedded_profile.h"
#include "server/report/encoding/protobuf.h"
#include "server/report/header.h"
#include "server/report/names.h"
#include "server/report/report.h"
#include "server/wire/session.h"

enum { GZIP_LEVEL = 6 };

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

/* Strings that are not in the profile; their places are behind those that are. */
#define OWN_STRINGS(X)            \
    X(SAMPLES, "samples")         \
    X(COUNT, "count")             \
    X(WALL, "wall")               \
    X(CPU, "cpu")                 \
    X(NANOSECONDS, "nanoseconds") \
    X(THREAD, "thread")           \
    X(THREAD_ID, "thread_id")     \
    X(PROCESS, "process")         \
    X(PROCESS_ID, "process_id")   \
    X(STATE, "state")             \
    X(WAIT, "wait")               \
    X(PEER, "peer")

enum own_string {
#define X(name, text) OWN_##name,
    OWN_STRINGS(X)
#undef X
        OWN_STRING_COUNT,
    OWN_EXECUTABLE = OWN_STRING_COUNT,
    OWN_COMMAND,
    OWN_SELECTION,
    OWN_FIRST_CAUSE,                                    /* titles of causes */
    OWN_FIRST_TEXT = OWN_FIRST_CAUSE + WAIT_CAUSE_COUNT /* of labels, as they come */
};

/* A text of labels that is not among the strings of the profile. */
struct label_text {
    function_id mark; /* whose peer it is; 0: the words of `state` */
    state_bits state;
};

struct pprof {
    const struct report_source *source;
    struct buffer *out;
    struct buffer part, inner; /* a message, and one within it */
    struct chain chain;
    uint64_t period_ns;
    struct label_text *texts; /* from OWN_FIRST_TEXT on */
    uint32_t text_count;
    size_t text_room;
};

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

/* The first string is "" in both tables; ours is there before anything was sampled. */
static uint64_t own(const struct pprof *pprof, uint64_t string)
{
    const uint32_t strings = pprof->source->snapshot->sizes.strings;
    return (strings > 0 ? strings : 1) + string;
}

static void put_value_type(struct pprof *pprof, unsigned field, enum own_string type,
                           enum own_string unit)
{
    protobuf_uint(&pprof->part, VALUE_TYPE, own(pprof, type));
    protobuf_uint(&pprof->part, VALUE_UNIT, own(pprof, unit));
    put_message(pprof, field);
}

/* The first mapping is that of Python code, the others are those of libraries. */
static uint64_t mapping_of(library_id library)
{
    return (uint64_t)library + 1;
}

static void put_libraries(struct pprof *pprof)
{
    const struct profile_snapshot *const snapshot = pprof->source->snapshot;
    for (library_id id = 1; id < snapshot->sizes.libraries; id++) {
        const struct profile_library library = profile_library_at(snapshot, id);
        protobuf_uint(&pprof->part, MAPPING_ID, mapping_of(id));
        protobuf_uint(&pprof->part, MAPPING_FILENAME, library.path);
        protobuf_uint(&pprof->part, MAPPING_BUILD_ID, library.build_id);
        protobuf_uint(&pprof->part, MAPPING_HAS_FUNCTIONS, 1);
        put_message(pprof, PROFILE_MAPPING);
    }
}

static void put_head(struct pprof *pprof)
{
    const struct report_header *const header = pprof->source->header;
    put_value_type(pprof, PROFILE_SAMPLE_TYPE, OWN_SAMPLES, OWN_COUNT);
    put_value_type(pprof, PROFILE_SAMPLE_TYPE, OWN_WALL, OWN_NANOSECONDS);
    put_value_type(pprof, PROFILE_SAMPLE_TYPE, OWN_CPU, OWN_NANOSECONDS);
    protobuf_uint(pprof->out, PROFILE_TIME_NANOS, header->began_at_ns);
    protobuf_uint(pprof->out, PROFILE_DURATION_NANOS, report_header_duration_ns(header));
    put_value_type(pprof, PROFILE_PERIOD_TYPE, OWN_WALL, OWN_NANOSECONDS);
    protobuf_uint(pprof->out, PROFILE_PERIOD, pprof->period_ns);
    protobuf_uint(pprof->out, PROFILE_COMMENT, own(pprof, OWN_COMMAND));
    protobuf_uint(pprof->out, PROFILE_COMMENT, own(pprof, OWN_SELECTION));
    protobuf_uint(pprof->out, PROFILE_DEFAULT_SAMPLE_TYPE, own(pprof, OWN_WALL));
    protobuf_uint(&pprof->part, MAPPING_ID, 1);
    protobuf_uint(&pprof->part, MAPPING_FILENAME, own(pprof, OWN_EXECUTABLE));
    protobuf_uint(&pprof->part, MAPPING_HAS_FUNCTIONS, 1);
    protobuf_uint(&pprof->part, MAPPING_HAS_FILENAMES, 1);
    protobuf_uint(&pprof->part, MAPPING_HAS_LINE_NUMBERS, 1);
    put_message(pprof, PROFILE_MAPPING);
    put_libraries(pprof);
}

static void put_label(struct pprof *pprof, enum own_string key, unsigned field, uint64_t value)
{
    protobuf_uint(&pprof->inner, LABEL_KEY, own(pprof, key));
    protobuf_uint(&pprof->inner, field, value);
    put_inner(pprof, SAMPLE_LABEL);
}

/* There are at most 4^6 combinations of states, and in truth a few; and 256 causes with peers (session/waits.h). */
static enum err_code number_text(struct pprof *pprof, struct label_text text,
                                 uint32_t *number_out, struct err *err)
{
    uint32_t at = 0;
    while (at < pprof->text_count &&
           (pprof->texts[at].mark != text.mark || pprof->texts[at].state != text.state))
        at++;
    *number_out = at;
    if (at < pprof->text_count)
        return ERR_OK;
    if (!VEC_RESERVE(pprof->texts, pprof->text_room, (size_t)pprof->text_count + 1))
        return err_nomem(err);
    pprof->texts[pprof->text_count++] = text;
    return ERR_OK;
}

/* Why the thread waits, where the stack says so. */
static enum err_code put_wait(struct pprof *pprof, const struct view_cell *cell,
                              struct err *err)
{
    const struct profile_snapshot *const snapshot = pprof->source->snapshot;
    const frame_id frame = profile_node_at(snapshot, cell->node).frame;
    const function_id function = profile_frame_at(snapshot, frame).function;
    struct wait_text wait;
    uint32_t peer = 0;
    if (!wait_of_function(snapshot, function, &wait))
        return ERR_OK;
    put_label(pprof, OWN_WAIT, LABEL_STR, own(pprof, OWN_FIRST_CAUSE + (uint64_t)wait.cause));
    if (wait.detail_length == 0)
        return ERR_OK;
    const enum err_code rc =
        number_text(pprof, (struct label_text){ .mark = function }, &peer, err);
    if (rc == ERR_OK)
        put_label(pprof, OWN_PEER, LABEL_STR, own(pprof, OWN_FIRST_TEXT + (uint64_t)peer));
    return rc;
}

static void put_labels(struct pprof *pprof, const struct view_cell *cell, uint64_t state)
{
    const struct profile_snapshot *const snapshot = pprof->source->snapshot;
    const struct profile_thread thread = profile_thread_at(snapshot, cell->thread);
    const struct profile_process process = profile_process_at(snapshot, thread.process);
    if (thread.name != 0)
        put_label(pprof, OWN_THREAD, LABEL_STR, thread.name);
    put_label(pprof, OWN_THREAD_ID, LABEL_NUM, (uint64_t)(int64_t)thread.tid);
    if (process.name != 0)
        put_label(pprof, OWN_PROCESS, LABEL_STR, process.name);
    put_label(pprof, OWN_PROCESS_ID, LABEL_NUM, (uint64_t)(int64_t)process.pid);
    if (cell->state != 0)
        put_label(pprof, OWN_STATE, LABEL_STR, own(pprof, OWN_FIRST_TEXT + state));
}

static enum err_code put_sample(struct pprof *pprof, const struct view_cell *cell,
                                struct err *err)
{
    const bool on_cpu = (cell->state & STATE_ON_CPU) && !(cell->state & STATE_UNKNOWN_ON_CPU);
    const uint64_t wall_ns = report_cell_ns(cell, pprof->period_ns);
    uint32_t state = 0;
    enum err_code rc = chain_up(&pprof->chain, pprof->source->snapshot, cell->node, err);
    if (rc == ERR_OK)
        rc = number_text(pprof, (struct label_text){ .state = cell->state }, &state, err);
    if (rc != ERR_OK)
        return rc;
    for (size_t i = 0; i < pprof->chain.depth; i++)
        protobuf_varint(&pprof->inner, pprof->chain.frames[i]);
    put_inner(pprof, SAMPLE_LOCATION);
    protobuf_varint(&pprof->inner, cell->count);
    protobuf_varint(&pprof->inner, wall_ns);
    protobuf_varint(&pprof->inner, on_cpu ? wall_ns : 0);
    put_inner(pprof, SAMPLE_VALUE);
    put_labels(pprof, cell, state);
    rc = put_wait(pprof, cell, err);
    put_message(pprof, PROFILE_SAMPLE);
    return rc == ERR_OK ? buffer_check(pprof->out, err) : rc;
}

static enum err_code put_samples(struct pprof *pprof, struct err *err)
{
    struct view_cells cells;
    enum err_code rc =
        view_cells_init(&cells, pprof->source->snapshot, pprof->source->query, err);
    if (rc != ERR_OK)
        return rc;
    for (size_t i = 0; i < cells.count && rc == ERR_OK; i++)
        rc = put_sample(pprof, &cells.cells[i], err);
    view_cells_deinit(&cells);
    return rc;
}

/* A line below 1 is unknown, which pprof says with 0. */
static uint64_t line_of(int32_t line)
{
    return line > 0 ? (uint64_t)line : 0;
}

/* Ids of the profile are ids here; 0 is the root's in both and stands nowhere.  Without a system
 * name pprof takes names as they are: else it would strip <module> as it does C++ templates. */
static void put_tables(struct pprof *pprof)
{
    const struct profile_snapshot *const snapshot = pprof->source->snapshot;
    for (frame_id id = 1; id < snapshot->sizes.frames; id++) {
        const struct profile_frame frame = profile_frame_at(snapshot, id);
        protobuf_uint(&pprof->part, LOCATION_ID, id);
        protobuf_uint(&pprof->part, LOCATION_MAPPING,
                      mapping_of(profile_function_at(snapshot, frame.function).library));
        protobuf_uint(&pprof->inner, LINE_FUNCTION, frame.function);
        protobuf_uint(&pprof->inner, LINE_LINE, line_of(frame.line));
        put_inner(pprof, LOCATION_LINE);
        put_message(pprof, PROFILE_LOCATION);
    }
    for (function_id id = 1; id < snapshot->sizes.functions; id++) {
        const struct profile_function function = profile_function_at(snapshot, id);
        protobuf_uint(&pprof->part, FUNCTION_ID, id);
        protobuf_uint(&pprof->part, FUNCTION_NAME, function.name);
        protobuf_uint(&pprof->part, FUNCTION_FILENAME, function.file);
        protobuf_uint(&pprof->part, FUNCTION_START_LINE, line_of(function.first_line));
        put_message(pprof, PROFILE_FUNCTION);
    }
}

static void put_text(struct pprof *pprof, const char *text)
{
    protobuf_bytes(pprof->out, PROFILE_STRING_TABLE, text, strlen(text));
}

/* Protocol buffers want UTF-8, which arguments need not be. */
static void put_command(struct pprof *pprof)
{
    const struct sampler_target *const target = pprof->source->session->target;
    for (size_t i = 0; i < target->argc; i++) {
        buffer_text(&pprof->part, i > 0 ? " " : "");
        names_put_utf8(&pprof->part, target->argv[i]);
    }
    put_message(pprof, PROFILE_STRING_TABLE);
}

static void put_label_text(struct pprof *pprof, const struct label_text *text)
{
    struct wait_text wait;
    if (!text->mark)
        names_put_state(&pprof->part, text->state);
    else if (wait_of_function(pprof->source->snapshot, text->mark, &wait))
        buffer_append(&pprof->part, wait.detail, wait.detail_length);
}

static void put_strings(struct pprof *pprof)
{
    const struct profile_snapshot *const snapshot = pprof->source->snapshot;
    static const char *const texts[] = {
#define X(name, text) text,
        OWN_STRINGS(X)
#undef X
    };
    if (snapshot->sizes.strings == 0)
        put_text(pprof, "");
    for (str_id id = 0; id < snapshot->sizes.strings; id++) {
        const struct strtab_string string = profile_string(snapshot, id);
        protobuf_bytes(pprof->out, PROFILE_STRING_TABLE, string.text, string.length);
    }
    for (size_t i = 0; i < OWN_STRING_COUNT; i++)
        put_text(pprof, texts[i]);
    names_put_utf8(&pprof->part, pprof->source->session->target->executable);
    put_message(pprof, PROFILE_STRING_TABLE);
    put_command(pprof);
    report_header_put_text(pprof->source->header, &pprof->part);
    put_message(pprof, PROFILE_STRING_TABLE);
    for (enum wait_cause cause = WAIT_UNKNOWN; cause < WAIT_CAUSE_COUNT; cause++)
        put_text(pprof, wait_cause_title(cause));
    for (uint32_t i = 0; i < pprof->text_count; i++) {
        put_label_text(pprof, &pprof->texts[i]);
        put_message(pprof, PROFILE_STRING_TABLE);
    }
}

static enum err_code put_profile(struct pprof *pprof, struct err *err)
{
    put_head(pprof);
    const enum err_code rc = put_samples(pprof, err);
    if (rc != ERR_OK)
        return rc;
    put_tables(pprof);
    put_strings(pprof);
    if (buffer_check(&pprof->part, err) != ERR_OK || buffer_check(&pprof->inner, err) != ERR_OK)
        return ERR_NOMEM;
    return ERR_OK;
}

enum err_code report_write_pprof(const struct report_source *source, struct buffer *out,
                                 struct err *err)
{
    struct embedded_profile profile_text;
    struct pprof pprof = { .source = source,
                           .out = &profile_text.in,
                           .period_ns = report_period_ns(source) };
    enum err_code rc =
        embedded_profile_init(&profile_text, GZIP_LEVEL, EMBEDDED_PROFILE_BYTES, out, err);
    if (rc == ERR_OK)
        rc = put_profile(&pprof, err);
    if (rc == ERR_OK)
        rc = embedded_profile_finish(&profile_text, err);
    embedded_profile_deinit(&profile_text);
    buffer_deinit(&pprof.part);
    buffer_deinit(&pprof.inner);
    chain_deinit(&pprof.chain);
    free(pprof.texts);
    return rc;
}
