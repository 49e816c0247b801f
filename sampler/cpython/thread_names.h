/*
 * thread_names - the names Python programs give their threads.
 *
 * From the dictionary threading._active, which maps threading.get_ident() to the Thread; what it
 * does not know is named as the kernel does (comm), which 3.14 and later set from the same name.
 *
 * Depends on: base, layout, object, memory, procfs.
 */
#ifndef SAMPLER_CPYTHON_THREAD_NAMES_H
#define SAMPLER_CPYTHON_THREAD_NAMES_H

#include "sampler/base/err.h"
#include "sampler/base/strtab.h"
#include "sampler/cpython/threads.h"

/* Names every thread of the list that has a new name; their tags become 0.  Threads whose name
 * cannot be read keep the one they have, or get "Thread TID". */
MUST_CHECK enum err_code thread_names_read(struct thread_list *list, int pid,
                                           struct strtab *strings);

#endif /* SAMPLER_CPYTHON_THREAD_NAMES_H */
