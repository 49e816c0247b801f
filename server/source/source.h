/*
 * source - the text of source files for the views and reports of one session.
 *
 * A file is read with the rights of a process in which a function of the file was sampled (helper.h),
 * while that process runs.  If processes of several owners ran the function, the file is not read.
 * Texts are fetched while their process runs, so that they are available when it has ended: the hottest
 * files first, shortly after the first samples, and then as new files appear.
 *
 * Meanwhile the checkout of your code (own_code.h) is looked for, with the same rights: links to a repository need
 * its commit.
 *
 * The source of native code whose file is unknown is where the debug information of its library says, if there
 * is any.  It is searched only when somebody asks for it, and only while the process runs.
 *
 * Ownership: source_create makes, source_destroy frees; it borrows the session.
 * Threads: any may read; a thread of the session fetches.
 * Limits: SOURCE_MAX_BYTES for a file; SOURCE_MAX_PLACES at once; CACHE_MAX_FILES files and CACHE_MAX_BYTES for a session.
 */
#ifndef SERVER_SOURCE_SOURCE_H
#define SERVER_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "server/source/source_reader.h"

struct buffer;
struct session;
struct source;

/* Texts that a session asks for while processes run. */
enum source_keeping { SOURCE_KEEPS_NOTHING, SOURCE_KEEPS_PACKAGES, SOURCE_KEEPS_TEXTS };

MUST_CHECK enum err_code source_create(struct session *session, enum source_keeping keeping,
                                       struct source **out, struct err *err);
/* No thread reads afterwards.  NULL is fine. */
void source_destroy(struct source *source);
struct source_reader source_reader_of(struct source *source);
/* The text of a file for a capture that ends: as it was fetched before, else as it is.  asks: whether processes may
 * be asked; otherwise ERR_LIMIT. */
MUST_CHECK enum err_code source_take(struct source *source,
                                     const struct profile_snapshot *snapshot,
                                     const function_id *functions, size_t count, bool asks,
                                     struct buffer *out, uint64_t *changed_ns_out,
                                     struct err *err);
/* The checkout of the hottest file of your code that is in one, until source_destroy; NULL: none is known, or
 * not yet. */
const struct source_checkout *source_checkout(const struct source *source);

#endif /* SERVER_SOURCE_SOURCE_H */
