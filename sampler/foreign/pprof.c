/*
 * pprof's profile.proto: a protocol buffer whose fields may come in any order; most writers put samples before the tables that they refer
 * to. So the file is read three times: for strings; for functions and locations; for samples.
 *
 * A sample has a value of each sample type. Time is, in this order: the default type if it is time, `wall`, `cpu`, another one that is time;
 * without time, what samples are is the default type, or the last one as in pprof, if it is a number of things, and else nothing. All other
 * types are measures, the default one first. A file of ours begins with samples, wall and CPU time: of these, two follow from time and
 * states, and are no measures.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/hash.h"
#include "sampler/base/idmap.h"
#include "sampler/base/vec.h"
#include "sampler/foreign/formats.h"
#include "sampler/foreign/gather.h"
#include "sampler/foreign/input.h"
#include "sampler/foreign/protobuf_reader.h"
#include "sampler/foreign/sample_stack.h"
#include "sampler/profile/profile.h"

/* Field numbers of perftools.profiles. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING_TABLE = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    MAX_TYPES = 64,
    MAX_LABELS = 64,
    MAX_STRINGS = 1 << 22,
};

struct function_row {
    uint64_t id, name, file;
    int64_t first_line;
};

/* The frames of a place, those that are inlined first. */
struct location_row {
    uint64_t id;
    uint32_t first, count; /* of the list of frames */
};

struct pprof {
    struct gather *gather;
    int fd;
    str_id *strings;
    size_t string_count, string_room;
    struct function_row *functions;
    size_t function_count, function_room;
    struct location_row *locations;
    size_t location_count, location_room;
    frame_id *frames; /* of all locations */
    size_t frame_count, frame_room;
    struct idmap function_ids, location_ids;
    struct value_type {
        uint64_t type, unit;
    } types[MAX_TYPES], period_type;
    size_t type_count;
    uint64_t period, default_type;
    size_t chosen;                    /* the type that samples are of; MAX_TYPES: none */
    enum measure measures[MAX_TYPES]; /* of the others; MEASURE_COUNT: too many for that */
    size_t left_out;
    bool is_ours;
    bool has_states;
    int64_t scale;  /* of values of the chosen type to nanoseconds; 0: they are no time */
    uint64_t *path; /* locations of a sample, innermost first */
    size_t path_room;
    struct sample_stack stack;
};

typedef enum err_code read_field(struct pprof *pprof, const struct protobuf_reader *field,
                                 struct err *err);

static enum err_code read_pass(struct pprof *pprof, read_field *read, struct err *err)
{
    struct input input;
    struct protobuf_reader field = { .at = NULL };
    bool has_more = true;
    enum err_code rc = input_open(&input, pprof->fd, err);
    while (!rc && has_more) {
        rc = protobuf_reader_next_of(&input, &field, &has_more, err);
        if (!rc && has_more)
            rc = read(pprof, &field, err);
    }
    input_close(&input);
    return rc;
}

static enum err_code check_message(const struct protobuf_reader *message, struct err *err)
{
    return message->is_bad ? err_set(err, ERR_CORRUPT, "a message that ends within a field")
                           : ERR_OK;
}

static struct gather_text string_at(const struct pprof *pprof, uint64_t index)
{
    const struct profile_snapshot rows = { .profile = pprof->gather->profile };
    if (index >= pprof->string_count)
        return (struct gather_text){ "", 0 };
    const struct strtab_string string = profile_string(&rows, pprof->strings[(size_t)index]);
    return (struct gather_text){ string.text, string.length };
}

static enum err_code read_string(struct pprof *pprof, const struct protobuf_reader *field,
                                 struct err *err)
{
    struct strtab *const strings = profile_strings(pprof->gather->profile);
    if (field->field != PROFILE_STRING_TABLE || !field->bytes.text)
        return ERR_OK;
    if (pprof->string_count == MAX_STRINGS)
        return err_set(err, ERR_LIMIT, "it has more than %d strings", MAX_STRINGS);
    if (!VEC_RESERVE(pprof->strings, pprof->string_room, pprof->string_count + 1))
        return err_nomem(err);
    return strtab_intern(strings, field->bytes.text, field->bytes.bytes,
                         &pprof->strings[pprof->string_count++], err);
}

