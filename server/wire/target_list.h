/*
 * told - the processes of a session as texts of a capture, and back.
 *
 * A text is numbers and texts with a unit separator (0x1f) between them: pid, parent, from_ns, to_ns,
 * validated, version of Python, executable, reason, and the words of the command line.
 *
 * Ownership: the caller's storage; both deinits accept a zeroed one.
 * Limits: SAMPLER_MAX_TOLD processes, TOLD_MAX_BYTES for each: of longer command lines the rest is
 * left out.
 * Depends on: sampler.h, capture/facts, profile.
 */
#ifndef SERVER_WIRE_TARGET_LIST_H
#define SERVER_WIRE_TARGET_LIST_H

#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/capture/metadata.h"
#include "sampler/sampler.h"

struct profile_snapshot;

enum { TOLD_MAX_BYTES = 4096 };

struct told_texts {
    size_t count;
    char *items[SAMPLER_MAX_TOLD];
};

MUST_CHECK enum err_code told_write(const struct sampler *sampler, struct told_texts *out,
                                    struct err *err);
void told_texts_deinit(struct told_texts *texts);

struct told {
    size_t count;
    struct told_item {
        char *text; /* with its parts apart */
        const char **words;
        struct sampler_target target;
    } * items;
};

/* Texts that make no sense are left out. */
MUST_CHECK enum err_code told_read(const struct capture_texts *texts, struct told *out,
                                   struct err *err);
/* Of each command line only the first word is kept. */
void told_hide_arguments(struct told *told);
/* What the rows of a profile tell, where nothing else does. */
MUST_CHECK enum err_code told_read_rows(const struct profile_snapshot *snapshot,
                                        struct told *out, struct err *err);
void told_deinit(struct told *told);

#endif /* SERVER_WIRE_TARGET_LIST_H */
