#include "tests/unit/capture/made_capture.h"

#include <stdio.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/profile/packages.h"
#include "tests/support/test.h"

static enum err_code take(void *to, const void *data, size_t bytes, struct err *err)
{
    buffer_append(to, data, bytes);
    return buffer_check(to, err);
}

void made_capture_begin(struct made_capture *capture)
{
    made_capture_begin_as(capture, &(struct made_capture_words){ .host = "build7" });
}

void made_capture_begin_as(struct made_capture *capture,
                           const struct made_capture_words *wanted)
{
    static const char *const argv[] = { "python3", "app.py", NULL };
    static const char *words[3], *hide[2];
    struct err err = { 0 };
    memset(capture, 0, sizeof *capture);
    memcpy(words, argv, sizeof words);
    hide[0] = wanted->hide;
    capture->profile = made_profile();
    capture->folder = temp_dir();
    snprintf(capture->path, sizeof capture->path, "%s/x.pyro", capture->folder);
    capture->metadata = (struct capture_metadata){
        .pid = 4711,
        .validated = 1,
        .started_at_ns = wanted->started_at_ns ? wanted->started_at_ns : 1700000000000000000u,
        .rate_uhz = 1000000000,
        .unit_ns = wanted->unit_ns ? wanted->unit_ns : NS_PER_MS,
        .executable = "/usr/bin/python3",
        .python = "3.11.2",
        .host = wanted->host,
        .user = "ada",
        .mode = "wall",
        .argv = { 2, words },
        .hide = { wanted->hide != NULL, hide },
    };
    assert_ok(writer_init(&capture->writer, &capture->metadata, take, &capture->file, &err),
              &err);
}

void made_any_run(struct made_capture *capture, const struct run *run)
{
    struct err err = { 0 };
    assert_ok(writer_run(&capture->writer, run, &err), &err);
    assert_ok(
        profile_add(capture->profile, run->thread, run->state, run->node, run->count, &err),
        &err);
    profile_quality(capture->profile)->samples += run->count;
    if (run->spot != PROFILE_NO_SPOT)
        assert_ok(
            profile_add_spot(capture->profile, run->spot_node, run->spot, run->count, &err),
            &err);
}

void made_run(struct made_capture *capture, thread_id thread, state_bits state,
              const char *stack, uint32_t count, uint64_t at_ms)
{
    const struct run run = { .thread = thread,
                             .node = made_node(capture->profile, stack),
                             .spot = PROFILE_NO_SPOT,
                             .count = count,
                             .state = state,
                             .first_ns = at_ms * NS_PER_MS,
                             .step_ns = NS_PER_MS };
    made_any_run(capture, &run);
}

void made_spot_run(struct made_capture *capture, thread_id thread, const char *stack,
                   spot_id spot, uint32_t count, uint64_t at_ms)
{
    const node_id node = made_node(capture->profile, stack);
    const struct run run = { .thread = thread,
                             .node = node,
                             .spot_node = node - 1,
                             .spot = spot,
                             .count = count,
                             .state = STATE_ON_CPU,
                             .first_ns = at_ms * NS_PER_MS,
                             .step_ns = NS_PER_MS };
    made_any_run(capture, &run);
}

void made_capture_seal(struct made_capture *capture, uint64_t seconds)
{
    struct err err = { 0 };
    profile_set_period(capture->profile, NS_PER_MS);
    made_seal(capture->profile, seconds);
    assert_ok(writer_seal(&capture->writer, seconds * NS_PER_S, NS_PER_MS, &err), &err);
}

void made_capture_flush(struct made_capture *capture)
{
    struct err err = { 0 };
    struct profile_snapshot snapshot = made_snapshot(capture->profile);
    assert_ok(writer_flush(&capture->writer, &snapshot, &snapshot.quality, 0, &err), &err);
    profile_snapshot_release(&snapshot);
}

void made_capture_end(struct made_capture *capture)
{
    const char *paths[PACKAGES_MAX], *names[PACKAGES_MAX];
    const uint32_t packages = packages_list(profile_packages(capture->profile), paths, names);
    const struct capture_metadata end = { .ended_at_ns = 1700000009000000000u,
                                          .elapsed_ns = 9000000000u,
                                          .reason = "the target exited",
                                          .package_paths = { packages, paths },
                                          .package_names = { packages, names } };
    struct err err = { 0 };
    made_capture_flush(capture);
    assert_ok(writer_finish(&capture->writer, &end, &err), &err);
    made_file(capture, capture->file.data, capture->file.length);
}

void made_capture_free(struct made_capture *capture)
{
    writer_deinit(&capture->writer);
    profile_destroy(capture->profile);
    buffer_deinit(&capture->file);
    temp_dir_remove(capture->folder);
}

void made_file(const struct made_capture *capture, const void *data, size_t bytes)
{
    FILE *const file = fopen(capture->path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

struct reader *made_reader(const struct made_capture *capture)
{
    struct reader *reader = NULL;
    struct err err = { 0 };
    assert_ok(reader_open(capture->path, &reader, &err), &err);
    return reader;
}

uint64_t made_samples(struct reader *reader)
{
    struct capture_window window;
    uint64_t samples = 0;
    reader_rewind(reader);
    while (reader_next_window(reader, &window, NULL) == ERR_OK)
        for (size_t i = 0; i < window.run_count; i++)
            samples += window.runs[i].count;
    return samples;
}

void assert_same_samples(struct profile *profile, struct profile *other)
{
    const struct view_query everything = { 0 };
    struct err err = { 0 };
    struct profile_snapshot a = made_snapshot(profile), b = made_snapshot(other);
    struct view_cells cells, others;
    assert_ok(view_cells_init(&cells, &a, &everything, &err), &err);
    assert_ok(view_cells_init(&others, &b, &everything, &err), &err);
    assert_int_equal(cells.count, others.count);
    for (size_t i = 0; i < cells.count; i++) {
        assert_int_equal(cells.cells[i].thread, others.cells[i].thread);
        assert_int_equal(cells.cells[i].state, others.cells[i].state);
        assert_int_equal(cells.cells[i].node, others.cells[i].node);
        assert_int_equal(cells.cells[i].count, others.cells[i].count);
    }
    view_cells_deinit(&cells);
    view_cells_deinit(&others);
    profile_snapshot_release(&a);
    profile_snapshot_release(&b);
}