static struct value_type read_type(struct gather_text bytes)
{
    struct protobuf_reader message = protobuf_reader_over(bytes);
    struct value_type type = { 0, 0 };
    while (protobuf_reader_next(&message)) {
        type.type = message.field == 1 ? message.number : type.type;
        type.unit = message.field == 2 ? message.number : type.unit;
    }
    return type;
}

static enum err_code read_function(struct pprof *pprof, const struct protobuf_reader *field,
                                   struct err *err)
{
    struct protobuf_reader message = protobuf_reader_over(field->bytes);
    struct function_row row = { .id = 0 };
    while (protobuf_reader_next(&message))
        switch (message.field) {
        case 1: row.id = message.number; break;
        case 2: row.name = message.number; break;
        case 4: row.file = message.number; break;
        case 5: row.first_line = (int64_t)message.number; break;
        default: break;
        }
    if (!VEC_RESERVE(pprof->functions, pprof->function_room, pprof->function_count + 1))
        return err_nomem(err);
    pprof->functions[pprof->function_count] = row;
    const enum err_code rc = check_message(&message, err);
    return rc ? rc
              : idmap_add(&pprof->function_ids, hash_mix(row.id, 0),
                          (uint32_t)pprof->function_count++, err);
}

/* Settings, and functions, to which locations refer. */
static enum err_code read_table(struct pprof *pprof, const struct protobuf_reader *field,
                                struct err *err)
{
    struct gather *const gather = pprof->gather;
    switch (field->field) {
    case PROFILE_SAMPLE_TYPE:
        if (pprof->type_count == MAX_TYPES)
            return err_set(err, ERR_LIMIT, "it has more than %d sample types", MAX_TYPES);
        pprof->types[pprof->type_count++] = read_type(field->bytes);
        break;
    case PROFILE_PERIOD_TYPE: pprof->period_type = read_type(field->bytes); break;
    case PROFILE_PERIOD: pprof->period = field->number; break;
    case PROFILE_DEFAULT_SAMPLE_TYPE: pprof->default_type = field->number; break;
    case PROFILE_TIME_NANOS:
        gather->started_at_ns = field->number < INT64_MAX ? field->number : 0;
        break;
    case PROFILE_FUNCTION: return read_function(pprof, field, err);
    default: break;
    }
    return ERR_OK;
}

static enum err_code add_frame(struct pprof *pprof, struct gather_text name,
                               struct gather_text file, int64_t first_line, int64_t line,
                               struct err *err)
{
    if (!VEC_RESERVE(pprof->frames, pprof->frame_room, pprof->frame_count + 1))
        return err_nomem(err);
    return gather_frame(pprof->gather, name, file, first_line, line,
                        &pprof->frames[pprof->frame_count++], err);
}

static enum err_code read_line(struct pprof *pprof, struct gather_text bytes, struct err *err)
{
    struct protobuf_reader message = protobuf_reader_over(bytes);
    uint64_t id = 0, line = 0;
    while (protobuf_reader_next(&message)) {
        id = message.field == 1 ? message.number : id;
        line = message.field == 2 ? message.number : line;
    }
    const enum err_code rc = check_message(&message, err);
    if (rc)
        return rc;
    struct idmap_slot *at;
    IDMAP_FIND(at, &pprof->function_ids, hash_mix(id, 0), pprof->functions[at->id].id == id);
    if (!at)
        return err_set(err, ERR_CORRUPT,
                       "a location of function %" PRIu64 ", which is not there", id);
    const struct function_row *const row = &pprof->functions[at->id];
    struct gather_text name = string_at(pprof, row->name);
    if (name.bytes == 0)
        name = (struct gather_text){ "?", 1 };
    return add_frame(pprof, name, string_at(pprof, row->file), row->first_line, (int64_t)line,
                     err);
}

