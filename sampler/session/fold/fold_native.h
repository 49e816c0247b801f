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
#include "sampler/session/fold/fold.h"

enum { FOLD_NATIVE_MAX_FRAMES = 1 << 13 };

struct fold_native;
struct native_outcome;
struct process;

/* anchor: python_anchor. */
MUST_CHECK enum err_code fold_native_create(struct process *process, struct fold *fold,
                                            remote_addr anchor, struct fold_native **out,
                                            struct err *err);
/* The node and the outcome of the stack's native tag. */
void fold_native_keep(const struct thread *thread, node_id *node,
                      struct native_outcome *outcome);
void fold_native_destroy(struct fold_native *native);
size_t fold_native_bytes(const struct fold_native *native);

/* The node of a thread whose stack is whole and whose leaf has been read; sets the leaf's spot.
 * gc: the number of frames below the mark of the garbage collector.  ERR_LIMIT: the profile is full, and
 * *node is of a caller. */
MUST_CHECK enum err_code fold_native_node(struct fold_native *native, struct fold *fold,
                                          struct thread *thread, size_t gc, uint64_t now_ns,
                                          node_id *node, struct native_outcome *outcome);

#endif /* SAMPLER_SESSION_FOLD_FOLD_NATIVE_H */
