/*
 * open_files - how many more files this process may open (RLIMIT_NOFILE).
 *
 * A module that opens files for each process, thread or engine asks first, so that some are left for files that are
 * open for a short time, and for results.
 *
 * Threads: any.
 */
#ifndef SAMPLER_BASE_OPEN_FILES_H
#define SAMPLER_BASE_OPEN_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

/* May as many more files be opened now?  At the cost of one system call for each, where there are enough. */
bool open_files_are_left(size_t wanted);
/* ERR_SYS: fewer are left.  The message says what is left out for that. */
MUST_CHECK enum err_code open_files_check(size_t wanted, const char *what, struct err *err);
/* Is it an error because of that limit? */
bool open_files_are_short(const struct err *err);

#endif /* SAMPLER_BASE_OPEN_FILES_H */
