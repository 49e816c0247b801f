/*
 * expression - searches a text for a regular expression or a plain text.
 *
 * PCRE2 matches.  The syntax is the part of JavaScript's that the page supports too, with the same
 * meaning: . [] [^] \d \D \w \W \s \S \b \B ^ $ | () (?:) * + ? {n,m}, lazy
 * forms, \t \n \v \f \r \0 \xHH \uHHHH, and \ before a sign.  Lookahead, lookbehind,
 * back-references, named groups and all other syntax of PCRE2 are refused.  Characters are those of
 * Unicode, with the flag u and without it.
 *
 * Ownership: expression_compile allocates; expression_destroy accepts NULL.
 * Threads: one at a time uses a compiled expression.
 * Limits: the enum below.  A match beyond them is ERR_INVALID, so a hostile pattern on a hostile
 *         text costs a bounded time.
 */
#ifndef SAMPLER_PROFILE_VIEWS_EXPRESSION_H
#define SAMPLER_PROFILE_VIEWS_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

enum {
    EXPRESSION_MAX_TEXT = 2000,             /* bytes of a pattern */
    EXPRESSION_MAX_GROUPS = 64,             /* depth of nested groups */
    EXPRESSION_MAX_STEPS = 100000,          /* of one match, wherever in the text it begins */
    EXPRESSION_MAX_BACKTRACK_KIB = 4 * 1024 /* memory of one match */
};

struct expression;

/* flags: of "imsu", or NULL: the text is plain, and case is ignored.  ERR_INVALID: `err`
 * says what is wrong. */
MUST_CHECK enum err_code expression_compile(const char *text, size_t length, const char *flags,
                                            struct expression **out, struct err *err);
void expression_destroy(struct expression *expression);

/* Bytes that are not UTF-8 are U+FFFD.  ERR_INVALID: matching takes too long. */
MUST_CHECK enum err_code expression_matches(struct expression *expression, const char *text,
                                            size_t length, bool *out, struct err *err);

#endif /* SAMPLER_PROFILE_VIEWS_EXPRESSION_H */
