/*
 * asleep - native stacks of threads that sleep, without stopping them.  For the remote engine.
 *
 * A thread that has not run since the sample before, and waits in a system call, has stood where it is while its
 * Python stack was read.  The kernel says where its C stack begins, but of its registers no more (native_copy.h).
 * A thread that goes on sleeping keeps its node, which costs two reads of /proc for each sample.  Its stack is
 * read again at the 1st, 2nd, 4th, ... sample: what other stacks have shown since may close a gap (unwind.h).
 * The first sample or two of each sleep have no native stack.
 *
 * Ownership: holds nothing.
 * Threads: the profile's writer.
 */
#ifndef SAMPLER_SESSION_REMOTE_ASLEEP_H
#define SAMPLER_SESSION_REMOTE_ASLEEP_H

struct native_copies;
struct target;
struct thread;
struct thread_reading;

/* With --stop always, for a thread that sleeps in a call which a stop would end: the kernel is asked before its Python stack
 * is read, too, so even the first sample has a native stack. */
void asleep_begin(const struct target *target, const struct thread *thread);
/* For a thread whose Python stack has just been read.  Sets native, which is good as long as the copies are, or keeps_native if
 * it sleeps. */
void asleep_find(struct target *target, struct native_copies *copies,
                 struct thread_reading *reading);

#endif /* SAMPLER_SESSION_REMOTE_ASLEEP_H */
