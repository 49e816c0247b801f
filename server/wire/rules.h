/*
 * rules - what to make of stacks, as people write it: on the command line and in a URL.
 *
 * A word is the end of a file's path, or "function:" and the end of a qualified name; either may
 * be a shell pattern of the whole (sampler/profile/views/pattern.h).
 *
 *     omit=WORD    samples are left out whose innermost frame matches
 *     below=WORD   the innermost caller that matches is cut away, with all around it
 *     at=WORD      stacks begin at the outermost frame that matches
 *     hide=WORD    frames are taken out
 *
 * Ownership: plain data, may be copied; the words are the caller's.
 * Threads: none.
 * Limits: RULES_MAX_PATTERNS of each.
 * Depends on: profile/reshape.
 */
#ifndef SERVER_WIRE_RULES_H
#define SERVER_WIRE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/reshape.h"

struct view_query;

enum { RULES_MAX_PATTERNS = 16 };

#define RULES(X)      \
    X(OMIT, "omit")   \
    X(BELOW, "below") \
    X(AT, "at")       \
    X(HIDE, "hide")

enum rule {
#define X(name, text) RULE_##name,
    RULES(X)
#undef X
        RULE_COUNT
};

/* As people write it. */
const char *rules_text(enum rule rule);

/* Zeroed: stacks as they are. */
struct rules {
    struct reshape_pattern patterns[RULE_COUNT][RULES_MAX_PATTERNS];
    size_t counts[RULE_COUNT];
};

/* ERR_INVALID, with what is wrong. */
MUST_CHECK enum err_code rules_add(struct rules *rules, enum rule rule, const char *word,
                                   struct err *err);
bool rules_are_any(const struct rules *rules);
uint64_t rules_hash(const struct rules *rules, uint64_t hash);

/* Are windows to be kept apart, or is their sum enough? */
enum reshaped_time { RESHAPED_WINDOWS, RESHAPED_SUM };

/* The samples of a query in a profile of their own, where they have the stacks that the rules
 * make; counters and the length of the session are those there were. */
struct reshaped {
    struct profile *profile;
    struct profile_snapshot snapshot;
    struct reshape_counts counts;
};

MUST_CHECK enum err_code reshaped_init(struct reshaped *reshaped,
                                       const struct profile_snapshot *from,
                                       const struct view_query *query,
                                       const struct rules *rules, enum reshaped_time time,
                                       struct err *err);
/* Accepts a zeroed one. */
void reshaped_deinit(struct reshaped *reshaped);

#endif /* SERVER_WIRE_RULES_H */
