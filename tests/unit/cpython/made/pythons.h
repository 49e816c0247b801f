/*
 * pythons - runs a script with every interpreter of this machine from 3.11 on, and collects the
 * output.
 *
 * Threads: none.
 */
#ifndef TESTS_UNIT_CPYTHON_MADE_PYTHONS_H
#define TESTS_UNIT_CPYTHON_MADE_PYTHONS_H

#include <stddef.h>
#include <stdio.h>

/* `script` is below tests/; hear gets its output.  Returns how many interpreters there are;
 * a script that fails, fails the test. */
size_t pythons_run(const char *script, void (*hear)(FILE *in, const char *version));

#endif /* TESTS_UNIT_CPYTHON_MADE_PYTHONS_H */
