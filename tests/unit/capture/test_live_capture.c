#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sampler/capture/live_capture.h"
#include "sampler/profile/sink.h"
#include "tests/support/test.h"
#include "tests/unit/capture/made_capture.h"

struct world {
    struct made_capture capture;
    struct live_capture *live;
    int fd;
    int failures;
    const struct rlimit *later; /* from the first failure on; NULL: as before */
    thread_id thread;
};

static void failed(void *context, const struct err *err)
{
    struct world *const world = context;
    assert_true(strlen(err->message) > 0);
    world->failures++;
    if (world->later)
        assert_int_equal(setrlimit(RLIMIT_FSIZE, world->later), 0);
}

static void begin(struct world *world, const char *path)
{
    struct err err = { 0 };
    memset(world, 0, sizeof *world);
    made_capture_begin(&world->capture);
    world->thread = made_thread(world->capture.profile, 1, 1);
    world->fd = open(path ? path : world->capture.path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(world->fd >= 0);
    assert_ok(live_capture_create(&world->live, &err), &err);
}

static enum err_code start(struct world *world)
{
    return live_capture_begin(world->live, world->fd, world->capture.profile,
                              &world->capture.metadata, failed, world, NULL);
}

/* Calls the sink as the sampling thread does. */
static void count(struct world *world, const char *stack, uint32_t samples, uint64_t at_ms)
{
    const struct sink *const sink = live_capture_sink(world->live);
    const struct run run = { .thread = world->thread,
                             .node = made_node(world->capture.profile, stack),
                             .spot = PROFILE_NO_SPOT,
                             .count = samples,
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

static enum err_code finish(struct world *world)
{
    const struct capture_metadata end = { .reason = "stopped", .elapsed_ns = NS_PER_S };
    return live_capture_finish(world->live, &end, NULL, NULL);
}

static void end(struct world *world)
{
    live_capture_destroy(world->live);
    close(world->fd);
    made_capture_free(&world->capture);
}

static void what_was_counted_is_in_the_file(void **state)
{
    struct world world;
    struct reader *reader = NULL;
    struct err err = { 0 };
    (void)state;
    begin(&world, NULL);
    count(&world, "main;early", 7, 0);
    assert_int_equal(start(&world), ERR_OK);
    for (uint64_t second = 0; second < 20; second++) {
        for (uint64_t i = 0; i < 300; i++)
            count(&world, i % 2 ? "main;work" : "main", 1, second * 1000 + i);
        seal(&world, second + 1);
    }
    assert_int_equal(finish(&world), ERR_OK);
    assert_int_equal(live_capture_lost(world.live), 0);
    assert_int_equal(live_capture_samples(world.live), 6007);
    assert_ok(reader_open(world.capture.path, &reader, &err), &err);
    assert_ok(reader_load(reader, 0, &err), &err);
    assert_null(reader_missing(reader));
    assert_same_samples(world.capture.profile, reader_profile(reader));
    reader_close(reader);
    end(&world);
}

static void a_full_disk_is_an_error_and_counted(void **state)
{
    struct world world;
    (void)state;
    begin(&world, NULL);
    assert_int_equal(start(&world), ERR_OK);
    /* The thread uses the number of the descriptor. */
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(full >= 0);
    assert_int_equal(dup2(full, world.fd), world.fd);
    for (uint64_t second = 0; second < 20; second++) {
        count(&world, "main", 100, second * 1000);
        seal(&world, second + 1);
    }
    assert_int_equal(finish(&world), ERR_SYS);
    assert_int_equal(world.failures, 1);
    assert_int_equal(live_capture_lost(world.live), 2000);
    close(full);
    end(&world);
}

/* More than 3000 bytes take. */
static void count_much(struct world *world)
{
    for (uint64_t second = 0; second < 400; second++) {
        for (uint64_t i = 0; i < 40; i++)
            count(world, (i * i + second * 7) % 5 < 2 ? "main;work" : "main",
                  1 + (uint32_t)(i * second % 11), second * 1000 + i * 20);
        seal(world, second + 1);
    }
}

/* Records more than the file may hold. */
static void overfill(struct world *world, struct rlimit *before)
{
    const struct rlimit small = { 3000, RLIM_INFINITY };
    assert_int_equal(start(world), ERR_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    count_much(world);
    assert_int_equal(finish(world), ERR_SYS);
}

static void an_end_follows_the_last_whole_block_once_there_is_room(void **state)
{
    struct rlimit before;
    struct world world;
    struct reader *reader = NULL;
    struct err err = { 0 };
    (void)state;
    begin(&world, NULL);
    world.later = &before;
    overfill(&world, &before);
    assert_int_equal(world.failures, 1);
    assert_ok(reader_open(world.capture.path, &reader, &err), &err);
    assert_true(reader_has_end(reader));
    assert_ok(reader_load(reader, 0, &err), &err);
    assert_null(reader_missing(reader));
    assert_int_equal(made_samples(reader), live_capture_samples(world.live));
    reader_close(reader);
    end(&world);
}

static void a_file_that_may_not_grow_stays_readable(void **state)
{
    struct rlimit before;
    struct world world;
    struct reader *reader = NULL;
    struct err err = { 0 };
    (void)state;
    begin(&world, NULL);
    overfill(&world, &before);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(world.failures, 1);
    assert_true(live_capture_lost(world.live) > 0);
    assert_ok(reader_open(world.capture.path, &reader, &err), &err);
    assert_ok(reader_load(reader, 0, &err), &err);
    assert_int_equal(made_samples(reader), live_capture_samples(world.live));
    assert_true(live_capture_samples(world.live) > 0);
    /* The end is written if it fits. */
    if (reader_missing(reader)) {
        assert_int_equal(reader_metadata(reader)->lost, 0);
    } else {
        assert_int_equal(reader_metadata(reader)->lost, live_capture_lost(world.live));
        assert_non_null(strstr(reader_metadata(reader)->reason, "cannot write"));
    }
    reader_close(reader);
    end(&world);
}

/* Some blocks were written, one fails, and more come after it. */
static void a_disk_that_becomes_full_loses_no_count(void **state)
{
    for (rlim_t most = 700; most < 1400; most += 100) {
        const struct rlimit small = { most, RLIM_INFINITY };
        struct rlimit before;
        struct world world;
        uint64_t taken = 0;
        begin(&world, NULL);
        assert_int_equal(start(&world), ERR_OK);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        for (uint64_t second = 0; second < 60; second++) {
            for (uint64_t i = 0; i < 40; i++) {
                const uint32_t samples = 1 + (uint32_t)(i * second % 11);
                count(&world, (i * i + second * 7) % 5 < 2 ? "main;work" : "main", samples,
                      second * 1000 + i * 20);
                taken += samples;
            }
            seal(&world, second + 1);
        }
        assert_int_equal(finish(&world), ERR_SYS);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_true(live_capture_lost(world.live) > 0);
        assert_int_equal(live_capture_lost(world.live) + live_capture_samples(world.live),
                         taken);
        end(&world);
    }
    (void)state;
}

/* The last block alone does not fit. */
static void an_end_that_cannot_be_written_is_counted(void **state)
{
    struct world world;
    (void)state;
    begin(&world, NULL);
    assert_int_equal(start(&world), ERR_OK);
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_int_equal(dup2(full, world.fd), world.fd);
    count(&world, "main", 100, 0);
    assert_int_equal(finish(&world), ERR_SYS);
    assert_int_equal(live_capture_lost(world.live), 100);
    assert_int_equal(live_capture_samples(world.live), 0);
    close(full);
    end(&world);
}

/* Windows of a quarter of a second; a killed writer has written everything that is a second old. */
static void without_an_end_all_but_the_last_second_is_there(void **state)
{
    enum { WINDOWS = 40, OF_A_WINDOW = 25 };
    struct world world;
    struct reader *reader = NULL;
    struct err err = { 0 };
    (void)state;
    for (uint64_t windows = 1; windows < WINDOWS; windows++) {
        begin(&world, NULL);
        assert_int_equal(start(&world), ERR_OK);
        for (uint64_t i = 0; i < windows; i++) {
            const struct sink *const sink = live_capture_sink(world.live);
            const uint64_t end_ns = (i + 1) * 250 * NS_PER_MS;
            count(&world, i % 3 ? "main;work" : "main", OF_A_WINDOW, i * 250);
            assert_ok(profile_seal(world.capture.profile, end_ns, &err), &err);
            sink->seal(sink->context, end_ns, 10 * NS_PER_MS,
                       profile_quality(world.capture.profile));
        }
        live_capture_destroy(world.live);
        assert_ok(reader_open(world.capture.path, &reader, &err), &err);
        assert_ok(reader_load(reader, 0, &err), &err);
        const uint64_t samples = made_samples(reader);
        assert_true(samples + 3 * OF_A_WINDOW >= windows * OF_A_WINDOW);
        assert_true(samples <= windows * OF_A_WINDOW);
        reader_close(reader);
        close(world.fd);
        made_capture_free(&world.capture);
    }
}

/* While a program does nothing, nothing is written. */
static void windows_without_samples_are_no_blocks(void **state)
{
    struct world world;
    (void)state;
    begin(&world, NULL);
    assert_int_equal(start(&world), ERR_OK);
    const off_t before = lseek(world.fd, 0, SEEK_END);
    for (uint64_t second = 0; second < 100; second++)
        seal(&world, second + 1);
    live_capture_destroy(world.live);
    assert_int_equal(lseek(world.fd, 0, SEEK_END), before);
    close(world.fd);
    made_capture_free(&world.capture);
}

/* Before live_capture_begin no thread takes chunks. */
static void samples_that_come_too_fast_are_counted_as_lost(void **state)
{
    const uint64_t most = (uint64_t)LIVE_CAPTURE_CHUNK_RUNS * LIVE_CAPTURE_MAX_CHUNKS;
    struct world world;
    struct reader *reader = NULL;
    struct err err = { 0 };
    (void)state;
    begin(&world, NULL);
    for (uint64_t i = 0; i < most + 50; i++)
        count(&world, i % 2 ? "main;work" : "main", 2, i);
    assert_int_equal(start(&world), ERR_OK);
    assert_int_equal(finish(&world), ERR_OK);
    assert_int_equal(live_capture_lost(world.live), 100);
    assert_ok(reader_open(world.capture.path, &reader, &err), &err);
    assert_int_equal(reader_metadata(reader)->lost, 100);
    reader_close(reader);
    end(&world);
}

static void without_a_beginning_there_is_no_harm(void **state)
{
    struct world world;
    (void)state;
    begin(&world, NULL);
    count(&world, "main", 1, 0);
    end(&world);
    live_capture_destroy(NULL);
}

TEST_GROUP(cmocka_unit_test(what_was_counted_is_in_the_file),
           cmocka_unit_test(a_full_disk_is_an_error_and_counted),
           cmocka_unit_test(an_end_follows_the_last_whole_block_once_there_is_room),
           cmocka_unit_test(a_file_that_may_not_grow_stays_readable),
           cmocka_unit_test(a_disk_that_becomes_full_loses_no_count),
           cmocka_unit_test(an_end_that_cannot_be_written_is_counted),
           cmocka_unit_test(without_an_end_all_but_the_last_second_is_there),
           cmocka_unit_test(windows_without_samples_are_no_blocks),
           cmocka_unit_test(samples_that_come_too_fast_are_counted_as_lost),
           cmocka_unit_test(without_a_beginning_there_is_no_harm))
