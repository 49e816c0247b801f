/*
 * request_choice - chooses requests (requests.h) by duration and value, and the samples that belong to them.
 *
 * Durations are those of the whole profile, whatever range of time is shown.  Of `slowest` percent there is at least one
 * request, if there is any.
 *
 * Ownership: struct request_choice borrows the text; request_set_deinit accepts a zeroed one.
 * Threads: any, each on its own snapshot.
 */
#ifndef SAMPLER_PROFILE_VIEWS_REQUEST_CHOICE_H
#define SAMPLER_PROFILE_VIEWS_REQUEST_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile_rows.h"

/* Zeroed: every sample. */
struct request_choice {
    uint64_t slower_ns; /* at least that long */
    uint64_t faster_ns; /* shorter than that; 0: no bound */
    double slowest;     /* percent; 0: all */
    bool
        is_rest; /* those with such a value that are left out by duration; without a duration, by value */
    const char *pattern; /* TEXT|/REGEX/ of "VARIABLE: VALUE", see pattern.h; NULL: any */
};

static inline bool request_choice_is_set(const struct request_choice *choice)
{
    return choice->slower_ns || choice->faster_ns || choice->slowest > 0 || choice->is_rest ||
           choice->pattern;
}
/* ERR_INVALID: `err` says what is wrong with the pattern. */
MUST_CHECK enum err_code request_choice_check(const struct request_choice *choice,
                                              struct err *err);
/* Equal choices give equal numbers. */
uint64_t request_choice_hash(const struct request_choice *choice, uint64_t hash);

/* The choice from a snapshot. */
struct request_set {
    size_t requests, kept;          /* all, and those that are chosen */
    uint64_t samples, kept_samples; /* of these */
    uint64_t other_samples;         /* of requests beyond those that a session keeps */
    bool are_guessed;               /* some are (context.h) */
    node_id node_count;
    unsigned char *nodes; /* a byte for each: 1 if its samples are kept */
    function_id function_count;
    unsigned char
        *functions; /* a byte for each: 1 if it is the mark of a request that is kept */
};

MUST_CHECK enum err_code request_set_init(struct request_set *set,
                                          const struct profile_snapshot *snapshot,
                                          const struct request_choice *choice, struct err *err);
void request_set_deinit(struct request_set *set);

static inline bool request_set_has(const struct request_set *set, node_id node)
{
    return node < set->node_count && set->nodes[node];
}

static inline bool request_set_has_mark(const struct request_set *set, function_id mark)
{
    return mark < set->function_count && set->functions[mark];
}

#endif /* SAMPLER_PROFILE_VIEWS_REQUEST_CHOICE_H */
