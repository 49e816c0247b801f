/*
 * pattern - chooses the functions that a filter matches, as users write it: [WHAT:]TEXT.
 *
 * TEXT is a part of the matched text, ignoring case, or /a regular expression/ with any of the flags
 * imsu (expression.h).  WHAT chooses the matched text:
 *
 *     function:   the qualified name
 *     file:       the path
 *     module:     the installed package, "Python" for its library, else the file's name without
 *                 folders and .py
 *
 * Without WHAT it is "NAME FILE:LINE", with the function's first line.  The word "libraries" matches
 * the standard library and installed packages.  The page has the same rules
 * (web/model/filters/filter.js); tests/filters.json holds cases for both.
 *
 * Ownership: pattern_deinit frees; it accepts a zeroed one.
 * Threads: one at a time uses a pattern.
 * Limits: those of expression; PATTERN_MAX_MATCHED bytes of "NAME FILE:LINE" are matched.
 * Depends on: expression.
 */
#ifndef SAMPLER_PROFILE_VIEWS_PATTERN_H
#define SAMPLER_PROFILE_VIEWS_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"

enum { PATTERN_MAX_MATCHED = 10000 };

struct expression;

struct pattern {
    enum { PATTERN_ANY, PATTERN_FUNCTION, PATTERN_FILE, PATTERN_MODULE, PATTERN_LIBRARY } what;
    struct expression *expression; /* NULL: a library */
};

/* ERR_INVALID: `err` says what is wrong. */
MUST_CHECK enum err_code pattern_init(struct pattern *pattern, const char *text,
                                      struct err *err);
void pattern_deinit(struct pattern *pattern);

/* ERR_INVALID: it takes too long to find out. */
MUST_CHECK enum err_code pattern_matches(const struct pattern *pattern, const char *name,
                                         const char *file, int32_t line, bool *out,
                                         struct err *err);

#endif /* SAMPLER_PROFILE_VIEWS_PATTERN_H */
