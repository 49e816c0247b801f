/*
 * kept_texts - the source text that a capture holds, of the functions with the most samples.
 *
 * A function is in it if at least KEPT_TEXTS_PER_MILLE of the samples have it on their stack: of all of them, or of those that are
 * not idle.  The rest of its file is left out (def_line_keep).  A file that could not be read has the reason
 * instead.
 *
 * What reads a capture's texts never opens a file: a file of that name may be there, but it is another one.
 *
 * Threads: kept_texts_collect: any, once the session has ended; what reads: any.
 * Limits: those of source_texts.h, hottest files first; KEPT_TEXTS_MS for files that were not fetched before.
 */
#ifndef SERVER_SOURCE_KEPT_TEXTS_H
#define SERVER_SOURCE_KEPT_TEXTS_H

#include <stddef.h>

#include "sampler/base/err.h"

struct buffer;
struct profile_snapshot;
struct source;
struct source_reader;
struct source_texts;

enum { KEPT_TEXTS_PER_MILLE = 5, KEPT_TEXTS_MS = 300 };

/* Appends rows of source texts.  count_out: those with a text. */
MUST_CHECK enum err_code kept_texts_collect(struct source *source,
                                            const struct profile_snapshot *snapshot,
                                            struct buffer *out, size_t *count_out,
                                            struct err *err);

/* Borrows. */
struct kept_texts {
    const struct source_texts *texts;
    const char *state; /* SOURCE_TEXT_KEPT and the like; "": an older program recorded it */
};

struct source_reader kept_texts_reader(const struct kept_texts *kept);

#endif /* SERVER_SOURCE_KEPT_TEXTS_H */
