/*
 * report_source - what a report is made of: a profile, a query, and the settings of its form.
 *
 * Ownership: a source borrows everything.
 */
#ifndef SERVER_REPORT_REPORT_SOURCE_H
#define SERVER_REPORT_REPORT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/report/source_links.h"

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

#endif /* SERVER_REPORT_REPORT_SOURCE_H */
