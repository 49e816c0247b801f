/*
 * pattern - chooses the functions that a filter matches, as users write it: [WHAT:]TEXT.
 *
 * TEXT is a part of the matched text, ignoring case, or /a regular expression/ with any of the flags
 * imsu (expression.h).  WHAT chooses the matched text:
 *
 *     function:   the qualified name
 *     file:       the path
 *     module:     the package, "Python" for its library, else the file's name without
 *                 folders and .py
 *     library:    of native code the name of its file, without folders; Python code has none
 *     wait:       of the mark that says why a thread waits (wait.h) "idle CAUSE PEER" or "blocked CAUSE PEER", with
 *                 the cause in words: "blocked network read 10.0.0.5:5432"; nothing else has it
 *     context:    of the mark that says what a thread works for (context.h) "VARIABLE: VALUE", "VARIABLE unset" or
 *                 "VARIABLE other"; nothing else has it
 *
 * Without WHAT it is "NAME FILE:LINE", with the function's first line; of native code, "NAME FILE:LINE
 * LIBRARY".  The word "libraries" matches the standard library, packages, and native code of the
 * system (code_origin.h).  The page has the same rules
 * (web/model/filters/filter.js); tests/filters.json and tests/native-frames.json hold cases for both.
 *
 * Ownership: pattern_deinit frees; it accepts a zeroed one.
 * Threads: one at a time uses a pattern.
 * Limits: those of expression; PATTERN_MAX_MATCHED bytes of "NAME FILE:LINE" are matched.
 */
#ifndef SAMPLER_PROFILE_VIEWS_PATTERN_H
#define SAMPLER_PROFILE_VIEWS_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"

enum { PATTERN_MAX_MATCHED = 10000 };

struct expression;
struct packages;

struct pattern {
    enum {
        PATTERN_ANY,
        PATTERN_FUNCTION,
        PATTERN_FILE,
        PATTERN_MODULE,
        PATTERN_LIBRARY,
        PATTERN_WAIT,
        PATTERN_CONTEXT,
        PATTERN_LIBRARIES
    } what;
    struct expression *expression; /* NULL: libraries */
};

/* A function. */
struct pattern_subject {
    const struct packages *packages; /* of the profile; NULL: none are known */
    const char *name, *file;
    const char *library; /* the path; NULL: not native code */
    int32_t line;
};

/* ERR_INVALID: `err` says what is wrong. */
MUST_CHECK enum err_code pattern_init(struct pattern *pattern, const char *text,
                                      struct err *err);
void pattern_deinit(struct pattern *pattern);

/* ERR_INVALID: it takes too long to find out. */
MUST_CHECK enum err_code pattern_matches(const struct pattern *pattern,
                                         const struct pattern_subject *subject, bool *out,
                                         struct err *err);

#endif /* SAMPLER_PROFILE_VIEWS_PATTERN_H */
