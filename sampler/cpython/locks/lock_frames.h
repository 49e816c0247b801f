/*
 * lock_frames - the frames of a thread or a task: where their values lie, and what their `with` blocks hold.
 *
 * Everything read is untrusted.
 *
 * Private to the folder.
 */
#ifndef SAMPLER_CPYTHON_LOCKS_LOCK_FRAMES_H
#define SAMPLER_CPYTHON_LOCKS_LOCK_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/cpython/locks/lock_state.h"

enum { LOCKS_MAX_CODE_BYTES = 8 << 20 }; /* read for one thread or task */

/* The place of the first variable of a frame; the others follow. */
remote_addr locks_variables(const struct locks *locks, const struct walk_frame *frame);
/* The place of a value of the value stack, from 3.11 on. */
remote_addr locks_value(const struct locks *locks, const struct walk_frame *frame,
                        uint32_t depth);
/* The place of the first value above the innermost block, until 3.10. */
bool locks_old_values(const struct locks *locks, const struct walk_frame *frame,
                      remote_addr *out);
uint32_t locks_unit(const struct locks *locks, const struct walk_frame *frame);
/* A hostile program may have code of any size on its stack.  false: it is too much, or cannot be read. */
bool locks_read_code(struct locks *locks, const struct walk_frame *frame, struct bytecode *out);

/* The text of a lock that the source does not name. */
extern const struct lock_text locks_no_text;
/* Adds a use by a frame.  text NULL: that of the instruction which the frame is at. */
MUST_CHECK enum err_code locks_add_use(struct locks *locks, const struct walk_frame *frame,
                                       const struct lock_text *text, const char *name,
                                       struct lock_use use, struct lock_use *uses,
                                       size_t *count);
/* The innermost frame, of those up to `at`, that is not in importlib, which imports for it. */
size_t locks_importer(const struct locks *locks, const struct walk_frame *frames, size_t at);
/* Adds what the `with` blocks of frame `at` hold, but for the lock `let_go`; 0: none.  Sets *is_timed if one of them ends after a time. */
MUST_CHECK enum err_code locks_add_held(struct locks *locks, const struct walk_frame *frames,
                                        size_t at, uint64_t let_go, struct lock_use *uses,
                                        size_t *count, bool *is_timed);
/* Adds the lock of the module that frame `at` of importlib imports for this thread: from 3.15 on it is a variable there. */
MUST_CHECK enum err_code locks_add_import(struct locks *locks, const struct thread *thread,
                                          size_t at, struct lock_use *uses, size_t *count);
/* The lock of the condition that is waited for: it has been let go.  0: none. */
uint64_t locks_find_let_go(const struct locks *locks, const struct lock_use *wait);

/* The active `with` blocks of a frame, the innermost one first. */
size_t locks_find_blocks(struct locks *locks, const struct walk_frame *frame,
                         struct locks_block out[LOCKS_MAX_BLOCKS]);

#endif /* SAMPLER_CPYTHON_LOCKS_LOCK_FRAMES_H */
