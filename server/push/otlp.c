/*
 * ExportProfilesServiceRequest of OpenTelemetry's protocol, 1.10 or later: profiles, each with the resource that it
 * is of, and one dictionary for all of them.
 *
 * Indices of the dictionary count from 1; 0 is an empty row.
 */
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/compress.h"
#include "sampler/base/random.h"
#include "sampler/profile/context.h"
#include "sampler/profile/wait.h"
#include "server/push/batch.h"
#include "server/push/encoders.h"
#include "server/push/labels.h"
#include "server/report/chain.h"
#include "server/report/encoding/numbered.h"
#include "server/report/encoding/pprof.h"
#include "server/report/encoding/protobuf.h"
#include "server/report/names.h"

/* Field numbers of profiles.proto, profiles_service.proto, common.proto and resource.proto. */
enum {
    REQUEST_RESOURCE_PROFILES = 1,
    REQUEST_DICTIONARY = 2,
    RESOURCE_PROFILES_RESOURCE = 1,
    RESOURCE_PROFILES_SCOPE_PROFILES = 2,
    RESOURCE_ATTRIBUTES = 1,
    KEY_VALUE_KEY = 1,
    KEY_VALUE_VALUE = 2,
    ANY_STRING = 1,
    ANY_INT = 3,
    SCOPE_PROFILES_SCOPE = 1,
    SCOPE_PROFILES_PROFILES = 2,
    SCOPE_NAME = 1,
    SCOPE_VERSION = 2,
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLES = 2,
    PROFILE_TIME_UNIX_NANO = 3,
    PROFILE_DURATION_NANO = 4,
    PROFILE_PERIOD_TYPE = 5,
    PROFILE_PERIOD = 6,
    PROFILE_PROFILE_ID = 7,
    VALUE_TYPE_TYPE = 1,
    VALUE_TYPE_UNIT = 2,
    SAMPLE_STACK = 1,
    SAMPLE_ATTRIBUTES = 2,
    SAMPLE_LINK = 3,
    SAMPLE_VALUES = 4,
    DICTIONARY_MAPPING = 1,
    DICTIONARY_LOCATION = 2,
    DICTIONARY_FUNCTION = 3,
    DICTIONARY_LINK = 4,
    DICTIONARY_STRING = 5,
    DICTIONARY_ATTRIBUTE = 6,
    DICTIONARY_STACK = 7,
    MAPPING_FILENAME = 4,
    MAPPING_ATTRIBUTES = 5,
    STACK_LOCATIONS = 1,
    LOCATION_MAPPING = 1,
    LOCATION_LINES = 3,
    LOCATION_ATTRIBUTES = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    FUNCTION_NAME = 1,
    FUNCTION_FILENAME = 3,
    FUNCTION_START_LINE = 4,
    LINK_TRACE_ID = 1,
    LINK_SPAN_ID = 2,
    ATTRIBUTE_KEY = 1,
    ATTRIBUTE_VALUE = 2,
};

/* An attribute of the dictionary is a text: its key, a NUL, its value. */
enum { ATTRIBUTE_BYTES = 512 };

/* At most, of a link of the dictionary: its ids, and the heads of its fields. */
enum { LINK_BYTES = (CONTEXT_TRACE_DIGITS + CONTEXT_SPAN_DIGITS) / 2 + 6 };

struct otlp {
    const struct push_batch *batch;
    push_take *take;
    void *to;
    struct numbered numbered;
    struct strtab attributes;
    struct strtab links; /* of spans: the ids of trace and span, as in context.h */
    struct chain chain;
    size_t stack_bytes,
        link_bytes; /* at most what the stacks and links of the dictionary take */
    /* The request; the profile being written; a message of it, and messages within that. */
    struct buffer request, profile, part, inner, packed;
    const char *executable; /* of the processes of the request */
    struct random random;   /* of the ids of profiles */
};

/* The rest of a profile that is to be written: cells, and the part of the batch that is theirs. */
struct left {
    struct push_cells cells;
    uint64_t began_at_ns, duration_ns;
};

static uint32_t word_number(struct otlp *otlp, const char *text)
{
    return numbered_text(&otlp->numbered, text, strlen(text));
}

static void put_message(struct buffer *out, unsigned field, struct buffer *message)
{
    protobuf_bytes(out, field, message->data, message->length);
    out->failed |= message->failed;
    buffer_clear(message);
}

static void put_text(struct buffer *out, unsigned field, const char *text)
{
    protobuf_bytes(out, field, text, strlen(text));
}

