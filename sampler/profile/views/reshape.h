/*
 * reshape - other trees made of views: several sessions as one, files left out, stacks cut.
 *
 * The samples of a query are counted into the open window of another profile, where functions
 * are the same if name, file and first line are.  What comes out is a profile like any other:
 * seal it, take a snapshot, and every view and every report works.  Ranges of time that are to
 * stay apart are added one after the other with a profile_seal in between.
 *
 *     for (size_t i = 0; i < count && !rc; i++)
 *         rc = reshape_add(into, &snapshots[i], &queries[i], &rules, NULL, err);
 *     rc = rc ? rc : profile_seal(into, end_ns, err);
 *
 * Ownership: borrows everything.
 * Threads: the writer of `into`, on a snapshot of its own.  Not of `into` itself.
 * Cost: proportional to the cells of the query and the tables of `from`.
 * Limits: those of a profile; ERR_LIMIT leaves a part of the samples added.
 * Depends on: profile, view, pattern.
 */
#ifndef SAMPLER_PROFILE_VIEWS_RESHAPE_H
#define SAMPLER_PROFILE_VIEWS_RESHAPE_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/strtab.h"

struct profile;
struct profile_snapshot;
struct view_query;

struct reshape_pattern {
    const char *file; /* NULL: any (pattern.h) */
    const char *name; /* NULL: any */
};

struct reshape_patterns {
    const struct reshape_pattern *items;
    size_t count;
};

enum reshape_text {
    RESHAPE_NAME, /* of a function */
    RESHAPE_FILE, /* of a function */
    RESHAPE_THREAD,
    RESHAPE_PROCESS
};

/* What texts become.  The answer stays until the next call; `file` is that of a function, else
 * empty. */
struct reshape_names {
    struct strtab_string (*text)(void *context, enum reshape_text what,
                                 struct strtab_string text, struct strtab_string file);
    void *context;
};

/* Zeroed: as they are.  They are applied in this order; marks (file "~") match none. */
struct reshape_rules {
    struct reshape_patterns omit;  /* samples are left out whose innermost frame matches */
    struct reshape_patterns below; /* the innermost caller that matches is cut away, with all
                                      around it */
    struct reshape_patterns at;    /* stacks begin at the outermost frame that matches; samples
                                      without one are left out */
    struct reshape_patterns hide;  /* frames that match are taken out; their samples are their
                                      callers' */
    const struct reshape_names
        *names; /* NULL: as they are; patterns are asked of the old ones */
};

struct reshape_counts {
    uint64_t samples; /* added */
    uint64_t omitted; /* left out by the rules */
};

/* rules and counts may be NULL; counts are added to. */
MUST_CHECK enum err_code reshape_add(struct profile *into, const struct profile_snapshot *from,
                                     const struct view_query *query,
                                     const struct reshape_rules *rules,
                                     struct reshape_counts *counts, struct err *err);

/* The same window by window, each sealed when it ended: `into`, which must be new, has the times
 * and the counters of `from`. */
MUST_CHECK enum err_code reshape_windows(struct profile *into,
                                         const struct profile_snapshot *from,
                                         const struct view_query *query,
                                         const struct reshape_rules *rules,
                                         struct reshape_counts *counts, struct err *err);

#endif /* SAMPLER_PROFILE_VIEWS_RESHAPE_H */
