/* Writes a capture of what is described in a text, for tests that know what reports of it must say.
 *
 *     write_capture FILE < TEXT
 *
 * The text is lines of words with tabs in between; names hold neither tabs nor line ends:
 *
 *     process PID FROM_NS TO_NS COMMAND ...        TO_NS 0: it was there to the end
 *     add PID TID THREAD STATES COUNT STACK        samples of the open window; STACK is "main;work"
 *     seal END_NS PERIOD_NS                        closes the window
 *
 * The first process is the one that was asked for; processes come before the rest.
 * Exit code: 0 it was written, 1 not, 2 wrong usage. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/capture/metadata.h"
#include "sampler/capture/writer.h"
#include "sampler/profile/sink.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

enum { MAX_WORDS = 16, MAX_PROCESSES = 8, STARTED_AT_S = 1769853600, RATE_HZ = 100 };

struct writing {
    struct profile *profile;
    struct writer writer;
    struct quality quality;
    FILE *file;
    const char *targets[MAX_PROCESSES];
    size_t target_list_count;
    uint64_t now_ns;
    bool has_begun;
};

static enum err_code take(void *to, const void *data, size_t bytes, struct err *err)
{
    return fwrite(data, 1, bytes, to) == bytes
               ? ERR_OK
               : err_set(err, ERR_SYS, "cannot write a capture");
}

/* As captures before 4.3 have it: pid, parent, from, to, validated, Python, executable, reason, words. */
static void add_process(struct writing *writing, char **words, size_t count)
{
    char text[1024];
    assert_true(count > 4 && writing->target_list_count < MAX_PROCESSES);
    int length = snprintf(text, sizeof text,
                          "%s\x1f%s\x1f%s\x1f%s\x1f"
                          "1\x1f"
                          "3.11.2\x1f/usr/bin/python-of-%s\x1f",
                          words[1], writing->target_list_count ? "4711" : "0", words[2],
                          words[3], words[1]);
    for (size_t i = 4; i < count; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, "\x1f%s", words[i]);
    writing->targets[writing->target_list_count++] = strdup(text);
}

static void begin(struct writing *writing)
{
    static const char *const command[] = { "python3", "parent.py", NULL };
    const struct capture_metadata info = { .pid = 4711,
                                           .validated = 1,
                                           .started_at_ns = STARTED_AT_S * NS_PER_S,
                                           .rate_uhz = (uint64_t)RATE_HZ * 1000000,
                                           .unit_ns = NS_PER_MS,
                                           .all_threads = 1,
                                           .executable = "/usr/bin/python-of-4711",
                                           .python = "3.11.2",
                                           .mode = "wall",
                                           .argv = { 2, (const char **)(uintptr_t)command } };
    struct err err = { 0 };
    assert_ok(writer_init(&writing->writer, &info, take, writing->file, &err), &err);
    writing->has_begun = true;
}

static void add_samples(struct writing *writing, char **words)
{
    struct profile_thread row = { .tid = atoi(words[2]),
                                  .is_main = atoi(words[1]) == atoi(words[2]) };
    struct err err = { 0 };
    thread_id thread = 0;
    row.ident = (uint64_t)row.tid;
    row.name = made_string(writing->profile, words[3]);
    assert_ok(profile_process(writing->profile, atoi(words[1]),
                              made_string(writing->profile, "python3"), &row.process, &err),
              &err);
    assert_ok(profile_thread(writing->profile, &row, &thread, &err), &err);
    const struct run run = { .thread = thread,
                             .node = made_node(writing->profile, words[6]),
                             .spot = PROFILE_NO_SPOT,
                             .count = (uint32_t)strtoul(words[5], NULL, 10),
                             .state = (state_bits)strtoul(words[4], NULL, 0),
                             .first_ns = writing->now_ns,
                             .step_ns = NS_PER_MS };
    assert_ok(writer_run(&writing->writer, &run, &err), &err);
    writing->quality.samples += run.count;
}

static void seal(struct writing *writing, char **words)
{
    struct err err = { 0 };
    writing->now_ns = strtoull(words[1], NULL, 10);
    assert_ok(
        writer_seal(&writing->writer, writing->now_ns, strtoull(words[2], NULL, 10), &err),
        &err);
    writing->quality.ticks++;
}

static void obey(struct writing *writing, char *line)
{
    char *words[MAX_WORDS];
    size_t count = 0;
    for (char *word = strtok(line, "\t\n"); word && count < MAX_WORDS;
         word = strtok(NULL, "\t\n"))
        words[count++] = word;
    if (count > 0 && strcmp(words[0], "process") == 0) {
        add_process(writing, words, count);
        return;
    }
    if (!writing->has_begun)
        begin(writing);
    if (count == 7 && strcmp(words[0], "add") == 0)
        add_samples(writing, words);
    else if (count == 3 && strcmp(words[0], "seal") == 0)
        seal(writing, words);
    else
        fail_msg("no line like this: %s", count > 0 ? words[0] : "");
}

static void finish(struct writing *writing)
{
    struct err err = { 0 };
    const struct capture_metadata end = {
        .ended_at_ns = STARTED_AT_S * NS_PER_S + writing->now_ns,
        .elapsed_ns = writing->now_ns,
        .reason = "the duration is over",
        .processes = { writing->target_list_count, writing->targets },
    };
    assert_ok(profile_seal(writing->profile, writing->now_ns, &err), &err);
    struct profile_snapshot snapshot = made_snapshot(writing->profile);
    assert_ok(writer_flush(&writing->writer, &snapshot, &writing->quality, 0, &err), &err);
    assert_ok(writer_finish(&writing->writer, &end, &err), &err);
    profile_snapshot_release(&snapshot);
}

int main(int argc, char **argv)
{
    struct writing writing = { 0 };
    char line[1024];
    if (argc != 2) {
        fprintf(stderr, "usage: write_capture FILE < TEXT\n");
        return 2;
    }
    writing.file = fopen(argv[1], "w");
    if (!writing.file) {
        perror(argv[1]);
        return 1;
    }
    writing.profile = made_profile();
    while (fgets(line, sizeof line, stdin))
        obey(&writing, line);
    finish(&writing);
    writer_deinit(&writing.writer);
    profile_destroy(writing.profile);
    for (size_t i = 0; i < writing.target_list_count; i++)
        free((char *)(uintptr_t)writing.targets[i]);
    return fclose(writing.file) != 0;
}
