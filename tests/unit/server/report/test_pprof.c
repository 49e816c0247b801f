#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/profile/state.h"
#include "server/report/chain.h"
#include "server/report/encoding/pprof.h"
#include "tests/support/made_profile.h"
#include "tests/support/message.h"
#include "tests/support/sample_session.h"
#include "tests/support/test.h"

/* Fields of profile.proto. */
enum {
    SAMPLE_TYPE = 1,
    SAMPLE,
    MAPPING,
    LOCATION,
    FUNCTION,
    STRING,
    TIME = 9,
    DURATION,
    PERIOD_TYPE,
    PERIOD
};
enum { PERIOD_NS = 1000000 };

struct fixture {
    struct sample_session *session;
    struct view_cells cells;
    struct pprof *pprof;
    struct buffer out;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    struct err err = { 0 };
    memset(&fixture, 0, sizeof fixture);
    fixture.session = sample_session_small();
    assert_ok(view_cells_init(&fixture.cells, &fixture.session->snapshot,
                              &fixture.session->everything, &err),
              &err);
    assert_ok(pprof_create(&fixture.session->snapshot, &fixture.pprof, &err), &err);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *const fixture = *state;
    buffer_deinit(&fixture->out);
    pprof_destroy(fixture->pprof);
    view_cells_deinit(&fixture->cells);
    sample_session_destroy(fixture->session);
    return 0;
}

/* Returns how many cells the message has. */
static size_t write(struct fixture *fixture, const struct pprof_settings *settings, size_t from)
{
    struct err err = { 0 };
    size_t used = 0;
    buffer_clear(&fixture->out);
    assert_ok(pprof_write(fixture->pprof, settings, fixture->cells.cells + from,
                          fixture->cells.count - from, &fixture->out, &used, &err),
              &err);
    return used;
}

static struct message message_of(const struct fixture *fixture)
{
    return (struct message){ fixture->out.data, fixture->out.length };
}

static bool string_is(struct message profile, uint64_t number, const char *text)
{
    struct field field;
    return message_find(profile, STRING, (size_t)number, &field) &&
           message_is(field.bytes, text);
}

static void check_type(struct message profile, unsigned field_number, size_t index,
                       const char *type, const char *unit)
{
    struct field field;
    assert_true(message_find(profile, field_number, index, &field));
    assert_true(string_is(profile, message_number(field.bytes, 1), type));
    assert_true(string_is(profile, message_number(field.bytes, 2), unit));
}

/* The sum of the first value of each sample. */
static uint64_t sum_of(struct message profile)
{
    struct field field, values;
    uint64_t sum = 0, value = 0;
    for (size_t i = 0; message_find(profile, SAMPLE, i, &field); i++) {
        assert_true(message_find(field.bytes, 2, 0, &values));
        assert_true(message_next_packed(&values.bytes, &value));
        sum += value;
    }
    return sum;
}

/* Each table counts from 1, and nothing refers beyond it. */
static void check_ids(struct message profile)
{
    const size_t locations = message_count(profile, LOCATION);
    const size_t functions = message_count(profile, FUNCTION);
    const size_t mappings = message_count(profile, MAPPING);
    struct field field, inner;
    uint64_t id = 0;
    for (unsigned table = MAPPING; table <= FUNCTION; table++)
        for (size_t i = 0; message_find(profile, table, i, &field); i++)
            assert_int_equal(message_number(field.bytes, 1), i + 1);
    for (size_t i = 0; message_find(profile, SAMPLE, i, &field); i++) {
        assert_true(message_find(field.bytes, 1, 0, &inner));
        while (message_next_packed(&inner.bytes, &id))
            assert_in_range(id, 1, locations);
    }
    for (size_t i = 0; message_find(profile, LOCATION, i, &field); i++) {
        assert_in_range(message_number(field.bytes, 2), 1, mappings);
        assert_true(message_find(field.bytes, 4, 0, &inner));
        assert_in_range(message_number(inner.bytes, 1), 1, functions);
    }
}

