/*
 * report - a profile as a file: one writer per format, one table for all of them.
 *
 * A writer streams: it appends to `out`, which may drain, and holds numbers per node, cell and
 * line, never the text it writes.  The same source gives the same bytes.
 *
 * Ownership: a source borrows everything.
 * Threads: any, on a snapshot of one's own.
 * Depends on: profile, wire, buffer, assets, source, frame_filters.
 */
#ifndef SERVER_REPORT_REPORT_H
#define SERVER_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct buffer;
struct profile_snapshot;
struct report_header;
struct frame_filters;
struct session_info;
struct source_reader;
struct view_query;

/* By what the table of functions is sorted. */
#define REPORT_SORTS(X)                                                                \
    X(NSAMPLES, "nsamples")             /* samples of the function itself */           \
    X(TOTTIME, "tottime")               /* time of the function itself */              \
    X(CUMTIME, "cumtime")               /* time of the function and what it called */  \
    X(SAMPLE_PCT, "sample-pct")         /* share of the function itself */             \
    X(CUMUL_PCT, "cumul-pct")           /* share of the function and what it called */ \
    X(NSAMPLES_CUMUL, "nsamples-cumul") /* samples of it and what it called */         \
    X(NAME, "name")                     /* file, line and name */

enum report_sort {
#define X(name, text) REPORT_SORT_##name,
    REPORT_SORTS(X)
#undef X
};

/* By value (base/enum_text.h). */
extern const char *const report_sort_texts[];

/* Zeroed: the defaults. */
struct report_settings {
    enum report_sort sort;
    uint32_t limit;  /* rows of the table; 0: REPORT_DEFAULT_LIMIT */
    bool no_summary; /* leave out the interesting functions */
    bool by_line;    /* a row for each line, not for each function */
    bool no_source;  /* leave out the text of source files */
    bool by_time;    /* compare with the baseline by time, not by share of samples */
    bool colours;    /* for a terminal */
    bool anonymizes; /* leave out what shows whose it is (anonymize.h) */
};

enum { REPORT_DEFAULT_LIMIT = 15 };

/* What was asked for of which profile, where a source has only what came of it. */
struct report_selection {
    const struct profile_snapshot *snapshot;
    const struct view_query *query;
    const struct frame_filters *filters; /* NULL: none */
};

struct report_source {
    const struct profile_snapshot *snapshot;
    const struct view_query *query;
    const struct report_selection *selection; /* NULL: the query is all that was asked for */
    const struct report_header *header;       /* NULL: report_write makes it; writers need it */
    const struct session_info *session;
    struct report_settings settings;
    const struct source_reader *files;    /* texts of source files; NULL: none */
    const struct report_source *baseline; /* to compare with; NULL: none */
    /* Has the bins of 20 ms of a heat map, which have no threads; NULL: the snapshot. */
    const struct profile_snapshot *heat_of;
};

struct report_format {
    const char *name; /* in a URL and as an option */
    const char *mime;
    const char *extension; /* no two are the same */
    const char *description;
    enum err_code (*write)(const struct report_source *source, struct buffer *out,
                           struct err *err);
    const char *on_screen; /* the format to write where no file was asked for; NULL: this one */
    bool needs_baseline;
};

/* Writes it in that format, anonymized where the settings say so: the way to all of them.  The
 * session's target becomes the first process that was selected. */
MUST_CHECK enum err_code report_write(const struct report_format *format,
                                      const struct report_source *source, struct buffer *out,
                                      struct err *err);

/* NULL: no such format. */
const struct report_format *report_find(const char *name);
/* Whether it shows texts of source files. */
bool report_has_source(const struct report_format *format);
/* NULL: fewer than index + 1. */
const struct report_format *report_at(size_t index);
/* The format a file of this name has, by its ending; NULL: none. */
const struct report_format *report_of_file(const char *name);

/* Nanoseconds that one sample stands for, on average; the header's. */
uint64_t report_period_ns(const struct report_source *source);

struct view_cell;

/* What a cell's samples stand for; by the period where the windows do not know. */
uint64_t report_cell_ns(const struct view_cell *cell, uint64_t period_ns);

/* "process 4711", or "process 4711 and 3 others" where the report is of several. */
void report_put_process(const struct report_source *source, struct buffer *out);

enum { REPORT_NAME_BYTES = 96 };

/* "pyrometer-4711-20260131-100000.html": the pid (the header's, if there is one) and the start of
 * the session. */
void report_file_name(const struct report_source *source, const struct report_format *format,
                      char out[REPORT_NAME_BYTES]);

/*
 * Folded stacks, one line per distinct stack of a thread, most frequent first, as Tachyon's
 * --collapsed writes them:
 *
 *     tid:4711 MainThread;app.py:main:14;app.py:work:9;<native> 120
 *
 * the thread, with its name if it has one, then frames, outermost first: file name without folders, qualified name, line; a synthetic frame is
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

/* The same page opened at its view of source lines, with the text of all files that have samples
 * and all instructions (embedded_all). */
enum err_code report_write_heatmap(const struct report_source *source, struct buffer *out,
                                   struct err *err);

/* Python's pstats, as cProfile saves it: pstats.Stats(file) of every Python from 3.8 on.  Its
 * calls are samples: those of the function itself over those with all it called. */
enum err_code report_write_pstats(const struct report_source *source, struct buffer *out,
                                  struct err *err);
/* The same for people, by the settings' order and limit. */
enum err_code report_write_pstats_text(const struct report_source *source, struct buffer *out,
                                       struct err *err);

/*
 * Lines of JSON: the records of Tachyon's --jsonl (meta, string_table, frame_table, agg of kind
 * "frame", end) with the same fields, and more: thread_table, stack_table, agg of kind "stack"
 * (samples by stack, thread and state) and "spot" (by instruction); meta holds the SESSION.
 */
enum err_code report_write_jsonl(const struct report_source *source, struct buffer *out,
                                 struct err *err);

/* The Firefox Profiler's processed format: samples along time with their weights and CPU time,
 * markers of what threads were doing and, where recorded, of instructions. */
enum err_code report_write_gecko(const struct report_source *source, struct buffer *out,
                                 struct err *err);

/* Trace Event Format: nested durations of each thread.  Within a slice of time stacks stand in
 * the order of the tree; samples are among the arguments of each end. */
enum err_code report_write_chrome_trace(const struct report_source *source, struct buffer *out,
                                        struct err *err);

/* The same page opened at its comparison with the baseline, which it holds too.  ERR_INVALID
 * without one. */
enum err_code report_write_diff_flamegraph(const struct report_source *source,
                                           struct buffer *out, struct err *err);

/* A sampled profile for each thread, along time, weights in nanoseconds. */
enum err_code report_write_speedscope(const struct report_source *source, struct buffer *out,
                                      struct err *err);

/* profile.proto: samples, wall and CPU time by stack, labelled with thread, process, state. */
enum err_code report_write_pprof(const struct report_source *source, struct buffer *out,
                                 struct err *err);

#endif /* SERVER_REPORT_REPORT_H */
