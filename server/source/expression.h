/*
 * expression - the text of a source line that names a lock: `self._pool_lock` of `with self._pool_lock:`, of
 * `self._pool_lock.acquire()`, and of `await self._pool_lock.acquire()`.
 *
 * From 3.11 on the interpreter says where the text of an instruction begins and ends, which up to 3.12 is the whole statement of a
 * `with`.  Before that the line is all there is.  Where a line may name several locks, there is no expression.
 *
 * The text is untrusted, and need not be the one that the program was made of.
 *
 * Limits: EXPRESSION_MAX_LINE bytes of a line, EXPRESSION_MAX_BYTES of an expression; longer ones are none.
 */
#ifndef SERVER_SOURCE_EXPRESSION_H
#define SERVER_SOURCE_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/lock_use.h"

enum { EXPRESSION_MAX_LINE = 2048, EXPRESSION_MAX_BYTES = 120 };

/* Returns a part of `source`, without a NUL; of length 0: there is none.  is_held: the text is that of a `with`. */
struct strtab_string expression_find(const char *source, size_t bytes,
                                     const struct lock_text *at, bool is_held);

/* The last line of a function, which begins at `from` (0: the module), up to line `to`, that calls acquire() of the expression, and that no call of release() of
 * it follows; 0: none.  Functions and classes within the function are left out.  An expression of one word must be a variable of the module: assigned at the begin of a line, and not in the
 * function. */
int32_t expression_find_acquire(const char *source, size_t bytes,
                                struct strtab_string expression, int32_t from, int32_t to);

#endif /* SERVER_SOURCE_EXPRESSION_H */