static enum err_code read_location(struct pprof *pprof, const struct protobuf_reader *field,
                                   struct err *err)
{
    if (field->field != PROFILE_LOCATION)
        return ERR_OK;
    struct protobuf_reader message = protobuf_reader_over(field->bytes);
    struct location_row row = { .first = (uint32_t)pprof->frame_count };
    uint64_t address = 0;
    enum err_code rc = ERR_OK;
    while (!rc && protobuf_reader_next(&message))
        switch (message.field) {
        case 1: row.id = message.number; break;
        case 3: address = message.number; break;
        case 4: rc = read_line(pprof, message.bytes, err); break;
        default: break;
        }
    if (!rc)
        rc = check_message(&message, err);
    if (!rc && pprof->frame_count == row.first) {
        char text[32];
        const int bytes = snprintf(text, sizeof text, "0x%" PRIx64, address);
        rc = add_frame(pprof, (struct gather_text){ text, (size_t)bytes },
                       (struct gather_text){ "", 0 }, 0, 0, err);
    }
    row.count = (uint32_t)(pprof->frame_count - row.first);
    if (!rc && !VEC_RESERVE(pprof->locations, pprof->location_room, pprof->location_count + 1))
        rc = err_nomem(err);
    if (rc)
        return rc;
    pprof->locations[pprof->location_count] = row;
    return idmap_add(&pprof->location_ids, hash_mix(row.id, 0),
                     (uint32_t)pprof->location_count++, err);
}

/* Nanoseconds of a unit of time; 0: it is none. */
static int64_t scale_of(struct gather_text unit)
{
    static const struct {
        const char *name;
        int64_t scale;
    } units[] = { { "nanoseconds", 1 },      { "ns", 1 },
                  { "microseconds", 1000 },  { "us", 1000 },
                  { "\u00b5s", 1000 },       { "\u03bcs", 1000 },
                  { "ms", 1000000 },         { "milliseconds", 1000000 },
                  { "seconds", 1000000000 }, { "s", 1000000000 } };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (gather_text_is(unit, units[i].name))
            return units[i].scale;
    return 0;
}

/* Makes a type a measure, if there is room for one. */
static enum err_code add_measure(struct pprof *pprof, size_t type, struct err *err)
{
    const enum err_code rc =
        gather_measure(pprof->gather, string_at(pprof, pprof->types[type].type),
                       string_at(pprof, pprof->types[type].unit), &pprof->measures[type], err);
    if (rc == ERR_LIMIT)
        pprof->left_out++;
    return rc == ERR_LIMIT ? ERR_OK : rc;
}

static bool type_is(const struct pprof *pprof, size_t type, const char *name, const char *unit)
{
    return type < pprof->type_count &&
           gather_text_is(string_at(pprof, pprof->types[type].type), name) &&
           gather_text_is(string_at(pprof, pprof->types[type].unit), unit);
}

