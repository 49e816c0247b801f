/* Writes every format of a made session into a folder, for the programs that read them.
 *
 *     write_formats FOLDER                    the small session, and what changed in the other one;
 *                                             both as captures too, before.pyro and now.pyro,
 *                                             and native.pyro with functions of libraries
 *     write_formats FOLDER NODES SAMPLES      a big one; prints seconds, bytes and peak memory
 *
 * Exit code: 0 all were written, 1 one failed, 2 wrong usage. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/capture/metadata.h"
#include "sampler/capture/writer.h"
#include "sampler/profile/sink.h"
#include "sampler/profile/window.h"
#include "server/report/diff/comparison.h"
#include "server/report/diff/diff.h"
#include "server/report/report.h"
#include "tests/support/sample_session.h"

struct file_out {
    FILE *file;
    size_t bytes;
};

static bool drain(void *to, const char *data, size_t bytes)
{
    struct file_out *const sink = to;
    sink->bytes += bytes;
    return fwrite(data, 1, bytes, sink->file) == bytes;
}

static struct file_out file_open(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    struct file_out sink = { fopen(path, "w"), 0 };
    if (!sink.file) {
        perror(path);
        exit(1);
    }
    return sink;
}

static long peak_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

static int close_file(struct file_out *sink, struct buffer *out, enum err_code rc,
                      const char *name, uint64_t began_ns, const struct err *err)
{
    buffer_flush(out);
    const bool failed = rc != ERR_OK || out->failed || fclose(sink->file) != 0;
    buffer_deinit(out);
    printf("%-22s %7.2f s %12zu bytes, peak %5ld MiB%s%s\n", name,
           (double)(clock_now_ns() - began_ns) / (double)NS_PER_S, sink->bytes, peak_mib(),
           failed ? " FAILED: " : "", failed ? err->message : "");
    fflush(stdout);
    return failed;
}

static int write_format(const char *folder, const struct report_source *source,
                        const struct report_source *baseline,
                        const struct report_format *format, const char *name)
{
    struct err err = { 0 };
    struct buffer out;
    struct file_out sink = file_open(folder, name);
    const uint64_t began_ns = clock_now_ns();
    buffer_init_draining(&out, drain, &sink);
    struct report_source own = *source;
    own.baseline = baseline;
    const enum err_code rc = report_write(format, &own, &out, &err);
    return close_file(&sink, &out, rc, name, began_ns, &err);
}

static int write_all(const char *folder, const struct report_source *source)
{
    const struct report_format *format = NULL;
    char name[64];
    int failed = 0;
    for (size_t i = 0; (format = report_at(i)); i++) {
        snprintf(name, sizeof name, "report.%s", format->extension);
        failed |= write_format(folder, source, source, format, name);
    }
    return failed;
}

static int write_diff(const char *folder, const struct diff *diff, const char *name,
                      enum err_code (*write)(const struct diff *diff, struct buffer *out,
                                             struct err *err))
{
    struct err err = { 0 };
    struct buffer out;
    struct file_out sink = file_open(folder, name);
    const uint64_t began_ns = clock_now_ns();
    buffer_init_draining(&out, drain, &sink);
    const enum err_code rc = write(diff, &out, &err);
    return close_file(&sink, &out, rc, name, began_ns, &err);
}

static enum err_code take(void *to, const void *data, size_t bytes, struct err *err)
{
    return fwrite(data, 1, bytes, to) == bytes
               ? ERR_OK
               : err_set(err, ERR_SYS, "cannot write a capture");
}

static enum err_code write_windows(struct writer *writer,
                                   const struct profile_snapshot *snapshot, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < snapshot->window_count && rc == ERR_OK; i++) {
        const struct window *const window = snapshot->windows[i];
        for (size_t j = 0; j < window->cell_count && rc == ERR_OK; j++) {
            const struct cell *const cell = &window->cells[j];
            const struct run run = { .thread = cell->thread,
                                     .node = cell->node,
                                     .spot = PROFILE_NO_SPOT,
                                     .count = cell->count,
                                     .state = cell->state,
                                     .first_ns = window->start_ns,
                                     .step_ns = NS_PER_MS };
            rc = writer_run(writer, &run, err);
        }
        if (rc == ERR_OK)
            rc = writer_seal(writer, window->end_ns, window->period_ns, err);
    }
    return rc;
}

static int write_capture(const char *folder, const char *name,
                         const struct sample_session *session)
{
    struct err err = { 0 };
    struct writer writer = { 0 };
    struct file_out sink = file_open(folder, name);
    const char *words[8] = { 0 };
    for (size_t i = 0; i < session->target.argc; i++)
        words[i] = session->target.argv[i];
    const struct capture_metadata info = {
        .pid = (uint64_t)session->target.pid,
        .started_at_ns = session->info.status.started_at_ns,
        .rate_uhz = (uint64_t)(session->options.rate_hz * 1e6),
        .unit_ns = NS_PER_MS,
        .all_threads = 1,
        .executable = session->target.executable,
        .python = session->target.python,
        .mode = "wall",
        .argv = { session->target.argc, words },
    };
    const struct capture_metadata end = { .ended_at_ns = session->info.status.ended_at_ns,
                                          .elapsed_ns = session->snapshot.end_ns,
                                          .reason = "the duration is over" };
    enum err_code rc = writer_init(&writer, &info, take, sink.file, &err);
    if (rc == ERR_OK)
        rc = write_windows(&writer, &session->snapshot, &err);
    if (rc == ERR_OK)
        rc = writer_flush(&writer, &session->snapshot, &session->snapshot.quality, 0, &err);
    if (rc == ERR_OK)
        rc = writer_finish(&writer, &end, &err);
    writer_deinit(&writer);
    const bool failed = fclose(sink.file) != 0 || rc != ERR_OK;
    if (failed)
        fprintf(stderr, "%s: %s\n", name, err.message);
    return failed;
}

static int write_diffs(const char *folder, const struct report_source *baseline,
                       const struct report_source *now)
{
    struct comparison comparison;
    struct err err = { 0 };
    const uint64_t began_ns = clock_now_ns();
    const struct comparison_side sides[] = { { { baseline }, 1 }, { { now }, 1 } };
    if (comparison_init(&comparison, &sides[0], &sides[1], COMPARISON_BY_SAMPLES, &err) !=
        ERR_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("%-22s %7.2f s\n", "comparing", (double)(clock_now_ns() - began_ns) / NS_PER_S);
    const struct diff diff = { .comparison = &comparison,
                               .baseline = &sides[0],
                               .now = &sides[1] };
    const int failed =
        write_diff(folder, &diff, "diff.txt", diff_write_text) |
        write_diff(folder, &diff, "diff.json", diff_write_json) |
        write_diff(folder, &diff, "diff.md", diff_write_markdown) |
        write_format(folder, now, baseline, report_find("diff-flamegraph"), "diff.html");
    comparison_deinit(&comparison);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;
    if (argc != 2 && argc != 4) {
        fprintf(stderr, "usage: write_formats FOLDER [NODES SAMPLES]\n");
        return 2;
    }
    struct sample_session *const session =
        argc == 4 ? sample_session_big((uint32_t)strtoul(argv[2], NULL, 10),
                                       strtoull(argv[3], NULL, 10))
                  : sample_session_small();
    struct sample_session *const steady = sample_session_steady();
    struct sample_session *const changed = sample_session_changed();
    struct sample_session *const native = sample_session_native();
    printf("%-22s %42ld MiB\n", "made", peak_mib());
    failed |= write_all(argv[1], &session->source);
    failed |= write_diffs(argv[1], argc == 4 ? &session->source : &steady->source,
                          argc == 4 ? &session->source : &changed->source);
    if (argc == 2)
        failed |= write_capture(argv[1], "before.pyro", steady) |
                  write_capture(argv[1], "now.pyro", changed) |
                  write_capture(argv[1], "native.pyro", native);
    sample_session_destroy(native);
    sample_session_destroy(changed);
    sample_session_destroy(steady);
    sample_session_destroy(session);
    return failed;
}
