/*
 * report - a profile as a file: one writer per format, one table for all of them.
 *
 * Ownership: a source borrows everything.
 * Threads: any, on a snapshot of one's own.
 * Depends on: profile, wire, buffer, assets.
 */
#ifndef SERVER_REPORT_REPORT_H
#define SERVER_REPORT_REPORT_H

#include <stddef.h>

#include "sampler/base/err.h"

struct buffer;
struct profile_snapshot;
struct session_facts;
struct view_query;

struct report_source {
    const struct profile_snapshot *snapshot;
    const struct view_query *query;
    const struct session_facts *session;
};

struct report_format {
    const char *name; /* in a URL and as an option */
    const char *mime;
    const char *extension;
    const char *description;
    enum err_code (*write)(const struct report_source *source, struct buffer *out,
                           struct err *err);
};

/* NULL: no such format. */
const struct report_format *report_find(const char *name);
/* NULL: fewer than index + 1. */
const struct report_format *report_at(size_t index);

enum { REPORT_NAME_BYTES = 96 };

/* "pyrometer-4711-20260131-100000.html": the pid and the start of the session. */
void report_file_name(const struct report_source *source, const struct report_format *format,
                      char out[REPORT_NAME_BYTES]);

/*
 * Folded stacks, one line per distinct stack of a thread, most frequent first, as Tachyon's
 * --collapsed writes them:
 *
 *     tid:4711;app.py:main:14;app.py:work:9;<native> 120
 *
 * outermost frame first: file name without folders, qualified name, line; a synthetic frame is
 * its name alone.  So that any line can be taken apart again (frames at `;`, the count behind
 * the last space, the file before the first `:` and the line behind the last) these characters
 * of names are written as in a Python string: \x3b for `;`, \x3a for `:` in a file name, \\ for
 * a backslash, \xNN for control characters and \uNNNN for U+2028 and U+2029.
 */
enum err_code report_write_collapsed(const struct report_source *source, struct buffer *out,
                                     struct err *err);

/* The page with the profile inside; opens without a server. */
enum err_code report_write_html(const struct report_source *source, struct buffer *out,
                                struct err *err);

#endif /* SERVER_REPORT_REPORT_H */
