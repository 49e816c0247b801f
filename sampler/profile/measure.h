/*
 * measure - what a profile counts: the one table of measures.
 *
 * A measure counts samples, each of which stands for the same amount: of time for the period of the session, of page
 * faults for a page.  So a sum of samples times that amount is the value of a measure, in its unit, and everything that
 * shows samples shows every measure.
 *
 * Each measure has windows of its own over the tables of the profile (profile.h), and its samples are never added to
 * those of another.  Parts of time, waits and the counters of quality are of time alone.
 *
 * Threads: any.
 */
#ifndef SAMPLER_PROFILE_MEASURE_H
#define SAMPLER_PROFILE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

struct buffer;

/* X(name, as in options, files and JSON; title; unit; its type in pprof; its unit there; what it counts) */
#define PROFILE_MEASURES(X)                                                               \
    X(TIME, "time", "time", "ns", "wall", "nanoseconds", "where time goes (the default)") \
    X(PAGE_FAULTS, "page-faults", "memory growth", "bytes", "rss_growth", "bytes",        \
      "bytes that became resident")

enum measure {
#define X(name, text, title, unit, type, pprof_unit, what) MEASURE_##name,
    PROFILE_MEASURES(X)
#undef X
        MEASURE_COUNT
};

/* A bit for each measure: 1 << measure.  0: time alone. */
typedef uint32_t measure_set;

#define MEASURE_SET(measure) ((measure_set)1 << (measure))
#define MEASURE_SET_ALL      (MEASURE_SET(MEASURE_COUNT) - 1)

/* The names, by value (base/enum_text.h). */
extern const char *const measure_texts[];

struct measure_facts {
    const char *name, *title, *unit;
    const char *pprof_type, *pprof_unit;
    const char *what;
};
const struct measure_facts *measure_facts_of(enum measure measure);

/* The amount that a sample stands for on this host, in the unit of the measure; 0: the session decides. */
uint64_t measure_period(enum measure measure);

static inline bool measure_set_has(measure_set set, enum measure measure)
{
    return set ? (set >> measure & 1) != 0 : measure == MEASURE_TIME;
}

/* Are there others than time? */
static inline bool measure_set_has_events(measure_set set)
{
    return (set & ~MEASURE_SET(MEASURE_TIME)) != 0;
}

/* The only measure of the set, or time. */
enum measure measure_set_main(measure_set set);

/* "time, page-faults" */
void measure_set_put(measure_set set, struct buffer *out);

#endif /* SAMPLER_PROFILE_MEASURE_H */
