/*
 * thread_names - the names that Python programs give their threads.
 *
 * They come from the dictionary threading._active, which maps threading.get_ident() to the Thread.  A
 * thread that is not in it has the kernel's name (comm), which 3.14 and later set from the same name.
 */
#ifndef SAMPLER_CPYTHON_THREADS_THREAD_NAMES_H
#define SAMPLER_CPYTHON_THREADS_THREAD_NAMES_H

#include "sampler/base/err.h"
#include "sampler/base/strtab.h"
#include "sampler/cpython/threads/threads.h"

/* A program starts a thread before it names it, so a name is read several times. */
enum { THREAD_NAMES_READINGS = 3 };

/* Reads the names that have been read fewer than THREAD_NAMES_READINGS times, or with `again` all of
 * them; with `only_main` only the main thread's.  A new name sets the thread's tag to 0.  If a name
 * cannot be read, the thread keeps its old one, or is "Thread TID". */
MUST_CHECK enum err_code thread_names_read(struct thread_list *list, int pid,
                                           struct strtab *strings, bool only_main, bool again);

#endif /* SAMPLER_CPYTHON_THREADS_THREAD_NAMES_H */
