/*
 * location - finds the source location of an instruction in the line table of a code object.
 *
 * Formats: from 3.11 on Objects/locations.md of CPython ("Location table", PEP 657); before,
 * Objects/lnotab_notes.txt: 3.8 and 3.9 have steps (co_lnotab), 3.10 has ranges (PEP 626), both
 * without columns.  The bytes are untrusted: where an entry is incomplete or a number overflows, the
 * table ends.
 *
 * Units: an instruction is a unit of 2 bytes.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_LOCATION_H
#define SAMPLER_CPYTHON_OBJECTS_LOCATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct location {
    int32_t line, end_line;     /* 0: unknown */
    int32_t column, end_column; /* UTF-8 bytes from the start of the line, -1: unknown */
};

/* The location of the instruction `unit` units from the start, from 3.11 on.
 * false: the instruction is beyond the end of the table. */
bool location_find(const unsigned char *table, size_t bytes, int32_t first_line, uint32_t unit,
                   struct location *out);

/* The line of the instruction, for 3.8 and 3.9. */
int32_t location_find_lnotab(const unsigned char *table, size_t bytes, int32_t first_line,
                             uint32_t unit);

/* Finds the line by the table of 3.10. 0: the instruction has no line, or is beyond the end of
 * the table. */
int32_t location_find_lnotab_range(const unsigned char *table, size_t bytes, int32_t first_line,
                                   uint32_t unit);

#endif /* SAMPLER_CPYTHON_OBJECTS_LOCATION_H */