/* 0: there are too many.  Equal ones have the same number. */
static uint32_t attribute_number(struct otlp *otlp, const char *key, const char *value,
                                 size_t length)
{
    char text[ATTRIBUTE_BYTES];
    const size_t key_bytes = strlen(key) + 1;
    const size_t bytes = length < sizeof text - key_bytes ? length : sizeof text - key_bytes;
    str_id id = 0;
    memcpy(text, key, key_bytes);
    memcpy(text + key_bytes, value, bytes);
    (void)word_number(otlp, key);
    if (strtab_intern(&otlp->attributes, text, key_bytes + bytes, &id, NULL))
        return 0;
    return id;
}

static uint32_t word_attribute(struct otlp *otlp, const char *key, const char *value)
{
    return attribute_number(otlp, key, value, strlen(value));
}

static void put_value_type(struct otlp *otlp, unsigned field, enum push_values values)
{
    protobuf_uint(&otlp->inner, VALUE_TYPE_TYPE,
                  word_number(otlp, push_type(otlp->batch, values)));
    protobuf_uint(&otlp->inner, VALUE_TYPE_UNIT,
                  word_number(otlp, push_unit(otlp->batch, values)));
    put_message(&otlp->profile, field, &otlp->inner);
}

/* The link to the span that the sample works for; 0: none.  Equal ones have the same number. */
static uint32_t link_of(struct otlp *otlp, node_id node)
{
    const struct profile_snapshot *const snapshot = otlp->batch->snapshot;
    const function_id function = context_function_of_node(snapshot, node);
    const uint32_t before = otlp->links.strings.count;
    struct context_text context;
    struct context_span span;
    str_id id;
    if (!function || !context_of_function(snapshot, function, &context) ||
        !context_read_span(&context, &span) ||
        strtab_intern(&otlp->links, context.value, context.value_length, &id, NULL))
        return 0;
    otlp->link_bytes += otlp->links.strings.count > before ? LINK_BYTES : 0;
    return id;
}

/* Samples that differ in their contexts alone have one stack. */
static node_id stack_node(const struct profile_snapshot *snapshot, node_id node)
{
    return wait_unmarked(snapshot, node) == node ? context_unmarked(snapshot, node) : node;
}

static enum err_code chain_of(struct otlp *otlp, node_id node, struct err *err)
{
    const enum err_code rc = chain_up(&otlp->chain, otlp->batch->snapshot, node, err);
    chain_drop_context(&otlp->chain, otlp->batch->snapshot);
    pprof_shorten(&otlp->chain, PUSH_DEPTH);
    return rc;
}

/* labels: PPROF_ bits. */
static enum err_code put_sample(struct otlp *otlp, const struct view_cell *cell,
                                unsigned labels, struct err *err)
{
    uint32_t stack = 0;

    /* Names all that the stack refers to, so that its size is known.  Its rows are written at the
     * end. */
    const node_id node = stack_node(otlp->batch->snapshot, cell->node);
    const uint32_t before = otlp->numbered.nodes.count;
    const enum err_code rc = chain_of(otlp, node, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < otlp->chain.depth; i++)
        (void)numbered_frame(&otlp->numbered, otlp->chain.frames[i]);
    stack = numbered_node(&otlp->numbered, node);
    if (otlp->numbered.nodes.count > before)
        otlp->stack_bytes += 8 + otlp->chain.depth * 4;

    protobuf_uint(&otlp->part, SAMPLE_STACK, stack);

    const struct profile_snapshot *const snapshot = otlp->batch->snapshot;
    const struct profile_thread thread = profile_thread_at(snapshot, cell->thread);
    const struct strtab_string name = profile_string(snapshot, thread.name);
    struct buffer state = { 0 };
    enum part part;
    if ((labels & PPROF_THREAD) && name.length > 0)
        protobuf_varint(&otlp->packed,
                        attribute_number(otlp, "thread.name", name.text, name.length));
    if ((labels & PPROF_STATE) && cell->state != 0) {
        names_put_state(&state, cell->state);
        protobuf_varint(&otlp->packed, attribute_number(otlp, "pyrometer.thread.state",
                                                        state.data, state.length));
    }
    if ((labels & PPROF_PART) &&
        profile_part_at(snapshot, cell->thread, cell->state, cell->node, &part))
        protobuf_varint(&otlp->packed, word_attribute(otlp, "pyrometer.part", part_text(part)));
    if (otlp->packed.length > 0)
        put_message(&otlp->part, SAMPLE_ATTRIBUTES, &otlp->packed);
    buffer_deinit(&state);

    protobuf_uint(&otlp->part, SAMPLE_LINK, link_of(otlp, cell->node));
    protobuf_varint(&otlp->packed, cell->ns);
    put_message(&otlp->part, SAMPLE_VALUES, &otlp->packed);
    put_message(&otlp->profile, PROFILE_SAMPLES, &otlp->part);
    return rc;
}

