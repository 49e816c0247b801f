/*
 * heap_frames_parts - shared by the files of heap_frames: heap_frames.c copies frames, heap_walk.c walks from the
 * running one to the outermost.
 */
#ifndef SAMPLER_CPYTHON_STACK_HEAP_FRAMES_PARTS_H
#define SAMPLER_CPYTHON_STACK_HEAP_FRAMES_PARTS_H

#include "sampler/cpython/stack/heap_frames.h"

/* NULL: the frame is not copied. */
struct heap_frame *heap_find(const struct heap_frames *heap, remote_addr addr);
/* Adds the frame to later readings.  ERR_LIMIT: too many.  Ends the ranges. */
MUST_CHECK enum err_code heap_add(struct heap_frames *heap, remote_addr addr,
                                  struct heap_frame **out);
/* Compares two readings without the object's head, which counts references. */
bool heap_is_equal(const struct heap_frames *heap, const struct heap_frame *item,
                   enum heap_reading a, enum heap_reading b);
/* The running frame that the thread state names; 0: none. */
remote_addr heap_running(const struct heap_frames *heap);

#endif /* SAMPLER_CPYTHON_STACK_HEAP_FRAMES_PARTS_H */
