#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/base/clock.h"
#include "sampler/capture/format.h"
#include "sampler/capture/growing.h"
#include "sampler/capture/live_capture.h"
#include "sampler/capture/metadata.h"
#include "sampler/profile/sink.h"
#include "tests/support/test.h"
#include "tests/unit/capture/made_capture.h"

/* A live capture in a pipe, and the profile that grows of it. */
struct world {
    struct made_capture capture;
    struct live_capture *live;
    int ends[2];
    thread_id thread;
    struct growing growing;
    struct profile *profile;
    size_t runs, lacking;
    uint64_t samples, lost;
    atomic_bool is_short; /* there is no memory for a state */
    enum err_code failure;
};

static void put_state(void *context, const struct live_capture_seal *seal, struct buffer *out)
{
    const struct world *const world = context;
    out->failed = atomic_load(&world->is_short);
    buffer_number(out, seal->end_ns);
    buffer_number(out, seal->quality.samples);
    buffer_number(out, seal->lost);
}

static void note_failure(void *context, const struct err *err)
{
    struct world *const world = context;
    world->failure = err->code;
}

static void begin(struct world *world)
{
    struct err err = { 0 };
    memset(world, 0, sizeof *world);
    made_capture_begin(&world->capture);
    world->thread = made_thread(world->capture.profile, 1, 1);
    assert_int_equal(pipe2(world->ends, O_CLOEXEC), 0);
    assert_ok(live_capture_create(&world->live, &err), &err);
    assert_ok(live_capture_begin_live(world->live, world->ends[1], world->capture.profile,
                                      &world->capture.metadata, put_state, note_failure, world,
                                      &err),
              &err);
    assert_ok(profile_create(&world->profile, &err), &err);
    growing_init(&world->growing, world->profile, 0);
}

static void end(struct world *world)
{
    live_capture_destroy(world->live);
    growing_deinit(&world->growing);
    profile_destroy(world->profile);
    close(world->ends[0]);
    close(world->ends[1]);
    made_capture_free(&world->capture);
}

static void count(struct world *world, const char *stack, uint32_t samples, uint64_t at_ms,
                  bool lacks_native)
{
    const struct sink *const sink = live_capture_sink(world->live);
    const struct run run = { .thread = world->thread,
                             .node = made_node(world->capture.profile, stack),
                             .spot = PROFILE_NO_SPOT,
                             .count = samples,
                             .lacks_native = lacks_native,
                             .first_ns = at_ms * NS_PER_MS,
                             .step_ns = NS_PER_MS };
    made_add(world->capture.profile, world->thread, 0, stack, samples);
    sink->count(sink->context, &run);
}

static void seal(struct world *world, uint64_t seconds)
{
    const struct sink *const sink = live_capture_sink(world->live);
    made_seal(world->capture.profile, seconds);
    sink->seal(sink->context, seconds * NS_PER_S, NS_PER_MS,
               profile_quality(world->capture.profile));
}

static enum err_code fill(void *context, void *out, size_t bytes, struct err *err)
{
    struct world *const world = context;
    char *at = out;
    while (bytes > 0) {
        const ssize_t got = read(world->ends[0], at, bytes);
        if (got <= 0)
            return err_set(err, at == out ? ERR_NOT_FOUND : ERR_GONE, "the end");
        at += got;
        bytes -= (size_t)got;
    }
    return ERR_OK;
}

static void take(void *context, const struct reader_window *window)
{
    struct world *const world = context;
    for (size_t i = 0; i < window->run_count; i++) {
        world->runs++;
        world->samples += window->runs[i].count;
        world->lacking += window->runs[i].lacks_native;
    }
}

/* Reads up to the next state, and makes it part of the profile. */
static enum err_code grow(struct world *world, enum capture_kind *kind)
{
    enum err_code rc = ERR_OK;
    *kind = CAPTURE_METADATA;
    while (!rc && *kind != CAPTURE_STATE && *kind != CAPTURE_END)
        rc = growing_read(&world->growing, fill, world, kind, NULL);
    if (rc || *kind != CAPTURE_STATE)
        return rc;
    struct byte_reader in = byte_reader_over(&world->growing.raw);
    struct quality quality = { 0 };
    const uint64_t end_ns = byte_reader_number(&in);
    quality.samples = byte_reader_number(&in);
    world->lost = byte_reader_number(&in);
    return growing_seal(&world->growing, &quality, end_ns, take, world, NULL);
}

static void a_profile_grows_window_by_window(void **state)
{
    struct world world;
    enum capture_kind kind;
    (void)state;
    begin(&world);
    assert_int_equal(grow(&world, &kind), ERR_OK);
    for (uint64_t second = 0; second < 5; second++) {
        for (uint64_t i = 0; i < 100; i++)
            count(&world,
                  i % 2        ? "main;work"
                  : second > 2 ? "main;late"
                               : "main",
                  1, second * 1000 + i, false);
        seal(&world, second + 1);
        assert_int_equal(grow(&world, &kind), ERR_OK);
        assert_int_equal(kind, CAPTURE_STATE);
        assert_same_samples(world.capture.profile, world.profile);
    }
    assert_int_equal(world.runs, 500);
    assert_int_equal(world.lacking, 0);
    end(&world);
}

static void a_window_without_samples_is_a_state(void **state)
{
    struct world world;
    struct profile_snapshot snapshot;
    enum capture_kind kind;
    (void)state;
    begin(&world);
    assert_int_equal(grow(&world, &kind), ERR_OK);
    profile_quality(world.capture.profile)->samples = 17;
    seal(&world, 1);
    assert_int_equal(grow(&world, &kind), ERR_OK);
    assert_int_equal(profile_snapshot(world.profile, &snapshot, NULL), ERR_OK);
    assert_int_equal(snapshot.quality.samples, 17);
    profile_snapshot_release(&snapshot);
    end(&world);
}