static void cpu_and_wall_are_profiles_of_their_own(void **state)
{
    struct fixture *const fixture = *state;
    static const struct {
        enum pprof_values values;
        const char *type;
    } rows[] = { { PPROF_CPU, "cpu" }, { PPROF_WALL, "wall" } };
    uint64_t wanted[2] = { 0, 0 };
    for (size_t i = 0; i < fixture->cells.count; i++) {
        const struct view_cell *const cell = &fixture->cells.cells[i];
        const uint64_t wall_ns = cell->ns > 0 ? cell->ns : cell->count * PERIOD_NS;
        wanted[0] += pprof_cpu_ns(cell, wall_ns);
        wanted[1] += wall_ns;
    }
    assert_true(wanted[0] > 0 && wanted[0] < wanted[1]);
    for (size_t i = 0; i < 2; i++) {
        const struct pprof_settings settings = { .values = rows[i].values,
                                                 .began_at_ns = 1000,
                                                 .duration_ns = 15,
                                                 .period_ns = PERIOD_NS,
                                                 .executable = "/usr/bin/python3" };
        assert_int_equal(write(fixture, &settings, 0), fixture->cells.count);
        const struct message profile = message_of(fixture);
        assert_int_equal(message_count(profile, SAMPLE_TYPE), 1);
        check_type(profile, SAMPLE_TYPE, 0, rows[i].type, "nanoseconds");
        check_type(profile, PERIOD_TYPE, 0, rows[i].type, "nanoseconds");
        assert_int_equal(message_number(profile, TIME), 1000);
        assert_int_equal(message_number(profile, DURATION), 15);
        assert_int_equal(message_number(profile, PERIOD), PERIOD_NS);
        assert_int_equal(sum_of(profile), wanted[i]);
        check_ids(profile);
    }
}

static void another_measure_has_its_type_and_unit(void **state)
{
    struct fixture *const fixture = *state;
    const struct pprof_settings settings = { .values = PPROF_MEASURED,
                                             .measure = MEASURE_PAGE_FAULTS,
                                             .period_ns = 4096,
                                             .executable = "/usr/bin/python3" };
    uint64_t wanted = 0;
    for (size_t i = 0; i < fixture->cells.count; i++)
        wanted += fixture->cells.cells[i].ns > 0 ? fixture->cells.cells[i].ns
                                                 : fixture->cells.cells[i].count * 4096;
    assert_int_equal(write(fixture, &settings, 0), fixture->cells.count);
    const struct message profile = message_of(fixture);
    assert_int_equal(message_count(profile, SAMPLE_TYPE), 1);
    check_type(profile, SAMPLE_TYPE, 0, "rss_growth", "bytes");
    check_type(profile, PERIOD_TYPE, 0, "rss_growth", "bytes");
    assert_int_equal(message_number(profile, PERIOD), 4096);
    assert_int_equal(sum_of(profile), wanted);
}

static void a_measure_beside_others_has_a_sample_type(void **state)
{
    struct fixture *const fixture = *state;
    const struct view_cells *const cells = &fixture->cells;
    const struct pprof_beside beside[] = { { MEASURE_PAGE_FAULTS, cells->cells, 3 },
                                           { MEASURE_RETURNED, cells->cells, 2 } };
    const struct pprof_settings settings = { .values = PPROF_ALL,
                                             .labels = PPROF_EVERY_LABEL,
                                             .period_ns = PERIOD_NS,
                                             .beside = beside,
                                             .beside_count = 2,
                                             .executable = "/usr/bin/python3" };
    static const char *const types[][2] = { { "samples", "count" },
                                            { "wall", "nanoseconds" },
                                            { "cpu", "nanoseconds" },
                                            { "rss_growth", "bytes" },
                                            { "rss_returned", "bytes" } };
    uint64_t wanted[5] = { 0 }, found[5] = { 0 };
    for (size_t i = 0; i < cells->count; i++) {
        const struct view_cell *const cell = &cells->cells[i];
        const uint64_t value = cell->ns > 0 ? cell->ns : cell->count * PERIOD_NS;
        wanted[0] += cell->count;
        wanted[1] += value;
        wanted[2] += pprof_cpu_ns(cell, value);
        wanted[3] += i < 3 ? value : 0;
        wanted[4] += i < 2 ? value : 0;
    }
    assert_int_equal(write(fixture, &settings, 0), cells->count);
    const struct message profile = message_of(fixture);
    assert_int_equal(message_count(profile, SAMPLE_TYPE), 5);
    assert_int_equal(message_count(profile, SAMPLE), cells->count + 5);
    struct field field, values;
    for (size_t i = 0; i < 5; i++)
        check_type(profile, SAMPLE_TYPE, i, types[i][0], types[i][1]);
    for (size_t i = 0; message_find(profile, SAMPLE, i, &field); i++) {
        assert_true(message_find(field.bytes, 2, 0, &values));
        for (size_t k = 0; k < 5; k++) {
            uint64_t value = 0;
            assert_true(message_next_packed(&values.bytes, &value));
            found[k] += value;
        }
    }
    assert_memory_equal(found, wanted, sizeof found);
    check_ids(profile);
}

