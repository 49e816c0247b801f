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
#include "server/report/source_links.h"

struct buffer;
struct profile_snapshot;
struct report_header;
struct frame_filters;
struct session_info;
struct setting_texts;
struct source_reader;
struct view_query;

/* The column by which the table of functions is sorted. */
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
    bool by_thread;  /* the picture has a frame for each thread */
    bool no_source;  /* leave out the text of source files */
    bool by_time;    /* compare with the baseline by time, not by share of samples */
    bool colours;    /* for a terminal */
    bool anonymizes; /* replace names by stable hashes (anonymize.h) */
    const struct setting_texts *own; /* the paths of your code; NULL: own_code.h has the rule */
    struct source_links links;
};

enum { REPORT_DEFAULT_LIMIT = 15 };

/* The profile and the query as requested, if the source holds a derived profile. */
struct report_selection {
    const struct profile_snapshot *snapshot;
    const struct view_query *query;
    const struct frame_filters *filters; /* NULL: none */
};

struct report_source {
    const struct profile_snapshot *snapshot;
    const struct view_query *query;
    const struct report_selection *selection; /* NULL: snapshot and query are as requested */
    const struct report_header *header;       /* NULL: report_write makes it; writers need it */
    const struct session_info *session;
    struct report_settings settings;
    const struct source_reader *files;    /* texts of source files; NULL: none */
    const struct report_source *baseline; /* to compare with; NULL: none */
    /* The profile with the bins of the heat map, which have no threads; NULL: the snapshot. */
    const struct profile_snapshot *heat_of;
};

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

/* Nanoseconds that one sample stands for, on average: the period of the header. */
uint64_t report_period_ns(const struct report_source *source);

struct sampler_target;
struct view_cell;

/* Nanoseconds that the samples of a cell stand for; uses period_ns if its windows have no period. */
uint64_t report_cell_ns(const struct view_cell *cell, uint64_t period_ns);

/* "process 4711", or "process 4711 and 3 others" if there are several. */
void report_put_process(const struct report_source *source, struct buffer *out);

/* The words of its command line as plain text; a longer one is cut after REPORT_COMMAND_BYTES. */
enum { REPORT_COMMAND_BYTES = 200 };
void report_put_command(const struct sampler_target *target, struct buffer *out);

enum { REPORT_NAME_BYTES = 96 };

/* "pyrometer-4711-20260131-100000Z.html": the pid (the header's, if there is one) and the start of
 * the session, in UTC. */
void report_file_name(const struct report_source *source, const struct report_format *format,
                      char out[REPORT_NAME_BYTES]);

/*
 * Folded stacks, one line per distinct stack of a thread, most frequent first, as Tachyon's
 * --collapsed writes them:
 *
 *     tid:4711 MainThread;app.py:main:14;app.py:work:9;<native> 120
 *
 * the thread, with its name if it has one, then frames, outermost first: file name without folders,
 * qualified name, line; a synthetic frame is its name alone.  A reader can split every line: frames at
 * `;`, the count after the last space, the file before the first `:` and the line after the last one.
 * Therefore these characters of names are written as in a Python string: \x3b for `;`, \x3a for `:` in a file name, \\ for
 * a backslash, and what plain_text does not show as \xNN, \uNNNN or \UNNNNNNNN.
 */
enum err_code report_write_collapsed(const struct report_source *source, struct buffer *out,
                                     struct err *err);

/* The page with the profile inside; opens without a server. */
enum err_code report_write_html(const struct report_source *source, struct buffer *out,
                                struct err *err);

/* Writes the page opened at its view of source lines, with the text of all files that have
 * samples and all instructions (embedded_all). */
enum err_code report_write_heatmap(const struct report_source *source, struct buffer *out,
                                   struct err *err);

/* A flame graph as one picture in SVG, without a script; the title of a frame has its place and its numbers.  Frames too narrow
 * for a name have the title only, and those that cannot be seen are left out. */
enum err_code report_write_svg(const struct report_source *source, struct buffer *out,
                               struct err *err);

/* Python's pstats, as cProfile saves it: pstats.Stats(file) of every Python from 3.8 on.  Its
 * calls are samples: those of the function itself over those with all it called. */
enum err_code report_write_pstats(const struct report_source *source, struct buffer *out,
                                  struct err *err);
/* Writes the statistics as a table, sorted and limited by the settings. */
enum err_code report_write_pstats_text(const struct report_source *source, struct buffer *out,
                                       struct err *err);

/* The answer in at most 40 lines (summary.h): as text, as Markdown, as JSON. */
enum err_code report_write_summary(const struct report_source *source, struct buffer *out,
                                   struct err *err);
enum err_code report_write_summary_markdown(const struct report_source *source,
                                            struct buffer *out, struct err *err);
enum err_code report_write_summary_json(const struct report_source *source, struct buffer *out,
                                        struct err *err);

/*
 * Lines of JSON: the records of Tachyon's --jsonl (meta, string_table, frame_table, agg of kind
 * "frame", end) with the same fields, and more: thread_table, stack_table, agg of kind "stack"
 * (samples by stack, thread and state) and "spot" (by instruction); meta holds the SESSION.
 */
enum err_code report_write_jsonl(const struct report_source *source, struct buffer *out,
                                 struct err *err);

/* The Firefox Profiler's processed format: samples over time with their weights and CPU time,
 * and markers for the states of threads and, if recorded, for instructions. */
enum err_code report_write_gecko(const struct report_source *source, struct buffer *out,
                                 struct err *err);

/* Trace Event Format: nested durations of each thread.  Within a slice of time stacks are in
 * the order of the tree; the arguments of each end event hold the samples. */
enum err_code report_write_chrome_trace(const struct report_source *source, struct buffer *out,
                                        struct err *err);

/* Writes the page with the baseline, too, opened at the comparison with it. ERR_INVALID: there
 * is no baseline. */
enum err_code report_write_diff_flamegraph(const struct report_source *source,
                                           struct buffer *out, struct err *err);

/* A table of the functions that changed significantly.  ERR_INVALID: there is no baseline. */
enum err_code report_write_diff_markdown(const struct report_source *source, struct buffer *out,
                                         struct err *err);

/* A sampled profile over time for each thread, with weights in nanoseconds. */
enum err_code report_write_speedscope(const struct report_source *source, struct buffer *out,
                                      struct err *err);

/* profile.proto: samples, wall and CPU time by stack, labelled with thread, process, state. */
enum err_code report_write_pprof(const struct report_source *source, struct buffer *out,
                                 struct err *err);

#endif /* SERVER_REPORT_REPORT_H */
