/*
 * fake_heap - the frames of 3.8 to 3.10, which are objects in the heap, in a fake_python.
 */
#ifndef TESTS_UNIT_CPYTHON_MADE_FAKE_HEAP_H
#define TESTS_UNIT_CPYTHON_MADE_FAKE_HEAP_H

#include <stdbool.h>

#include "tests/unit/cpython/made/fake_python.h"

/* Each instruction is on a line of its own, from line 1 on. */
remote_addr fake_heap_code(struct fake_python *python, const char *name);

/* A new frame becomes the current one of the thread; caller 0: it is the outermost. */
remote_addr fake_heap_call(struct fake_python *python, remote_addr tstate, remote_addr code,
                           remote_addr caller);
void fake_heap_set_current(struct fake_python *python, remote_addr tstate, remote_addr frame);
void fake_heap_set_executing(struct fake_python *python, remote_addr frame, bool runs);
/* unit -1: the frame has not begun. */
void fake_heap_set_unit(struct fake_python *python, remote_addr frame, int unit);

#endif /* TESTS_UNIT_CPYTHON_MADE_FAKE_HEAP_H */
