/*
 * made_profile - makes profiles, each sample in one line.
 *
 * A stack is text, outermost first: "main;work;leaf".  Every name is a function of the file
 * "made.py" that starts in line 1 and runs line 1, but "<GC>" is a mark, and "gzread@/lib/libz.so" is
 * native code of a library.  A failing call fails the test.
 */
#ifndef TESTS_SUPPORT_MADE_PROFILE_H
#define TESTS_SUPPORT_MADE_PROFILE_H

#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"

struct profile *made_profile(void);

str_id made_string(struct profile *profile, const char *text);
/* A file's name is interned before the function's, so that ids are the same with every compiler. */
function_id made_function(struct profile *profile, const char *name, const char *file,
                          int32_t first_line);
/* path: "libz.so" or "/lib/libz.so"; "/usr/bin/python3" is that of the interpreter, "[kernel]" the kernel. */
library_id made_library(struct profile *profile, const char *path);
/* file: NULL for the library itself */
function_id made_native_function(struct profile *profile, const char *name, const char *library,
                                 const char *file, int32_t first_line);
frame_id made_frame(struct profile *profile, const char *name, int32_t line);
node_id made_node(struct profile *profile, const char *stack);
/* Nodes of a stack without samples, so many. */
void made_spare(struct profile *profile, unsigned count);
/* A thread named "" of the process; both are created when they are first named. */
thread_id made_thread(struct profile *profile, int32_t pid, int32_t tid);

void made_add(struct profile *profile, thread_id thread, state_bits state, const char *stack,
              uint32_t count);
/* On CPU, at first_ns and every period after it. */
void made_add_at(struct profile *profile, thread_id thread, const char *stack,
                 uint64_t first_ns, uint64_t period_ns, uint32_t count);
void made_seal(struct profile *profile, uint64_t seconds);

struct profile_snapshot made_snapshot(struct profile *profile);
/* Memory that the snapshot holds. */
size_t made_bytes(struct profile *profile);
struct view made_view(const struct profile_snapshot *snapshot, const struct view_query *query);

/* 0 for a node that is not in the view. */
uint64_t made_self(const struct view *view, node_id node);

#endif /* TESTS_SUPPORT_MADE_PROFILE_H */
