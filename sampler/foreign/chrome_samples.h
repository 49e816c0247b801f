/*
 * chrome_samples - the samples of Chrome's trace events: the list "samples" beside them, and events of the phase "P", whose stacks are
 * names from the outermost on ("stack") or a frame of the table "stackFrames" ("sf"), each of which names its parent.
 *
 *     chrome_samples_read_stack, chrome_samples_read_frames, chrome_samples_add   in any order
 *     chrome_samples_gather                                                       once the file was read
 *
 * A sample lasts until the next one of its thread, the last one has no length; where samples have weights of their own, these are counted.
 *
 * Ownership: the caller's storage; chrome_samples_deinit accepts a zeroed one.
 * Threads: one.
 * Limits: frames take no more memory than the tables of the gather may; then ERR_LIMIT.
 */
#ifndef SAMPLER_FOREIGN_CHROME_SAMPLES_H
#define SAMPLER_FOREIGN_CHROME_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/foreign/gather.h"
#include "sampler/foreign/sorter.h"

struct json_reader;

struct chrome_samples {
    struct gather *gather;
    struct chrome_frame *frames; /* 0: none */
    size_t frame_count, frame_room;
    struct idmap index; /* of frames, by what they are known by */
    struct sorter
        samples; /* keys: thread, instant, number; value: weight; node: number of the frame */
    bool has_weights; /* of which one is not 1 */
    uint32_t *path;   /* frames that have no node yet */
    size_t path_room;
};

void chrome_samples_init(struct chrome_samples *samples, struct gather *gather);
void chrome_samples_deinit(struct chrome_samples *samples);
/* Reads the value of "stack" or "sf"; *out is 0 where it has no frame. */
MUST_CHECK enum err_code chrome_samples_read_stack(struct chrome_samples *samples,
                                                   struct json_reader *json, uint32_t *out,
                                                   struct err *err);
/* Reads the value of "stackFrames". */
MUST_CHECK enum err_code chrome_samples_read_frames(struct chrome_samples *samples,
                                                    struct json_reader *json, struct err *err);
MUST_CHECK enum err_code chrome_samples_add(struct chrome_samples *samples, uint32_t thread,
                                            uint64_t at_ns, uint64_t weight, uint32_t frame,
                                            struct err *err);
/* The thread of the gather that a thread of the file is. */
typedef enum err_code chrome_samples_thread(void *context, uint32_t thread, thread_id *out,
                                            struct err *err);
MUST_CHECK enum err_code chrome_samples_gather(struct chrome_samples *samples,
                                               chrome_samples_thread *find, void *context,
                                               struct err *err);

#endif /* SAMPLER_FOREIGN_CHROME_SAMPLES_H */