static void samples_have_the_labels_that_were_chosen(void **state)
{
    struct fixture *const fixture = *state;
    static const struct {
        unsigned labels;
        const char *key;
    } rows[] = { { PPROF_THREAD, "thread" },
                 { PPROF_PROCESS, "process" },
                 { PPROF_STATE, "state" } };
    struct pprof_settings settings = { .executable = "" };
    struct field field, label;
    write(fixture, &settings, 0);
    for (size_t i = 0; message_find(message_of(fixture), SAMPLE, i, &field); i++)
        assert_int_equal(message_count(field.bytes, 3), 0);
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        size_t found = 0;
        settings.labels = rows[row].labels;
        write(fixture, &settings, 0);
        const struct message profile = message_of(fixture);
        for (size_t i = 0; message_find(profile, SAMPLE, i, &field); i++)
            if (message_find(field.bytes, 3, 0, &label))
                found += string_is(profile, message_number(label.bytes, 1), rows[row].key);
        assert_true(found > 0);
    }
}

static void what_does_not_fit_is_in_other_messages(void **state)
{
    struct fixture *const fixture = *state;
    static const struct pprof_settings limits[] = {
        { .executable = "", .max_samples = 3 },
        { .executable = "", .max_bytes = 1200, .labels = PPROF_EVERY_LABEL },
        { .executable = "", .max_bytes = 1 },
    };
    const struct pprof_settings whole = { .executable = "" };
    write(fixture, &whole, 0);
    const uint64_t wanted = sum_of(message_of(fixture));
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        uint64_t sum = 0;
        size_t parts = 0;
        for (size_t at = 0, used = 0; at < fixture->cells.count; at += used, parts++) {
            used = write(fixture, &limits[i], at);
            assert_true(used > 0);
            assert_true(!limits[i].max_samples || used <= limits[i].max_samples);
            assert_true(!limits[i].max_bytes || used == 1 ||
                        fixture->out.length <= limits[i].max_bytes);
            check_ids(message_of(fixture));
            sum += sum_of(message_of(fixture));
        }
        assert_true(parts > 1);
        assert_int_equal(sum, wanted);
    }
}

static void deep_stacks_keep_both_ends(void **state)
{
    frame_id frames[] = { 1, 2, 3, 4, 5, 6, 7 };
    struct chain chain = { .frames = frames, .depth = 7 };
    (void)state;
    pprof_shorten(&chain, 0);
    pprof_shorten(&chain, 7);
    assert_int_equal(chain.depth, 7);
    pprof_shorten(&chain, 5);
    assert_int_equal(chain.depth, 5);
    assert_memory_equal(frames, ((frame_id[]){ 1, 2, 3, 6, 7 }), 5 * sizeof *frames);
}

TEST_GROUP(
    cmocka_unit_test_setup_teardown(cpu_and_wall_are_profiles_of_their_own, set_up, tear_down),
    cmocka_unit_test_setup_teardown(another_measure_has_its_type_and_unit, set_up, tear_down),
    cmocka_unit_test_setup_teardown(a_measure_beside_others_has_a_sample_type, set_up,
                                    tear_down),
    cmocka_unit_test_setup_teardown(samples_have_the_labels_that_were_chosen, set_up,
                                    tear_down),
    cmocka_unit_test_setup_teardown(what_does_not_fit_is_in_other_messages, set_up, tear_down),
    cmocka_unit_test(deep_stacks_keep_both_ends))
