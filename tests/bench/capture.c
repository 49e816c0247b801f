/*
 * Makes a capture of any size and says how long it takes to open.
 *
 * Usage: capture FILE [SAMPLES [PLACES [THREADS]]]     10000000 samples, 100000 places, 4 threads
 *
 * Samples are taken at a kilohertz, each at a place of its own choice: a run is longer than one
 * by chance only, which is the worst a capture can be.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/capture/metadata.h"
#include "sampler/capture/reader.h"
#include "sampler/capture/writer.h"
#include "sampler/profile/profile.h"

enum { DEPTH = 10, WINDOW_TICKS = 250 };

static void check(enum err_code rc, const struct err *err)
{
    if (!rc)
        return;
    fprintf(stderr, "capture: %s\n", err->message);
    exit(1);
}

static enum err_code take(void *to, const void *data, size_t bytes, struct err *err)
{
    return fwrite(data, 1, bytes, to) == bytes ? ERR_OK : err_set(err, ERR_SYS, "disk full");
}

/* A tree in which each node has ten children. */
static void make_places(struct profile *profile, uint32_t places, struct err *err)
{
    for (uint32_t i = 1; i <= places; i++) {
        char name[32];
        str_id text;
        function_id function;
        frame_id frame;
        node_id node;
        snprintf(name, sizeof name, "function_%u", i % 5000);
        check(strtab_intern(profile_strings(profile), name, strlen(name), &text, err), err);
        check(profile_function(profile, text, text, (int32_t)(i % 5000), &function, err), err);
        check(profile_frame(profile, function, (int32_t)i, &frame, err), err);
        check(profile_node(profile, (i - 1) / DEPTH, frame, &node, err), err);
    }
}

static void make_threads(struct profile *profile, uint32_t threads, struct err *err)
{
    process_id process;
    thread_id id;
    check(profile_process(profile, 1, 0, &process, err), err);
    for (uint32_t i = 0; i < threads; i++) {
        const struct profile_thread row = { process, (int32_t)i + 1, i, 0, i == 0 };
        check(profile_thread(profile, &row, &id, err), err);
    }
}

/* Most samples are at few places. */
static node_id choose(uint64_t *random, uint32_t places)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    const double x = (double)(*random >> 11) / 9007199254740992.0;
    return 1 + (node_id)(x * x * x * x * (places - 1));
}

static void fill(struct writer *writer, const struct profile_snapshot *snapshot,
                 uint64_t samples, uint32_t places, uint32_t threads, struct err *err)
{
    uint64_t random = 1, done = 0;
    for (uint64_t tick = 0; done < samples; tick++) {
        for (uint32_t i = 0; i < threads; i++, done++) {
            const struct run run = { .thread = i,
                                     .node = choose(&random, places),
                                     .spot = PROFILE_NO_SPOT,
                                     .count = 1,
                                     .state = STATE_ON_CPU,
                                     .first_ns = tick * NS_PER_MS };
            check(writer_run(writer, &run, err), err);
        }
        if (tick % WINDOW_TICKS == WINDOW_TICKS - 1 || done >= samples)
            check(writer_seal(writer, (tick + 1) * NS_PER_MS, NS_PER_MS, err), err);
        if (writer_is_due(writer))
            check(writer_flush(writer, snapshot, &snapshot->quality, 0, err), err);
    }
}

static void make(const char *path, uint64_t samples, uint32_t places, uint32_t threads)
{
    const struct capture_metadata facts = { .unit_ns = NS_PER_MS, .rate_uhz = 1000000000 };
    const struct capture_metadata end = { .reason = "made up" };
    struct profile *profile;
    struct profile_snapshot snapshot;
    struct writer writer;
    struct err err = { 0 };
    FILE *const file = fopen(path, "wb");
    if (!file) {
        perror(path);
        exit(1);
    }
    check(profile_create(&profile, &err), &err);
    make_places(profile, places, &err);
    make_threads(profile, threads, &err);
    check(profile_seal(profile, 0, &err), &err);
    check(profile_snapshot(profile, &snapshot, &err), &err);
    check(writer_init(&writer, &facts, take, file, &err), &err);
    fill(&writer, &snapshot, samples, places, threads, &err);
    check(writer_flush(&writer, &snapshot, &snapshot.quality, 0, &err), &err);
    check(writer_finish(&writer, &end, &err), &err);
    printf("%s: %.2f bytes a sample\n", path, (double)writer.at / (double)writer.samples);
    fclose(file);
    writer_deinit(&writer);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void open_it(const char *path)
{
    struct reader *reader;
    struct profile_snapshot snapshot;
    struct err err = { 0 };
    const uint64_t start_ns = clock_now_ns();
    check(reader_open(path, &reader, &err), &err);
    check(reader_load(reader, (size_t)256 << 20, &err), &err);
    const double seconds = (double)(clock_now_ns() - start_ns) / 1e9;
    check(profile_snapshot(reader_profile(reader), &snapshot, &err), &err);
    printf("%llu samples opened in %.2f s, %zu MiB\n",
           (unsigned long long)snapshot.quality.samples, seconds, snapshot.bytes >> 20);
    profile_snapshot_release(&snapshot);
    reader_close(reader);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: capture FILE [SAMPLES [PLACES [THREADS]]]\n", stderr);
        return 2;
    }
    make(argv[1], argc > 2 ? strtoull(argv[2], NULL, 10) : 10000000,
         argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 100000,
         argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 4);
    open_it(argv[1]);
    return 0;
}
