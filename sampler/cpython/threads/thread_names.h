/*
 * thread_names - the names Python programs give their threads.
 *
 * From the dictionary threading._active, which maps threading.get_ident() to the Thread; what it
 * does not know is named as the kernel does (comm), which 3.14 and later set from the same name.
 *
 * Depends on: base, layout, object, memory, procfs.
 */
#ifndef SAMPLER_CPYTHON_THREADS_THREAD_NAMES_H
#define SAMPLER_CPYTHON_THREADS_THREAD_NAMES_H

#include "sampler/base/err.h"
#include "sampler/base/strtab.h"
#include "sampler/cpython/threads/threads.h"

/* A thread is started before it is named, so its name is read so many times. */
enum { THREAD_NAMES_READINGS = 3 };

/* Names the threads that have not been named often enough, or all once more; with `only_main`
 * nothing but the main thread.  Where a name is new the thread's tag becomes 0.  A name that
 * cannot be read leaves the old one, or "Thread TID". */
MUST_CHECK enum err_code thread_names_read(struct thread_list *list, int pid,
                                           struct strtab *strings, bool only_main, bool again);

#endif /* SAMPLER_CPYTHON_THREADS_THREAD_NAMES_H */
