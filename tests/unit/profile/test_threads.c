/* One writer and one reader at the same time; the thread sanitizer watches. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/window.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

enum { SEALS = 400, LONG_SEALS = 1100, STACKS_PER_SEAL = 60, DEPTH = 6 };

struct session_entry {
    struct profile *profile;
    uint32_t seals;
    uint64_t step_ns; /* between them */
    atomic_bool ended;
    enum err_code rc; /* of the writer; read after it was joined */
};

/* cmocka's checks work in the main thread only, so the writer has none and stops at an error. */
static enum err_code add_stack(struct profile *profile, uint32_t *random, thread_id thread)
{
    enum err_code rc = ERR_OK;
    node_id node = 0;
    for (unsigned i = 0; i < DEPTH && !rc; i++) {
        char name[32];
        str_id string;
        function_id function;
        frame_id frame;
        *random = *random * 1664525 + 1013904223;
        const int length = snprintf(name, sizeof name, "f%u", *random >> 24 & 7);
        rc = strtab_intern(profile_strings(profile), name, (size_t)length, &string, NULL);
        if (!rc)
            rc = profile_function(profile, string, string, 1, &function, NULL);
        if (!rc)
            rc = profile_frame(profile, function, (int32_t)(*random >> 20 & 3), &frame, NULL);
        if (!rc)
            rc = profile_node(profile, node, frame, &node, NULL);
    }
    if (!rc)
        rc = profile_add(profile, thread, (state_bits)(*random >> 30), node, 1, NULL);
    if (!rc)
        profile_quality(profile)->samples++;
    return rc;
}

static enum err_code add_thread(struct profile *profile, uint32_t number, thread_id *out)
{
    process_id process;
    const enum err_code rc = profile_process(profile, 1, 0, &process, NULL);
    const struct profile_thread row = { .process = process, .ident = number };
    return rc ? rc : profile_thread(profile, &row, out, NULL);
}

static enum err_code write_windows(const struct session_entry *entry)
{
    struct profile *const profile = entry->profile;
    uint32_t random = 1;
    enum err_code rc = ERR_OK;
    for (uint32_t i = 1; i <= entry->seals && !rc; i++) {
        thread_id thread;
        rc = add_thread(profile, i / 4, &thread);
        for (unsigned j = 0; j < STACKS_PER_SEAL && !rc; j++)
            rc = add_stack(profile, &random, thread);
        if (!rc)
            rc = profile_seal(profile, i * entry->step_ns, NULL);
    }
    return rc;
}

static void *writer(void *argument)
{
    struct session_entry *const entry = argument;
    entry->rc = write_windows(entry);
    atomic_store(&entry->ended, true);
    return NULL;
}

/* Every row a snapshot makes readable is whole and refers to rows that are readable too. */
static void expect_whole_rows(const struct profile_snapshot *s)
{
    for (node_id id = 1; id < s->sizes.nodes; id++) {
        const struct profile_node node = profile_node_at(s, id);
        assert_true(node.parent < id && node.frame < s->sizes.frames);
    }
    for (frame_id id = 0; id < s->sizes.frames; id++)
        assert_true(profile_frame_at(s, id).function < s->sizes.functions);
    for (function_id id = 1; id < s->sizes.functions; id++) {
        const str_id name = profile_function_at(s, id).name;
        assert_true(name < s->sizes.strings);
        assert_int_equal(profile_string(s, name).text[0], 'f');
        assert_int_equal(strlen(profile_string(s, name).text), profile_string(s, name).length);
    }
    for (thread_id id = 0; id < s->sizes.threads; id++)
        assert_true(profile_thread_at(s, id).process < s->sizes.processes);
}

static void expect_whole_view(const struct profile_snapshot *s)
{
    uint64_t *const total = calloc((size_t)s->sizes.nodes + 1, sizeof *total);
    struct view view = made_view(s, &(struct view_query){ 0 });
    assert_int_equal(view.total, s->quality.samples);
    assert_int_equal(view.total, s->generation * STACKS_PER_SEAL);
    view_totals(&view, s, total);
    assert_int_equal(total[0], view.total);
    view_deinit(&view);
    free(total);
}

