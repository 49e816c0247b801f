/*
 * source - the text of source files for the views and reports of one session.
 *
 * A file is read as a process that a function naming it was seen in (helper.h), while that process
 * runs.  A function that was seen in processes of several owners is read as none of them.  Texts
 * are fetched while their process runs, so that they are there when it has ended: the hottest files
 * first, a little after the first samples and then as new ones appear.
 *
 * Ownership: source_create makes, source_destroy frees; it borrows the sampler.
 * Threads: any may read; one of its own fetches, and ends with the session.
 * Limits: SOURCE_MAX_BYTES for a file; of a session CACHE_MAX_FILES files and CACHE_MAX_BYTES.
 * Depends on: buffer, cache, helper, profile, sampler.h.
 */
#ifndef SERVER_SOURCE_SOURCE_H
#define SERVER_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct buffer;
struct sampler;
struct source;

enum { SOURCE_MAX_BYTES = 4 << 20 };

/* Where texts come from, for who shows them. */
struct source_reader {
    enum err_code (*read)(void *context, const struct profile_snapshot *snapshot,
                          const function_id *functions, size_t count, struct buffer *out,
                          uint64_t *changed_ns_out, struct err *err);
    void *context;
};

/* keeps: fetches texts while processes run. */
MUST_CHECK enum err_code source_create(struct sampler *sampler, bool keeps, struct source **out,
                                       struct err *err);
/* No thread reads afterwards.  NULL is fine. */
void source_destroy(struct source *source);
struct source_reader source_reader_of(struct source *source);

/* The file of functions that are all of one file.  Replaces what is in `out`.  changed_ns_out: when
 * the file was last written, since 1970.  reader: NULL: there are no texts.
 * ERR_NOT_FOUND no such file, ERR_PERM, ERR_GONE no process is left to read it as, ERR_LIMIT too
 * large or too slow, ERR_INVALID not an absolute path or no regular file. */
MUST_CHECK enum err_code source_read(const struct source_reader *reader,
                                     const struct profile_snapshot *snapshot,
                                     const function_id *functions, size_t count,
                                     struct buffer *out, uint64_t *changed_ns_out,
                                     struct err *err);

#endif /* SERVER_SOURCE_SOURCE_H */
