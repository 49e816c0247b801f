#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/profile/state.h"
#include "server/push/batch.h"
#include "server/push/protocol.h"
#include "tests/support/message.h"
#include "tests/support/sample_session.h"
#include "tests/support/test.h"

enum { NODES = 60000, SAMPLES = 300000 };

/* The values that a text of a request names. */
static enum push_values values_of(struct message text)
{
    return message_is(text, "process_cpu") || message_is(text, "cpu") ? PUSH_CPU
           : message_is(text, "rss_growth")   ? PUSH_WALL + MEASURE_PAGE_FAULTS
           : message_is(text, "rss_returned") ? PUSH_WALL + MEASURE_RETURNED
                                              : PUSH_WALL;
}

/* Contents of the requests of a batch. */
struct taken {
    size_t requests, profiles, samples, largest_body, most_samples;
    uint64_t sums[PUSH_VALUES]; /* nanoseconds, or in the unit of the measure */
};

static struct message unpack(struct message packed)
{
    enum { MOST = 64 << 20 };
    z_stream stream = { .next_in = (Bytef *)(uintptr_t)packed.data,
                        .avail_in = (uInt)packed.length };
    char *const plain = malloc(MOST);
    assert_non_null(plain);
    stream.next_out = (Bytef *)plain;
    stream.avail_out = MOST;
    assert_int_equal(inflateInit2(&stream, 31), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    const size_t length = stream.total_out;
    inflateEnd(&stream);
    return (struct message){ plain, length };
}

static void release(struct message message)
{
    free((char *)(uintptr_t)message.data);
}

/* Adds up the samples of a profile; values are field `values` of each. */
static void add_profile(struct taken *taken, struct message profile, unsigned values,
                        enum push_values kind)
{
    struct field field, packed;
    uint64_t value = 0;
    size_t samples = 0;
    while (message_next(&profile, &field)) {
        if (field.number != 2)
            continue;
        assert_true(message_find(field.bytes, values, 0, &packed));
        assert_true(message_next_packed(&packed.bytes, &value));
        taken->sums[kind] += value;
        samples++;
    }
    taken->profiles++;
    taken->samples += samples;
    if (samples > taken->most_samples)
        taken->most_samples = samples;
}

static void note_request(struct taken *taken, const struct buffer *body)
{
    taken->requests++;
    if (body->length > taken->largest_body)
        taken->largest_body = body->length;
}

static enum err_code take_pyroscope(void *to, const struct buffer *body, struct err *err)
{
    struct taken *const taken = to;
    struct message request = { body->data, body->length };
    struct field series, label, value, sample, raw;
    size_t plain_bytes = 0;
    (void)err;
    note_request(taken, body);
    while (message_next(&request, &series)) {
        assert_true(message_find(series.bytes, 1, 0, &label));
        assert_true(message_find(label.bytes, 2, 0, &value));
        assert_true(message_find(series.bytes, 2, 0, &sample));
        assert_true(message_find(sample.bytes, 1, 0, &raw));
        const struct message profile = unpack(raw.bytes);
        assert_in_range(profile.length, 1, PUSH_PROFILE_BYTES);
        plain_bytes += profile.length;
        add_profile(taken, profile, 2, values_of(value.bytes));
        release(profile);
    }
    assert_in_range(plain_bytes, 1, PUSH_REQUEST_BYTES);
    return ERR_OK;
}

static enum err_code take_otlp(void *to, const struct buffer *body, struct err *err)
{
    struct taken *const taken = to;
    const struct message plain = unpack((struct message){ body->data, body->length });
    struct field dictionary, resource, scope, profile, type, text;
    struct message request = plain;
    (void)err;
    note_request(taken, body);
    assert_in_range(plain.length, 1, PUSH_REQUEST_BYTES);
    assert_true(message_find(plain, 2, 0, &dictionary));
    while (message_next(&request, &resource)) {
        if (resource.number != 1)
            continue;
        assert_true(message_find(resource.bytes, 2, 0, &scope));
        for (size_t i = 0; message_find(scope.bytes, 2, i, &profile); i++) {
            assert_true(message_find(profile.bytes, 1, 0, &type));
            assert_true(
                message_find(dictionary.bytes, 5, message_number(type.bytes, 1), &text));
            add_profile(taken, profile.bytes, 4, values_of(text.bytes));
        }
    }
    release(plain);
    return ERR_OK;
}

static enum err_code take_parca(void *to, const struct buffer *body, struct err *err)
{
    static const char begin[] = "{\"normalized\":true,\"series\":[{\"labels\":";
    (void)err;
    note_request(to, body);
    assert_memory_equal(body->data, begin, sizeof begin - 1);
    assert_memory_equal(body->data + body->length - 3, "}]}", 3);
    return ERR_OK;
}

struct dividing {
    const struct push_protocol *protocol;
    push_take *take;
    struct taken *taken;
};

static enum err_code take_divided(void *to, const struct buffer *body, struct err *err)
{
    const struct dividing *const dividing = to;
    return push_divide(dividing->protocol, body, dividing->take, dividing->taken, err);
}

static void make_batch(struct sample_session *session, struct push_batch *batch)
{
    static const struct push_settings settings = { .label_count = 0 };
    struct err err = { 0 };
    session->info.snapshot = &session->snapshot;
    assert_ok(push_batch_init(batch, &session->info, 0, session->snapshot.end_ns, "host",
                              &settings, &err),
              &err);
}

static uint64_t time_of(const struct push_batch *batch, enum push_values values)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < batch->process_count; i++)
        for (size_t k = 0; k < batch->processes[i].values[values].count; k++)
            ns += batch->processes[i].values[values].cells[k].ns;
    return ns;
}

