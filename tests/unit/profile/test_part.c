/* Parts of time: tests/parts.json, which tests/web/model/parts.test.mjs runs through the page's half. */
#include <string.h>

#include <cjson/cJSON.h>

#include "sampler/profile/part.h"
#include "sampler/profile/views/view.h"
#include "tests/support/made_profile.h"
#include "tests/support/shared_cases.h"
#include "tests/support/test.h"

static cJSON *cases;

static int begin(void **state)
{
    (void)state;
    cases = shared_cases_read("parts.json");
    return 0;
}

static int end(void **state)
{
    (void)state;
    cJSON_Delete(cases);
    return 0;
}

static const char *text_of(const cJSON *row, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItem(row, key));
}

static state_bits state_of(const cJSON *words)
{
    static const char unknown[] = "unknown_";
    const cJSON *word;
    unsigned state = 0;
    cJSON_ArrayForEach(word, words)
    {
        const unsigned before = state;
        for (enum state_flag flag = 0; flag < STATE_FLAG_COUNT; flag++) {
            const char *const text = word->valuestring;
            if (strcmp(text, state_flag_text(flag)) == 0)
                state |= state_flag_yes(flag);
            else if (strncmp(text, unknown, strlen(unknown)) == 0 &&
                     strcmp(text + strlen(unknown), state_flag_text(flag)) == 0)
                state |= state_flag_unknown(flag);
        }
        assert_int_not_equal(state, before);
    }
    return (state_bits)state;
}

static enum wait_cause cause_of(const char *text)
{
    enum wait_cause cause = WAIT_UNKNOWN;
    while (text && strcmp(wait_cause_text(cause), text) != 0)
        assert_true(++cause < WAIT_CAUSE_COUNT);
    return cause;
}

static void state_and_cause_give_the_part_that_they_give_in_the_page(void **state)
{
    const cJSON *row;
    unsigned seen = 0;
    (void)state;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "rows"))
    {
        const enum wait_cause cause = cause_of(text_of(row, "cause"));
        const enum part part = part_of(state_of(cJSON_GetObjectItem(row, "state")), cause);
        assert_string_equal(part_text(part), text_of(row, "part"));
        seen |= 1U << cause;
    }
    assert_int_equal(seen, (1U << WAIT_CAUSE_COUNT) - 1);
}

static void parts_have_the_titles_of_the_page(void **state)
{
    const cJSON *const titles = cJSON_GetObjectItem(cases, "parts");
    (void)state;
    assert_int_equal(cJSON_GetArraySize(titles), PART_COUNT);
    for (enum part part = 0; part < PART_COUNT; part++)
        assert_string_equal(text_of(titles, part_text(part)), part_title(part));
}

static uint64_t total_of(const struct profile_snapshot *snapshot, part_set parts)
{
    struct view view;
    struct err err = { 0 };
    assert_ok(view_init(&view, snapshot, &(struct view_query){ .states.parts = parts }, &err),
              &err);
    const uint64_t total = view.total;
    view_deinit(&view);
    return total;
}

/* Waiting tasks, which are no thread, are in none. */
static void a_query_has_the_samples_of_its_parts(void **state)
{
    static const struct {
        enum part part;
        state_bits state;
        const char *stack;
        uint32_t count;
    } cells[] = {
        { PART_RUNNING, STATE_ON_CPU, "main;f", 1 },
        { PART_NEEDS_GIL, STATE_WAITS_GIL, "main;f;<waits: GIL>", 2 },
        { PART_NEEDS_GIL, STATE_WAITS_GIL, "main;f", 4 },
        { PART_NEEDS_PROCESSOR, STATE_RUNNABLE, "main;<waits: processor>", 8 },
        { PART_BLOCKED, 0, "main;f", 16 },
        { PART_BLOCKED, 0, "main;f;<waits: disk>", 32 },
        { PART_IDLE, 0, "main;<waits: event loop>", 64 },
        { PART_RUNNING, STATE_ON_CPU, "main;<waits: event loop>", 128 },
    };
    struct profile *const profile = made_profile();
    const struct profile_thread tasks = { .name = made_string(profile, PROFILE_WAITING_TASKS) };
    uint64_t expected[PART_COUNT] = { 0 };
    thread_id of_tasks;
    struct err err = { 0 };
    (void)state;
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        made_add(profile, made_thread(profile, 1, 1), cells[i].state, cells[i].stack,
                 cells[i].count);
        expected[cells[i].part] += cells[i].count;
    }
    assert_ok(profile_thread(profile, &tasks, &of_tasks, &err), &err);
    made_add(profile, of_tasks, 0, "task", 256);
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    for (enum part part = 0; part < PART_COUNT; part++)
        assert_int_equal(total_of(&snapshot, (part_set)(1U << part)), expected[part]);
    assert_int_equal(total_of(&snapshot, PART_SET_USUAL), 255 - expected[PART_IDLE]);
    assert_int_equal(total_of(&snapshot, 0), 511);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

TEST_GROUP_WITHIN(begin, end,
                  cmocka_unit_test(state_and_cause_give_the_part_that_they_give_in_the_page),
                  cmocka_unit_test(parts_have_the_titles_of_the_page),
                  cmocka_unit_test(a_query_has_the_samples_of_its_parts))
