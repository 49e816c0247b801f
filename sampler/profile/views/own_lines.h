/*
 * own_lines - the hottest lines of your own code: each sample counts at the innermost frame of your
 * code on its stack, at the line that runs there, whatever that line has called.
 *
 * own_code.h says what your code is.  Patterns of paths say otherwise.
 *
 * Ownership: the lines belong to the struct; own_lines_deinit accepts a zeroed one.  Patterns are
 * borrowed until init returns.
 * Threads: any, each on its own snapshot.
 * Cost: those of a view and of own_code, plus one match of each pattern for each function.
 * Limits: OWN_LINES_MAX lines; OWN_LINES_MAX_PATTERNS patterns.
 */
#ifndef SAMPLER_PROFILE_VIEWS_OWN_LINES_H
#define SAMPLER_PROFILE_VIEWS_OWN_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/own_code.h"

struct view_query;

enum { OWN_LINES_MAX = 4096, OWN_LINES_MAX_PATTERNS = 16 };

struct own_lines {
    struct own_code_level
        level;            /* that counts; with patterns, and if there is none, OWN_CODE_FILES */
    uint64_t samples;     /* of the query */
    uint64_t own_samples; /* of these with your code on the stack */
    size_t count;
    struct own_line {
        function_id function; /* one with that line */
        int32_t line;         /* 0: unknown */
        uint64_t samples;
    } * lines; /* most samples first, then by file and line */
};

/* patterns: parts of paths or expressions, as in "file:PATTERN"; none: the rule of own_code.h.  most: at most
 * OWN_LINES_MAX.  ERR_INVALID: a pattern is wrong or takes too long. */
MUST_CHECK enum err_code own_lines_init(struct own_lines *own,
                                        const struct profile_snapshot *snapshot,
                                        const struct view_query *query,
                                        const char *const *patterns, size_t pattern_count,
                                        size_t most, struct err *err);
void own_lines_deinit(struct own_lines *own);

#endif /* SAMPLER_PROFILE_VIEWS_OWN_LINES_H */
