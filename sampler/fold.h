/*
 * fold - turns the stack of a thread into a node of the call tree and counts it.
 *
 * Functions and frames of a code object are interned once and remembered in its tags.
 *
 * Ownership: the caller's storage.
 * Threads: the profile's writer.
 * Depends on: cpython, profile.
 */
#ifndef SAMPLER_FOLD_H
#define SAMPLER_FOLD_H

#include "sampler/base/err.h"
#include "sampler/cpython/python.h"
#include "sampler/profile/profile.h"

struct fold {
    struct profile *profile;
    struct code_table *codes;
    process_id process;
    frame_id idle, truncated; /* synthetic frames */
};

MUST_CHECK enum err_code fold_init(struct fold *fold, struct profile *profile,
                                   struct code_table *codes, int32_t pid, const char *name,
                                   struct err *err);

/* Counts one sample of the thread, or its failure. */
MUST_CHECK enum err_code fold_thread(struct fold *fold, struct thread *thread,
                                     enum err_code failure);

#endif /* SAMPLER_FOLD_H */
