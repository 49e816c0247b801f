/*
 * failing_alloc - makes an allocation of the code under test fail.
 *
 * Only in tests linked with FAILING_ALLOC (see unit_test in tests/CMakeLists.txt): there malloc,
 * calloc and realloc of the program, not those inside shared libraries, go through here.
 *
 *     for (unsigned nth = 0; rc; nth++) {
 *         failing_alloc_at(nth);      the next allocation but nth fails, all others do not
 *         rc = ...;
 *     }
 *     failing_alloc_never();
 *
 * Threads: none.
 */
#ifndef TESTS_SUPPORT_FAILING_ALLOC_H
#define TESTS_SUPPORT_FAILING_ALLOC_H

#include <stdbool.h>

void failing_alloc_at(unsigned nth);
void failing_alloc_never(void);
/* Has the allocation that was to fail been requested? */
bool failing_alloc_happened(void);

#endif /* TESTS_SUPPORT_FAILING_ALLOC_H */
