/*
 * context_marks - the marks of a session that say what threads work for (profile/context.h).
 *
 * Ownership: context_marks_destroy accepts NULL.
 * Threads: the profile's writer.
 * Limits: CONTEXT_VALUES_MAX values; samples with further ones count as "other".
 */
#ifndef SAMPLER_SESSION_FOLD_CONTEXT_MARKS_H
#define SAMPLER_SESSION_FOLD_CONTEXT_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct context_value;

/* 0: the value is unknown. */
typedef uint32_t context_id;

struct context_marks;

MUST_CHECK enum err_code context_marks_create(struct profile *profile, const char *variable,
                                              struct context_marks **out, struct err *err);
void context_marks_destroy(struct context_marks *marks);

/* Tags the value. */
context_id context_marks_find(struct context_marks *marks, struct context_value *value);

/* The number of a request that is guessed: another one at each call. */
uint64_t context_marks_number(struct context_marks *marks);
/* The value of that request.  name "": it is not known yet. */
context_id context_marks_guessed(struct context_marks *marks, uint64_t number,
                                 const char *name);

/* Is something known that the thread works for?  Not if the variable is unset, or its value is unknown. */
bool context_marks_is_value(const struct context_marks *marks, context_id context);

/* The node below `node` that samples with this value count at; `node` itself where there is none. */
node_id context_marks_node(struct context_marks *marks, context_id context, node_id node);

#endif /* SAMPLER_SESSION_FOLD_CONTEXT_MARKS_H */