/* Cells that differ only in thread and state are one. */
static void a_stack_is_there_once(void **state)
{
    struct sample_session *const session = sample_session_small();
    struct push_batch batch;
    (void)state;
    make_batch(session, &batch);
    assert_int_equal(batch.samples, SAMPLE_TOTAL);
    assert_true(batch.process_count > 1);
    for (size_t i = 0; i < batch.process_count; i++)
        for (enum push_values values = PUSH_CPU; values < PUSH_VALUES; values++) {
            const struct push_cells *const cells = &batch.processes[i].values[values];
            for (size_t k = 1; k < cells->count; k++)
                assert_true(cells->cells[k - 1].node < cells->cells[k].node);
        }
    assert_true(time_of(&batch, PUSH_CPU) < time_of(&batch, PUSH_WALL));
    push_batch_deinit(&batch);
    sample_session_destroy(session);
}

static void a_large_batch_is_several_requests(void **state)
{
    static const struct {
        const char *scheme;
        push_take *take;
    } rows[] = { { "pyroscope", take_pyroscope },
                 { "otlp", take_otlp },
                 { "parca", take_parca } };
    struct sample_session *const session = sample_session_big(NODES, SAMPLES);
    struct push_batch batch;
    struct err err = { 0 };
    (void)state;
    make_batch(session, &batch);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct push_protocol *const protocol =
            push_protocol_find(rows[i].scheme, strlen(rows[i].scheme));
        struct taken taken = { .requests = 0 };
        assert_ok(protocol->encode(&batch, rows[i].take, &taken, &err), &err);
        assert_true(taken.requests > 1);
        assert_in_range(taken.largest_body, 1, PUSH_BODY_BYTES);
        assert_in_range(taken.most_samples, 0, PUSH_PROFILE_SAMPLES);
        for (enum push_values values = PUSH_CPU; values < PUSH_VALUES && taken.samples;
             values++)
            assert_int_equal(taken.sums[values], time_of(&batch, values));
    }
    push_batch_deinit(&batch);
    sample_session_destroy(session);
}

static void a_request_is_divided_into_its_series(void **state)
{
    static const struct {
        const char *scheme;
        push_take *take;
    } rows[] = { { "pyroscope", take_pyroscope }, { "otlp", take_otlp } };
    struct sample_session *const session = sample_session_small();
    struct push_batch batch;
    struct err err = { 0 };
    (void)state;
    make_batch(session, &batch);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct push_protocol *const protocol =
            push_protocol_find(rows[i].scheme, strlen(rows[i].scheme));
        const struct buffer damaged = { .data = (char[]){ "x" }, .length = 1 };
        struct taken whole = { .requests = 0 }, parts = { .requests = 0 };
        struct dividing dividing = { protocol, rows[i].take, &parts };
        assert_ok(protocol->encode(&batch, rows[i].take, &whole, &err), &err);
        assert_ok(protocol->encode(&batch, take_divided, &dividing, &err), &err);
        assert_true(whole.requests < whole.profiles);
        assert_int_equal(parts.requests, whole.profiles);
        assert_int_equal(parts.profiles, whole.profiles);
        for (enum push_values values = PUSH_CPU; values < PUSH_VALUES; values++)
            assert_int_equal(parts.sums[values], time_of(&batch, values));
        assert_int_not_equal(take_divided(&dividing, &damaged, &err), ERR_OK);
    }
    push_batch_deinit(&batch);
    sample_session_destroy(session);
}