static bool is_full(const struct otlp *otlp)
{
    return otlp->request.length + otlp->profile.length + otlp->numbered.bytes +
               otlp->stack_bytes + otlp->link_bytes >
           PUSH_PROFILE_BYTES;
}

/* The profile that was just made.  It has a resource of its own, so that the request can be divided. */
static void put_series(struct otlp *otlp, const struct push_labels *labels)
{
    /* Keys are texts, not indices of the dictionary: Pyroscope reads only these. */
    for (size_t i = 0; i < labels->count; i++) {
        const struct push_label *const label = &labels->items[i];
        const char *const key = push_label_attribute(label);
        if (strcmp(key, "process.pid") == 0 &&
            strspn(label->value, "0123456789") == strlen(label->value))
            protobuf_uint(&otlp->inner, ANY_INT, strtoull(label->value, NULL, 10));
        else
            put_text(&otlp->inner, ANY_STRING, label->value);

        struct buffer pair = { 0 };
        put_text(&pair, KEY_VALUE_KEY, key);
        put_message(&pair, KEY_VALUE_VALUE, &otlp->inner);
        put_message(&otlp->part, RESOURCE_ATTRIBUTES, &pair);
        buffer_deinit(&pair);
    }
    put_message(&otlp->packed, RESOURCE_PROFILES_RESOURCE, &otlp->part);

    put_text(&otlp->inner, SCOPE_NAME, "pyrometer");
    put_text(&otlp->inner, SCOPE_VERSION, PYROMETER_VERSION);
    put_message(&otlp->part, SCOPE_PROFILES_SCOPE, &otlp->inner);
    put_message(&otlp->part, SCOPE_PROFILES_PROFILES, &otlp->profile);
    put_message(&otlp->packed, RESOURCE_PROFILES_SCOPE_PROFILES, &otlp->part);
    put_message(&otlp->request, REQUEST_RESOURCE_PROFILES, &otlp->packed);
}

static void put_mappings(struct otlp *otlp, struct buffer *out)
{
    const struct numbering *const libraries = &otlp->numbered.libraries;
    protobuf_bytes(out, DICTIONARY_MAPPING, "", 0);
    for (uint32_t i = 1; i <= libraries->count; i++) {
        const library_id row = libraries->rows[i];
        struct profile_library library = { .flags = 0 };
        if (row > 0)
            library = profile_library_at(otlp->batch->snapshot, row);
        const struct strtab_string id = profile_string(otlp->batch->snapshot, library.build_id);
        protobuf_uint(&otlp->part, MAPPING_FILENAME,
                      row > 0 ? numbered_string(&otlp->numbered, library.path)
                              : word_number(otlp, otlp->executable));
        if (id.length > 0) {
            protobuf_varint(
                &otlp->packed,
                attribute_number(otlp, "process.executable.build_id.gnu", id.text, id.length));
            put_message(&otlp->part, MAPPING_ATTRIBUTES, &otlp->packed);
        }
        put_message(out, DICTIONARY_MAPPING, &otlp->part);
    }
}

static void put_locations(struct otlp *otlp, struct buffer *out)
{
    const struct numbering *const frames = &otlp->numbered.frames;
    const uint32_t python = word_attribute(otlp, "profile.frame.type", "cpython");
    const uint32_t native = word_attribute(otlp, "profile.frame.type", "native");
    const uint32_t kernel = word_attribute(otlp, "profile.frame.type", "kernel");
    protobuf_bytes(out, DICTIONARY_LOCATION, "", 0);
    for (uint32_t i = 1; i <= frames->count; i++) {
        const struct profile_frame frame =
            profile_frame_at(otlp->batch->snapshot, frames->rows[i]);
        const library_id library =
            profile_function_at(otlp->batch->snapshot, frame.function).library;
        protobuf_uint(&otlp->part, LOCATION_MAPPING,
                      numbered_library(&otlp->numbered, library));
        protobuf_uint(&otlp->inner, LINE_FUNCTION,
                      numbered_function(&otlp->numbered, frame.function));
        protobuf_uint(&otlp->inner, LINE_LINE, frame.line > 0 ? (uint64_t)frame.line : 0);
        put_message(&otlp->part, LOCATION_LINES, &otlp->inner);
        const bool is_kernel =
            profile_library_at(otlp->batch->snapshot, library).flags & PROFILE_LIBRARY_KERNEL;
        protobuf_varint(&otlp->packed, is_kernel ? kernel : library > 0 ? native : python);
        put_message(&otlp->part, LOCATION_ATTRIBUTES, &otlp->packed);
        put_message(out, DICTIONARY_LOCATION, &otlp->part);
    }
}