/* The samples since the snapshot before make up the difference. */
static void expect_progress(const struct profile_snapshot *s, uint32_t *generation,
                            uint64_t *samples)
{
    /* A reader that is far behind starts again. */
    const uint32_t since = profile_snapshot_since(s, *generation);
    struct view news = made_view(s, &(struct view_query){ .since = since });
    assert_true(s->generation >= *generation);
    assert_int_equal((since ? *samples : 0) + news.total, s->quality.samples);
    *generation = s->generation;
    *samples = s->quality.samples;
    view_deinit(&news);
}

static void read_while_written(struct session_entry *entry)
{
    pthread_t thread;
    uint32_t generation = 0;
    uint64_t samples = 0;
    bool last;
    assert_int_equal(pthread_create(&thread, NULL, writer, entry), 0);
    do {
        last = atomic_load(&entry->ended);
        struct profile_snapshot snapshot = made_snapshot(entry->profile);
        expect_whole_rows(&snapshot);
        expect_whole_view(&snapshot);
        expect_progress(&snapshot, &generation, &samples);
        profile_snapshot_release(&snapshot);
    } while (!last);
    pthread_join(thread, NULL);
    assert_int_equal(entry->rc, ERR_OK);
    assert_int_equal(generation, entry->seals);
    assert_int_equal(samples, entry->seals * STACKS_PER_SEAL);
}

static void a_reader_sees_whole_generations_while_the_writer_goes_on(void **state)
{
    struct session_entry entry = { .profile = made_profile(), .seals = SEALS, .step_ns = 1 };
    (void)state;
    read_while_written(&entry);
    struct profile_snapshot snapshot = made_snapshot(entry.profile);
    assert_int_equal(snapshot.window_count, SEALS);
    assert_int_equal(snapshot.end_ns, SEALS);
    profile_snapshot_release(&snapshot);
    profile_destroy(entry.profile);
}

static void windows_are_merged_while_they_are_read(void **state)
{
    struct session_entry entry = { .profile = made_profile(),
                                   .seals = LONG_SEALS,
                                   .step_ns = 5 * NS_PER_S };
    (void)state;
    read_while_written(&entry);
    struct profile_snapshot snapshot = made_snapshot(entry.profile);
    assert_in_range(snapshot.window_count, 700, LONG_SEALS - 150);
    profile_snapshot_release(&snapshot);
    profile_destroy(entry.profile);
}

static void *keep_scanning(void *argument)
{
    struct session_entry *const entry = argument;
    while (!atomic_load(&entry->ended)) {
        struct profile_snapshot snapshot;
        if (profile_snapshot(entry->profile, &snapshot, NULL))
            continue;
        profile_snapshot_release(&snapshot);
    }
    return NULL;
}

static void many_readers_share_the_windows(void **state)
{
    enum { READERS = 4 };
    struct session_entry entry = { .profile = made_profile(), .seals = SEALS, .step_ns = 1 };
    pthread_t readers[READERS], thread;
    (void)state;
    for (size_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, keep_scanning, &entry), 0);
    assert_int_equal(pthread_create(&thread, NULL, writer, &entry), 0);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    assert_int_equal(entry.rc, ERR_OK);
    struct profile_snapshot snapshot = made_snapshot(entry.profile);
    for (size_t i = 0; i < snapshot.window_count; i++)
        assert_int_equal(atomic_load(&snapshot.windows[i]->references), 2);
    profile_snapshot_release(&snapshot);
    profile_destroy(entry.profile);
}

TEST_GROUP(cmocka_unit_test(a_reader_sees_whole_generations_while_the_writer_goes_on),
           cmocka_unit_test(windows_are_merged_while_they_are_read),
           cmocka_unit_test(many_readers_share_the_windows))
