/*
 * made_capture - makes captures in a few lines, and files of any bytes.
 *
 *     struct made_capture capture;
 *     made_capture_begin(&capture);
 *     made_run(&capture, thread, state, "main;work", 10, at_ms);   also counted in the profile
 *     made_capture_seal(&capture, 1);
 *     made_capture_end(&capture);       the file is at capture.path
 *     made_capture_free(&capture);
 *
 * Time is in units of a millisecond.  A failing call fails the test.
 */
#ifndef TESTS_UNIT_CAPTURE_MADE_CAPTURE_H
#define TESTS_UNIT_CAPTURE_MADE_CAPTURE_H

#include "sampler/capture/metadata.h"
#include "sampler/capture/reader.h"
#include "sampler/capture/writer.h"
#include "tests/support/made_profile.h"

struct made_capture {
    struct profile *profile;
    struct writer writer;
    struct capture_metadata metadata;
    struct buffer file;
    char *folder;
    char path[256];
};

/* 0: the usual. */
struct made_capture_words {
    const char *host;
    uint64_t started_at_ns, unit_ns;
    const char *hide; /* a filter it was recorded with */
};

void made_capture_begin(struct made_capture *capture);
void made_capture_begin_as(struct made_capture *capture,
                           const struct made_capture_words *wanted);
void made_any_run(struct made_capture *capture, const struct run *run);
void made_run(struct made_capture *capture, thread_id thread, state_bits state,
              const char *stack, uint32_t count, uint64_t at_ms);
/* Adds a run of samples as made_run does, at a spot. */
void made_spot_run(struct made_capture *capture, thread_id thread, const char *stack,
                   spot_id spot, uint32_t count, uint64_t at_ms);
/* Closes the window; each of its samples stands for a millisecond. */
void made_capture_seal(struct made_capture *capture, uint64_t seconds);
/* Makes a block of the runs since the last one. */
void made_capture_flush(struct made_capture *capture);
void made_capture_end(struct made_capture *capture);
void made_capture_free(struct made_capture *capture);

/* Writes the bytes to capture.path. */
void made_file(const struct made_capture *capture, const void *data, size_t bytes);
/* Opens capture.path, of which nothing is loaded yet. */
struct reader *made_reader(const struct made_capture *capture);
/* Samples in all windows that can be read. */
uint64_t made_samples(struct reader *reader);
/* All samples of the profile, thread, state and node, are in both. */
void assert_same_samples(struct profile *profile, struct profile *other);

#endif /* TESTS_UNIT_CAPTURE_MADE_CAPTURE_H */
