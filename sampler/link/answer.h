/*
 * answer - writes answers into pipes of the HTTP process.
 *
 * Threads: any.
 */
#ifndef SAMPLER_LINK_ANSWER_H
#define SAMPLER_LINK_ANSWER_H

#include "sampler/base/err.h"

struct buffer;

/* The contents, or why there are none.  Nobody reads it, if it cannot be written. */
void answer_send(int fd, enum err_code code, const struct buffer *contents,
                 const struct err *err);

#endif /* SAMPLER_LINK_ANSWER_H */