static void a_run_says_whether_it_lacks_native_frames(void **state)
{
    struct world world;
    enum capture_kind kind;
    (void)state;
    begin(&world);
    assert_int_equal(grow(&world, &kind), ERR_OK);
    count(&world, "main", 1, 1, true);
    count(&world, "main", 1, 2, false);
    seal(&world, 1);
    assert_int_equal(grow(&world, &kind), ERR_OK);
    assert_int_equal(world.runs, 2);
    assert_int_equal(world.lacking, 1);
    end(&world);
}

static void *finish(void *context)
{
    struct world *const world = context;
    const struct capture_metadata nothing = { .pid = 0 };
    assert_int_equal(live_capture_finish(world->live, &nothing, NULL, NULL), ERR_OK);
    return NULL;
}

static void the_end_follows_the_last_state(void **state)
{
    struct world world;
    enum capture_kind kind;
    pthread_t thread;
    (void)state;
    begin(&world);
    count(&world, "main", 3, 1, false);
    seal(&world, 1);
    assert_int_equal(pthread_create(&thread, NULL, finish, &world), 0);
    do
        assert_int_equal(grow(&world, &kind), ERR_OK);
    while (kind != CAPTURE_END);
    pthread_join(thread, NULL);
    assert_same_samples(world.capture.profile, world.profile);
    end(&world);
}

static void a_capture_that_fails_says_why_at_its_end(void **state)
{
    const struct capture_metadata nothing = { .pid = 0 };
    struct capture_metadata last = { .pid = 0 };
    struct world world;
    enum capture_kind kind;
    (void)state;
    begin(&world);
    assert_int_equal(grow(&world, &kind), ERR_OK);
    atomic_store(&world.is_short, true);
    count(&world, "main", 3, 1, false);
    seal(&world, 1);
    assert_int_equal(live_capture_finish(world.live, &nothing, NULL, NULL), ERR_NOMEM);
    assert_int_equal(world.failure, ERR_NOMEM);
    assert_int_equal(grow(&world, &kind), ERR_OK);
    assert_int_equal(kind, CAPTURE_END);
    struct byte_reader in = byte_reader_over(&world.growing.raw);
    assert_int_equal(metadata_decode(&last, &in, NULL), ERR_OK);
    assert_true(last.has_failed);
    assert_string_equal(last.reason, "out of memory");
    metadata_deinit(&last);
    end(&world);
}

/* Nobody reads meanwhile; the sink does not wait for that. */
static void what_is_not_read_in_time_is_counted(void **state)
{
    enum { WINDOWS = 600, RUNS = 100 };
    struct world world;
    enum capture_kind kind;
    pthread_t thread;
    (void)state;
    begin(&world);
    for (uint64_t second = 0; second < WINDOWS; second++) {
        for (uint64_t i = 0; i < RUNS; i++)
            count(&world,
                  i % 2                  ? "main;work"
                  : second > WINDOWS / 2 ? "main;late"
                                         : "main",
                  1, second * 1000 + i, false);
        seal(&world, second + 1);
    }
    assert_int_equal(pthread_create(&thread, NULL, finish, &world), 0);
    do
        assert_int_equal(grow(&world, &kind), ERR_OK);
    while (kind != CAPTURE_END);
    pthread_join(thread, NULL);
    assert_true(world.lost > 0);
    assert_true(world.samples > 0);
    assert_int_equal(world.samples + world.lost, WINDOWS * RUNS);
    /* Rows are whole, whatever was lost. */
    struct profile_snapshot snapshot;
    assert_int_equal(profile_snapshot(world.capture.profile, &snapshot, NULL), ERR_OK);
    assert_int_equal(world.growing.sizes.nodes, snapshot.sizes.nodes);
    profile_snapshot_release(&snapshot);
    end(&world);
}

/* The writer wrote less than a block. */
static void an_end_within_a_block_is_another_end(void **state)
{
    struct world world;
    enum capture_kind kind;
    (void)state;
    begin(&world);
    assert_int_equal(grow(&world, &kind), ERR_OK);
    assert_int_equal(write(world.ends[1], "12345", 5), 5);
    live_capture_destroy(world.live);
    world.live = NULL;
    close(world.ends[1]);
    world.ends[1] = -1;
    assert_int_equal(grow(&world, &kind), ERR_GONE);
    assert_int_equal(grow(&world, &kind), ERR_NOT_FOUND);
    end(&world);
}

static void what_is_no_live_capture_is_refused(void **state)
{
    struct world world;
    enum capture_kind kind;
    char noise[64];
    (void)state;
    begin(&world);
    assert_int_equal(grow(&world, &kind), ERR_OK);
    memset(noise, 'x', sizeof noise);
    assert_int_equal(write(world.ends[1], noise, sizeof noise), sizeof noise);
    assert_int_equal(grow(&world, &kind), ERR_CORRUPT);
    end(&world);
}

TEST_GROUP(cmocka_unit_test(a_profile_grows_window_by_window),
           cmocka_unit_test(a_window_without_samples_is_a_state),
           cmocka_unit_test(a_run_says_whether_it_lacks_native_frames),
           cmocka_unit_test(the_end_follows_the_last_state),
           cmocka_unit_test(a_capture_that_fails_says_why_at_its_end),
           cmocka_unit_test(what_is_not_read_in_time_is_counted),
           cmocka_unit_test(an_end_within_a_block_is_another_end),
           cmocka_unit_test(what_is_no_live_capture_is_refused))
