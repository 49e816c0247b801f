/*
 * lnotab - the line tables of CPython until 3.10: from an instruction to its line.
 *
 * Formats: Objects/lnotab_notes.txt of CPython; 3.8 and 3.9 have steps (co_lnotab), 3.10 has ranges
 * (PEP 626).  The bytes are untrusted: an odd one at the end is left out, lines are kept in an
 * int32_t.  There are no columns.
 *
 * Units: an instruction is a unit of 2 bytes.
 * Depends on: libc.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_LNOTAB_H
#define SAMPLER_CPYTHON_OBJECTS_LNOTAB_H

#include <stddef.h>
#include <stdint.h>

/* The line of the instruction `unit` units from the start, 3.8 and 3.9. */
int32_t lnotab_find(const unsigned char *table, size_t bytes, int32_t first_line,
                    uint32_t unit);

/* The same for 3.10.  0: it has none, or the table does not reach that far. */
int32_t lnotab_find_range(const unsigned char *table, size_t bytes, int32_t first_line,
                          uint32_t unit);

#endif /* SAMPLER_CPYTHON_OBJECTS_LNOTAB_H */
