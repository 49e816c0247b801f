/*
 * counted_calls - counts the program's own calls that open and read files, and sets its clock.
 *
 * The linker sends calls here from all code of the test program (--wrap), but not those that the C
 * library makes itself.
 *
 * Threads: one.
 */
#ifndef TESTS_SUPPORT_COUNTED_CALLS_H
#define TESTS_SUPPORT_COUNTED_CALLS_H

#include <stdint.h>

/* Calls of open, openat, read, pread and close so far. */
uint64_t counted_file_calls(void);

/* Sets the answer of clock_gettime from now on, whichever clock is asked. */
void counted_set_clock(uint64_t now_ns);

#endif /* TESTS_SUPPORT_COUNTED_CALLS_H */
