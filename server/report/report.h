/*
 * report - writes a profile as a file: one writer per format, and a table of the formats.
 *
 * A writer streams: it appends to `out`, which may drain, and never holds its whole output.  The same
 * source gives the same bytes.
 *
 * Ownership: a source borrows everything.
 * Threads: any, on a snapshot of one's own.
 */
#ifndef SERVER_REPORT_REPORT_H
#define SERVER_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/part.h"
#include "server/report/report_source.h"

struct buffer;

/* By value (base/enum_text.h). */
extern const char *const report_sort_texts[];

struct report_format {
    const char *name; /* in a URL and as an option */
    const char *mime;
    const char *extension; /* unique */
    const char *description;
    enum err_code (*write)(const struct report_source *source, struct buffer *out,
                           struct err *err);
    const char
        *on_screen; /* the format for standard output where no file was asked for; NULL: none */
    bool needs_baseline;
    bool keeps_idle; /* has idle samples too, unless parts are chosen */
    bool
        has_places; /* says where functions are defined: debug information is read (located.h) */
    bool takes_measures;    /* is of the snapshot's measure; others are of time */
    bool has_every_measure; /* has those beside the snapshot too, unless one was named */
};

/* Writes a report in that format, anonymized if the settings say so.  Use this instead of the writers.
 * The target of the session becomes the first selected process. */
MUST_CHECK enum err_code report_write(const struct report_format *format,
                                      const struct report_source *source, struct buffer *out,
                                      struct err *err);

/* NULL: no such format. */
const struct report_format *report_find(const char *name);
/* True if the format is the page, which has texts of source files, and its own choice of native
 * frames. */
bool report_is_page(const struct report_format *format);
/* Is the format a summary or a picture?  These say why threads wait, so their stacks have the marks. */
bool report_names_waits(const struct report_format *format);
/* Are its samples labelled with what threads work for, if stacks have the marks of contexts? */
bool report_labels_contexts(const struct report_format *format);
/* The parts of time that the format has unless others are chosen. */
part_set report_usual_parts(const struct report_format *format);
/* NULL: fewer than index + 1. */
const struct report_format *report_at(size_t index);
/* The format of a file name, by its extension; NULL: none. */
const struct report_format *report_of_file(const char *name);

enum { REPORT_NAME_BYTES = 96 };

/* "pyrometer-4711-20260131-100000Z.html": the pid (the header's, if there is one) and the start of
 * the session, in UTC. */
void report_file_name(const struct report_source *source, const struct report_format *format,
                      char out[REPORT_NAME_BYTES]);

#endif /* SERVER_REPORT_REPORT_H */
