/*
 * writers - a function for each format, which appends to `out`.  report_write calls them.
 */
#ifndef SERVER_REPORT_FORMATS_WRITERS_H
#define SERVER_REPORT_FORMATS_WRITERS_H

#include "sampler/base/err.h"

struct buffer;
struct report_source;

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

#endif /* SERVER_REPORT_FORMATS_WRITERS_H */
