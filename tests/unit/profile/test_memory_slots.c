#include "sampler/profile/memory_log.h"
#include "sampler/profile/views/memory_slots.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

enum { MIB = 1 << 20 };

static void add(struct profile *profile, uint64_t at_ms, const struct memory_use *uses,
                uint32_t count)
{
    struct memory_step step = { .start_ns = at_ms * NS_PER_MS,
                                .end_ns = (at_ms + 250) * NS_PER_MS,
                                .count = count };
    struct err err = { 0 };
    for (uint32_t i = 0; i < count; i++)
        step.peak_bytes += uses[i].peak_bytes;
    assert_ok(profile_add_memory(profile, &step, uses, &err), &err);
}

static process_id process(struct profile *profile, int32_t pid)
{
    process_id id;
    assert_int_equal(profile_process(profile, pid, made_string(profile, "app"), &id, NULL),
                     ERR_OK);
    return id;
}

static struct memory_use use_of(process_id id, uint64_t mib, uint32_t group, uint64_t limit)
{
    return (struct memory_use){ .process = id,
                                .group = group,
                                .rss_bytes = mib * MIB,
                                .peak_bytes = mib * MIB,
                                .limit_bytes = limit * MIB,
                                .minor_faults = 2,
                                .major_faults = 1 };
}

static struct memory_slots slots_of(struct profile *profile, const struct view_query *query,
                                    size_t slots)
{
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct memory_slots memory;
    struct err err = { 0 };
    assert_ok(memory_slots_init(&memory, &snapshot, query, slots, &err), &err);
    profile_snapshot_release(&snapshot);
    return memory;
}

/* Two processes in one group, then one of them: the end of a slot is that of its last step, its peak that of any. */
static void a_slot_has_its_end_its_peak_and_all_faults(void **state)
{
    struct profile *const profile = made_profile();
    const struct memory_use both[] = { use_of(process(profile, 10), 30, 5, 100),
                                       use_of(process(profile, 11), 40, 5, 100) };
    const struct view_query everything = { 0 };
    (void)state;
    add(profile, 0, both, 2);
    add(profile, 250, both, 1);
    add(profile, 1000, both, 2);
    made_seal(profile, 2);
    struct memory_slots memory = slots_of(profile, &everything, 2);
    assert_int_equal(memory.count, 2);
    assert_true(memory.rows[0].all.rss_bytes == 30 * MIB);
    assert_true(memory.rows[0].peak_bytes == 70 * MIB);
    assert_true(memory.rows[0].limit_bytes == 100 * MIB);
    assert_int_equal(memory.rows[0].all.minor_faults, 6);
    assert_int_equal(memory.rows[0].all.major_faults, 3);
    assert_true(memory.rows[0].end_ns == 500 * NS_PER_MS);
    assert_true(memory.rows[1].all.rss_bytes == 70 * MIB);
    assert_int_equal(memory.process_count, 2);
    assert_int_equal(memory.processes[0], both[1].process);
    assert_true(memory.rows[0].processes[0].rss_bytes == 0);
    assert_true(memory.rows[0].processes[1].rss_bytes == 30 * MIB);
    memory_slots_deinit(&memory);
    profile_destroy(profile);
}

static void limits_of_several_groups_are_added_up_unless_one_has_none(void **state)
{
    struct profile *const profile = made_profile();
    struct memory_use uses[] = { use_of(process(profile, 10), 1, 5, 100),
                                 use_of(process(profile, 11), 1, 6, 50) };
    const process_id first = uses[0].process;
    const struct view_query everything = { 0 },
                            one = { .processes = &first, .process_count = 1 };
    (void)state;
    add(profile, 0, uses, 2);
    uses[1].group = 0;
    add(profile, 250, uses, 2);
    made_seal(profile, 1);
    struct memory_slots memory = slots_of(profile, &everything, 100);
    assert_true(memory.rows[0].limit_bytes == 150 * MIB);
    assert_true(memory.rows[1].limit_bytes == 0);
    memory_slots_deinit(&memory);
    memory = slots_of(profile, &one, 100);
    assert_true(memory.rows[1].limit_bytes == 100 * MIB);
    assert_true(memory.rows[1].peak_bytes == MIB);
    assert_int_equal(memory.process_count, 1);
    memory_slots_deinit(&memory);
    profile_destroy(profile);
}

static void more_processes_than_rows_are_counted_and_summed(void **state)
{
    enum { COUNT = 256 };
    struct profile *const profile = made_profile();
    struct memory_use uses[COUNT];
    const struct view_query everything = { 0 };
    (void)state;
    for (uint32_t i = 0; i < COUNT; i++)
        uses[i] = use_of(process(profile, (int32_t)i + 1), i + 1, 0, 0);
    add(profile, 0, uses, COUNT);
    made_seal(profile, 1);
    struct memory_slots memory = slots_of(profile, &everything, 4);
    assert_int_equal(memory.process_count, MEMORY_MAX_PROCESSES);
    assert_int_equal(memory.others, COUNT - MEMORY_MAX_PROCESSES);
    assert_true(memory.peak_bytes[0] == COUNT * (uint64_t)MIB);
    assert_true(memory.rows[0].all.rss_bytes == (uint64_t)COUNT * (COUNT + 1) / 2 * MIB);
    memory_slots_deinit(&memory);
    profile_destroy(profile);
}

static void an_empty_session_has_no_slots(void **state)
{
    struct profile *const profile = made_profile();
    const struct view_query everything = { 0 };
    (void)state;
    struct memory_slots memory = slots_of(profile, &everything, 10);
    assert_int_equal(memory.count, 0);
    assert_int_equal(memory.process_count, 0);
    memory_slots_deinit(&memory);
    profile_destroy(profile);
}

TEST_GROUP(cmocka_unit_test(a_slot_has_its_end_its_peak_and_all_faults),
           cmocka_unit_test(limits_of_several_groups_are_added_up_unless_one_has_none),
           cmocka_unit_test(more_processes_than_rows_are_counted_and_summed),
           cmocka_unit_test(an_empty_session_has_no_slots))