static void put_attributes(struct otlp *otlp, struct buffer *out)
{
    const uint32_t count = otlp->attributes.strings.count;
    protobuf_bytes(out, DICTIONARY_ATTRIBUTE, "", 0);
    for (str_id id = 1; id < count; id++) {
        const struct strtab_string both = strtab_get(&otlp->attributes, id);
        const size_t key_bytes = strlen(both.text);
        protobuf_uint(&otlp->part, ATTRIBUTE_KEY, word_number(otlp, both.text));
        protobuf_bytes(&otlp->inner, ANY_STRING, both.text + key_bytes + 1,
                       both.length - key_bytes - 1);
        put_message(&otlp->part, ATTRIBUTE_VALUE, &otlp->inner);
        put_message(out, DICTIONARY_ATTRIBUTE, &otlp->part);
    }
}

/* Two digits are a byte. */
static void put_hex(struct buffer *out, unsigned field, const char *digits, size_t count)
{
    static const char values[] = "0123456789abcdef";
    unsigned char bytes[CONTEXT_TRACE_DIGITS / 2];
    for (size_t i = 0; i < count; i++) {
        const unsigned value = (unsigned)(strchr(values, digits[i]) - values);
        const unsigned before = i % 2 ? bytes[i / 2] : 0;
        bytes[i / 2] = (unsigned char)(before << 4 | value);
    }
    protobuf_bytes(out, field, (const char *)bytes, count / 2);
}

static enum err_code put_dictionary(struct otlp *otlp, struct err *err)
{
    struct buffer dictionary = { 0 };
    put_mappings(otlp, &dictionary);
    put_locations(otlp, &dictionary);

    const struct numbering *const functions = &otlp->numbered.functions;
    protobuf_bytes(&dictionary, DICTIONARY_FUNCTION, "", 0);
    for (uint32_t i = 1; i <= functions->count; i++) {
        const struct profile_function function =
            profile_function_at(otlp->batch->snapshot, functions->rows[i]);
        protobuf_uint(&otlp->part, FUNCTION_NAME,
                      numbered_string(&otlp->numbered, function.name));
        protobuf_uint(&otlp->part, FUNCTION_FILENAME,
                      numbered_string(&otlp->numbered, function.file));
        protobuf_uint(&otlp->part, FUNCTION_START_LINE,
                      function.first_line > 0 ? (uint64_t)function.first_line : 0);
        put_message(&dictionary, DICTIONARY_FUNCTION, &otlp->part);
    }

    const uint32_t count = otlp->links.strings.count;
    protobuf_bytes(&dictionary, DICTIONARY_LINK, "", 0);
    for (str_id id = 1; id < count; id++) {
        const char *const ids = strtab_get(&otlp->links, id).text;
        put_hex(&otlp->part, LINK_TRACE_ID, ids, CONTEXT_TRACE_DIGITS);
        put_hex(&otlp->part, LINK_SPAN_ID, ids + CONTEXT_TRACE_DIGITS + 1, CONTEXT_SPAN_DIGITS);
        put_message(&dictionary, DICTIONARY_LINK, &otlp->part);
    }

    const struct numbering *const nodes = &otlp->numbered.nodes;
    enum err_code rc = ERR_OK;
    protobuf_bytes(&dictionary, DICTIONARY_STACK, "", 0);
    for (uint32_t i = 1; i <= nodes->count && !rc; i++) {
        rc = chain_of(otlp, nodes->rows[i], err);
        for (size_t k = 0; k < otlp->chain.depth; k++)
            protobuf_varint(&otlp->packed,
                            numbered_frame(&otlp->numbered, otlp->chain.frames[k]));
        put_message(&otlp->part, STACK_LOCATIONS, &otlp->packed);
        put_message(&dictionary, DICTIONARY_STACK, &otlp->part);
    }

    put_attributes(otlp, &dictionary);
    protobuf_bytes(&dictionary, DICTIONARY_STRING, "", 0);
    for (uint32_t i = 1; i <= otlp->numbered.strings.count; i++) {
        const struct strtab_string string = numbered_string_at(&otlp->numbered, i);
        protobuf_bytes(&dictionary, DICTIONARY_STRING, string.text, string.length);
    }
    put_message(&otlp->request, REQUEST_DICTIONARY, &dictionary);
    buffer_deinit(&dictionary);
    return rc;
}

