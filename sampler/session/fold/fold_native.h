/*
 * fold_native - native frames in the stacks that fold turns into nodes.
 *
 * For a sample that comes with registers and a copy of the C stack: the native frames, among the Python
 * frames as native_merge has them, below the root, or below the node of the thread's task.
 *     <gap>           native frames are missing here
 *     <native stack>  a mark: native and Python frames do not come out even, and what is below it are the
 *                     native frames
 * The C function that the innermost Python frame calls, if it has a name (leaf.h), is one frame with the
 * native function that implements it: the one at its address, one that this jumps to at its end, or the one
 * that the interpreter's functions for calling built-ins call.  If none of these is among the frames, the name
 * is shown only where all native frames below the innermost Python frame are the interpreter's.
 *
 * Ownership: fold_native_create allocates, fold_native_destroy frees; NULL is fine.
 * Threads: the profile's writer.
 * Limits: FOLD_NATIVE_MAX_FRAMES native frames; the outermost of a deeper stack are missing.
 */
#ifndef SAMPLER_SESSION_FOLD_FOLD_NATIVE_H
#define SAMPLER_SESSION_FOLD_FOLD_NATIVE_H

#include "sampler/base/err.h"
#include "sampler/process/memory.h"
#include "sampler/profile/profile.h"

enum { FOLD_NATIVE_MAX_FRAMES = 1 << 13 };

struct fold_native;
struct frame_nodes;
struct native_outcome;
struct process;
struct task_fold;
struct thread_reading;

/* Borrows process and nodes.  anchor: python_anchor. */
MUST_CHECK enum err_code fold_native_create(struct process *process, struct frame_nodes *nodes,
                                            remote_addr anchor, struct fold_native **out,
                                            struct err *err);
void fold_native_destroy(struct fold_native *native);
size_t fold_native_bytes(const struct fold_native *native);

/* The node of a reading with a native copy, whose stack is whole and whose leaf has been read; sets the leaf's spot, and what
 * the thread keeps of its native tag.  tasks NULL: stacks are not of tasks.  gc: the number of frames below the mark of the
 * garbage collector.  ERR_LIMIT: the profile is full, and *node is of a caller. */
MUST_CHECK enum err_code fold_native_node(struct fold_native *native, struct task_fold *tasks,
                                          const struct thread_reading *reading, size_t gc,
                                          node_id *node, struct native_outcome *outcome);

#endif /* SAMPLER_SESSION_FOLD_FOLD_NATIVE_H */