/* Bytes are profiles of their own, in both forms and with names replaced. */
static void every_measure_is_a_series(void **state)
{
    static const struct {
        const char *scheme;
        push_take *take;
    } rows[] = { { "pyroscope", take_pyroscope }, { "otlp", take_otlp } };
    struct sample_session *const session = sample_session_small();
    struct profile *const profile = session->profile;
    const uint64_t end_ns = session->snapshot.end_ns;
    struct push_settings settings = { .sample_labels = PUSH_SAMPLES_THREAD_STATE };
    struct push_batch batch;
    struct err err = { 0 };
    (void)state;
    for (node_id node = 1; node < 5; node++)
        assert_ok(
            profile_add_measured(profile, MEASURE_PAGE_FAULTS, node % 2, 0, node, node, &err),
            &err);
    assert_ok(profile_seal_measured(profile, MEASURE_PAGE_FAULTS, end_ns + 5, 4096, &err),
              &err);
    assert_ok(profile_seal(profile, end_ns + 5, &err), &err);
    profile_snapshot_release(&session->snapshot);
    assert_ok(profile_snapshot(profile, &session->snapshot, &err), &err);
    session->info.snapshot = &session->snapshot;
    for (size_t i = 0; i < 4; i++) {
        settings.anonymizes = i >= 2;
        assert_ok(
            push_batch_init(&batch, &session->info, 0, end_ns + 5, "host", &settings, &err),
            &err);
        const struct push_protocol *const protocol =
            push_protocol_find(rows[i % 2].scheme, strlen(rows[i % 2].scheme));
        struct taken taken = { .requests = 0 };
        assert_int_equal(batch.samples, SAMPLE_TOTAL + 10);
        assert_ok(protocol->encode(&batch, rows[i % 2].take, &taken, &err), &err);
        assert_int_equal(taken.sums[PUSH_WALL + MEASURE_PAGE_FAULTS], 10 * 4096);
        assert_int_equal(taken.sums[PUSH_WALL], time_of(&batch, PUSH_WALL));
        assert_int_equal(taken.sums[PUSH_WALL + MEASURE_RETURNED], 0);
        push_batch_deinit(&batch);
    }
    sample_session_destroy(session);
}

/* The last part of a batch is never empty. */
static void parts_of_a_batch_follow_each_other(void **state)
{
    static const uint64_t batches[] = { 15 * NS_PER_S, NS_PER_S, 20 * NS_PER_MS, NS_PER_MS };
    (void)state;
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        uint64_t left_ns = batches[i];
        for (size_t part = 0; part < 8; part++) {
            const uint64_t ns = push_part_ns(left_ns);
            assert_in_range(ns, 1, left_ns - 1);
            if (batches[i] >= 20 * NS_PER_MS)
                assert_true(ns >= NS_PER_MS);
            left_ns -= ns;
        }
    }
}

static void a_batch_without_samples_is_no_request(void **state)
{
    struct sample_session *const session = sample_session_empty();
    struct push_batch batch;
    struct err err = { 0 };
    (void)state;
    make_batch(session, &batch);
    for (size_t i = 0; push_protocol_at(i); i++) {
        struct taken taken = { .requests = 0 };
        assert_ok(push_protocol_at(i)->encode(&batch, take_parca, &taken, &err), &err);
        assert_int_equal(taken.requests, 0);
    }
    push_batch_deinit(&batch);
    sample_session_destroy(session);
}

TEST_GROUP(cmocka_unit_test(a_stack_is_there_once),
           cmocka_unit_test(a_large_batch_is_several_requests),
           cmocka_unit_test(a_request_is_divided_into_its_series),
           cmocka_unit_test(every_measure_is_a_series),
           cmocka_unit_test(parts_of_a_batch_follow_each_other),
           cmocka_unit_test(a_batch_without_samples_is_no_request))