static enum err_code begin_request(struct otlp *otlp, struct err *err)
{
    numbered_clear(&otlp->numbered);
    (void)numbered_library(&otlp->numbered, 0);
    (void)word_number(otlp, otlp->executable);
    otlp->stack_bytes = otlp->link_bytes = 0;
    strtab_deinit(&otlp->attributes);
    strtab_deinit(&otlp->links);
    const enum err_code rc = strtab_init(&otlp->attributes, err);
    return rc ? rc : strtab_init(&otlp->links, err);
}

static enum err_code finish_request(struct otlp *otlp, struct err *err)
{
    unsigned char *packed = NULL;
    size_t bytes = 0;
    if (otlp->request.length == 0)
        return ERR_OK;
    enum err_code rc = put_dictionary(otlp, err);
    if (!rc)
        rc = buffer_check(&otlp->request, err);
    if (!rc)
        rc = compress_gzip(otlp->request.data, otlp->request.length, PUSH_GZIP_LEVEL, &packed,
                           &bytes, err);
    buffer_clear(&otlp->request);
    if (rc)
        return rc;
    const struct buffer body = { .data = (char *)packed, .length = bytes };
    rc = otlp->take(otlp->to, &body, err);
    free(packed);
    return rc ? rc : begin_request(otlp, err);
}

static enum err_code put_values(struct otlp *otlp, const struct push_process *process,
                                enum push_values values, struct err *err)
{
    struct left left = { process->values[values], otlp->batch->began_at_ns,
                         otlp->batch->duration_ns };
    enum err_code rc = ERR_OK;
    while (left.cells.count > 0 && !rc) {
        /* Writes as many of the cells that are left as fit; at least one if there are any. */
        const struct push_batch *const batch = otlp->batch;
        const uint64_t id[] = { random_u64(&otlp->random), random_u64(&otlp->random) };
        const unsigned labels = push_labels_of_samples(batch, values);
        size_t i = 0;
        put_value_type(otlp, PROFILE_SAMPLE_TYPE, values);
        put_value_type(otlp, PROFILE_PERIOD_TYPE, values);
        protobuf_uint(&otlp->profile, PROFILE_PERIOD, batch->periods[values]);
        protobuf_bytes(&otlp->profile, PROFILE_PROFILE_ID, id, sizeof id);
        while (i < left.cells.count && i < PUSH_PROFILE_SAMPLES && !rc &&
               (i == 0 || !is_full(otlp)))
            rc = put_sample(otlp, &left.cells.cells[i++], labels, err);
        const uint64_t part_ns =
            i < left.cells.count ? push_part_ns(left.duration_ns) : left.duration_ns;
        protobuf_fixed64(&otlp->profile, PROFILE_TIME_UNIX_NANO, left.began_at_ns);
        protobuf_uint(&otlp->profile, PROFILE_DURATION_NANO, part_ns);
        left.cells.cells += i;
        left.cells.count -= i;
        left.began_at_ns += part_ns;
        left.duration_ns -= part_ns;

        put_series(otlp, &process->labels);
        if (!rc && (left.cells.count > 0 || is_full(otlp)))
            rc = finish_request(otlp, err);
    }
    return rc;
}

/* Python code is in the mapping of its executable, so the processes of a request have the same. */
static enum err_code put_all(struct otlp *otlp, struct err *err)
{
    enum err_code rc = begin_request(otlp, err);
    for (size_t i = 0; i < otlp->batch->process_count && !rc; i++) {
        const struct push_process *const process = &otlp->batch->processes[i];
        if (strcmp(otlp->executable, process->executable) != 0) {
            rc = finish_request(otlp, err);
            otlp->executable = process->executable;
            if (!rc)
                rc = begin_request(otlp, err);
        }
        for (enum push_values values = PUSH_CPU; values < PUSH_VALUES && !rc; values++)
            rc = put_values(otlp, process, values, err);
    }
    return rc ? rc : finish_request(otlp, err);
}

enum err_code push_encode_otlp(const struct push_batch *batch, push_take *take, void *to,
                               struct err *err)
{
    struct otlp otlp = { .batch = batch, .take = take, .to = to, .executable = "" };
    enum err_code rc = numbered_init(&otlp.numbered, batch->snapshot, err);
    if (rc)
        return rc;
    random_init_any(&otlp.random);
    rc = put_all(&otlp, err);
    numbered_deinit(&otlp.numbered);
    strtab_deinit(&otlp.attributes);
    strtab_deinit(&otlp.links);
    chain_deinit(&otlp.chain);
    buffer_deinit(&otlp.request);
    buffer_deinit(&otlp.profile);
    buffer_deinit(&otlp.part);
    buffer_deinit(&otlp.inner);
    buffer_deinit(&otlp.packed);
    return rc;
}
