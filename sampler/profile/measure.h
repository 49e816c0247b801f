/*
 * measure - what a profile counts: the one table of measures.
 *
 * A measure counts samples, each of which stands for the same amount: of time for the period of the session, of
 * memory for a page, of switches for one.  So a sum of samples times that amount is the value of a measure, in its unit,
 * and everything that shows samples shows every measure.
 *
 * Each measure has windows of its own over the tables of the profile (profile.h), and its samples are never added to
 * those of another.  Parts of time, waits and the counters of quality are of time alone.
 *
 * A profile of another tool may count anything: it has up to MEASURE_MOST_FOREIGN measures of its own, from MEASURE_KNOWN on, whose
 * names it keeps (profile_foreign_measure, profile_measure).
 *
 * Threads: any.
 */
#ifndef SAMPLER_PROFILE_MEASURE_H
#define SAMPLER_PROFILE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

/* X(name, as in options, files and JSON; title; unit; its type in pprof; its unit there; what it counts) */
#define PROFILE_MEASURES(X)                                                                  \
    X(TIME, "time", "time", "ns", "wall", "nanoseconds", "where time goes (the default)")    \
    X(PAGE_FAULTS, "page-faults", "memory growth", "bytes", "rss_growth", "bytes",           \
      "bytes that became resident")                                                          \
    X(RETURNED, "returned", "returned memory", "bytes", "rss_returned", "bytes",             \
      "bytes that were given back to the kernel")                                            \
    X(COPY_ON_WRITE, "copy-on-write", "memory unshared", "bytes", "copy_on_write", "bytes",  \
      "bytes that a fork shared, and that became the writer's own")                          \
    X(CONTEXT_SWITCHES, "context-switches", "context switches", "count", "context_switches", \
      "count", "how often threads left their processor")

enum { MEASURE_MOST_FOREIGN = 8, MEASURE_NAME_BYTES = 48 };

enum measure {
#define X(name, text, title, unit, type, pprof_unit, what) MEASURE_##name,
    PROFILE_MEASURES(X)
#undef X
        MEASURE_KNOWN,
    MEASURE_COUNT = MEASURE_KNOWN + MEASURE_MOST_FOREIGN
};

/* A bit for each measure: 1 << measure.  0: time alone. */
typedef uint32_t measure_set;

#define MEASURE_SET(measure) ((measure_set)1 << (measure))
/* The measures that a session can count. */
#define MEASURE_SET_ALL (MEASURE_SET(MEASURE_KNOWN) - 1)

/* The names of those below MEASURE_KNOWN, by value (base/enum_text.h). */
extern const char *const measure_texts[];

struct measure_facts {
    const char *name, *title, *unit;
    const char *pprof_type, *pprof_unit;
    const char *what;
};
/* measure: below MEASURE_KNOWN; profile_measure takes every one. */
const struct measure_facts *measure_facts_of(enum measure measure);

/* The amount that a sample stands for on this host, in the unit of the measure; 0: the session or the file decides. */
uint64_t measure_period(enum measure measure);

/* Is it of memory, whose samples are pages? */
static inline bool measure_is_memory(enum measure measure)
{
    return measure == MEASURE_PAGE_FAULTS || measure == MEASURE_RETURNED ||
           measure == MEASURE_COPY_ON_WRITE;
}

static inline bool measure_set_has(measure_set set, enum measure measure)
{
    return set ? (set >> measure & 1) != 0 : measure == MEASURE_TIME;
}

/* Are there others than time? */
static inline bool measure_set_has_events(measure_set set)
{
    return (set & ~MEASURE_SET(MEASURE_TIME)) != 0;
}

/* Time, or the first measure of a set without time. */
enum measure measure_set_main(measure_set set);

#endif /* SAMPLER_PROFILE_MEASURE_H */
