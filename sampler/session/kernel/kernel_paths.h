/*
 * kernel_paths - what threads do in the kernel, as frames of the profile.
 *
 * A stack of the kernel becomes functions of the library "[kernel]", from the system call, the page fault or the interrupt
 * inwards: what every stack begins with, and the scheduler at the end of one that leaves its processor, say nothing.
 * The first one has the name of the call, such as sys_read.  Only names are kept, never addresses.
 *
 * Ownership: kernel_paths_create makes, kernel_paths_destroy frees; NULL is fine.  Borrows profile and kallsyms.
 * Threads: the profile's writer.
 * Limits: KERNEL_PATHS_MAX different stacks; further ones are not shown.
 */
#ifndef SAMPLER_SESSION_KERNEL_KERNEL_PATHS_H
#define SAMPLER_SESSION_KERNEL_KERNEL_PATHS_H

#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/session/engine.h"

struct kallsyms;
struct kernel_paths;
struct kernel_record;
struct profile;

enum { KERNEL_PATHS_MAX = 1 << 16 };

/* 0: nothing, or nothing is known. */
typedef uint32_t kernel_path_id;

/* kallsyms: has been read. */
MUST_CHECK enum err_code kernel_paths_create(struct profile *profile,
                                             const struct kallsyms *kallsyms,
                                             struct kernel_paths **out, struct err *err);
void kernel_paths_destroy(struct kernel_paths *paths);

/* The frames of the kernel part of a record; `spans` as kernel_decode has them.  paths NULL: 0.  ERR_NOMEM. */
MUST_CHECK enum err_code kernel_paths_find(struct kernel_paths *paths,
                                           const struct kernel_record *record,
                                           const void *spans, kernel_path_id *out);
/* Good until the next kernel_paths_find. */
struct kernel_path kernel_paths_path(const struct kernel_paths *paths, kernel_path_id id);

#endif /* SAMPLER_SESSION_KERNEL_KERNEL_PATHS_H */
