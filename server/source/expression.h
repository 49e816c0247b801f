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

#endif /* SERVER_SOURCE_EXPRESSION_H */
