/*
 * expression - does a text contain what a regular expression, or a plain text, describes?
 *
 * The syntax is the part of JavaScript's that needs no backtracking, so that the page and the
 * server match the same: . [] [^] \d \D \w \W \s \S \b \B ^ $ | () (?:) * + ? {n,m}, lazy forms,
 * \t \n \v \f \r \0 \xHH \uHHHH, and \ before a sign.  Look-around, back-references and named
 * groups are refused.  Case is ignored for Latin, Greek and Cyrillic letters.
 *
 * Ownership: expression_compile allocates; expression_destroy accepts NULL.
 * Threads: a compiled expression may be asked by any number of threads.
 * Cost: of a match, at most the length of the text times EXPRESSION_MAX_STEPS.
 * Limits: the enum below; ERR_INVALID beyond them.
 * Depends on: err, characters.
 */
#ifndef SAMPLER_PROFILE_VIEWS_EXPRESSION_H
#define SAMPLER_PROFILE_VIEWS_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

enum {
    EXPRESSION_MAX_TEXT = 2000, /* bytes */
    EXPRESSION_MAX_STEPS = 2048,
    EXPRESSION_MAX_RANGES = 2048,
    EXPRESSION_MAX_DEPTH = 64 /* groups in groups */
};

struct expression;

/* flags: of "imsu", or NULL: the text is plain, and case is ignored.  ERR_INVALID, with what is
 * wrong. */
MUST_CHECK enum err_code expression_compile(const char *text, size_t length, const char *flags,
                                            struct expression **out, struct err *err);
void expression_destroy(struct expression *expression);

bool expression_matches(const struct expression *expression, const char *text, size_t length);

#endif /* SAMPLER_PROFILE_VIEWS_EXPRESSION_H */