static enum err_code choose_types(struct pprof *pprof, struct err *err)
{
    struct gather *const gather = pprof->gather;
    size_t best = 0;
    int best_worth = -1;
    for (size_t i = 0; i < pprof->type_count; i++) {
        const struct gather_text type = string_at(pprof, pprof->types[i].type);
        const bool is_default =
            pprof->default_type && pprof->types[i].type == pprof->default_type;
        const bool is_time = scale_of(string_at(pprof, pprof->types[i].unit)) > 0;
        const int worth = (is_time ? 4 : 0) + (is_default                     ? 3
                                               : !is_time                     ? 0
                                               : gather_text_is(type, "wall") ? 2
                                               : gather_text_is(type, "cpu")  ? 1
                                                                              : 0);
        /* The last one of those that are no time. */
        if (worth > best_worth || (worth == 0 && best_worth == 0)) {
            best_worth = worth;
            best = i;
        }
        pprof->measures[i] = MEASURE_COUNT;
    }
    const struct gather_text name = string_at(pprof, pprof->types[best].type),
                             unit = string_at(pprof, pprof->types[best].unit);
    const bool is_count = gather_text_is(unit, "count") || unit.bytes == 0;
    pprof->scale = scale_of(unit);
    gather->is_time = pprof->scale > 0;
    pprof->chosen = gather->is_time || is_count ? best : MAX_TYPES;
    if (!gather->is_time && is_count)
        snprintf(gather->counts, sizeof gather->counts, "%.*s",
                 (int)(name.bytes < 40 ? name.bytes : 40), name.text);
    const int64_t scale = scale_of(string_at(pprof, pprof->period_type.unit));
    if (scale > 0 && pprof->period < (uint64_t)(INT64_MAX / scale))
        gather->interval_ns = pprof->period * (uint64_t)scale;

    pprof->is_ours = best == 1 && type_is(pprof, 0, "samples", "count") &&
                     type_is(pprof, 1, "wall", "nanoseconds") &&
                     type_is(pprof, 2, "cpu", "nanoseconds");
    enum err_code rc = pprof->chosen == best ? ERR_OK : add_measure(pprof, best, err);
    for (size_t i = pprof->is_ours ? 3 : 0; i < pprof->type_count && !rc; i++)
        if (i != best)
            rc = add_measure(pprof, i, err);

    struct buffer counts = { 0 };
    const struct profile_snapshot rows = { .profile = gather->profile };
    measure_set set = gather->is_time ? MEASURE_SET(MEASURE_TIME) : 0;
    for (size_t i = 0; i < pprof->type_count; i++)
        set |= pprof->measures[i] == MEASURE_COUNT ? 0 : MEASURE_SET(pprof->measures[i]);
    buffer_text(&counts, *gather->counts ? gather->counts : "");
    buffer_text(&counts, *gather->counts && set ? ", " : "");
    if (set & ~MEASURE_SET(MEASURE_TIME))
        profile_put_measures(&rows, set, &counts);
    if (!rc && counts.length > 0)
        gather_copy(gather->counts, sizeof gather->counts,
                    (struct gather_text){ counts.data, counts.length });
    buffer_deinit(&counts);
    return rc;
}

struct pprof_sample {
    struct pprof *pprof;
    size_t depth, value_count;
    int64_t values[MAX_TYPES];
    uint64_t labels[MAX_LABELS][3]; /* key, text, number */
    size_t label_count;
    bool is_full;
};

static bool take_location(void *context, uint64_t id)
{
    struct pprof_sample *const sample = context;
    struct pprof *const pprof = sample->pprof;
    if (sample->depth == GATHER_MAX_DEPTH ||
        !VEC_RESERVE(pprof->path, pprof->path_room, sample->depth + 1)) {
        sample->is_full = true;
        return false;
    }
    pprof->path[sample->depth++] = id;
    return true;
}

static bool take_value(void *context, uint64_t value)
{
    struct pprof_sample *const sample = context;
    if (sample->value_count < MAX_TYPES)
        sample->values[sample->value_count++] = (int64_t)value;
    return true;
}

static void take_label(struct pprof_sample *sample, struct gather_text bytes)
{
    struct protobuf_reader message = protobuf_reader_over(bytes);
    uint64_t label[3] = { 0 };
    while (protobuf_reader_next(&message))
        if (message.field >= 1 && message.field <= 3)
            label[message.field - 1] = message.number;
    if (sample->label_count < MAX_LABELS)
        memcpy(sample->labels[sample->label_count++], label, sizeof label);
}

