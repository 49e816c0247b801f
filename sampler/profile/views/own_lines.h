/*
 * own_lines - the hottest lines of your own code: each sample counts at the innermost frame of your
 * code on its stack, at the line that runs there, whatever that line has called.
 *
 * Your code is Python code that is neither of the standard library nor of a package (code_origin.h) nor generated: a
 * file such as <string>, or the script in bin/ that starts a package; nor does a text that is too long for a path name a file.  If there is none, it is the package that the
 * program was started in: by such a script, by `python -m`, or as a pex or a shiv.  Patterns of paths say otherwise.  The page
 * has the same rule (web/model/code/own.js), but gets that package from the server; tests/origins.json holds cases for both.
 *
 * Ownership: the lines belong to the struct; own_lines_deinit accepts a zeroed one.  Patterns are
 * borrowed until init returns.
 * Threads: any, each on its own snapshot.
 * Cost: that of a view, plus one match of each pattern for each function.
 * Limits: OWN_LINES_MAX lines; OWN_LINES_MAX_PATTERNS patterns.
 * Depends on: code_origin, profile, view, pattern.
 */
#ifndef SAMPLER_PROFILE_VIEWS_OWN_LINES_H
#define SAMPLER_PROFILE_VIEWS_OWN_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/code_origin.h"

struct view_query;

enum { OWN_LINES_MAX = 4096, OWN_LINES_MAX_PATTERNS = 16, OWN_PROGRAMS_MAX = 64 };

struct own_lines {
    uint64_t samples;     /* of the query */
    uint64_t own_samples; /* of these with your code on the stack */
    size_t count;
    struct own_line {
        function_id function; /* one with that line */
        int32_t line;         /* 0: unknown */
        uint64_t samples;
    } * lines; /* most samples first, then by file and line */
};

/* patterns: parts of paths or expressions, as in "file:PATTERN"; none: the rule above.  most: at most
 * OWN_LINES_MAX.  ERR_INVALID: a pattern is wrong or takes too long. */
MUST_CHECK enum err_code own_lines_init(struct own_lines *own,
                                        const struct profile_snapshot *snapshot,
                                        const struct view_query *query,
                                        const char *const *patterns, size_t pattern_count,
                                        size_t most, struct err *err);
void own_lines_deinit(struct own_lines *own);

/* The packages that are your code because nothing else is: those that programs were started in. */
struct own_programs {
    struct code_origin packages[OWN_PROGRAMS_MAX];
    size_t count; /* 0: something else is */
};
MUST_CHECK enum err_code own_lines_programs(const struct profile_snapshot *snapshot,
                                            struct own_programs *out, struct err *err);

/* Sets own[id] for each function from `first` on: whether it is your code, whatever started the program. */
void own_lines_mark(const struct profile_snapshot *snapshot, function_id first,
                    unsigned char *own);

#endif /* SAMPLER_PROFILE_VIEWS_OWN_LINES_H */
