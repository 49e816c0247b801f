/*
 * kallsyms - the names of the kernel's functions, from /proc/kallsyms.
 *
 * The kernel decides by who opens the file whether it shows addresses, so it is opened while the program has its
 * capabilities, and read once, when the first session wants names: that takes some 50 ms and 5 MB.  Modules and
 * programs that are loaded later have no names.
 *
 * Ownership: kallsyms_create makes, kallsyms_destroy frees; NULL is fine.
 * Threads: any may read; create and destroy from one.
 * Limits: KALLSYMS_MAX functions; names of KALLSYMS_MAX_NAME bytes.
 */
#ifndef SAMPLER_KERNEL_KALLSYMS_H
#define SAMPLER_KERNEL_KALLSYMS_H

#include <stdint.h>

#include "sampler/base/err.h"

enum { KALLSYMS_MAX = 1 << 20, KALLSYMS_MAX_NAME = 511 };

struct kallsyms;

/* Opens the file at `path`.  Succeeds also if it cannot be opened: then kallsyms_read says why. */
MUST_CHECK enum err_code kallsyms_create(const char *path, struct kallsyms **out,
                                         struct err *err);
void kallsyms_destroy(struct kallsyms *kallsyms);

/* Reads the names, unless that was done or has failed before.  ERR_PERM: the kernel hides addresses from us, the message
 * says what opens them. */
MUST_CHECK enum err_code kallsyms_read(struct kallsyms *kallsyms, struct err *err);

/* The name of the function at this address, once kallsyms_read has succeeded; NULL: there is none. */
const char *kallsyms_find(const struct kallsyms *kallsyms, uint64_t addr);

#endif /* SAMPLER_KERNEL_KALLSYMS_H */