static enum err_code find_thread(const struct pprof_sample *sample, thread_id *out,
                                 struct err *err)
{
    const struct pprof *const pprof = sample->pprof;
    struct gather_text process = { "", 0 }, name = { "", 0 };
    uint64_t pid = 0, tid = 0;
    for (size_t i = 0; i < sample->label_count; i++) {
        const uint64_t *const label = sample->labels[i];
        const struct gather_text key = string_at(pprof, label[0]);
        const struct gather_text text = string_at(pprof, label[1]);
        if (gather_text_is(key, "thread") || gather_text_is(key, "thread_name") ||
            gather_text_is(key, "thread name"))
            name = text;
        else if (gather_text_is(key, "thread_id") || gather_text_is(key, "tid") ||
                 gather_text_is(key, "thread id"))
            tid = label[2];
        else if (gather_text_is(key, "process") || gather_text_is(key, "process_name"))
            process = text;
        else if (gather_text_is(key, "process_id") || gather_text_is(key, "pid"))
            pid = label[2];
    }
    return gather_thread(pprof->gather, (int64_t)(pid & INT32_MAX), process,
                         (int64_t)(tid & INT32_MAX), 0, name, out, err);
}

/* The flags that our own files have as a text, "on_cpu,has_gil,(in_native)".  A sample without one has a part of time nevertheless, if it
 * is of ours; of others all flags are unknown. */
static state_bits find_state(const struct pprof_sample *sample)
{
    struct pprof *const pprof = sample->pprof;
    bool is_ours = false;
    for (size_t i = 0; i < sample->label_count; i++) {
        is_ours |= gather_text_is(string_at(pprof, sample->labels[i][0]), "part");
        if (!gather_text_is(string_at(pprof, sample->labels[i][0]), "state"))
            continue;
        const struct gather_text text = string_at(pprof, sample->labels[i][1]);
        state_bits bits = 0;
        for (enum state_flag flag = 0; flag < STATE_FLAG_COUNT; flag++) {
            char unknown[40];
            snprintf(unknown, sizeof unknown, "(%s)", state_flag_text(flag));
            const unsigned char *const data = (const unsigned char *)text.text;
            if (input_has(data, text.bytes, unknown))
                bits |= state_flag_unknown(flag);
            else if (input_has(data, text.bytes, state_flag_text(flag)))
                bits |= state_flag_yes(flag);
        }
        pprof->has_states = true;
        return bits;
    }
    return is_ours ? 0 : STATE_ALL_UNKNOWN;
}

static enum err_code read_sample(struct pprof *pprof, const struct protobuf_reader *field,
                                 struct err *err)
{
    if (field->field != PROFILE_SAMPLE)
        return ERR_OK;
    struct protobuf_reader message = protobuf_reader_over(field->bytes);
    struct pprof_sample sample = { .pprof = pprof };
    bool is_good = true;
    while (is_good && protobuf_reader_next(&message)) {
        if (message.field == 1)
            is_good = protobuf_reader_each(&message, take_location, &sample);
        else if (message.field == 2)
            is_good = protobuf_reader_each(&message, take_value, &sample);
        else if (message.field == 3)
            take_label(&sample, message.bytes);
    }
    if (sample.is_full)
        return err_set(err, ERR_LIMIT, "a stack has more than %d frames", GATHER_MAX_DEPTH);
    if (message.is_bad || !is_good || sample.value_count < pprof->type_count)
        return err_set(err, ERR_CORRUPT, "a sample without its values");
    for (size_t i = 0; i < pprof->type_count; i++)
        if (sample.values[i] < 0)
            return err_set(err, ERR_CORRUPT,
                           "a value below 0: it is the difference of two profiles");
    enum err_code rc = ERR_OK;
    size_t depth = 0;
    for (size_t i = sample.depth; i-- > 0 && !rc;) {
        const uint64_t id = pprof->path[i];
        struct idmap_slot *at;
        IDMAP_FIND(at, &pprof->location_ids, hash_mix(id, 0),
                   pprof->locations[at->id].id == id);
        if (!at)
            return err_set(err, ERR_CORRUPT,
                           "a sample of location %" PRIu64 ", which is not there", id);
        const struct location_row *const row = &pprof->locations[at->id];
        for (uint32_t j = row->count; j-- > 0 && !rc;)
            rc = sample_stack_put(&pprof->stack, pprof->gather, depth++,
                                  pprof->frames[row->first + j], err);
    }
    sample_stack_cut(&pprof->stack, depth);
    if (pprof->is_ours)
        pprof->gather->sample_count += (uint64_t)sample.values[0];
    thread_id thread = 0;
    if (!rc)
        rc = find_thread(&sample, &thread, err);
    for (size_t i = 0; i < pprof->type_count && !rc; i++) {
        const int64_t scale = i == pprof->chosen && pprof->scale ? pprof->scale : 1;
        const uint64_t value = (uint64_t)sample.values[i] * (uint64_t)scale;
        if (sample.values[i] > INT64_MAX / scale)
            rc = err_set(err, ERR_LIMIT, "its values are too large");
        else if (i == pprof->chosen)
            rc = gather_sample(pprof->gather, thread, find_state(&sample),
                               sample_stack_node(&pprof->stack), value, 0, err);
        else if (pprof->measures[i] != MEASURE_COUNT)
            rc = gather_measured(pprof->gather, pprof->measures[i], thread,
                                 sample_stack_node(&pprof->stack), value, err);
    }
    return rc;
}

/* Among the first fields is a sample type, and all of them have the kind that they have in such a file. */
bool pprof_begins(const unsigned char *data, size_t bytes)
{
    enum { FIELDS = 16 };
    struct protobuf_reader file = { .at = data, .end = data + bytes };
    bool has_type = false;
    for (int i = 0; i < FIELDS && protobuf_reader_next(&file); i++) {
        const bool is_message =
            (file.field >= PROFILE_SAMPLE_TYPE && file.field <= PROFILE_STRING_TABLE) ||
            file.field == PROFILE_PERIOD_TYPE;
        /* Comments may be packed. */
        if (file.field == 0 || file.field > 15 ||
            (is_message != (file.bytes.text != NULL) && file.field != PROFILE_COMMENT))
            return false;
        if (file.field != PROFILE_SAMPLE_TYPE)
            continue;
        struct protobuf_reader type = protobuf_reader_over(file.bytes);
        while (protobuf_reader_next(&type))
            if (type.field > 2 || type.bytes.text)
                return false;
        has_type |= !type.is_bad && file.bytes.bytes > 0;
    }
    return has_type;
}

enum err_code pprof_read(struct gather *gather, int fd, struct err *err)
{
    struct pprof pprof = { .gather = gather, .fd = fd };
    idmap_init(&pprof.function_ids);
    idmap_init(&pprof.location_ids);
    enum err_code rc = read_pass(&pprof, read_string, err);
    if (!rc)
        rc = read_pass(&pprof, read_table, err);
    if (!rc && pprof.type_count == 0)
        rc = err_set(err, ERR_CORRUPT, "it has no sample type");
    if (!rc)
        rc = read_pass(&pprof, read_location, err);
    if (!rc)
        rc = choose_types(&pprof, err);
    if (!rc)
        rc = read_pass(&pprof, read_sample, err);
    snprintf(gather->lacks, sizeof gather->lacks, "%sthe order of samples",
             pprof.has_states ? "" : "states, ");
    const size_t length = strlen(gather->lacks);
    if (pprof.left_out > 0)
        snprintf(gather->lacks + length, sizeof gather->lacks - length,
                 "; %zu other sample types are left out", pprof.left_out);
    sample_stack_deinit(&pprof.stack);
    idmap_deinit(&pprof.function_ids);
    idmap_deinit(&pprof.location_ids);
    free(pprof.strings);
    free(pprof.functions);
    free(pprof.locations);
    free(pprof.frames);
    free(pprof.path);
    return rc;
}
